//! A discipline's settings as text: what a kernel reads when the discipline is created or changed.
//!
//! One entry per line, the key first, then a space and the value. Numbers are in base units: bytes, bits per
//! second, picoseconds, and 2^-32 of the whole. The first line names the discipline. `end` closes a class, a
//! filter and a discipline within another.
//!
//! ```text
//! psp
//! gaps true
//! class bulk
//! rate 62500000
//! queue fifo
//! packets 100
//! end
//! end
//! filter bulk
//! destination 10.0.0.0/8
//! end
//! ```
//!
//! A kernel does not need the scenario language: that is read outside, where errors show the line of a file.

mod error;
mod filter;
mod looks;
mod read;
mod value;
mod write;

pub use error::{Error, Reason};
pub use looks::Looks;
pub use read::read;
pub use write::{Unwritable, write};

/// The line that ends a class, a filter or an inner discipline.
const END: &str = "end";
/// The key of a class; its value is the class's name.
const CLASS: &str = "class";
/// The key of a class's parent, the first line of the class.
const PARENT: &str = "parent";
/// The key of a filter; its value is the name of the class that the filter leads to.
const FILTER: &str = "filter";
/// The key of a filter's priority.
const PRIORITY: &str = "priority";
