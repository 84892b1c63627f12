//! Jobs as rows of Arrow batches: the hash fields of many jobs become columns, with JSON read into their types.

mod batch;
mod column;
mod json;
mod plan;
mod scalar;
#[cfg(test)]
mod tests;

pub use batch::{decode, Row};
pub use plan::Plan;
