//! What plans and expressions are, as data: `Expr` over the slots of a frame, `Node` and `QueryPlan`, a function's definition, and `Env`,
//! what a running expression may ask. `visit` walks over them.
//!
//! It never knows how an expression is typed, evaluated or printed, nor how a plan is found: those are floors above.
//! Expressions and plans stand on one floor because they hold each other: a subquery is an expression with a plan.

pub mod env;
pub mod expr;
pub mod function;
pub mod json_table;
pub mod literal_values;
pub mod node;
pub mod partition;
pub mod same_index;
pub mod visit;
