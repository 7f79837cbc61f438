//! Reads `--name value` and `--name` options, so that the tools need no crate for it.

/// The options of one command, with what was not asked for yet.
pub struct Flags {
    left: Vec<String>,
}

impl Flags {
    pub fn new(args: &[String]) -> Flags {
        Flags { left: args.to_vec() }
    }

    /// Whether `name` was given.
    pub fn switch(&mut self, name: &str) -> bool {
        let before = self.left.len();
        self.left.retain(|arg| arg != name);
        self.left.len() != before
    }

    /// The value after `name`, or after `name=`.
    pub fn text(&mut self, name: &str) -> Result<Option<String>, String> {
        let prefix = format!("{name}=");
        let Some(at) = self.left.iter().position(|arg| arg == name || arg.starts_with(&prefix)) else { return Ok(None) };
        let arg = self.left.remove(at);
        if let Some(value) = arg.strip_prefix(&prefix) {
            return Ok(Some(value.to_string()));
        }
        if at == self.left.len() {
            return Err(format!("{name} needs a value"));
        }
        Ok(Some(self.left.remove(at)))
    }

    pub fn number(&mut self, name: &str, default: u64) -> Result<u64, String> {
        match self.text(name)? {
            None => Ok(default),
            Some(text) => text.parse().map_err(|_| format!("{name}: not a number: {text}")),
        }
    }

    /// A list separated by commas.
    pub fn list(&mut self, name: &str) -> Result<Option<Vec<String>>, String> {
        Ok(self
            .text(name)?
            .map(|text| text.split(',').map(|part| part.trim().to_string()).filter(|part| !part.is_empty()).collect()))
    }

    /// Fails if there is an option that nobody asked for.
    pub fn finish(self) -> Result<(), String> {
        match self.left.first() {
            None => Ok(()),
            Some(arg) => Err(format!("unknown option {arg}")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Flags;

    #[test]
    fn reads_both_forms_and_reports_what_is_left() {
        let args: Vec<String> = ["--quick", "--runs", "3", "--only=a,b"].map(String::from).to_vec();
        let mut flags = Flags::new(&args);
        assert!(flags.switch("--quick"));
        assert_eq!(flags.number("--runs", 1), Ok(3));
        assert_eq!(flags.list("--only"), Ok(Some(vec!["a".to_string(), "b".to_string()])));
        assert_eq!(flags.number("--seconds", 8), Ok(8));
        assert_eq!(flags.finish(), Ok(()));
        assert!(Flags::new(&args).finish().is_err());
    }
}
