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
            [$(Algorithm {
                name: $name,
                kernel_name: concat!("sui_", $name),
                summary: $summary,
                ops: &$table,
                #[cfg(feature = "bpf")]
                bpf_object: include_bytes!(concat!(env!("OUT_DIR"), "/", $name, ".bpf.o")),
            }),*];
    };
}

registry! {
    "bic", cc_bic, "BIC, Xu 2004: binary search towards the window of the last loss";
    "cubic", cc_cubic, "CUBIC, RFC 9438: a cubic function of time, with HyStart++ (RFC 9406)";
    "highspeed", cc_highspeed, "HighSpeed TCP, RFC 3649: increase and decrease by the window";
    "newreno", cc_newreno, "standard TCP, RFC 5681: one packet a round trip, halved at a loss";
    "scalable", cc_scalable, "Scalable TCP, Kelly 2003: 1 % a round trip, an eighth off at a loss";
    "scalable50", cc_scalable50, "Scalable TCP as in Linux 2.6.13: a packet for every 50 ACKs";
}
