//! Results of an element of a conditioner.

use traffic::condition::Count;

use crate::declare::measured;

measured! {
    /// An element of a conditioner.
    pub struct ElementSummary at "";
    /// Sums up the packets of each colour.
    of(colours: &[Count; 3])
    let [green, yellow, red] = colours;
    {
        /// Packets that were green, or not metered.
        green: u64 = green.packets, Number Sum Neither "green"
            what "Green packets, or packets without a meter.";
        /// Their bytes, of IP packets.
        green_bytes: u64 = green.bytes, Size Sum Neither "green bytes"
            what "Bytes of green IP packets.";
        /// Packets that were yellow.
        yellow: u64 = yellow.packets, Number Sum Neither "yellow" what "Yellow packets.";
        /// Their bytes, of IP packets.
        yellow_bytes: u64 = yellow.bytes, Size Sum Neither "yellow bytes"
            what "Bytes of yellow IP packets.";
        /// Packets that were red.
        red: u64 = red.packets, Number Sum Neither "red" what "Red packets.";
        /// Their bytes, of IP packets.
        red_bytes: u64 = red.bytes, Size Sum Neither "red bytes" what "Bytes of red IP packets.";
    }
}
