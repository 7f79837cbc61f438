//! `CollationId`: MySQL's number of a collation, as the protocol and the catalog carry it.

/// MySQL's collation number (`ID` of `information_schema.COLLATIONS`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CollationId(pub u16);

impl CollationId {
    pub const BINARY: CollationId = CollationId(63);
    pub const ASCII_GENERAL_CI: CollationId = CollationId(11);
    pub const ASCII_BIN: CollationId = CollationId(65);
    pub const LATIN1_SWEDISH_CI: CollationId = CollationId(8);
    pub const LATIN1_BIN: CollationId = CollationId(47);
    pub const LATIN1_GENERAL_CI: CollationId = CollationId(48);
    pub const UTF8MB3_GENERAL_CI: CollationId = CollationId(33);
    pub const UTF8MB3_BIN: CollationId = CollationId(83);
    pub const UTF8MB3_UNICODE_CI: CollationId = CollationId(192);
    pub const UTF8MB4_GENERAL_CI: CollationId = CollationId(45);
    pub const UTF8MB4_BIN: CollationId = CollationId(46);
    pub const UTF8MB4_UNICODE_CI: CollationId = CollationId(224);
    pub const UTF8MB4_UNICODE_520_CI: CollationId = CollationId(246);
    pub const UTF8MB4_0900_AI_CI: CollationId = CollationId(255);
    pub const UTF8MB4_0900_AS_CS: CollationId = CollationId(278);
    pub const UTF8MB4_0900_AS_CI: CollationId = CollationId(305);
    pub const UTF8MB4_0900_BIN: CollationId = CollationId(309);
}

impl Default for CollationId {
    /// The server's default collation.
    fn default() -> CollationId {
        CollationId::UTF8MB4_0900_AI_CI
    }
}
