//! A fuzzer of XML documents and XPath for stable Rust: what is read is asked what is parsed, and nodes are replaced.
//!
//! `cargo run -p vaquita-types --example fuzz_xml -- <seconds> [seed]`. A finding is a panic, or a node that is replaced by itself and
//! leaves another text; the seed and the input are printed and repeat it.

mod mutation;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

use vaquita_types::charset::CollationId;
use vaquita_types::xml::{Document, Evaluation, Host, Path, Scalar};
use vaquita_types::{Error, Result};

use mutation::{Random, mutate};

const DOCUMENTS: [&str; 6] = [
    "<a>t<b x=\"1\" y='2'>u</b><b>v</b><c/></a>",
    "<?xml version=\"1.0\"?><!-- c --><!DOCTYPE a SYSTEM \"x\"><a><![CDATA[<y>]]>z</a>",
    "<r><i n=\"1\">10</i><i n=\"2\">2.5</i><i n=\"3\"><i>7</i></i></r>",
    "<a><a><a><a><a>x</a></a></a></a></a>",
    "<a:b c:d=e f>&lt;</a:b >",
    "text <a / > more",
];

const PATHS: [&str; 10] = [
    "/a/b[@x=1]/text()|//c",
    "count(//*)+sum(//i) div 2 mod 3",
    "//i[position()<last() and @n>1][1]",
    "concat(/a/b[1],\"x\",substring(//b,2,3),string-length(/a))",
    "ancestor-or-self::*/descendant::node()/../@*",
    "not(contains(/a,'t')) or true() and /r/i>=2",
    "-(1.50*2)-floor(1.5)+ceiling(//i)+round(number())",
    "$@v[.=1]",
    "(/a/b|/a)//preceding::b",
    "boolean(//b[../c])",
];

/// Bytes that mean something to the readers.
const EDGES: &[u8] = b"<>/=\"'!?-[]()@*|.,:$+ \n\0\xff";

struct Nobody;

impl Host for Nobody {
    fn check(&self) -> Result<()> {
        Ok(())
    }

    fn warn(&self, _: Error) {}

    fn user_variable(&self, _: &str) -> Scalar {
        Scalar::Int(1)
    }
}

fn run(text: &[u8], path: &[u8]) {
    let Ok(Ok(document)) = Document::read(text, &|| Ok(())) else { return };
    for n in 1..document.nodes().len() as u32 {
        let marked = document.replaced(n, b"");
        assert!(marked.len() <= text.len());
    }
    assert_eq!(document.replaced(0, text), text);
    let Ok(path) = Path::parse(path) else { return };
    for collation in [CollationId::UTF8MB4_BIN, CollationId::BINARY] {
        let evaluation = Evaluation::new(&document, collation, &Nobody);
        let _ = evaluation.text(&path);
        let _ = evaluation.lone_node(&path);
    }
}

fn main() {
    let args: Vec<String> = std::env::args().collect();
    let seconds = args.get(1).and_then(|s| s.parse().ok()).unwrap_or(60);
    let seed = args.get(2).and_then(|s| s.parse().ok()).unwrap_or(u64::from(std::process::id()));
    println!("fuzz xml: {seconds} s, seed {seed}");
    let of = |texts: &[&str]| texts.iter().map(|text| text.as_bytes().to_vec()).collect::<Vec<_>>();
    let (documents, paths) = (of(&DOCUMENTS), of(&PATHS));
    let mut random = Random(seed);
    let end = Instant::now() + Duration::from_secs(seconds);
    let mut count = 0u64;
    while Instant::now() < end {
        let (text, path) = (mutate(&mut random, &documents, EDGES), mutate(&mut random, &paths, EDGES));
        if catch_unwind(AssertUnwindSafe(|| run(&text, &path))).is_err() {
            eprintln!("finding: seed {seed}, document {text:?}, path {path:?}");
            std::process::exit(1);
        }
        count += 1;
    }
    println!("{count} inputs");
}
