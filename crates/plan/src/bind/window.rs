use vaquita_parser as ast;
use vaquita_types::{Error, Result};
use super::Binder;
use crate::expr::Expr;
impl Binder<'_> {
    pub(super) fn window_call(&mut self, _: &ast::WindowCall) -> Result<Expr> { Err(Error::unsupported("window functions")) }
}
