//! The digest of a trace. It reveals damage before anything is decoded.

use std::ops::Range;

/// The bytes of the mark: behind Parquet's own, `PAR1`.
pub(crate) const MARK: Range<usize> = 4..12;
/// Marks a trace; the last byte is the version of the digest.
pub(crate) const MARK_BYTES: [u8; 8] = *b"suimon\0\x01";
/// The bytes of the digest, little-endian.
pub(crate) const DIGEST: Range<usize> = 12..20;

/// FNV-1a of 64 bits (Fowler, Noll, Vo) over a file except for its digest.
///
/// Each step is a bijection of the state, so that a change of one byte always changes the result.
pub(crate) fn of(file: &[u8]) -> u64 {
    const BASIS: u64 = 0xcbf2_9ce4_8422_2325;
    const PRIME: u64 = 0x0000_0100_0000_01b3;
    let step = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(PRIME);
    let before = file.iter().take(DIGEST.start);
    before.chain(file.iter().skip(DIGEST.end)).fold(BASIS, step)
}
