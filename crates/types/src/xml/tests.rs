//! Limits. What documents and paths mean is recorded from MySQL: golden `xml`.

use super::*;
use crate::charset::CollationId;
use crate::errno::{ER_OUT_OF_RESOURCES, ER_STACK_OVERRUN_NEED_MORE};
use crate::limits::{XML_LEVELS_MAX, XML_NODES_MAX, XPATH_DEPTH_MAX};
use crate::{Error, Result};

struct Nobody;

impl Host for Nobody {
    fn check(&self) -> Result<()> {
        Ok(())
    }

    fn warn(&self, _: Error) {}

    fn user_variable(&self, _: &str) -> Scalar {
        Scalar::Null
    }
}

fn value(xml: &str, path: &str) -> Result<Option<Vec<u8>>> {
    let document = Document::read(xml.as_bytes(), &|| Ok(()))?.expect("a document");
    Evaluation::new(&document, CollationId::UTF8MB4_BIN, &Nobody).text(&Path::parse(path.as_bytes())?)
}

#[test]
fn levels_of_a_document_end() {
    let nested = |levels| format!("{}{}", "<a>".repeat(levels), "</a>".repeat(levels));
    assert_eq!(value(&nested(XML_LEVELS_MAX), "count(//*)").expect("a value"), Some(b"254".to_vec()));
    let error = Document::read(nested(XML_LEVELS_MAX + 1).as_bytes(), &|| Ok(())).expect("read").err();
    assert_eq!(error.map(|error| (error.position, error.what)), Some((765, String::new())));
}

#[test]
fn nodes_of_a_document_end() {
    let text = "<a/>".repeat(XML_NODES_MAX);
    assert!(Document::read(text.as_bytes(), &|| Ok(())).is_err_and(|error| error.is(&ER_OUT_OF_RESOURCES)));
}

#[test]
fn nodes_that_are_found_end() {
    let levels = 100;
    let xml = format!("{}{}", "<a>".repeat(levels), "</a>".repeat(levels));
    assert!(value(&xml, "count(//*//*//*//*//*)").is_err_and(|error| error.is(&ER_OUT_OF_RESOURCES)));
}

#[test]
fn depth_of_a_path_ends() {
    let nested = |begin: &str, end: &str, n| format!("{}1{}", begin.repeat(n), end.repeat(n));
    for (begin, end) in [("(", ")"), ("-", ""), ("/a[", "]"), ("number(", ")")] {
        assert!(value("<a/>", &nested(begin, end, XPATH_DEPTH_MAX)).is_ok(), "{begin}");
        let error = value("<a/>", &nested(begin, end, XPATH_DEPTH_MAX + 1)).expect_err("too deep");
        assert!(error.is(&ER_STACK_OVERRUN_NEED_MORE), "{begin}: {error}");
    }
    assert_eq!(value("<a/>", &format!("1{}", "+1".repeat(100_000))).expect("a value"), Some(b"100001".to_vec()));
}

/// Seconds, not minutes.
#[test]
fn a_path_of_many_sets_is_read_in_one_pass() {
    assert_eq!(value("<a>1</a>", &format!("count(/a{})", "|/a".repeat(300_000))).expect("a value"), Some(b"1".to_vec()));
    assert!(Path::parse(b"1|/a").is_err() && Path::parse(b"/a|1").is_err());
}

#[test]
fn an_interrupt_ends_reading_and_walking() {
    let stop = || Err(Error::with_message(&crate::errno::ER_QUERY_INTERRUPTED, ""));
    let text = "<a/>".repeat(10_000);
    assert!(Document::read(text.as_bytes(), &stop).is_err());
    struct Stopped;
    impl Host for Stopped {
        fn check(&self) -> Result<()> {
            Err(Error::with_message(&crate::errno::ER_QUERY_INTERRUPTED, ""))
        }
        fn warn(&self, _: Error) {}
        fn user_variable(&self, _: &str) -> Scalar {
            Scalar::Null
        }
    }
    let document = Document::read(text.as_bytes(), &|| Ok(())).expect("read").expect("a document");
    for path in ["count(/a)", "count(//a)", "/a[1]", "sum(//a)", "//a = 1", "/a | /a"] {
        let path = Path::parse(path.as_bytes()).expect("a path");
        assert!(Evaluation::new(&document, CollationId::UTF8MB4_BIN, &Stopped).text(&path).is_err());
    }
}
