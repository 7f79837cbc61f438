//! `LiteralRows`: the rows of an INSERT whose values are all plain literals.
//!
//! A dump is millions of them, so they are no trees: a row is `width` cells of two words, and the bytes of strings and the digits of
//! decimals lie behind each other in one text. Example: `(1, 'a'), (-2, NULL)` is the cells `Int(1)`, `String(0..1)`, `Negative(2)`, `Null`
//! and the text `a`. `exprs` gives what the same text is as expressions, for all who need those.

use super::expr::{Expr, Literal, StringLiteral, UnaryOp};

#[derive(Clone, Debug, Default, PartialEq)]
pub struct LiteralRows {
    width: usize,
    cells: Vec<Cell>,
    text: Vec<u8>,
}

/// A range of the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    start: u32,
    len: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cell {
    Null,
    Int(u64),
    /// `-n`, at most 2⁶³.
    Negative(u64),
    /// Digits without a sign.
    Decimal {
        digits: Span,
        negative: bool,
    },
    /// The same; it is finite.
    Float {
        digits: Span,
        negative: bool,
    },
    String(Span),
    /// `_binary '..'`
    Binary(Span),
    /// `0x..` and `x'..'`
    Hex(Span),
}

impl LiteralRows {
    pub fn is_empty(&self) -> bool {
        self.cells.is_empty()
    }

    pub fn len(&self) -> usize {
        self.cells.len().checked_div(self.width).unwrap_or(0)
    }

    /// Values of each row.
    pub fn width(&self) -> usize {
        self.width
    }

    pub fn rows(&self) -> impl Iterator<Item = &[Cell]> {
        self.cells.chunks_exact(self.width.max(1))
    }

    pub fn cells(&self) -> &[Cell] {
        &self.cells
    }

    pub fn text(&self, span: Span) -> &[u8] {
        let start = span.start as usize;
        self.text.get(start..start + span.len as usize).unwrap_or(&[])
    }

    /// The rows as expressions.
    pub fn exprs(&self) -> Vec<Vec<Expr>> {
        self.rows().map(|row| row.iter().map(|cell| self.expr(*cell)).collect()).collect()
    }

    fn expr(&self, cell: Cell) -> Expr {
        let digits = |span| String::from_utf8_lossy(self.text(span)).into_owned();
        let string = |span, charset| Literal::String(StringLiteral { bytes: self.text(span).to_vec(), charset });
        let (literal, negative) = match cell {
            Cell::Null => (Literal::Null, false),
            Cell::Int(n) => (Literal::Int(n), false),
            Cell::Negative(n) => (Literal::Int(n), true),
            Cell::Decimal { digits: span, negative } => (Literal::Decimal(digits(span)), negative),
            Cell::Float { digits: span, negative } => (Literal::Float(digits(span)), negative),
            Cell::String(span) => (string(span, None), false),
            Cell::Binary(span) => (string(span, Some("binary".to_string())), false),
            Cell::Hex(span) => (Literal::Hex { bytes: self.text(span).to_vec(), charset: None }, false),
        };
        let literal = Expr::Literal(literal);
        if negative { Expr::Unary { op: UnaryOp::Neg, expr: Box::new(literal) } } else { literal }
    }

    // Of the parser, which adds cells and says where a row ends.

    pub(crate) fn reserve(&mut self, cells: usize) {
        self.cells.reserve(cells);
    }

    pub(crate) fn push(&mut self, cell: Cell) {
        self.cells.push(cell);
    }

    /// Adds to the text.
    pub(crate) fn put(&mut self, bytes: &[u8]) -> Span {
        let start = self.text.len() as u32;
        self.text.extend_from_slice(bytes);
        Span { start, len: bytes.len() as u32 }
    }

    /// What was pushed since the last row is one; false, and it is forgotten, if it is of another width than those before.
    pub(crate) fn end_row(&mut self, cells_before: usize) -> bool {
        let width = self.cells.len() - cells_before;
        if cells_before == 0 {
            self.width = width;
        }
        let fits = width > 0 && width == self.width;
        if !fits {
            self.cells.truncate(cells_before);
        }
        fits
    }

    /// Forgets what was pushed since `cells` were there.
    pub(crate) fn cut(&mut self, cells: usize) {
        self.cells.truncate(cells);
    }
}
