//! Parses any bytes as a message of a transfer. A valid message encodes to the same bytes.
#![no_main]

use libfuzzer_sys::fuzz_target;
use transfer::message::{HEADER, Message};

fuzz_target!(|data: &[u8]| {
    let Some((header, rest)) = data.split_first_chunk::<HEADER>() else { return };
    let Ok((kind, length)) = Message::header(*header) else { return };
    let Some(body) = rest.get(..length) else { return };
    let Ok(message) = Message::decode(kind, body) else { return };
    let mut bytes = Vec::new();
    message.encode(&mut bytes);
    // Text that is not UTF-8 is decoded with replacement characters, and may be truncated.
    if !matches!(message, Message::Refused { .. } | Message::Failed { .. }) {
        assert_eq!(bytes, data[..HEADER + length]);
    }
});
