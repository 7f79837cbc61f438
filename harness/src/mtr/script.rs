//! The language of mysqltest, read into commands.
//!
//! A command ends at the delimiter (`;` until `delimiter` changes it), or at the end of the line if it begins with `--`. What begins with
//! none of mysqltest's words is SQL. `if` and `while` have a body in braces, `write_file` and its like a text up to a line that says EOF.
//! A script is bytes in any charset: each byte is one `char` here, and becomes the same byte again when it is sent.

use std::str::Lines;

#[derive(Debug, PartialEq)]
pub struct Command {
    pub line: usize,
    /// mysqltest's word in lower case, or empty for SQL.
    pub word: String,
    /// What stands behind the word; the condition of `if` and `while`.
    pub text: String,
    /// Of `if` and `while`.
    pub body: Vec<Command>,
}

/// mysqltest's words. Those that are of no use here are known so that they are not sent as SQL.
const WORDS: &[&str] = &[
    "append_file",
    "assert",
    "cat_file",
    "change_user",
    "character_set",
    "chmod",
    "connect",
    "connection",
    "copy_file",
    "copy_files_wildcard",
    "dec",
    "delimiter",
    "die",
    "diff_files",
    "dirty_close",
    "disable_abort_on_error",
    "disable_async_client",
    "disable_connect_log",
    "disable_info",
    "disable_metadata",
    "disable_ps_protocol",
    "disable_query_log",
    "disable_reconnect",
    "disable_result_log",
    "disable_session_track_info",
    "disable_testcase",
    "disable_warnings",
    "disconnect",
    "echo",
    "enable_abort_on_error",
    "enable_async_client",
    "enable_connect_log",
    "enable_info",
    "enable_metadata",
    "enable_ps_protocol",
    "enable_query_log",
    "enable_reconnect",
    "enable_result_log",
    "enable_session_track_info",
    "enable_testcase",
    "enable_warnings",
    "end_timer",
    "error",
    "eval",
    "exec",
    "exec_in_background",
    "execw",
    "exit",
    "expr",
    "file_exists",
    "force-cpdir",
    "force-rmdir",
    "horizontal_results",
    "if",
    "inc",
    "let",
    "list_files",
    "list_files_append_file",
    "list_files_write_file",
    "lowercase_result",
    "mkdir",
    "move_file",
    "output",
    "partially_sorted_result",
    "perl",
    "ping",
    "query",
    "query_attributes",
    "query_get_value",
    "query_horizontal",
    "query_vertical",
    "real_sleep",
    "reap",
    "remove_file",
    "remove_files_wildcard",
    "replace_column",
    "replace_numeric_round",
    "replace_regex",
    "replace_result",
    "reset_connection",
    "result_format",
    "rmdir",
    "save_master_pos",
    "send",
    "send_eval",
    "send_quit",
    "send_shutdown",
    "shutdown_server",
    "skip",
    "skip_if_hypergraph",
    "sleep",
    "sorted_result",
    "source",
    "start_timer",
    "sync_slave_with_master",
    "sync_with_master",
    "vertical_results",
    "wait_for_slave_to_stop",
    "while",
    "write_file",
];

/// Words whose text stands in the lines behind them.
const WITH_LINES: &[&str] = &["append_file", "perl", "write_file"];

pub fn parse(script: &[u8]) -> Result<Vec<Command>, String> {
    let text: String = script.iter().copied().map(char::from).collect();
    let mut reader = Reader { lines: text.lines(), line: 0, rest: "", delimiter: ";".into() };
    reader.block(false)
}

struct Reader<'a> {
    lines: Lines<'a>,
    /// The number of the line that was read last, and what of it is not read yet.
    line: usize,
    rest: &'a str,
    delimiter: String,
}

/// What ended a piece of text.
#[derive(PartialEq)]
enum End {
    Delimiter,
    /// `{` behind `if` or `while`.
    Brace,
}

impl<'a> Reader<'a> {
    fn next(&mut self) -> Option<&'a str> {
        self.line += 1;
        self.lines.next()
    }

    /// Commands up to `}` or the end.
    fn block(&mut self, inner: bool) -> Result<Vec<Command>, String> {
        let mut commands = Vec::new();
        loop {
            let rest = self.rest.trim_start();
            if rest.is_empty() || rest.starts_with('#') {
                let Some(line) = self.next() else { break };
                self.rest = line;
            } else if let Some(behind) = rest.strip_prefix('}') {
                self.rest = behind;
                if inner {
                    return Ok(commands);
                }
            } else if let Some(behind) = rest.strip_prefix(self.delimiter.as_str()) {
                self.rest = behind;
            } else if let Some(text) = rest.strip_prefix("--") {
                self.rest = "";
                self.lone_line(text.trim(), &mut commands)?;
            } else {
                let begun = self.line;
                self.rest = rest;
                let (text, end) = self.up_to_delimiter();
                self.add(begun, &text, end, &mut commands)?;
            }
        }
        if inner { Err("a block is not closed".into()) } else { Ok(commands) }
    }

    fn lone_line(&mut self, text: &str, commands: &mut Vec<Command>) -> Result<(), String> {
        let (word, _) = split_word(text);
        if !WORDS.contains(&word.as_str()) {
            return Ok(()); // a comment
        }
        let end = if text.ends_with('{') { End::Brace } else { End::Delimiter };
        self.add(self.line, text.trim_end_matches('{'), end, commands)
    }

    /// Reads on up to the delimiter, or to `{` of a condition.
    fn up_to_delimiter(&mut self) -> (String, End) {
        let conditional = matches!(split_word(self.rest).0.as_str(), "if" | "while");
        let mut text = String::new();
        let mut quote = None;
        loop {
            let line = std::mem::take(&mut self.rest);
            let mut escaped = false;
            for (at, c) in line.char_indices() {
                match quote {
                    None if line[at..].starts_with(self.delimiter.as_str()) => {
                        self.rest = &line[at + self.delimiter.len()..];
                        return (text + &line[..at], End::Delimiter);
                    }
                    None if conditional && c == '{' => {
                        self.rest = &line[at + 1..];
                        return (text + &line[..at], End::Brace);
                    }
                    None if matches!(c, '\'' | '"' | '`') && !escaped => quote = Some(c),
                    Some(open) if open == c && !escaped => quote = None,
                    _ => {}
                }
                escaped = c == '\\' && !escaped;
            }
            text.push_str(line);
            text.push('\n');
            match self.next() {
                Some(next) => self.rest = next,
                None => return (text, End::Delimiter),
            }
        }
    }

    fn add(&mut self, line: usize, text: &str, end: End, commands: &mut Vec<Command>) -> Result<(), String> {
        let (mut word, mut rest) = split_word(text);
        if !WORDS.contains(&word.as_str()) {
            (word, rest) = (String::new(), text);
        }
        let mut rest = rest.trim().to_string();
        let mut body = Vec::new();
        match word.as_str() {
            "if" | "while" => {
                if end == End::Delimiter {
                    self.skip_to_brace()?;
                }
                body = self.block(true)?;
            }
            "delimiter" => {
                self.delimiter = rest;
                return Ok(());
            }
            word if WITH_LINES.contains(&word) => {
                let terminator = match rest.split_whitespace().last().map(|last| last.trim_end_matches(';')) {
                    Some(last) if !last.is_empty() && (word == "perl" || rest.split_whitespace().count() > 1) => last.to_string(),
                    _ => "EOF".to_string(),
                };
                while let Some(line) = self.next().filter(|line| line.trim_end() != terminator) {
                    rest.push('\n');
                    rest.push_str(line);
                }
            }
            _ => {}
        }
        commands.push(Command { line, word, text: rest, body });
        Ok(())
    }

    /// The brace of `--if (…)`, alone on a line.
    fn skip_to_brace(&mut self) -> Result<(), String> {
        match self.next().map(|line| line.trim_start_matches("--").trim()) {
            Some("{") => Ok(()),
            other => Err(format!("line {}: {{ is missing: {other:?}", self.line)),
        }
    }
}

/// The first word in lower case, and what stands behind it.
fn split_word(text: &str) -> (String, &str) {
    let text = text.trim_start();
    let end = text.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_' || c == '-')).unwrap_or(text.len());
    (text[..end].to_ascii_lowercase(), &text[end..])
}

#[cfg(test)]
mod tests {
    use super::{Command, parse};

    fn words(script: &str) -> Vec<(usize, String, String)> {
        let flat = |command: Command| (command.line, command.word, command.text);
        parse(script.as_bytes()).unwrap().into_iter().map(flat).collect()
    }

    fn of(line: usize, word: &str, text: &str) -> (usize, String, String) {
        (line, word.into(), text.into())
    }

    #[test]
    fn commands_end_at_delimiters_and_lines() {
        assert_eq!(
            words("--error 1064\nselect\n ';';  select 2;\n# no\n"),
            [of(1, "error", "1064"), of(2, "", "select\n ';'"), of(3, "", "select 2")]
        );
        assert_eq!(
            words("delimiter //;\nselect 1; select 2//\ndelimiter ;//\nselect 3;"),
            [of(2, "", "select 1; select 2"), of(4, "", "select 3")]
        );
        assert_eq!(
            words("let $a= 1;\n-- this is a comment\nselect 'it\\'s; ';"),
            [of(1, "let", "$a= 1"), of(3, "", "select 'it\\'s; '")]
        );
    }

    #[test]
    fn bodies_and_lines_belong_to_their_command() {
        let commands = parse(b"if ($a)\n{\n  --echo yes\n  while (`select 1`) { select 1; }\n}\nselect 2;").unwrap();
        assert_eq!(commands.len(), 2);
        assert_eq!(commands[0].body.len(), 2);
        assert_eq!(commands[0].body[1].text, "(`select 1`)");
        assert_eq!(words("--write_file $f END\na;\nEND\nselect 1;"), [of(1, "write_file", "$f END\na;"), of(4, "", "select 1")]);
    }
}
