//! Results of a WAN emulator.

use base::Rate;

use crate::Named;
use crate::declare::measured;
use crate::mean::share;
use crate::totals::{Drops, PortTotals};

measured! {
    /// A WAN emulator: its output ports together.
    pub struct EmulatorSummary at "";
    /// Sums up the ports of an emulator of this rate over `seconds` seconds.
    of(ports: &[&PortTotals], rate: Rate, seconds: f64)
    let drops = Drops::of_all(ports.iter().map(|port| &port.drops));
    let counted = || ports.iter().map(|port| &port.statistics);
    {
        /// Packets dropped at any of its ports.
        drops: u64 = drops.total(), Number Sum Lower "drops";
        /// Packets dropped, by reason.
        drops_by_reason: Named<u64> = drops.by_reason(),
            [each] Number Sum Lower "Packets dropped for this reason.";
        /// Packets sent.
        packets: u64 = counted().map(|s| s.sent_packets).sum(), Number Sum Neither "packets".row(1);
        /// Their bytes, Ethernet header and FCS included.
        bytes: u64 = counted().map(|s| s.sent_bytes).sum(), Size Sum Neither "bytes"
            what "Bytes sent, Ethernet header and FCS included.".row(1);
        /// The busiest port's share of the bandwidth limit, in frame bytes.
        utilisation: f64 =
            counted().map(|s| share(s.sent_bytes, rate, seconds)).fold(0.0, f64::max),
            Share Max Neither "utilisation";
        /// The longest any of its buffers ever was.
        backlog_bytes_max: u64 = counted().map(|s| s.backlog_bytes_max).max().unwrap_or(0),
            Size Max Lower "max queue" what "Max length of any of its buffers.".name("queue_max");
    }
}
