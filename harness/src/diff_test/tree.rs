//! A generated statement as a tree of text, so that it can be made smaller without knowing SQL.
//!
//! Each node says what may stand in its place: an `Optional` clause may go, a `Value` may become one of the values in it,
//! `1` or NULL, a `Query` one of the queries in it. Example: `SELECT ABS(t0.a + 1) FROM t0 WHERE t0.b` has among its
//! simpler forms the one without WHERE and the one that selects `t0.a`. Not every simpler form is valid SQL; then both
//! servers refuse it alike, and it is not taken.

use super::protocol::is_literal;

#[derive(Clone, Copy, PartialEq)]
pub enum Kind {
    Fixed,
    Optional,
    Value,
    Query,
}

#[derive(Clone)]
pub enum Part {
    Text(String),
    Tree(Tree),
}

#[derive(Clone)]
pub struct Tree {
    kind: Kind,
    parts: Vec<Part>,
}

impl From<&str> for Part {
    fn from(text: &str) -> Part {
        Part::Text(text.to_string())
    }
}

impl From<String> for Part {
    fn from(text: String) -> Part {
        Part::Text(text)
    }
}

impl From<Tree> for Part {
    fn from(tree: Tree) -> Part {
        Part::Tree(tree)
    }
}

/// `tree!(Value; "(", a, " + ", b, ")")`
macro_rules! tree {
    ($kind:ident; $($part:expr),* $(,)?) => {
        $crate::diff_test::tree::Tree::new($crate::diff_test::tree::Kind::$kind, vec![$($part.into()),*])
    };
}
pub(crate) use tree;

impl Tree {
    pub fn new(kind: Kind, parts: Vec<Part>) -> Tree {
        Tree { kind, parts }
    }

    /// The trees with `separator` between them.
    pub fn list(trees: Vec<Tree>, separator: &str) -> Tree {
        let mut parts: Vec<Part> = Vec::new();
        for tree in trees {
            if !parts.is_empty() {
                parts.push(separator.into());
            }
            parts.push(tree.into());
        }
        Tree::new(Kind::Fixed, parts)
    }

    /// A list whose entries but the first may go.
    pub fn shrinking_list(trees: Vec<Tree>, separator: &str) -> Tree {
        let parts = trees.into_iter().enumerate().map(|(i, tree)| match i {
            0 => tree.into(),
            _ => tree!(Optional; separator, tree).into(),
        });
        Tree::new(Kind::Fixed, parts.collect())
    }

    pub fn sql(&self) -> String {
        let mut out = String::new();
        self.write(&mut out);
        out
    }

    fn write(&self, out: &mut String) {
        for part in &self.parts {
            match part {
                Part::Text(text) => out.push_str(text),
                Part::Tree(tree) => tree.write(out),
            }
        }
    }

    /// The statement with a `?` for each literal that `mask` chooses, by its number in the statement, and these literals.
    pub fn prepared(&self, mask: u64) -> (String, Vec<String>) {
        let (mut out, mut params, mut number) = (String::new(), Vec::new(), 0);
        self.write_prepared(mask, &mut number, &mut out, &mut params);
        (out, params)
    }

    fn write_prepared(&self, mask: u64, number: &mut u32, out: &mut String, params: &mut Vec<String>) {
        if let (Kind::Value, [Part::Text(text)]) = (self.kind, &self.parts[..])
            && is_literal(text)
        {
            *number += 1;
            if mask >> (*number % 64) & 1 == 1 {
                params.push(text.clone());
                return out.push('?');
            }
        }
        for part in &self.parts {
            match part {
                Part::Text(text) => out.push_str(text),
                Part::Tree(tree) => tree.write_prepared(mask, number, out, params),
            }
        }
    }

    fn is_leaf(&self) -> bool {
        !self.parts.iter().any(|part| matches!(part, Part::Tree(_)))
    }

    /// Every tree that is one step simpler, those with the largest cuts first.
    pub fn simpler(&self) -> Vec<Tree> {
        let mut out = Vec::new();
        match self.kind {
            Kind::Optional if !self.parts.is_empty() => out.push(tree!(Optional;)),
            Kind::Value | Kind::Query => self.nearest(self.kind, &mut out),
            _ => {}
        }
        if self.kind == Kind::Value && !self.is_leaf() {
            out.extend(["1", "NULL"].map(|text| tree!(Value; text)));
        }
        for (i, part) in self.parts.iter().enumerate() {
            let Part::Tree(tree) = part else { continue };
            out.extend(tree.simpler().into_iter().map(|smaller| {
                let mut copy = self.clone();
                copy.parts[i] = Part::Tree(smaller);
                copy
            }));
        }
        out
    }

    /// The topmost trees of `kind` below this one.
    fn nearest(&self, kind: Kind, out: &mut Vec<Tree>) {
        for part in &self.parts {
            match part {
                Part::Tree(tree) if tree.kind == kind => out.push(tree.clone()),
                Part::Tree(tree) => tree.nearest(kind, out),
                Part::Text(_) => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Tree;

    #[test]
    fn a_clause_goes_and_a_value_becomes_its_operand() {
        let sum = tree!(Value; "(", tree!(Value; "a"), " + ", tree!(Value; "b"), ")");
        let query = tree!(Query; "SELECT ", sum, tree!(Optional; " FROM t"));
        let simpler: Vec<String> = query.simpler().iter().map(Tree::sql).collect();
        let (sql, params) = tree!(Query; "SELECT ", tree!(Value; "-1.5"), tree!(Value; "a")).prepared(u64::MAX);
        assert_eq!((sql.as_str(), params), ("SELECT ?a", vec!["-1.5".to_string()]));
        assert_eq!(simpler, ["SELECT a FROM t", "SELECT b FROM t", "SELECT 1 FROM t", "SELECT NULL FROM t", "SELECT (a + b)"]);
    }
}
