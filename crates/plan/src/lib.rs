//! From a parsed statement to a plan: binding, typing, optimizing. Pure: no storage,
//! no clock, no session; what it needs of them comes through the traits `Catalog`
//! (tables and statistics) and `Env` (everything a running expression may ask).
//!
//! A statement's life here:
//! 1. `bind` resolves names against the `Catalog`, gives every expression a type and
//!    turns the AST into `expr::Expr` over numbered *slots*.
//! 2. The query is then a tree (`logical`): blocks, set operations, the queries of derived tables and of expressions. Named rewrites make
//!    it easier to plan (`rewrite`), those inside before the one around them.
//! 3. `optimize` walks over it once more and chooses join orders and access paths.
//! 4. The result is a `node::Plan` that the executor runs and that a prepared
//!    statement keeps. `Expr::eval` computes expressions over a frame of slots.
//!
//! Floors, each of which uses those before it only (`cargo xtask tidy`): `locale`, `data_type`, `catalog`, `uses`, `switches` and `settings`, `tree` (`expr`, `node`, `env`,
//! `function`, `visit`), `text`, `eval`, `typing`, `func`, `partition`, `explain`, `logical`, `rewrite`, `optimize`, `bind`; beside them `params`,
//! `bounds` and `parallel`, which read finished plans.

#![forbid(unsafe_code)]

pub mod bind;
pub mod bounds;
pub mod catalog;
pub mod choices;
pub mod data_type;
pub mod eval;
pub mod explain;
pub mod func;
pub mod locale;
pub(crate) mod logical;
pub(crate) mod optimize;
pub mod parallel;
pub mod param_texts;
pub mod params;
pub mod partition;
pub mod rewrite;
pub mod settings;
pub mod switches;
pub mod text;
pub mod trace;
mod tree;
pub mod typing;
pub mod uses;
pub mod why;

pub use tree::{env, expr, function, json_table, literal_values, node, same_index, visit};
