//! Messages of rtnetlink as bytes: what the kernel reports is sent back unchanged, whatever it means.

use std::convert::Infallible;

use netlink_packet_core::{
    DefaultNla, Emitable, NetlinkDeserializable, NetlinkHeader, NetlinkSerializable, NlaBuffer,
    NlasIterator,
};

/// Set in the type of an attribute that contains others.
pub(crate) const NESTED: u16 = 0x8000;

/// A message: its type, and the bytes after the netlink header.
#[derive(Clone, Debug)]
pub(crate) struct Message {
    pub(crate) kind: u16,
    pub(crate) bytes: Vec<u8>,
}

impl NetlinkSerializable for Message {
    fn message_type(&self) -> u16 {
        self.kind
    }

    fn buffer_len(&self) -> usize {
        self.bytes.len()
    }

    fn serialize(&self, buffer: &mut [u8]) {
        buffer.copy_from_slice(&self.bytes);
    }
}

impl NetlinkDeserializable for Message {
    type Error = Infallible;

    fn deserialize(header: &NetlinkHeader, payload: &[u8]) -> Result<Self, Infallible> {
        Ok(Self { kind: header.message_type, bytes: payload.to_vec() })
    }
}

/// An attribute: its type without flags, and its value.
pub(crate) type Attribute = (u16, Vec<u8>);

/// The attributes in `bytes`, up to the first one that is cut off.
pub(crate) fn attributes(bytes: &[u8]) -> Vec<Attribute> {
    let read = |nla: NlaBuffer<&[u8]>| (nla.kind() & !NESTED, nla.value().to_vec());
    NlasIterator::new(bytes).map_while(Result::ok).map(read).collect()
}

/// Appends an attribute.
pub(crate) fn push(bytes: &mut Vec<u8>, kind: u16, value: &[u8]) {
    let attribute = DefaultNla::new(kind, value.to_vec());
    let start = bytes.len();
    bytes.resize(start + attribute.buffer_len(), 0);
    attribute.emit(&mut bytes[start..]);
}

/// The bytes of attributes.
pub(crate) fn written(attributes: &[Attribute]) -> Vec<u8> {
    let mut bytes = Vec::new();
    attributes.iter().for_each(|(kind, value)| push(&mut bytes, *kind, value));
    bytes
}

/// The 32-bit number at `at`.
pub(crate) fn word(bytes: &[u8], at: usize) -> u32 {
    let word = bytes.get(at..at + 4).and_then(|word| word.try_into().ok());
    u32::from_ne_bytes(word.unwrap_or_default())
}

/// The 64-bit number at `at`.
pub(crate) fn long(bytes: &[u8], at: usize) -> u64 {
    let long = bytes.get(at..at + 8).and_then(|long| long.try_into().ok());
    u64::from_ne_bytes(long.unwrap_or_default())
}

/// A text that ends in a zero.
pub(crate) fn text(bytes: &[u8]) -> String {
    let end = bytes.iter().position(|&byte| byte == 0).unwrap_or(bytes.len());
    String::from_utf8_lossy(&bytes[..end]).into_owned()
}

/// Bytes in hexadecimal.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The bytes of [`hex`]; `None` if it is not such a text.
pub(crate) fn unhex(text: &str) -> Option<Vec<u8>> {
    let digits = text.as_bytes().as_chunks::<2>();
    if !digits.1.is_empty() {
        return None;
    }
    let byte = |pair: &[u8; 2]| u8::from_str_radix(str::from_utf8(pair).ok()?, 16).ok();
    digits.0.iter().map(byte).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_are_read_as_they_are_written() {
        let list = vec![(1, b"tbf\0".to_vec()), (2, vec![1, 2, 3, 4, 5]), (8, Vec::new())];
        let bytes = written(&list);
        assert_eq!(bytes.len(), 8 + 12 + 4);
        assert_eq!(attributes(&bytes), list);
        assert_eq!(unhex(&hex(&bytes)), Some(bytes));
        assert_eq!((unhex("0g"), unhex("0")), (None, None));
    }
}
