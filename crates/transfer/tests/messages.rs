//! Messages: written messages are read back, and any other bytes are rejected.

use proptest::collection::vec;
use proptest::prelude::*;
use transfer::message::{CHUNK_MAX, HEADER, MalformedMessage, Message, Range, STREAMS_MAX};
use transfer::{Entry, Kind, Name};

fn entry() -> impl Strategy<Value = Entry> {
    let kind = prop_oneof![
        (0..i64::MAX as u64, any::<bool>()).prop_map(|(size, sparse)| Kind::File { size, sparse }),
        Just(Kind::Folder),
    ];
    let name = "[a-z]{1,9}(/[^/\0]{3,9}){0,3}";
    (name, kind, 0_u16..=0o777, any::<i64>(), 0_u32..1_000_000_000).prop_map(
        |(name, kind, mode, seconds, nanos)| {
            let name = Name::new(name.as_bytes()).expect("a name");
            Entry { name, kind, mode, seconds, nanos }
        },
    )
}

#[test]
fn what_a_peer_says_is_one_line() {
    let mut bytes = Vec::new();
    Message::Failed { why: "a\n  help: b\r\u{1b}[2J\u{2028}c".into() }.encode(&mut bytes);
    let message = Message::decode(bytes[0], &bytes[HEADER..]).expect("a message");
    assert_eq!(message, Message::Failed { why: "a   help: b  [2J c".into() });
}

fn range() -> impl Strategy<Value = Range> {
    (any::<u64>(), any::<u64>()).prop_filter_map("some chunks", |(one, other)| {
        (one != other).then(|| Range { start: one.min(other), end: one.max(other) })
    })
}

fn message() -> impl Strategy<Value = Message> {
    let text = "[ -~]{0,400}";
    prop_oneof![
        (
            any::<u16>(),
            any::<[u8; 16]>(),
            1..=STREAMS_MAX,
            12_u32..=24,
            any::<bool>(),
            any::<u64>()
        )
            .prop_map(|(version, session, streams, chunk, verified, buffer)| {
                Message::Hello { version, session, streams, chunk: 1 << chunk, verified, buffer }
            }),
        any::<[u8; 16]>().prop_map(|session| Message::Join { session }),
        vec(entry(), 0..20).prop_map(Message::Entries),
        Just(Message::EntriesEnd),
        (any::<u32>(), any::<u64>(), 0..=CHUNK_MAX, any::<[u8; 32]>())
            .prop_map(|(entry, chunk, length, hash)| Message::Data { entry, chunk, length, hash }),
        (any::<u32>(), range()).prop_map(|(entry, range)| Message::Hole { entry, range }),
        (any::<u32>(), any::<bool>())
            .prop_map(|(entry, unchanged)| Message::Close { entry, unchanged }),
        Just(Message::Finish),
        Just(Message::Commit),
        (any::<u32>(), range()).prop_map(|(entry, range)| Message::Have { entry, range }),
        any::<u32>().prop_map(|entry| Message::Complete { entry }),
        any::<u64>().prop_map(|buffer| Message::HaveEnd { buffer }),
        (any::<u32>(), any::<u64>()).prop_map(|(entry, chunk)| Message::Resend { entry, chunk }),
        (any::<u32>(), text).prop_map(|(entry, why)| Message::Refused { entry, why }),
        Just(Message::Finished),
        any::<u64>().prop_map(|files| Message::Committed { files }),
        text.prop_map(|why| Message::Failed { why }),
        Just(Message::Busy),
    ]
}

fn read(bytes: &[u8]) -> Result<Message, MalformedMessage> {
    let (header, body) = bytes.split_first_chunk::<HEADER>().expect("a header");
    let (kind, length) = Message::header(*header)?;
    assert_eq!(length, body.len());
    Message::decode(kind, body)
}

proptest! {
    #[test]
    fn what_is_written_is_read_again(message in message()) {
        let mut bytes = Vec::new();
        message.encode(&mut bytes);
        prop_assert_eq!(read(&bytes), Ok(message));
    }

    #[test]
    fn a_message_that_is_cut_or_goes_on_is_none(message in message(), cut in any::<proptest::sample::Index>()) {
        let mut bytes = Vec::new();
        message.encode(&mut bytes);
        let (kind, length) = Message::header(bytes[..HEADER].try_into().expect("a header")).expect("a kind");
        let body = &bytes[HEADER..];
        // Texts and lists have no length of their own.
        let has_length = !matches!(message, Message::Refused { .. } | Message::Failed { .. } | Message::Entries(_));
        if has_length {
            prop_assert!(Message::decode(kind, &[body, &[0]].concat()).is_err());
            if length > 0 {
                prop_assert!(Message::decode(kind, &body[..cut.index(length)]).is_err());
            }
        }
    }

    #[test]
    fn any_bytes_are_a_message_or_none(kind in any::<u8>(), body in vec(any::<u8>(), 0..200)) {
        if let Ok(message) = Message::decode(kind, &body) {
            // A text that is not UTF-8 is shown with replacements, and may be cut.
            prop_assume!(!matches!(message, Message::Refused { .. } | Message::Failed { .. }));
            let mut bytes = Vec::new();
            message.encode(&mut bytes);
            prop_assert_eq!(&bytes[HEADER..], &body[..]);
        }
    }
}
