//! What does not fit into memory: sorted runs in files without a name, and what is made of them.
//!
//! | file | for |
//! |---|---|
//! | `sorted_run` | a file of sorted runs, and how they are read, cut and merged |
//! | `scratch` | the part of a transaction's writes that lies in such a file, in segments |
//! | `sorter` | any number of entries in the order of their keys |
//! | `row_store` | any number of rows in the order in which they were added |
//! | `sorted_files` | runs merged into files that RocksDB ingests |
//!
//! It may use `base`, `encoding`, `rocks` and `locks` (for KILL). It never knows a transaction, a table or a commit.

pub mod row_store;
pub mod scratch;
pub mod sorted_files;
pub mod sorted_run;
pub mod sorter;
