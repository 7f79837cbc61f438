//! The nodes of a document: elements, attributes and texts, in the order of the text.
//!
//! | text | nodes (level, kind, text) |
//! |---|---|
//! | `<a x="1">t<b/></a>` | 0 the document; 1 element `a`; 2 attribute `x`; 3 text `1`; 2 text `t`; 2 element `b` |
//!
//! Comments are no nodes, CDATA is a text. `<?…?>` and `<!…>` are elements. Nothing is copied: nodes are ranges of the text.

use crate::errno::ER_OUT_OF_RESOURCES;
use crate::limits::{XML_LEVELS_MAX, XML_NODES_MAX};
use crate::{Error, Result};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeKind {
    /// An element or the document itself.
    Element,
    Attribute,
    Text,
}

#[derive(Clone, Copy, Debug)]
pub struct Node {
    pub kind: NodeKind,
    pub parent: u32,
    /// The first node behind what is inside of this one.
    pub end: u32,
    /// The name, or the text of a text.
    pub name: (u32, u32),
    /// The byte behind the node. That of an element lacks its `>`.
    pub behind: u32,
}

/// Why a text is no document, in MySQL's words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct XmlError {
    pub line: usize,
    pub position: usize,
    pub what: String,
}

impl std::fmt::Display for XmlError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "parse error at line {} pos {}: {}", self.line, self.position, self.what)
    }
}

pub struct Document<'t> {
    text: &'t [u8],
    nodes: Vec<Node>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Token {
    End,
    Unknown,
    Name,
    Quoted,
    Comment,
    Cdata,
    Sign(u8),
}

impl Token {
    fn word(self) -> String {
        match self {
            Token::End => "END-OF-INPUT".to_string(),
            Token::Unknown => "unknown token".to_string(),
            Token::Name => "IDENT".to_string(),
            Token::Quoted => "STRING".to_string(),
            Token::Comment => "COMMENT".to_string(),
            Token::Cdata => "CDATA".to_string(),
            Token::Sign(sign) => format!("'{}'", char::from(sign)),
        }
    }
}

/// Bytes of a name that a message shows.
const SHOWN_BYTES: usize = 31;

/// Nodes between two looks at the interrupt.
const INTERRUPT_EVERY: usize = 4096;

struct Reader<'t> {
    text: &'t [u8],
    at: usize,
    nodes: Vec<Node>,
    /// Nodes that are open, the document first.
    open: Vec<u32>,
}

/// What ends the reading: a text that is no document, or the statement's end.
enum Stop {
    NoDocument(XmlError),
    Error(Error),
}

impl From<Error> for Stop {
    fn from(error: Error) -> Stop {
        Stop::Error(error)
    }
}

impl<'t> Document<'t> {
    /// Reads a text. The inner error is one of the text.
    pub fn read(text: &'t [u8], check: &dyn Fn() -> Result<()>) -> Result<std::result::Result<Document<'t>, XmlError>> {
        let root = Node { kind: NodeKind::Element, parent: 0, end: 0, name: (0, 0), behind: 0 };
        let mut reader = Reader { text, at: 0, nodes: vec![root], open: vec![0] };
        match reader.read(check) {
            Ok(()) => {}
            Err(Stop::NoDocument(error)) => return Ok(Err(error)),
            Err(Stop::Error(error)) => return Err(error),
        }
        let count = reader.nodes.len() as u32;
        if let Some(root) = reader.nodes.first_mut() {
            root.end = count;
            root.behind = text.len() as u32;
        }
        Ok(Ok(Document { text, nodes: reader.nodes }))
    }

    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    pub fn node(&self, n: u32) -> Option<&Node> {
        self.nodes.get(n as usize)
    }

    /// The name of an element or attribute, the text of a text.
    pub fn name(&self, node: &Node) -> &'t [u8] {
        self.text.get(node.name.0 as usize..node.name.1 as usize).unwrap_or_default()
    }

    /// The text with `new` in the place of a node.
    pub fn replaced(&self, n: u32, new: &[u8]) -> Vec<u8> {
        if n == 0 {
            return new.to_vec();
        }
        let Some(node) = self.node(n) else { return self.text.to_vec() };
        let sign = usize::from(node.kind == NodeKind::Element);
        let begin = (node.name.0 as usize).saturating_sub(sign);
        let behind = (node.behind as usize + sign).min(self.text.len());
        [self.text.get(..begin).unwrap_or_default(), new, self.text.get(behind..).unwrap_or_default()].concat()
    }
}

fn begins_name(b: u8) -> bool {
    b.is_ascii_alphabetic() || b == b'_' || b == b':' || b >= 0x80
}

fn continues_name(b: u8) -> bool {
    begins_name(b) || b.is_ascii_digit() || b == b'-' || b == b'.'
}

impl<'t> Reader<'t> {
    fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    fn rest(&self) -> &'t [u8] {
        self.text.get(self.at..).unwrap_or_default()
    }

    /// Moves behind the next `sign`; to the end if there is none.
    fn skip_behind(&mut self, sign: &[u8]) -> bool {
        let found = self.rest().windows(sign.len()).position(|w| w == sign);
        self.at = found.map_or(self.text.len(), |n| self.at + n + sign.len());
        found.is_some()
    }

    /// The next token, and its place in the text; that of a quoted one is what is inside of the quotes.
    fn token(&mut self) -> (Token, usize, usize) {
        while self.peek().is_some_and(|b| matches!(b, b' ' | b'\t' | b'\r' | b'\n')) {
            self.at += 1;
        }
        let begin = self.at;
        let Some(first) = self.peek() else { return (Token::End, begin, begin) };
        if self.rest().starts_with(b"<!--") {
            self.skip_behind(b"-->");
            return (Token::Comment, begin, self.at);
        }
        if self.rest().starts_with(b"<![CDATA[") {
            self.at += b"<![CDATA[".len();
            let inner = self.at;
            let end = if self.skip_behind(b"]]>") { self.at - b"]]>".len() } else { self.at };
            return (Token::Cdata, inner, end);
        }
        match first {
            b'?' | b'=' | b'/' | b'<' | b'>' | b'!' => {
                self.at += 1;
                (Token::Sign(first), begin, self.at)
            }
            b'"' | b'\'' => {
                self.at += 1;
                let inner = self.at;
                let end = if self.skip_behind(&[first]) { self.at - 1 } else { self.at };
                (Token::Quoted, inner, end)
            }
            _ if begins_name(first) => {
                while self.peek().is_some_and(continues_name) {
                    self.at += 1;
                }
                (Token::Name, begin, self.at)
            }
            _ => (Token::Unknown, begin, begin),
        }
    }

    fn error(&self, what: String) -> Stop {
        let before = self.text.get(..self.at).unwrap_or_default();
        let line = 1 + before.iter().filter(|b| **b == b'\n').count();
        let line_begin = before.iter().rposition(|b| *b == b'\n').unwrap_or(0);
        Stop::NoDocument(XmlError { line, position: self.at - line_begin + 1, what })
    }

    fn unexpected(&self, token: Token, wanted: &str) -> Stop {
        self.error(format!("{} unexpected ({wanted} wanted)", token.word()))
    }

    fn add(&mut self, kind: NodeKind, begin: usize, end: usize) -> Result<u32> {
        if self.nodes.len() >= XML_NODES_MAX {
            return Err(Error::new(&ER_OUT_OF_RESOURCES, &[]));
        }
        let n = self.nodes.len() as u32;
        let parent = self.open.last().copied().unwrap_or(0);
        self.nodes.push(Node { kind, parent, end: n + 1, name: (begin as u32, end as u32), behind: end as u32 });
        Ok(n)
    }

    fn enter(&mut self, kind: NodeKind, begin: usize, end: usize) -> std::result::Result<(), Stop> {
        if self.open.len() > XML_LEVELS_MAX {
            return Err(self.error(String::new()));
        }
        let n = self.add(kind, begin, end)?;
        self.open.push(n);
        Ok(())
    }

    /// Closes what is open. `name` is the one that stands in `</name>`: MySQL compares its length only.
    fn leave(&mut self, name: Option<&[u8]>) -> std::result::Result<(), Stop> {
        let open = self.open.last().filter(|n| **n > 0).and_then(|n| self.nodes.get(*n as usize)).copied();
        let shown = |name: &[u8]| String::from_utf8_lossy(name.get(..SHOWN_BYTES).unwrap_or(name)).into_owned();
        if let Some(name) = name {
            let Some(open) = open else {
                return Err(self.error(format!("'</{}>' unexpected (END-OF-INPUT wanted)", shown(name))));
            };
            let wanted = self.text.get(open.name.0 as usize..open.name.1 as usize).unwrap_or_default();
            if wanted.len() != name.len() {
                // MySQL shows the outermost element without its first byte.
                let wanted = if self.open.len() == 2 { wanted.get(1..).unwrap_or_default() } else { wanted };
                return Err(self.error(format!("'</{}>' unexpected ('</{}>' wanted)", shown(name), shown(wanted))));
            }
        }
        if open.is_some()
            && let Some(n) = self.open.pop()
        {
            let end = self.nodes.len() as u32;
            if let Some(node) = self.nodes.get_mut(n as usize) {
                node.end = end;
                node.behind = self.at as u32;
            }
        }
        Ok(())
    }

    fn read(&mut self, check: &dyn Fn() -> Result<()>) -> std::result::Result<(), Stop> {
        let mut looked = 0;
        while self.at < self.text.len() {
            if self.nodes.len() - looked >= INTERRUPT_EVERY {
                looked = self.nodes.len();
                check()?;
            }
            if self.peek() == Some(b'<') {
                self.markup()?;
            } else {
                let begin = self.at;
                self.at = self.rest().iter().position(|b| *b == b'<').map_or(self.text.len(), |n| begin + n);
                self.add(NodeKind::Text, begin, self.at)?;
            }
        }
        if self.open.len() > 1 {
            return Err(self.error("unexpected END-OF-INPUT".to_string()));
        }
        Ok(())
    }

    /// What begins with `<`.
    fn markup(&mut self) -> std::result::Result<(), Stop> {
        let (token, begin, end) = self.token();
        match token {
            Token::Comment => return Ok(()),
            Token::Cdata => {
                self.add(NodeKind::Text, begin, end)?;
                return Ok(());
            }
            _ => {}
        }
        let (mut token, mut begin, mut end) = self.token();
        if token == Token::Sign(b'/') {
            (token, begin, end) = self.token();
            if token != Token::Name {
                return Err(self.unexpected(token, "ident"));
            }
            let name = self.text.get(begin..end).unwrap_or_default();
            self.leave(Some(name))?;
            let (token, ..) = self.token();
            return self.greater(token);
        }
        let is_declaration = token == Token::Sign(b'!');
        let is_instruction = token == Token::Sign(b'?');
        if is_declaration || is_instruction {
            (token, begin, end) = self.token();
        }
        if token != Token::Name {
            return Err(self.unexpected(token, "ident or '/'"));
        }
        self.enter(NodeKind::Element, begin, end)?;
        let mut token = self.attributes(is_declaration)?;
        if token == Token::Sign(b'/') {
            self.leave(None)?;
            token = self.token().0;
        }
        if is_instruction {
            if token != Token::Sign(b'?') {
                return Err(self.unexpected(token, "'?'"));
            }
            self.leave(None)?;
            token = self.token().0;
        }
        if is_declaration {
            self.leave(None)?;
        }
        self.greater(token)
    }

    fn greater(&self, token: Token) -> std::result::Result<(), Stop> {
        if token == Token::Sign(b'>') { Ok(()) } else { Err(self.unexpected(token, "'>'")) }
    }

    /// The attributes of an element; gives the token behind them.
    fn attributes(&mut self, is_declaration: bool) -> std::result::Result<Token, Stop> {
        loop {
            let (token, begin, end) = self.token();
            if token != Token::Name && !(token == Token::Quoted && is_declaration) {
                return Ok(token);
            }
            match self.token().0 {
                Token::Sign(b'=') => {
                    let (token, from, to) = self.token();
                    if !matches!(token, Token::Name | Token::Quoted) {
                        return Err(self.unexpected(token, "ident or string"));
                    }
                    self.enter(NodeKind::Attribute, begin, end)?;
                    self.add(NodeKind::Text, from, to)?;
                    self.leave(None)?;
                }
                Token::Name => {
                    self.enter(NodeKind::Attribute, begin, end)?;
                    self.leave(None)?;
                }
                Token::Quoted if is_declaration => {}
                other => return Ok(other),
            }
        }
    }
}
