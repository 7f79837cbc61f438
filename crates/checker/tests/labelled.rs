//! Small histories of known kind, in `data/*.txt`, and those of Elle's users, in `data/edn`.
//!
//! ```text
//! case NAME
//! T1 [@BEGIN-END] [client N] [aborted | unknown]: append x 1; r x [1]; w y 1; r y nil; add p 1; where p [1 2]
//! open            other writes happened before the history
//! timeless        the moments say nothing
//! => KIND ..., or none
//! ```
//! Without moments, transactions overlap; without a number, each is a client of its own. What is expected follows
//! from the definitions, and was not taken from what the checker says.

use std::path::Path;

use vaquita_checker::load::check_edn;
use vaquita_checker::{Builder, Level, Mop, Options, Outcome, Report, check};

struct Case {
    name: String,
    txns: Vec<String>,
    options: Options,
    expected: Vec<String>,
}

fn cases() -> Vec<Case> {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data");
    let mut files: Vec<_> = std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| path.extension().is_some_and(|extension| extension == "txt"));
    files.sort();
    let mut cases: Vec<Case> = Vec::new();
    for file in files {
        let text = std::fs::read_to_string(&file).unwrap();
        for line in text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#')) {
            if let Some(name) = line.strip_prefix("case ") {
                let name = format!("{}: {name}", file.file_stem().unwrap().to_string_lossy());
                cases.push(Case { name, txns: Vec::new(), options: Options::default(), expected: Vec::new() });
                continue;
            }
            let case = cases.last_mut().expect("a file begins with a case");
            match line.strip_prefix("=> ") {
                Some("none") => {}
                Some(kinds) => {
                    case.expected = kinds.split_whitespace().map(str::to_string).collect();
                    case.expected.sort();
                }
                None if line == "open" => case.options.closed = false,
                None if line == "timeless" => case.options = Options { real_time: false, process: false, ..case.options },
                None => case.txns.push(line.to_string()),
            }
        }
    }
    cases
}

fn run(case: &Case) -> Report {
    let mut builder = Builder::new();
    for (number, line) in (1..).zip(&case.txns) {
        let (head, body) = line.split_once(':').unwrap_or_else(|| panic!("{line}"));
        let mut words = head.split_whitespace();
        let label: u32 = words.next().and_then(|word| word.strip_prefix('T')).and_then(|n| n.parse().ok()).expect("a name");
        let (mut moments, mut client, mut outcome) = ((0, 1000), 1000 + number, Outcome::Ok);
        while let Some(word) = words.next() {
            match word {
                "aborted" => outcome = Outcome::Fail,
                "unknown" => outcome = Outcome::Info,
                "client" => client = words.next().unwrap().parse().unwrap(),
                _ => {
                    let (begin, end) = word.strip_prefix('@').and_then(|word| word.split_once('-')).unwrap();
                    moments = (begin.parse().unwrap(), end.parse().unwrap());
                }
            }
        }
        let mops: Vec<Mop> =
            body.split(';').map(str::trim).filter(|mop| !mop.is_empty()).map(|mop| parse_mop(mop, &mut builder)).collect();
        builder.push(label, client, outcome, moments.0, Some(moments.1), &mops);
    }
    check(&builder.finish().unwrap(), &case.options)
}

fn parse_mop(text: &str, builder: &mut Builder) -> Mop {
    let mut parts = text.splitn(3, ' ');
    let (Some(function), Some(key), Some(value)) = (parts.next(), parts.next(), parts.next()) else { panic!("{text}") };
    let key = builder.key(key);
    let list = || {
        let inside = value.strip_prefix('[').and_then(|value| value.strip_suffix(']'))?;
        Some(inside.split_whitespace().map(|item| item.parse().unwrap()).collect::<Vec<i64>>())
    };
    let number = || value.parse().unwrap_or_else(|_| panic!("{text}"));
    match (function, list()) {
        ("append", _) => Mop::Append(key, number()),
        ("w", _) => Mop::Write(key, number()),
        ("add", _) => Mop::Add(key, number()),
        ("where", Some(set)) => Mop::ReadSet(key, set),
        ("r", Some(list)) => Mop::ReadList(key, list),
        ("r", None) if value == "nil" => Mop::Read(key, None),
        ("r", None) => Mop::Read(key, Some(number())),
        _ => panic!("{text}"),
    }
}

#[test]
fn every_labelled_history_is_classified() {
    let cases = cases();
    assert!(cases.len() >= 100, "{}", cases.len());
    let mut failures = String::new();
    for case in &cases {
        let report = run(case);
        if report.names() != case.expected || !report.gaps.is_empty() {
            failures += &format!("{}\n  expected {:?}, found {:?}\n{report}\n", case.name, case.expected, report.names());
        }
    }
    assert!(failures.is_empty(), "of {} histories:\n{failures}", cases.len());
}

/// A time that is reversed leaves the same dependencies, so no case may depend on the order in which it is written.
#[test]
fn the_order_of_lines_means_nothing() {
    for mut case in cases() {
        case.txns.reverse();
        assert_eq!(run(&case).names(), case.expected, "{}", case.name);
    }
}

#[test]
fn histories_of_elle() {
    let expected: [(&str, &[&str]); 6] = [
        ("list-append-gh-30", &["G2-item"]),
        ("paper-example", &["G-single"]),
        ("rw-register", &[]),
        // The second read begins after the first has ended, and lacks what that one saw.
        ("long-fork", &["G-single-realtime", "long-fork"]),
        ("bank-neg", &[]),
        ("comments", &["G-single-realtime"]),
    ];
    for (name, kinds) in expected {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/data/edn/{name}.edn"));
        let text = std::fs::read_to_string(path).unwrap();
        // They are parts of longer histories.
        let report = check_edn(&text, &Options { closed: false, ..Options::default() }).unwrap();
        assert_eq!(report.names(), kinds, "{name}: {report}");
    }
}

#[test]
fn levels_forbid_what_they_should() {
    let forbidden = |kinds: &str| {
        let case = cases().into_iter().find(|case| case.expected.join(" ") == kinds).expect(kinds);
        let report = run(&case);
        Level::ALL.map(|level| report.forbidden(level).next().is_some())
    };
    assert_eq!(forbidden("G0"), [true, true, true]);
    assert_eq!(forbidden("G1a"), [true, true, true]);
    assert_eq!(forbidden("G1b"), [true, true, true]);
    assert_eq!(forbidden("G1c"), [true, true, true]);
    assert_eq!(forbidden("G-single"), [false, true, true]);
    assert_eq!(forbidden("G-single lost-update"), [false, true, true]);
    assert_eq!(forbidden("long-fork"), [false, true, true]);
    assert_eq!(forbidden("G2-item"), [false, false, true]);
    assert_eq!(forbidden("G2"), [false, false, true]);
}
