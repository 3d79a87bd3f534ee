//! A scenario: text in, a plan out.

pub mod plan;

pub use plan::Plan;
