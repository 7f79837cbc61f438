//! Optimizer hints: `/*+ NAME(…) … */` behind SELECT, INSERT, REPLACE, UPDATE and DELETE.
//!
//! At what is none, MySQL warns and looks no further: of `/*+ MAX_EXECUTION_TIME(5) NONSENSE BKA(t) */` the first holds, with warning 1064
//! near `NONSENSE`. Names of hints and strategies are no names of tables unless they are quoted.

use vaquita_types::Error;
use vaquita_types::errno::{self, ErrorDef};

use super::Parser;
use crate::ast::*;
use crate::error::ParseError;
use crate::lexer::{Op, Tok};

/// Where a hint is wrong, and what MySQL calls that.
type Wrong = (usize, &'static ErrorDef);

type HintResult<T> = std::result::Result<T, Wrong>;

impl Parser<'_> {
    /// The hints at the present token.
    pub(super) fn hints(&mut self) -> Vec<Hint> {
        if self.tok.tok != Tok::Hint {
            return Vec::new();
        }
        let (text, begins_at) = (self.text(), self.tok.start as usize);
        self.bump();
        let mut inside = Parser::new(text, self.opts);
        let mut hints = Vec::new();
        let mut wrong = None;
        if inside.tok.tok == Tok::Eof {
            wrong = Some(inside.wrong_at(text.len()));
        }
        while inside.tok.tok != Tok::Eof && wrong.is_none() {
            match inside.hint() {
                Ok(hint) => hints.push(hint),
                Err(at) => wrong = Some(at),
            }
        }
        if let Some((at, def)) = wrong {
            self.warnings.push(hint_warning(self.src, begins_at + at, at >= text.len(), def));
        }
        self.hinted |= !hints.is_empty();
        hints
    }

    fn wrong_at(&self, at: usize) -> Wrong {
        (at, &errno::ER_WARN_OPTIMIZER_HINT_SYNTAX_ERROR)
    }

    fn wrong_here<T>(&self) -> HintResult<T> {
        Err(self.wrong_at(self.start()))
    }

    /// One hint; where it is wrong.
    fn hint(&mut self) -> HintResult<Hint> {
        let begins_at = self.start();
        let word = self.upper_word().map_err(|_| self.wrong_at(begins_at))?;
        if !OTHER_HINTS.contains(&word.as_str()) && HintKind::named(&word).is_none() {
            return Err(self.wrong_at(begins_at));
        }
        self.hint_op(Op::LParen)?;
        let hint = match HintKind::named(&word) {
            Some((kind, on)) => Hint::Plan(Box::new(self.plan_hint(kind, on)?)),
            None => self.other_hint(&word)?,
        };
        self.hint_op(Op::RParen)?;
        Ok(hint)
    }

    fn hint_op(&mut self, op: Op) -> HintResult<()> {
        if self.eat_op(op) { Ok(()) } else { self.wrong_here() }
    }

    fn other_hint(&mut self, word: &str) -> HintResult<Hint> {
        match word {
            "QB_NAME" => self.hint_name().map(Hint::QueryBlockName),
            "RESOURCE_GROUP" => self.hint_name().map(Hint::ResourceGroup),
            "MAX_EXECUTION_TIME" => {
                let ms = self.number().map_err(|_| self.wrong_at(self.start()))?;
                match u32::try_from(ms) {
                    Ok(_) => Ok(Hint::MaxExecutionTimeMs(ms)),
                    Err(_) => Err((self.start(), &errno::ER_WARN_BAD_MAX_EXECUTION_TIME)),
                }
            }
            _ => self.set_var(),
        }
    }

    fn set_var(&mut self) -> HintResult<Hint> {
        let name = self.ident().map_err(|_| self.wrong_at(self.start()))?;
        self.hint_op(Op::Eq)?;
        let at = self.start();
        let value = match self.kind() {
            Tok::Ident | Tok::Kw(_) => {
                let bytes = self.text().to_vec();
                self.bump();
                Expr::Literal(Literal::String(StringLiteral { bytes, charset: None }))
            }
            _ => self.bit_expr(0).map_err(|_| self.wrong_at(at))?,
        };
        // No hint has an empty text.
        match &value {
            Expr::Literal(Literal::String(text)) if text.bytes.is_empty() => Err(self.wrong_at(at)),
            Expr::Literal(_) => Ok(Hint::SetVar { name, value }),
            _ => Err(self.wrong_at(at)),
        }
    }

    fn plan_hint(&mut self, kind: HintKind, on: bool) -> HintResult<PlanHint> {
        let block = if self.tok.tok == Tok::At { Some(self.hint_block()?) } else { None };
        let mut hint = PlanHint { kind, on, block, tables: Vec::new(), indexes: Vec::new(), strategies: Vec::new() };
        let is_over = self.is_op(Op::RParen);
        match kind.arguments() {
            HintArguments::Block => {}
            HintArguments::Tables | HintArguments::Order | HintArguments::SemijoinStrategies if is_over => {}
            HintArguments::Tables | HintArguments::Order => hint.tables = self.hint_list(Self::hint_table)?,
            HintArguments::SemijoinStrategies => {
                hint.strategies = self.hint_list(|p| p.hint_strategy(|strategy| strategy != HintStrategy::IntoExists))?;
            }
            HintArguments::SubqueryStrategy => {
                let is_allowed = |strategy| matches!(strategy, HintStrategy::IntoExists | HintStrategy::Materialization);
                hint.strategies = vec![self.hint_strategy(is_allowed)?];
            }
            HintArguments::Indexes => {
                hint.tables = vec![match hint.block.take() {
                    // `@block table` is one way to write `table@block`.
                    Some(block) => HintTable { name: self.hint_name()?, block: Some(block) },
                    None => self.hint_table()?,
                }];
                if !self.is_op(Op::RParen) {
                    hint.indexes = self.hint_list(Self::hint_name)?;
                }
            }
        }
        Ok(hint)
    }

    fn hint_list<T>(&mut self, mut item: impl FnMut(&mut Self) -> HintResult<T>) -> HintResult<Vec<T>> {
        let mut items = vec![item(self)?];
        while self.eat_op(Op::Comma) {
            items.push(item(self)?);
        }
        Ok(items)
    }

    fn hint_table(&mut self) -> HintResult<HintTable> {
        let name = self.hint_name()?;
        let is_beside = self.tok.tok == Tok::At && self.start() == self.prev_end;
        let block = if is_beside { Some(self.hint_block()?) } else { None };
        Ok(HintTable { name, block })
    }

    /// `@name`
    fn hint_block(&mut self) -> HintResult<String> {
        let behind = self.start() + 1;
        let is_name = match self.text().first() {
            None | Some(b'\'') => false,
            Some(b'"') => self.opts.ansi_quotes,
            Some(_) => true,
        };
        if !is_name {
            return Err(self.wrong_at(behind));
        }
        self.at_name().map_err(|_| self.wrong_at(behind))
    }

    fn hint_name(&mut self) -> HintResult<String> {
        let begins_at = self.start();
        let is_word = match self.kind() {
            Tok::Ident | Tok::Kw(_) => true,
            Tok::QuotedIdent => return self.ident().map_err(|_| self.wrong_at(begins_at)),
            _ => false,
        };
        // Of `@name` MySQL points at the name.
        let begins_at = begins_at + usize::from(self.tok.tok == Tok::At);
        let word = String::from_utf8_lossy(self.text()).into_owned();
        if !is_word || is_hint_word(&word) {
            return Err(self.wrong_at(begins_at));
        }
        self.bump();
        Ok(word)
    }

    fn hint_strategy(&mut self, is_allowed: impl Fn(HintStrategy) -> bool) -> HintResult<HintStrategy> {
        let begins_at = self.start();
        let word = self.upper_word().map_err(|_| self.wrong_at(begins_at))?;
        HintStrategy::named(&word).filter(|strategy| is_allowed(*strategy)).ok_or(self.wrong_at(begins_at))
    }
}

/// Warning 1064 at byte `at` of `sql`. At the end of the hints MySQL shows nothing behind them.
fn hint_warning(sql: &[u8], at: usize, at_end: bool, def: &ErrorDef) -> Error {
    let ParseError { near, line, .. } = ParseError::syntax(sql, at);
    let near = if at_end { "*/" } else { near.as_str() };
    let text = def.format;
    Error::with_message(&errno::ER_PARSE_ERROR, format!("{text} near '{near}' at line {line}"))
}

#[cfg(test)]
mod tests {
    use crate::{ParserOptions, parse_one_noting};

    /// Names in quotes are those of the rest of the statement: also `"` under ANSI_QUOTES.
    #[test]
    fn names_in_quotes() {
        let options = ParserOptions { ansi_quotes: true, ..ParserOptions::default() };
        let warnings_of = |sql: &str, options: &ParserOptions| {
            let mut warnings = Vec::new();
            parse_one_noting(sql.as_bytes(), options, &mut warnings).expect("a statement");
            warnings.len()
        };
        let sql = "select /*+ qb_name(\"x y\") bka(t1@\"x y\") index(\"t1\" \"ka\") */ 1 from t1";
        assert_eq!(warnings_of(sql, &options), 0);
        assert_eq!(warnings_of(sql, &ParserOptions::default()), 1);
        assert_eq!(warnings_of("select /*+ qb_name(`select`) bka(select@`select`) */ 1", &options), 0);
    }
}
