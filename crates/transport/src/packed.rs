//! A connection's counters in few bytes, for connections that are over: each nonzero number in as many groups of seven
//! bits as it needs (LEB128), and a mask of the fields that are not zero.

use alloc::boxed::Box;
use alloc::vec::Vec;

use base::Duration;

use crate::info::{Info, Phase, Stall};

/// Writes numbers, small ones in few bytes.
#[derive(Debug, Default)]
pub struct Packer(Vec<u8>);

impl Packer {
    /// Appends a number: 1 byte below 2^7, 2 below 2^14, at most 10.
    pub fn push(&mut self, mut word: u64) {
        while word >= 0x80 {
            self.0.push(word as u8 | 0x80);
            word >>= 7;
        }
        self.0.push(word as u8);
    }

    /// Appends the numbers of `words` that are not zero, after a mask of their places.
    pub fn push_sparse<const N: usize>(&mut self, words: &[u64; N]) {
        const { assert!(N <= u64::BITS as usize, "a bit of the mask for each") };
        let places = words.iter().enumerate().filter(|(_, word)| **word != 0);
        self.push(places.map(|(place, _)| 1 << place).sum());
        words.iter().filter(|word| **word != 0).for_each(|word| self.push(*word));
    }

    /// All that was written, in memory of just that size: what is cut off a larger piece is of use to few others.
    pub fn finish(self) -> Box<[u8]> {
        self.0.as_slice().into()
    }
}

/// Reads what a [`Packer`] wrote, in its order. Reads zeros at the end.
#[derive(Debug)]
pub struct Unpacker<'p>(pub &'p [u8]);

impl Unpacker<'_> {
    /// The next number.
    pub fn next_word(&mut self) -> u64 {
        let (mut word, mut shift) = (0, 0);
        while let Some((byte, rest)) = self.0.split_first() {
            self.0 = rest;
            word |= u64::from(byte & 0x7f) << shift;
            shift += 7;
            if byte & 0x80 == 0 {
                break;
            }
        }
        word
    }

    /// The next numbers of [`Packer::push_sparse`].
    pub fn next_sparse<const N: usize>(&mut self) -> [u64; N] {
        let mask = self.next_word();
        core::array::from_fn(|place| if mask >> place & 1 == 1 { self.next_word() } else { 0 })
    }
}

/// A field that fits in a number.
trait Word: Copy {
    fn to_word(self) -> u64;
    fn of_word(word: u64) -> Self;
}

impl Word for u64 {
    fn to_word(self) -> u64 {
        self
    }

    fn of_word(word: u64) -> Self {
        word
    }
}

impl Word for u32 {
    fn to_word(self) -> u64 {
        self.into()
    }

    fn of_word(word: u64) -> Self {
        word as Self
    }
}

impl Word for bool {
    fn to_word(self) -> u64 {
        self.into()
    }

    fn of_word(word: u64) -> Self {
        word != 0
    }
}

impl Word for Duration {
    fn to_word(self) -> u64 {
        self.as_ps()
    }

    fn of_word(word: u64) -> Self {
        Self::from_ps(word)
    }
}

/// Implements [`Word`] for an enum: the number of a value is its place in the list.
macro_rules! places {
    ($type:ty: $first:expr $(, $value:expr)*) => {
        impl Word for $type {
            fn to_word(self) -> u64 {
                let places = [$first $(, $value)*];
                places.iter().position(|value| *value == self).unwrap_or(0) as u64
            }

            fn of_word(word: u64) -> Self {
                [$first $(, $value)*].get(word as usize).copied().unwrap_or($first)
            }
        }
    };
}

places!(
    Phase: Self::Listen, Self::SynSent, Self::SynReceived, Self::Established, Self::Closed,
    Self::Failed
);
places!(
    congestion::State: Self::Open, Self::Disorder, Self::Cwr, Self::Recovery, Self::Loss
);
places!(
    Option<Stall>: None, Some(Stall::SendBuffer), Some(Stall::Data), Some(Stall::Fin)
);

/// Packs [`Info`] with all its fields; one that is not named here does not compile.
macro_rules! packed {
    ($($field:ident)*) => {
        impl Info {
            /// Writes all fields.
            pub fn pack(&self, packer: &mut Packer) {
                let Self { $($field),* } = *self;
                packer.push_sparse(&[$($field.to_word()),*]);
            }

            /// Reads what [`Self::pack`] wrote.
            pub fn unpack(unpacker: &mut Unpacker<'_>) -> Self {
                let [$($field),*] = unpacker.next_sparse();
                Self { $($field: Word::of_word($field)),* }
            }
        }
    };
}

packed! {
    phase ca_state cwnd ssthresh mss srtt rttvar min_rtt latest_rtt rto bytes_acked bytes_sent
    bytes_retransmitted bytes_received bytes_duplicate bytes_written bytes_read segments_sent
    segments_received data_segments_sent data_segments_received retransmissions timeouts
    reports_decisions fast_recoveries undos spurious_timeouts dsacks_received dsacks_sent
    duplicate_acks tlp_probes zero_window_probes local_drops ecn_marks ecn_echoes
    window_reductions delivered packets_out in_flight sacked lost retransmitted reordering
    peer_window receive_window send_buffer receive_buffer out_of_order delivery_rate pacing_rate
    walked stall
}

/// A connection's counters as a run keeps those of each flow: some 100 bytes, and none where all are zero.
#[derive(Clone, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(from = "Info", into = "Info"))]
pub struct PackedInfo(Box<[u8]>);

impl PackedInfo {
    /// Reads the counters.
    pub fn get(&self) -> Info {
        Info::unpack(&mut Unpacker(&self.0))
    }
}

impl From<Info> for PackedInfo {
    fn from(info: Info) -> Self {
        if info == Info::default() {
            return Self::default();
        }
        let mut packer = Packer::default();
        info.pack(&mut packer);
        Self(packer.finish())
    }
}

impl From<PackedInfo> for Info {
    fn from(packed: PackedInfo) -> Self {
        packed.get()
    }
}

impl core::fmt::Debug for PackedInfo {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        self.get().fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn fields() -> impl Strategy<Value = Info> {
        let words = prop::collection::vec(prop_oneof![Just(0), any::<u64>(), 0..300_u64], 52);
        words.prop_map(|words| {
            let mut packer = Packer::default();
            let words: [u64; 52] = words.try_into().expect("as many");
            packer.push_sparse(&words);
            Info::unpack(&mut Unpacker(&packer.finish()))
        })
    }

    proptest! {
        #[test]
        fn every_field_is_read_back(infos in prop::collection::vec(fields(), 1..4)) {
            let mut packer = Packer::default();
            for info in &infos {
                packer.push(7);
                info.pack(&mut packer);
            }
            let bytes = packer.finish();
            let mut unpacker = Unpacker(&bytes);
            for info in &infos {
                prop_assert_eq!(unpacker.next_word(), 7);
                prop_assert_eq!(&Info::unpack(&mut unpacker), info);
            }
            prop_assert!(unpacker.0.is_empty());
            for info in infos {
                prop_assert_eq!(PackedInfo::from(info).get(), info);
            }
        }
    }

    #[test]
    fn numbers_take_a_byte_for_each_seven_bits() {
        for (word, bytes) in [(0, 1), (127, 1), (128, 2), (1 << 14, 3), (u64::MAX, 10)] {
            let mut packer = Packer::default();
            packer.push(word);
            let packed = packer.finish();
            assert_eq!((packed.len(), Unpacker(&packed).next_word()), (bytes, word));
        }
    }

    #[test]
    fn counters_that_are_all_zero_take_no_memory() {
        let packed = PackedInfo::from(Info::default());
        assert_eq!((packed.0.len(), packed.get()), (0, Info::default()));
        assert_eq!(packed, PackedInfo::default());
    }

    #[test]
    fn enums_keep_their_values() {
        for phase in [Phase::Listen, Phase::Established, Phase::Closed, Phase::Failed] {
            for ca_state in [congestion::State::Open, congestion::State::Loss] {
                for stall in [None, Some(Stall::SendBuffer), Some(Stall::Data), Some(Stall::Fin)] {
                    let info = Info { phase, ca_state, stall, ..Info::default() };
                    let mut packer = Packer::default();
                    info.pack(&mut packer);
                    assert_eq!(Info::unpack(&mut Unpacker(&packer.finish())), info);
                }
            }
        }
    }
}
