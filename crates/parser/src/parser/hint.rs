//! Optimizer hints: `/*+ NAME(…) … */` behind SELECT, INSERT, REPLACE, UPDATE and DELETE.
//!
//! Two of them have an effect, MAX_EXECUTION_TIME and SET_VAR; the others of MySQL are read over. At what is none, MySQL warns and looks
//! no further: of `/*+ MAX_EXECUTION_TIME(5) NONSENSE BKA(t) */` the first holds, with warning 1064 near `NONSENSE`.

use vaquita_types::{Error, errno};

use super::{Parser, Result};
use crate::ast::*;
use crate::error::ParseError;
use crate::lexer::{Op, Tok};

/// MySQL's hints.
const NAMES: [&str; 37] = [
    "BKA",
    "BNL",
    "DERIVED_CONDITION_PUSHDOWN",
    "GROUP_INDEX",
    "HASH_JOIN",
    "INDEX",
    "INDEX_MERGE",
    "JOIN_FIXED_ORDER",
    "JOIN_INDEX",
    "JOIN_ORDER",
    "JOIN_PREFIX",
    "JOIN_SUFFIX",
    "MERGE",
    "MRR",
    "NO_BKA",
    "NO_BNL",
    "NO_DERIVED_CONDITION_PUSHDOWN",
    "NO_GROUP_INDEX",
    "NO_HASH_JOIN",
    "NO_ICP",
    "NO_INDEX",
    "NO_INDEX_MERGE",
    "NO_JOIN_INDEX",
    "NO_MERGE",
    "NO_MRR",
    "NO_ORDER_INDEX",
    "NO_RANGE_OPTIMIZATION",
    "NO_SEMIJOIN",
    "NO_SKIP_SCAN",
    "ORDER_INDEX",
    "QB_NAME",
    "RESOURCE_GROUP",
    "SEMIJOIN",
    "SKIP_SCAN",
    "SUBQUERY",
    "MAX_EXECUTION_TIME",
    "SET_VAR",
];

impl Parser<'_> {
    /// The hints at the present token that have an effect.
    pub(super) fn hints(&mut self) -> Vec<Hint> {
        if self.tok.tok != Tok::Hint {
            return Vec::new();
        }
        let (text, begins_at) = (self.text(), self.tok.start as usize);
        self.bump();
        let mut inside = Parser::new(text, self.opts);
        let mut hints = Vec::new();
        let mut wrong = (inside.tok.tok == Tok::Eof).then_some(text.len());
        while inside.tok.tok != Tok::Eof && wrong.is_none() {
            match inside.hint() {
                Ok(hint) => hints.extend(hint),
                Err(at) => wrong = Some(at),
            }
        }
        if let Some(at) = wrong {
            self.warnings.push(hint_warning(self.src, begins_at + at, at >= text.len()));
        }
        hints
    }

    /// One hint, if it has an effect; where it is wrong.
    fn hint(&mut self) -> std::result::Result<Option<Hint>, usize> {
        let begins_at = self.start();
        let word = self.upper_word().map_err(|_| begins_at)?;
        if !NAMES.contains(&word.as_str()) {
            return Err(begins_at);
        }
        if !self.eat_op(Op::LParen) {
            return Err(self.start());
        }
        let hint = self.effect(&word).map_err(|_| self.start())?;
        if hint.is_none() {
            self.skip_inside();
        }
        if !self.eat_op(Op::RParen) {
            return Err(self.start());
        }
        Ok(hint)
    }

    fn effect(&mut self, word: &str) -> Result<Option<Hint>> {
        Ok(match word {
            "MAX_EXECUTION_TIME" => Some(Hint::MaxExecutionTimeMs(self.number()?)),
            "SET_VAR" => {
                let name = self.ident()?;
                self.expect_op(Op::Eq)?;
                let value = match self.kind() {
                    Tok::Ident | Tok::Kw(_) => {
                        Expr::Literal(Literal::String(StringLiteral { bytes: self.upper_word()?.into_bytes(), charset: None }))
                    }
                    _ => self.bit_expr(0)?,
                };
                Some(Hint::SetVar { name, value })
            }
            _ => None,
        })
    }

    /// To the end of the parentheses.
    fn skip_inside(&mut self) {
        while self.tok.tok != Tok::Eof && !self.is_op(Op::RParen) {
            self.bump();
        }
    }
}

/// Warning 1064 at byte `at` of `sql`. At the end of the hints MySQL shows nothing behind them.
fn hint_warning(sql: &[u8], at: usize, at_end: bool) -> Error {
    let ParseError { near, line, .. } = ParseError::syntax(sql, at);
    let near = if at_end { "*/" } else { near.as_str() };
    let text = errno::ER_WARN_OPTIMIZER_HINT_SYNTAX_ERROR.format;
    Error::with_message(&errno::ER_PARSE_ERROR, format!("{text} near '{near}' at line {line}"))
}
