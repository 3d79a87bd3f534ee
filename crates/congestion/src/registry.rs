//! One line per algorithm; scenarios, tests and catalogue read this list.

use crate::{Algorithm, Hooks};

/// Declares the C tables and lists them, in alphabetical order of name. The second column is the name in the C
/// source; with a prefix it is the name in the kernel.
macro_rules! registry {
    ($($name:literal, $kernel:literal, $table:ident, $summary:literal;)*) => {
        unsafe extern "C" {
            $(safe static $table: Hooks;)*
        }
        /// Every algorithm that is linked in.
        pub(crate) static ALGORITHMS: [Algorithm; [$($name),*].len()] =
            [$(Algorithm {
                name: $name,
                kernel_name: concat!("sui_", $kernel),
                summary: $summary,
                text: include_str!(concat!("../algorithms/", $name, ".c")),
                example: include_str!(concat!("../../../scenarios/congestion/", $name, ".toml")),
                ops: &$table,
                #[cfg(feature = "bpf")]
                bpf_object: include_bytes!(concat!(env!("OUT_DIR"), "/", $name, ".bpf.o")),
            }),*];
    };
}

registry! {
    "bbr", "bbr", cc_bbr, "BBR version 1, Cardwell 2016: paces at the bandwidth that it measures";
    "bbr3", "bbr3", cc_bbr3,
        "BBR version 3, draft-ietf-ccwg-bbr: learns how much in flight the path bears";
    "bic", "bic", cc_bic, "BIC, Xu 2004: binary search towards the window of the last loss";
    "cubic", "cubic", cc_cubic, "CUBIC as in Linux 6: a cubic function of time, with HyStart (Ha 2008)";
    "cubic-rfc9438", "cubic9438", cc_cubic9438, "CUBIC of RFC 9438, with HyStart++ (RFC 9406)";
    "dctcp", "dctcp", cc_dctcp,
        "DCTCP, RFC 8257: falls by the share of packets that carry congestion marks";
    "highspeed", "highspeed", cc_highspeed,
        "HighSpeed TCP, RFC 3649: increase and decrease by the window";
    "illinois", "illinois", cc_illinois,
        "Illinois, Liu 2006: loss lowers the window, delay sets by how much it moves";
    "newreno", "newreno", cc_newreno,
        "standard TCP, RFC 5681: one packet a round trip, halved at a loss";
    "scalable", "scalable", cc_scalable,
        "Scalable TCP, Kelly 2003: 1 % a round trip, an eighth off at a loss";
    "scalable50", "scalable50", cc_scalable50,
        "Scalable TCP as in Linux 2.6.13: a packet for every 50 ACKs";
    "sluice", "sluice", cc_sluice,
        "for lossless Ethernet: controls the queueing delay by the logarithm of a paced rate";
    "vegas", "vegas", cc_vegas, "Vegas, Brakmo 1995: keeps two to four packets of its own in queues";
}
