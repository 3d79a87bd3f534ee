//! The netlink attributes of the qdisc: `kernel/module/suimon_netlink.h`.

/// The qdisc's name for any discipline.
pub const KIND: &str = "suimon";
/// `TCA_SUIMON_TABLE`: the table of settings, text that ends with a zero.
pub const TABLE: u16 = 1;
/// `TCA_SUIMON_RATE`: the line rate in bits per second, 64 bits.
pub const RATE: u16 = 2;
/// `TCA_SUIMON_GAP`: the frame that fills a gap, 32 bits.
pub const GAP: u16 = 5;
/// `SUIMON_GAP_PAUSE`.
pub const GAP_PAUSE: u32 = 0;
/// `SUIMON_GAP_LOCAL`.
pub const GAP_LOCAL: u32 = 1;
/// `TCA_SUIMON_OVERHEAD`: bytes of a frame on the wire besides the frame itself, 32 bits.
pub const OVERHEAD: u16 = 6;
