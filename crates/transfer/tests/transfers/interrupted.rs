//! Transfers that are interrupted, damaged on the path, or whose files change.

use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::Duration;

use transfer::{Error, Event, ReceiverTrust, SenderTrust};

use crate::world::{CHUNK, World, code, relay};

#[test]
fn a_broken_connection_goes_on_at_what_was_verified() {
    let world = World::new();
    let chunks = 50_u64;
    let paths = [world.file("large", (chunks * u64::from(CHUNK)) as usize)];
    let (receiver, sender) = code();
    let listening = world.listen(receiver);
    // Each connection breaks after half a file more than one chunk.
    let limit = chunks / 2 * u64::from(CHUNK);
    let broken = relay(listening.address, move |before, _| before < limit);
    let error = world.send(broken, sender.clone(), &paths, |_| {}).expect_err("broken");
    assert!(error.is_passing() || matches!(error, Error::Peer(_)), "{error}");
    assert!(!world.target.path().join("large").exists(), "a part under its final name");
    let sent = world.send(listening.address, sender, &paths, |_| {}).expect("sent");
    let (received, events) = listening.end();
    received.expect("received");
    assert_broke(&events);
    let again = sent.bytes / u64::from(CHUNK);
    assert!((chunks / 2..=chunks / 2 + 2).contains(&again), "{again} chunks of {chunks}");
    world.assert_same(&paths);
}

#[test]
fn a_sender_that_comes_again_takes_the_place_of_its_silent_connection() {
    let world = World::new();
    let chunks = 50_u64;
    let paths = [world.file("large", (chunks * u64::from(CHUNK)) as usize)];
    let (receiver, sender) = code();
    let listening = world.listen(receiver);
    // Half the file comes, and then nothing: not even that the connection is over.
    let limit = chunks / 2 * u64::from(CHUNK);
    let silent = relay(listening.address, move |before, _| {
        if before >= limit {
            thread::sleep(Duration::from_secs(60));
        }
        before < limit
    });
    let impatient = |settings: &mut transfer::SenderSettings| {
        settings.timeout = Duration::from_secs(1);
    };
    world.send(silent, sender.clone(), &paths, impatient).expect_err("silent");
    let sent = world.send(listening.address, sender, &paths, |_| {}).expect("sent");
    let (received, events) = listening.end();
    received.expect("received");
    assert_broke(&events);
    let again = sent.bytes / u64::from(CHUNK);
    assert!((chunks / 2..=chunks / 2 + 2).contains(&again), "{again} chunks of {chunks}");
    world.assert_same(&paths);
}

/// Checks that one transfer broke off and that the next one began after it.
fn assert_broke(events: &[Event]) {
    assert!(
        matches!(events, [Event::Began(_), Event::Disconnected(_), Event::Began(_)]),
        "{events:?}"
    );
}

#[test]
fn a_receiver_that_is_stopped_is_taken_up_by_the_next() {
    let world = World::new();
    let chunks = 40_u64;
    let paths =
        [world.file("large", (chunks * u64::from(CHUNK)) as usize), world.file("small", 100)];
    let (receiver, sender) = code();
    let listening = world.listen(receiver.clone());
    let limit = chunks / 2 * u64::from(CHUNK);
    let broken = relay(listening.address, move |before, _| before < limit);
    world.send(broken, sender.clone(), &paths, |_| {}).expect_err("broken");
    listening.wait_until_broken();
    assert!(matches!(listening.stop().0, Err(Error::Interrupted)));

    let listening = world.listen(receiver);
    let sent = world.send(listening.address, sender, &paths, |settings| settings.streams = 3);
    let sent = sent.expect("sent");
    listening.end().0.expect("received");
    assert!(sent.bytes <= (chunks / 2 + 2) * u64::from(CHUNK) + 100, "{}", sent.bytes);
    world.assert_same(&paths);
}

#[test]
fn what_was_kept_is_believed_only_if_it_is_still_right() {
    let world = World::new();
    let chunks = 40_u64;
    let paths = [world.file("large", (chunks * u64::from(CHUNK)) as usize)];
    let (receiver, sender) = code();
    let listening = world.listen(receiver);
    let limit = chunks / 2 * u64::from(CHUNK);
    let broken = relay(listening.address, move |before, _| before < limit);
    world.send(broken, sender.clone(), &paths, |_| {}).expect_err("broken");
    listening.wait_until_broken();

    let work = world.target.path().join(".suimon-recv");
    let data = fs::read_dir(work).expect("a folder").map(|entry| entry.expect("an entry").path());
    let data = data.filter(|path| path.extension().is_some_and(|end| end == "data"));
    let data = data.last().expect("a partial file");
    let mut bytes = fs::read(&data).expect("readable");
    bytes[CHUNK as usize * 3 + 5] ^= 1;
    fs::write(&data, bytes).expect("written");

    world.send(listening.address, sender, &paths, |_| {}).expect("sent");
    listening.end().0.expect("received");
    world.assert_same(&paths);
}

#[test]
fn a_bit_that_flips_on_the_way_is_sent_again() {
    let world = World::new();
    let paths = [world.file("large", 30 * CHUNK as usize)];
    let listening = world.listen(ReceiverTrust::Anybody);
    let flips = Arc::new(AtomicU32::new(0));
    let counted = Arc::clone(&flips);
    // In the middle of what is read at once, which is in the middle of a chunk except for a few bytes of messages.
    let flipping = relay(listening.address, move |before, bytes| {
        if before > 200_000 && counted.load(Ordering::Relaxed) < 3 && bytes.len() == 32 << 10 {
            counted.fetch_add(1, Ordering::Relaxed);
            bytes[1000] ^= 0x10;
        }
        true
    });
    let sent = world.send(flipping, SenderTrust::Anybody, &paths, |_| {}).expect("sent");
    let received = listening.end().0.expect("received");
    assert_eq!(flips.load(Ordering::Relaxed), 3);
    assert!((1..=3).contains(&sent.again), "{}", sent.again);
    assert_eq!(received.again, sent.again);
    world.assert_same(&paths);
}

/// Pieces of a chunk are written before all of it is known to be right: a wrong one must not stay. The last chunk has a
/// length that no piece divides.
#[test]
fn a_flipped_bit_in_a_chunk_of_several_pieces_sends_the_chunk_again() {
    const LARGE: u32 = 1 << 20;
    let world = World::new();
    let paths = [world.file("large", 3 * LARGE as usize + 300_001)];
    let listening = world.listen(ReceiverTrust::Anybody);
    let flips = Arc::new(AtomicU32::new(0));
    let counted = Arc::clone(&flips);
    let flipping = relay(listening.address, move |before, bytes| {
        let flipped = counted.load(Ordering::Relaxed);
        if flipped < 3 && before > 600_000 + u64::from(flipped) * 1_100_000 {
            counted.fetch_add(1, Ordering::Relaxed);
            let middle = bytes.len() / 2;
            bytes[middle] ^= 0x10;
        }
        true
    });
    let trust = SenderTrust::Anybody;
    let sent = world.send(flipping, trust, &paths, |settings| settings.chunk = LARGE);
    let sent = sent.expect("sent");
    let received = listening.end().0.expect("received");
    assert_eq!((flips.load(Ordering::Relaxed), received.again), (3, 3));
    assert_eq!(sent.again, 3);
    world.assert_same(&paths);
}

#[test]
fn a_flipped_bit_of_an_encrypted_stream_ends_it_and_nothing_wrong_is_kept() {
    let world = World::new();
    let paths = [world.file("large", 30 * CHUNK as usize)];
    let (receiver, sender) = code();
    let listening = world.listen(receiver);
    let flipping = relay(listening.address, |before, bytes| {
        if before > 500_000 {
            bytes[10] ^= 1;
        }
        true
    });
    world
        .send(flipping, sender.clone(), &paths, |_| {})
        .expect_err("a record that is not authentic");
    let sent = world.send(listening.address, sender, &paths, |_| {}).expect("sent");
    listening.end().0.expect("received");
    assert_eq!(sent.again, 0);
    world.assert_same(&paths);
}

#[test]
fn a_file_that_changes_while_it_is_sent_is_reported_and_not_kept() {
    let world = World::new();
    let paths = [world.file("changing", 200 * CHUNK as usize), world.file("steady", 1000)];
    let listening = world.listen(ReceiverTrust::Anybody);
    let changed = paths[0].clone();
    let touching = relay(listening.address, move |before, bytes| {
        if before < 700_000 && before + bytes.len() as u64 >= 700_000 {
            let file = fs::OpenOptions::new().append(true).open(&changed).expect("the file");
            std::io::Write::write_all(&mut &file, b"more").expect("written");
        }
        true
    });
    // Slowly, so that not all of it is in buffers when it changes.
    let slowly = |settings: &mut transfer::SenderSettings| settings.rate = Some(40 << 20);
    let sent = world.send(touching, SenderTrust::Anybody, &paths, slowly).expect("sent");
    listening.end().0.expect("received");
    let changed: Vec<_> = sent.changed.iter().map(ToString::to_string).collect();
    assert_eq!((changed, sent.files), (vec!["changing".to_owned()], 1));
    world.assert_same(&paths[1..]);
}
