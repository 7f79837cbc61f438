//! Where a statement that creates a program or a view has its DEFINER.

use crate::ParserOptions;
use crate::keyword::Kw;
use crate::lexer::{Lexer, Tok};

/// The byte in front of which `DEFINER = …` may stand, in a statement without one: behind ALGORITHM, before SQL SECURITY.
pub fn place_of_definer(sql: &[u8], options: &ParserOptions) -> Option<usize> {
    let mut lexer = Lexer::new(sql, options);
    loop {
        let token = lexer.next_token();
        match token.tok {
            Tok::Eof => return None,
            Tok::Kw(Kw::VIEW | Kw::SQL | Kw::TRIGGER | Kw::PROCEDURE | Kw::FUNCTION | Kw::EVENT | Kw::AGGREGATE) => {
                return Some(token.start as usize);
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_stands_before_what_is_created() {
        let place = |sql: &str| {
            let at = place_of_definer(sql.as_bytes(), &ParserOptions::default());
            at.map(|at| format!("{}|{}", &sql[..at], &sql[at..]))
        };
        for (sql, marked) in [
            (
                "create /* view */ trigger t before insert on v for each row set @a = 1",
                "create /* view */ |trigger t before insert on v for each row set @a = 1",
            ),
            (
                "CREATE OR REPLACE ALGORITHM = MERGE SQL SECURITY INVOKER VIEW v AS SELECT 1",
                "CREATE OR REPLACE ALGORITHM = MERGE |SQL SECURITY INVOKER VIEW v AS SELECT 1",
            ),
            ("CREATE PROCEDURE p() SELECT 1", "CREATE |PROCEDURE p() SELECT 1"),
        ] {
            assert_eq!(place(sql).as_deref(), Some(marked));
        }
        assert_eq!(place("CREATE TABLE t (a INT)"), None);
    }
}
