//! CREATE and ALTER of procedures and functions; SIGNAL, RESIGNAL, GET DIAGNOSTICS.

use vaquita_types::errno;

use super::program::Builder;
use super::{Parser, Result};
use crate::ast::*;
use crate::error::ParseError;
use crate::keyword::Kw;
use crate::lexer::Op;

impl Parser<'_> {
    /// Behind CREATE and what may stand before the kind.
    pub(super) fn create_routine(&mut self, kind: ProgramKind, definer: Option<UserName>) -> Result<Statement> {
        if self.program.is_some() {
            let def = &errno::ER_SP_NO_RECURSIVE_CREATE;
            let message = vaquita_types::Error::new(def, &[&kind.as_str()]).message().to_string();
            return Err(ParseError::other(def, message));
        }
        self.bump();
        let if_not_exists = self.if_not_exists()?;
        let name = self.name()?;
        let is_function = kind == ProgramKind::Function;
        if is_function && self.is(Kw::RETURNS) {
            // A function of a library.
            self.bump();
            self.bump();
            self.expect(Kw::SONAME)?;
            let library = Some(Library::Function(self.ident_or_text()?));
            return Ok(Statement::Unsupported { what: "CREATE FUNCTION ... SONAME".to_string(), library });
        }
        let mut builder = Builder::new(is_function);
        self.expect_op(Op::LParen)?;
        let start = self.prev_end;
        if !self.is_op(Op::RParen) {
            self.comma_list(|p| {
                let mode = match if is_function { None } else { p.eat_any(&[Kw::IN, Kw::OUT, Kw::INOUT]) } {
                    Some(Kw::OUT) => ParameterMode::Out,
                    Some(Kw::INOUT) => ParameterMode::InOut,
                    _ => ParameterMode::In,
                };
                let name = p.ident()?;
                let ty = Some(p.variable_type()?);
                builder.declare(Variable { name, mode: Some(mode), ty }, true)
            })?;
        }
        let parameters_text = String::from_utf8_lossy(&self.written(start, self.start())).into_owned();
        self.expect_op(Op::RParen)?;
        let parameters = builder.program.variables.len();
        let returns = match is_function {
            true => {
                self.expect(Kw::RETURNS)?;
                Some(self.variable_type()?)
            }
            false => None,
        };
        let characteristics = self.characteristics(true)?;
        let start = self.start();
        let program = self.program_body(builder)?;
        let body = self.body_since(start);
        Ok(Statement::CreateRoutine(Box::new(CreateRoutine {
            kind,
            if_not_exists,
            definer,
            name,
            parameters,
            parameters_text,
            returns,
            characteristics,
            program,
            body,
        })))
    }

    /// Error 1357: no program may drop or alter a procedure or a function.
    pub(super) fn refuse_inside(&self, kind: ProgramKind) -> Result<()> {
        if self.program.is_none() || !matches!(kind, ProgramKind::Procedure | ProgramKind::Function) {
            return Ok(());
        }
        let def = &errno::ER_SP_NO_DROP_SP;
        Err(ParseError::other(def, vaquita_types::Error::new(def, &[&kind.as_str()]).message().to_string()))
    }

    /// Behind ALTER.
    pub(super) fn alter_routine(&mut self, kind: ProgramKind) -> Result<Statement> {
        self.refuse_inside(kind)?;
        self.bump();
        let name = self.name()?;
        let characteristics = self.characteristics(false)?;
        Ok(Statement::AlterRoutine(Box::new(AlterRoutine { kind, name, characteristics })))
    }

    fn characteristics(&mut self, create: bool) -> Result<Characteristics> {
        let mut found = Characteristics::default();
        loop {
            // ALTER does not change it.
            if !create && self.is_any(&[Kw::DETERMINISTIC, Kw::NOT]) {
                return self.fail();
            }
            let Some(kw) = self.eat_any(&[
                Kw::COMMENT,
                Kw::LANGUAGE,
                Kw::NO,
                Kw::CONTAINS,
                Kw::READS,
                Kw::MODIFIES,
                Kw::SQL,
                Kw::DETERMINISTIC,
                Kw::NOT,
            ]) else {
                return Ok(found);
            };
            match kw {
                Kw::COMMENT => found.comment = Some(String::from_utf8_lossy(&self.string()?).into_owned()),
                Kw::LANGUAGE => {
                    if !self.eat(Kw::SQL) {
                        let language = self.ident()?;
                        let text = format!("Language component: {language}");
                        let message = vaquita_types::Error::unsupported(format_args!("{text}")).message().to_string();
                        return Err(ParseError::other(&errno::ER_NOT_SUPPORTED_YET, message));
                    }
                }
                Kw::NO => {
                    self.expect(Kw::SQL)?;
                    found.data_access = Some(DataAccess::NoSql);
                }
                Kw::CONTAINS => {
                    self.expect(Kw::SQL)?;
                    found.data_access = Some(DataAccess::ContainsSql);
                }
                Kw::READS => {
                    self.expect_all(&[Kw::SQL, Kw::DATA])?;
                    found.data_access = Some(DataAccess::ReadsSqlData);
                }
                Kw::MODIFIES => {
                    self.expect_all(&[Kw::SQL, Kw::DATA])?;
                    found.data_access = Some(DataAccess::ModifiesSqlData);
                }
                Kw::SQL => {
                    self.expect(Kw::SECURITY)?;
                    found.invoker = Some(self.expect_any(&[Kw::DEFINER, Kw::INVOKER])? == Kw::INVOKER);
                }
                Kw::DETERMINISTIC => found.deterministic = Some(true),
                _ => {
                    self.expect(Kw::DETERMINISTIC)?;
                    found.deterministic = Some(false);
                }
            }
        }
    }

    /// SIGNAL and RESIGNAL.
    pub(super) fn signal(&mut self, resignal: bool) -> Result<Statement> {
        self.bump();
        let named = self.is(Kw::SQLSTATE) || (self.at_ident() && !self.is(Kw::SET));
        let sqlstate = if named || !resignal { Some(self.signalled()?) } else { None };
        let mut items: Vec<(ConditionItem, Expr)> = Vec::new();
        if self.eat(Kw::SET) {
            loop {
                let item = self.condition_item(false)?;
                if items.iter().any(|(known, _)| *known == item) {
                    let message = vaquita_types::Error::new(&errno::ER_DUP_SIGNAL_SET, &[&item.as_str()]).message().to_string();
                    return Err(ParseError::other(&errno::ER_DUP_SIGNAL_SET, message));
                }
                self.expect_op(Op::Eq)?;
                items.push((item, self.primary()?));
                if !self.eat_op(Op::Comma) {
                    break;
                }
            }
        }
        Ok(Statement::Signal(Box::new(Signal { resignal, sqlstate, items })))
    }

    /// `GET [CURRENT|STACKED] DIAGNOSTICS ..`
    pub(super) fn get_diagnostics(&mut self) -> Result<Statement> {
        self.bump();
        let stacked = self.eat_any(&[Kw::CURRENT, Kw::STACKED]) == Some(Kw::STACKED);
        self.expect(Kw::DIAGNOSTICS)?;
        let what = if self.eat(Kw::CONDITION) {
            let number = self.primary()?;
            DiagnosticsWhat::Condition(
                number,
                self.comma_list(|p| {
                    let target = p.into_target()?;
                    p.expect_op(Op::Eq)?;
                    Ok((target, p.condition_item(true)?))
                })?,
            )
        } else {
            DiagnosticsWhat::Statement(self.comma_list(|p| {
                let target = p.into_target()?;
                p.expect_op(Op::Eq)?;
                let item = match p.expect_any(&[Kw::NUMBER, Kw::ROW_COUNT])? {
                    Kw::NUMBER => StatementItem::Number,
                    _ => StatementItem::RowCount,
                };
                Ok((target, item))
            })?)
        };
        Ok(Statement::GetDiagnostics(Box::new(GetDiagnostics { stacked, what })))
    }

    /// RETURNED_SQLSTATE can only be read.
    fn condition_item(&mut self, reads: bool) -> Result<ConditionItem> {
        use ConditionItem as C;
        let word = String::from_utf8_lossy(self.text()).to_ascii_uppercase();
        let all = [
            C::ClassOrigin,
            C::SubclassOrigin,
            C::ConstraintCatalog,
            C::ConstraintSchema,
            C::ConstraintName,
            C::CatalogName,
            C::SchemaName,
            C::TableName,
            C::ColumnName,
            C::CursorName,
            C::MessageText,
            C::MysqlErrno,
            C::ReturnedSqlstate,
        ];
        match all.into_iter().find(|item| item.as_str() == word && (reads || *item != C::ReturnedSqlstate)) {
            Some(item) => {
                self.bump();
                Ok(item)
            }
            None => self.fail(),
        }
    }
}
