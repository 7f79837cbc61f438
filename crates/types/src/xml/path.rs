//! The XPath that MySQL knows, parsed.
//!
//! Paths with the axes below, predicates, `|`, comparisons, arithmetic, `and`, `or`, variables and sixteen functions. What is its own:
//! `following::`, `preceding::` and `namespace::` are read and mean `child::`, `text()`, `node()` and their like stay where they are,
//! names of functions, axes and operators have no case, `div` divides integers. A name is a function where `(` follows at once.
//!
//! Error 1105 shows the text from the token on that nothing takes. A chain of operators is one node, so that only parentheses,
//! predicates, arguments and signs take stack: `XPATH_DEPTH_MAX` of them.

use super::expr::{Axis, Base, Expr, Function, Operator, Step};
use super::token::{FUNCTIONS, Token, continues_name, word};
use crate::errno::{ER_STACK_OVERRUN_NEED_MORE, ER_UNKNOWN_ERROR};
use crate::limits::XPATH_DEPTH_MAX;
use crate::{Error, Result, stack};

/// A parsed expression.
pub struct Path {
    pub(super) expr: Expr,
}

impl Path {
    pub fn parse(text: &[u8]) -> Result<Path> {
        let mut parser = Parser { text, token: Token::End, begin: 0, end: 0, depth: 0, in_predicate: false };
        parser.next();
        match parser.expr() {
            Ok(Some(expr)) if parser.token == Token::End => Ok(Path { expr }),
            Ok(_) | Err(Refused::Syntax) => Err(told("XPATH syntax error: ", parser.from(parser.begin))),
            Err(Refused::Error(error)) => Err(error),
        }
    }

    /// The value is the text of nodes, and UPDATEXML may replace one.
    pub fn is_nodes(&self) -> bool {
        self.expr.is_nodes()
    }
}

/// Bytes of the text that a message shows.
const SHOWN_BYTES: usize = 32;

fn told(what: &str, at: &[u8]) -> Error {
    let shown = String::from_utf8_lossy(at.get(..SHOWN_BYTES).unwrap_or(at)).into_owned();
    Error::with_message(&ER_UNKNOWN_ERROR, format!("{what}'{shown}'"))
}

enum Refused {
    /// The text is shown from the token at hand on.
    Syntax,
    Error(Error),
}

/// `None`: nothing of the kind stands here.
type Parsed<T> = std::result::Result<Option<T>, Refused>;

struct Parser<'t> {
    text: &'t [u8],
    /// The token at hand and its place.
    token: Token,
    begin: usize,
    end: usize,
    depth: usize,
    in_predicate: bool,
}

impl<'t> Parser<'t> {
    fn from(&self, at: usize) -> &'t [u8] {
        self.text.get(at..).unwrap_or_default()
    }

    /// Takes the next token.
    fn next(&mut self) {
        let skipped = self.from(self.end).iter().take_while(|b| b.is_ascii_whitespace()).count();
        self.begin = self.end + skipped;
        let rest = self.from(self.begin);
        let (token, length) = match rest {
            [] => (Token::End, 0),
            [b'.', b'.', ..] => (Token::Dots, 2),
            [quote @ (b'"' | b'\''), inner @ ..] => match inner.iter().position(|b| b == quote) {
                Some(n) => (Token::Quoted, n + 2),
                None => (Token::Wrong, rest.len()),
            },
            [b'0'..=b'9', ..] => (Token::Digits, rest.iter().take_while(|b| b.is_ascii_digit()).count()),
            [b'a'..=b'z' | b'A'..=b'Z' | b'_' | 0x80.., ..] => {
                let length = rest.iter().take_while(|b| continues_name(**b)).count();
                let (name, behind) = rest.split_at(length);
                (word(name, behind), length)
            }
            [sign, ..] => (Token::Sign(*sign), 1),
        };
        self.token = token;
        self.end = self.begin + length;
    }

    fn takes(&mut self, token: Token) -> bool {
        let is_it = self.token == token;
        if is_it {
            self.next();
        }
        is_it
    }

    fn sign(&mut self, sign: u8) -> bool {
        self.takes(Token::Sign(sign))
    }

    /// `operand` that must stand here.
    fn must<T>(parsed: Parsed<T>) -> std::result::Result<T, Refused> {
        parsed?.ok_or(Refused::Syntax)
    }

    /// One level deeper: within parentheses, a predicate, arguments, a sign.
    fn inside<T>(&mut self, parse: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<T> {
        if self.depth >= XPATH_DEPTH_MAX {
            let message = "Thread stack overrun: the XPath is nested too deeply";
            return Err(Refused::Error(Error::with_message(&ER_STACK_OVERRUN_NEED_MORE, message)));
        }
        self.depth += 1;
        let parsed = stack::deeper(|| parse(self));
        self.depth -= 1;
        parsed
    }

    fn expr(&mut self) -> Parsed<Expr> {
        self.joined(Token::Or, Self::all, Expr::Any)
    }

    fn all(&mut self) -> Parsed<Expr> {
        self.joined(Token::And, Self::equality, Expr::All)
    }

    /// Conditions with a word between them.
    fn joined(
        &mut self,
        between: Token,
        mut operand: impl FnMut(&mut Self) -> Parsed<Expr>,
        node: fn(Vec<Expr>) -> Expr,
    ) -> Parsed<Expr> {
        let Some(first) = operand(self)? else { return Ok(None) };
        if self.token != between {
            return Ok(Some(first));
        }
        let mut operands = vec![first];
        while self.takes(between) {
            operands.push(Self::must(operand(self))?);
        }
        Ok(Some(node(operands)))
    }

    fn equality(&mut self) -> Parsed<Expr> {
        self.comparisons(
            |p| match p.token {
                Token::Sign(b'=') => {
                    p.next();
                    Some(Operator::Eq)
                }
                Token::Sign(b'!') if p.from(p.end).first() == Some(&b'=') => {
                    p.next();
                    p.next();
                    Some(Operator::Ne)
                }
                _ => None,
            },
            Self::relation,
        )
    }

    fn relation(&mut self) -> Parsed<Expr> {
        self.comparisons(
            |p| {
                let less = p.token == Token::Sign(b'<');
                if !less && p.token != Token::Sign(b'>') {
                    return None;
                }
                p.next();
                Some(match (less, p.sign(b'=')) {
                    (true, true) => Operator::Le,
                    (true, false) => Operator::Lt,
                    (false, true) => Operator::Ge,
                    (false, false) => Operator::Gt,
                })
            },
            Self::sum,
        )
    }

    fn comparisons(
        &mut self,
        operator: impl Fn(&mut Self) -> Option<Operator>,
        mut operand: impl FnMut(&mut Self) -> Parsed<Expr>,
    ) -> Parsed<Expr> {
        let Some(first) = operand(self)? else { return Ok(None) };
        let mut rest: Vec<(Operator, Expr)> = Vec::new();
        loop {
            let begin = self.begin;
            let Some(operator) = operator(self) else { break };
            let right = Self::must(operand(self))?;
            if rest.is_empty() && first.is_nodes() && right.is_nodes() {
                let error = told("XPATH error: comparison of two nodesets is not supported: ", self.from(begin));
                return Err(Refused::Error(error));
            }
            rest.push((operator, right));
        }
        Ok(Some(chain(first, rest)))
    }

    fn sum(&mut self) -> Parsed<Expr> {
        self.arithmetic(
            |token| match token {
                Token::Sign(b'+') => Some(Operator::Plus),
                Token::Sign(b'-') => Some(Operator::Minus),
                _ => None,
            },
            Self::product,
        )
    }

    fn product(&mut self) -> Parsed<Expr> {
        self.arithmetic(
            |token| match token {
                Token::Sign(b'*') => Some(Operator::Times),
                Token::Div => Some(Operator::Div),
                Token::Mod => Some(Operator::Mod),
                _ => None,
            },
            Self::signed,
        )
    }

    fn arithmetic(
        &mut self,
        operator: impl Fn(Token) -> Option<Operator>,
        mut operand: impl FnMut(&mut Self) -> Parsed<Expr>,
    ) -> Parsed<Expr> {
        let Some(first) = operand(self)? else { return Ok(None) };
        let mut rest = Vec::new();
        while let Some(operator) = operator(self.token) {
            self.next();
            rest.push((operator, Self::must(operand(self))?));
        }
        Ok(Some(chain(first, rest)))
    }

    fn signed(&mut self) -> Parsed<Expr> {
        if !self.sign(b'-') {
            return self.union();
        }
        let inner = self.inside(Self::signed);
        Ok(Some(Expr::Negative(Box::new(Self::must(inner)?))))
    }

    fn union(&mut self) -> Parsed<Expr> {
        let Some(first) = self.path_or_primary()? else { return Ok(None) };
        if self.token != Token::Sign(b'|') {
            return Ok(Some(first));
        }
        let mut sets = vec![first];
        while self.sign(b'|') {
            // Those behind it have been looked at. What the error shows begins behind the sign.
            if sets.len() == 1 && !sets[0].is_nodes() {
                return Err(Refused::Syntax);
            }
            let set = Self::must(self.path_or_primary())?;
            if !set.is_nodes() {
                return Err(Refused::Syntax);
            }
            sets.push(set);
        }
        Ok(Some(Expr::Union(sets)))
    }

    fn path_or_primary(&mut self) -> Parsed<Expr> {
        let mut steps = Vec::new();
        if self.relative(&mut steps)? {
            return Ok(Some(Expr::Path(Base::Context, steps)));
        }
        if self.sign(b'/') {
            let is_double = self.sign(b'/');
            if is_double {
                steps.push(Step::To(Axis::DescendantOrSelf, None));
            }
            // `/` alone is the document.
            if !self.relative(&mut steps)? && is_double {
                return Err(Refused::Syntax);
            }
            return Ok(Some(Expr::Path(Base::Document, steps)));
        }
        let Some(primary) = self.primary()? else { return Ok(None) };
        if self.token != Token::Sign(b'/') || !primary.is_nodes() {
            return Ok(Some(primary));
        }
        self.next();
        if self.sign(b'/') {
            steps.push(Step::To(Axis::DescendantOrSelf, None));
        }
        if !self.relative(&mut steps)? {
            return Err(Refused::Syntax);
        }
        Ok(Some(Expr::Path(Base::Nodes(Box::new(primary)), steps)))
    }

    /// Steps with `/` between them; false if none stands here.
    fn relative(&mut self, steps: &mut Vec<Step>) -> std::result::Result<bool, Refused> {
        if !self.step(steps)? {
            return Ok(false);
        }
        while self.sign(b'/') {
            if self.sign(b'/') {
                steps.push(Step::To(Axis::DescendantOrSelf, None));
            }
            if !self.step(steps)? {
                return Err(Refused::Syntax);
            }
        }
        Ok(true)
    }

    fn step(&mut self, steps: &mut Vec<Step>) -> std::result::Result<bool, Refused> {
        let (axis, is_given) = match self.token {
            Token::Axis(axis) => {
                self.next();
                if !self.sign(b':') || !self.sign(b':') {
                    return Err(Refused::Syntax);
                }
                (axis, true)
            }
            Token::Sign(b'@') => {
                self.next();
                (Axis::Attribute, true)
            }
            _ => (Axis::Child, false),
        };
        if self.sign(b'*') {
            steps.push(Step::To(axis, None));
        } else if let Some(name) = self.name()? {
            steps.push(Step::To(axis, Some(name)));
        } else if self.takes(Token::NodeType) {
            if !self.sign(b'(') || !self.sign(b')') {
                return Err(Refused::Syntax);
            }
        } else if is_given {
            return Err(Refused::Syntax);
        } else if self.takes(Token::Dots) {
            steps.push(Step::To(Axis::Parent, None));
            return Ok(true);
        } else {
            return Ok(self.sign(b'.'));
        }
        while self.sign(b'[') {
            let outer = std::mem::replace(&mut self.in_predicate, true);
            let inner = self.inside(Self::expr);
            self.in_predicate = outer;
            let inner = Self::must(inner)?;
            if !self.sign(b']') {
                return Err(Refused::Syntax);
            }
            steps.push(if inner.is_condition() { Step::Where(inner) } else { Step::At(inner) });
        }
        Ok(true)
    }

    /// A name, with a prefix or without.
    fn name(&mut self) -> Parsed<Vec<u8>> {
        if !matches!(self.token, Token::Name | Token::And | Token::Or | Token::Div | Token::Mod) {
            return Ok(None);
        }
        let begin = self.begin;
        let mut end = self.end;
        self.next();
        if self.sign(b':') {
            if self.token != Token::Name {
                return Err(Refused::Syntax);
            }
            end = self.end;
            self.next();
        }
        Ok(Some(self.text.get(begin..end).unwrap_or_default().to_vec()))
    }

    fn primary(&mut self) -> Parsed<Expr> {
        if self.sign(b'(') {
            let inner = self.inside(Self::expr);
            let inner = Self::must(inner)?;
            return if self.sign(b')') { Ok(Some(inner)) } else { Err(Refused::Syntax) };
        }
        if self.token == Token::Sign(b'$')
            && let Some(variable) = self.variable()?
        {
            return Ok(Some(variable));
        }
        match self.token {
            Token::Quoted => {
                let text = self.text.get(self.begin + 1..self.end - 1).unwrap_or_default().to_vec();
                self.next();
                Ok(Some(Expr::Text(text)))
            }
            Token::Digits => Ok(Some(self.number())),
            Token::Function(n) => self.call(n),
            _ => Ok(None),
        }
    }

    fn number(&mut self) -> Expr {
        let begin = self.begin;
        let mut end = self.end;
        self.next();
        let digits =
            |begin: usize, end: usize| String::from_utf8_lossy(self.text.get(begin..end).unwrap_or_default()).into_owned();
        if self.token != Token::Sign(b'.') {
            // What is too large is the largest, whose bits are -1.
            return Expr::Int(digits(begin, end).parse::<u64>().unwrap_or(u64::MAX) as i64);
        }
        let whole = digits(begin, end);
        self.next();
        let mut decimals = 0;
        if self.token == Token::Digits {
            decimals = self.end - self.begin;
            end = self.end;
            let text = String::from_utf8_lossy(self.text.get(begin..end).unwrap_or_default()).into_owned();
            self.next();
            return Expr::Float(text.parse().unwrap_or(f64::MAX), decimals.min(30) as u8);
        }
        Expr::Float(whole.parse().unwrap_or(f64::MAX), decimals as u8)
    }

    /// `$@name`; variables of stored programs are not known. Where no name follows, what was taken stays taken.
    fn variable(&mut self) -> Parsed<Expr> {
        let begin = self.begin;
        self.next();
        let is_user = self.sign(b'@');
        if self.token != Token::Name {
            return Ok(None);
        }
        let Some(name) = self.name()? else { return Ok(None) };
        let name = String::from_utf8_lossy(&name).into_owned();
        if is_user {
            return Ok(Some(Expr::UserVariable(name)));
        }
        Err(Refused::Error(told("Unknown XPATH variable at: ", self.from(begin))))
    }

    fn call(&mut self, n: usize) -> Parsed<Expr> {
        let Some((_, function, args_min, args_max)) = FUNCTIONS.get(n).copied() else { return Ok(None) };
        self.next();
        if !self.sign(b'(') {
            return Err(Refused::Syntax);
        }
        let mut args = Vec::new();
        while args.len() < args_max {
            let Some(arg) = self.inside(Self::expr)? else { break };
            args.push(arg);
            if !self.sign(b',') {
                break;
            }
        }
        if args.len() < args_min || !self.sign(b')') {
            return Err(Refused::Syntax);
        }
        let wants_nodes = matches!(function, Function::Count | Function::Sum);
        // These ask for the node at hand.
        let wants_context =
            matches!(function, Function::Last | Function::Position) || (function == Function::StringLength && args.is_empty());
        if (wants_nodes && !args.iter().all(Expr::is_nodes)) || (wants_context && !self.in_predicate) {
            return Err(Refused::Syntax);
        }
        Ok(Some(Expr::Call(function, args)))
    }
}

fn chain(first: Expr, rest: Vec<(Operator, Expr)>) -> Expr {
    if rest.is_empty() { first } else { Expr::Chain(Box::new(first), rest) }
}
