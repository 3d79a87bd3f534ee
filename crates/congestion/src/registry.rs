//! One line per algorithm; scenarios, tests and catalogue read this list.

use crate::{Algorithm, Ops};

/// Declares the C tables and lists them, in alphabetical order of name.
macro_rules! registry {
    ($($name:literal, $table:ident, $summary:literal;)*) => {
        unsafe extern "C" {
            $(safe static $table: Ops;)*
        }
        /// Every algorithm that is linked in.
        pub(crate) static ALGORITHMS: [Algorithm; [$($name),*].len()] =
            [$(Algorithm { name: $name, summary: $summary, ops: &$table }),*];
    };
}

registry! {
    "newreno", cc_newreno, "standard TCP, RFC 5681: one packet a round trip, halved at a loss";
    "scalable", cc_scalable, "Scalable TCP, Kelly 2003: 1 % a round trip, an eighth off at a loss";
}
