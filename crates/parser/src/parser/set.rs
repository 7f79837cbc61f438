//! SET in all its forms.
//!
//! A scope word stays in force for the assignments behind it: in `SET GLOBAL a = 1, b = 2` both
//! are global, as in MySQL.

use super::{Parser, Result};
use crate::ast::*;
use crate::keyword::Kw;
use crate::lexer::{Op, Tok};

impl Parser<'_> {
    pub(super) fn set(&mut self) -> Result<Statement> {
        self.bump();
        match self.kind() {
            Tok::Kw(Kw::PASSWORD) => {
                return Ok(Statement::Set(vec![SetItem::Password(self.set_password()?)]));
            }
            Tok::Kw(Kw::ROLE) => {
                self.bump();
                return Ok(Statement::SetRole(self.role_set(true)?));
            }
            Tok::Kw(Kw::DEFAULT) if self.peek() == Tok::Kw(Kw::ROLE) => {
                self.bump();
                self.bump();
                let roles = self.role_set(false)?;
                self.expect(Kw::TO)?;
                return Ok(Statement::SetDefaultRole { roles, users: self.role_list()? });
            }
            Tok::Kw(Kw::RESOURCE) if self.peek() == Tok::Kw(Kw::GROUP) => {
                return self.unsupported("SET RESOURCE GROUP");
            }
            Tok::Kw(Kw::TRANSACTION) if self.peek() != Tok::Op(Op::Eq) => {
                let item = self.set_transaction(VarScope::Default)?;
                return Ok(Statement::Set(vec![item]));
            }
            _ => {}
        }
        let mut scope = VarScope::Default;
        let mut first = true;
        let items = self.comma_list(|p| {
            let item = p.set_item(&mut scope, first)?;
            first = false;
            Ok(item)
        })?;
        Ok(Statement::Set(items))
    }

    pub(super) fn set_item(&mut self, scope: &mut VarScope, first: bool) -> Result<SetItem> {
        match self.kind() {
            Tok::At => {
                let name = self.at_name()?;
                self.expect_equal()?;
                return Ok(SetItem::UserVar { name, value: self.expr()? });
            }
            Tok::AtAt => {
                let SysVar { scope, component, name } = self.system_variable()?;
                self.expect_equal()?;
                return Ok(SetItem::SysVar { scope, component, name, value: self.set_value()? });
            }
            _ => {}
        }
        if let Some(word) = self.scope_word() {
            *scope = word;
            self.bump();
            if first && self.is(Kw::TRANSACTION) && self.peek() != Tok::Op(Op::Eq) {
                return self.set_transaction(word);
            }
        } else if self.is(Kw::NAMES) && self.peek() != Tok::Op(Op::Eq) {
            return self.set_names();
        } else if self.eat_character_set() {
            let default = self.eat(Kw::DEFAULT);
            return Ok(SetItem::Charset(if default { None } else { Some(self.charset_name()?) }));
        }
        // A name without a scope means the session; only behind `@@` it may mean the next transaction.
        self.set_variable(if *scope == VarScope::Default { VarScope::Session } else { *scope })
    }

    fn set_variable(&mut self, scope: VarScope) -> Result<SetItem> {
        if self.at_scope_as_component() {
            return self.fail();
        }
        let first = if self.is(Kw::DEFAULT) && self.peek() == Tok::Op(Op::Dot) {
            self.bump();
            "default".to_string()
        } else {
            self.ident()?
        };
        let (component, name) = if self.eat_op(Op::Dot) { (Some(first), self.ident()?) } else { (None, first) };
        self.expect_equal()?;
        Ok(SetItem::SysVar { scope, component, name, value: self.set_value()? })
    }

    /// `SET session.x`: a word for a scope stands behind `@@` or before a space.
    pub(super) fn at_scope_as_component(&mut self) -> bool {
        const WORDS: [&str; 3] = ["global", "session", "local"];
        let is_word =
            self.at_ident() && self.ident_text().is_ok_and(|text| WORDS.iter().any(|word| word.eq_ignore_ascii_case(&text)));
        is_word && self.peek() == Tok::Op(Op::Dot)
    }

    fn scope_word(&self) -> Option<VarScope> {
        Some(match self.kind() {
            Tok::Kw(Kw::GLOBAL) => VarScope::Global,
            Tok::Kw(Kw::SESSION | Kw::LOCAL) => VarScope::Session,
            Tok::Kw(Kw::PERSIST) => VarScope::Persist,
            Tok::Kw(Kw::PERSIST_ONLY) => VarScope::PersistOnly,
            _ => return None,
        })
    }

    /// The value of a variable: some reserved words stand for themselves.
    fn set_value(&mut self) -> Result<SetValue> {
        let Tok::Kw(kw) = self.tok.tok else { return Ok(SetValue::Expr(self.expr()?)) };
        let alone = matches!(self.peek(), Tok::Eof | Tok::Op(Op::Comma) | Tok::Op(Op::Semicolon));
        if alone && kw == Kw::DEFAULT {
            self.bump();
            return Ok(SetValue::Default);
        }
        if alone && matches!(kw, Kw::ON | Kw::ALL | Kw::BINARY | Kw::ROW | Kw::SYSTEM) {
            self.bump();
            let bytes = kw.as_str().as_bytes().to_vec();
            let literal = Literal::String(StringLiteral { bytes, charset: None });
            return Ok(SetValue::Expr(Expr::Literal(literal)));
        }
        Ok(SetValue::Expr(self.expr()?))
    }

    fn set_names(&mut self) -> Result<SetItem> {
        self.bump();
        if self.eat(Kw::DEFAULT) {
            return Ok(SetItem::Names { charset: None, collate: None });
        }
        let name = self.charset_name()?;
        self.deprecate_charset(&name);
        let charset = Some(name);
        let mut collate = None;
        if self.eat(Kw::COLLATE) && !self.eat(Kw::DEFAULT) {
            let name = self.collation_name()?;
            self.deprecate_collation(&name);
            collate = Some(name);
        }
        Ok(SetItem::Names { charset, collate })
    }

    /// `TRANSACTION ISOLATION LEVEL x, READ ONLY|WRITE`
    fn set_transaction(&mut self, scope: VarScope) -> Result<SetItem> {
        if !matches!(scope, VarScope::Default | VarScope::Session | VarScope::Global) {
            return self.fail();
        }
        self.bump();
        let (mut isolation, mut access_mode) = (None, None);
        self.comma_list(|p| {
            if p.is(Kw::ISOLATION) && isolation.is_none() {
                p.expect_all(&[Kw::ISOLATION, Kw::LEVEL])?;
                isolation = Some(p.isolation()?);
            } else if p.is(Kw::READ) && access_mode.is_none() {
                p.bump();
                access_mode = Some(p.access_mode()?);
            } else {
                return p.fail();
            }
            Ok(())
        })?;
        Ok(SetItem::Transaction { scope, isolation, access_mode })
    }

    fn isolation(&mut self) -> Result<Isolation> {
        Ok(match self.expect_any(&[Kw::READ, Kw::REPEATABLE, Kw::SERIALIZABLE])? {
            Kw::READ => match self.expect_any(&[Kw::UNCOMMITTED, Kw::COMMITTED])? {
                Kw::COMMITTED => Isolation::ReadCommitted,
                _ => Isolation::ReadUncommitted,
            },
            Kw::REPEATABLE => {
                self.expect(Kw::READ)?;
                Isolation::RepeatableRead
            }
            _ => Isolation::Serializable,
        })
    }

    /// `PASSWORD [FOR user] {= 'x' | TO RANDOM} [REPLACE 'x'] [RETAIN CURRENT PASSWORD]`
    fn set_password(&mut self) -> Result<SetPassword> {
        self.bump();
        let user = if self.eat(Kw::FOR) { Some(self.user()?) } else { None };
        let password = if self.eat(Kw::TO) {
            self.expect(Kw::RANDOM)?;
            None
        } else {
            self.expect_equal()?;
            Some(self.string()?)
        };
        let replace = if self.eat(Kw::REPLACE) { Some(self.string()?) } else { None };
        let retain_current = self.eat(Kw::RETAIN);
        if retain_current {
            self.expect_all(&[Kw::CURRENT, Kw::PASSWORD])?;
        }
        Ok(SetPassword { user, password, replace, retain_current })
    }
}
