//! An entry of a log's file.

/// Bytes for a file. What `database` names is the database of the entry: if it is another than that of the entry before it in the file, `use` stands
/// between both parts, as in MySQL's slow log.
#[derive(Clone, Copy, Debug, Default)]
pub struct Entry<'e> {
    pub first: &'e [u8],
    pub database: Option<&'e str>,
    pub rest: &'e [u8],
}

impl Entry<'_> {
    pub fn bytes(&self) -> usize {
        let used = self.database.map_or(0, |database| "use ;\n".len() + database.len());
        self.first.len() + used + self.rest.len()
    }

    /// Appends it behind an entry of the database `last`.
    pub fn put(&self, out: &mut Vec<u8>, last: &mut String) {
        out.extend_from_slice(self.first);
        if let Some(database) = self.database.filter(|database| database != last) {
            out.extend_from_slice(b"use ");
            out.extend_from_slice(database.as_bytes());
            out.extend_from_slice(b";\n");
            last.clear();
            last.push_str(database);
        }
        out.extend_from_slice(self.rest);
    }
}
