use vaquita_parser as ast;
use vaquita_types::{Error, Result};
use super::Binder;
use super::from::FromPart;
#[derive(Debug)]
pub struct CteDef { pub name: String }
impl Binder<'_> {
    pub(super) fn push_with(&mut self, _: &ast::With) -> Result<()> { Err(Error::unsupported("WITH")) }
    pub(super) fn cte_reference(&mut self, _: &str, _: &str) -> Result<Option<FromPart>> { Ok(None) }
}
