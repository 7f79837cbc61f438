//! What the parser of XPath makes: expressions, paths and their steps.

#[derive(Debug)]
pub(super) enum Expr {
    Int(i64),
    /// With as many decimals as it is written with.
    Float(f64, u8),
    Text(Vec<u8>),
    UserVariable(String),
    /// Conditions of which one, or all, must hold.
    Any(Vec<Expr>),
    All(Vec<Expr>),
    /// The first operand, then operators and further operands from left to right.
    Chain(Box<Expr>, Vec<(Operator, Expr)>),
    Negative(Box<Expr>),
    Union(Vec<Expr>),
    Call(Function, Vec<Expr>),
    Path(Base, Vec<Step>),
}

#[derive(Debug)]
pub(super) enum Base {
    /// The node of the predicate around it; outside of predicates the document.
    Context,
    Document,
    Nodes(Box<Expr>),
}

#[derive(Debug)]
pub(super) enum Step {
    /// To nodes on an axis that have the name, or any.
    To(Axis, Option<Vec<u8>>),
    /// Those for which a condition holds.
    Where(Expr),
    /// Those whose place is a number.
    At(Expr),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Axis {
    Ancestor,
    AncestorOrSelf,
    Attribute,
    Child,
    Descendant,
    DescendantOrSelf,
    Parent,
    Itself,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operator {
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
    Plus,
    Minus,
    Times,
    Div,
    Mod,
}

impl Operator {
    fn is_comparison(self) -> bool {
        matches!(self, Operator::Eq | Operator::Ne | Operator::Lt | Operator::Le | Operator::Gt | Operator::Ge)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Function {
    Boolean,
    Ceiling,
    Concat,
    Contains,
    Count,
    False,
    Floor,
    Last,
    Not,
    Number,
    Position,
    Round,
    StringLength,
    Substring,
    Sum,
    True,
}

impl Expr {
    /// A set of nodes.
    pub(super) fn is_nodes(&self) -> bool {
        matches!(self, Expr::Path(..) | Expr::Union(_))
    }

    /// As a predicate it is a condition, not a place.
    pub(super) fn is_condition(&self) -> bool {
        match self {
            Expr::Any(_) | Expr::All(_) => true,
            Expr::Chain(_, rest) => rest.last().is_some_and(|(operator, _)| operator.is_comparison()),
            Expr::Call(function, _) => {
                matches!(function, Function::Boolean | Function::Contains | Function::False | Function::Not | Function::True)
            }
            other => other.is_nodes(),
        }
    }
}
