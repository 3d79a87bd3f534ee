//! Peers that are not what they should be.

use std::fs;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::thread;
use std::time::{Duration, Instant};

use transfer::message::Message;
use transfer::{Code, Entry, Error, Event, Kind, Name, ReceiverTrust, SenderTrust};

use crate::world::{World, code, file, hello};

#[test]
fn a_wrong_code_gets_nothing_however_often_it_is_tried() {
    let world = World::new();
    let paths = [world.file("a", 1000)];
    let (receiver, sender) = code();
    let listening = world.listen(receiver);
    for _ in 0..20 {
        let wrong = SenderTrust::Code(Code::generate().expect("random numbers"));
        let error = world.send(listening.address, wrong, &paths, |_| {}).expect_err("a wrong code");
        assert!(matches!(error, Error::Untrusted), "{error}");
    }
    assert_eq!(
        fs::read_dir(world.target.path().join(".suimon-recv")).expect("a folder").count(),
        0
    );
    world.send(listening.address, sender, &paths, |_| {}).expect("sent");
    let (received, events) = listening.end();
    received.expect("received");
    let turned_away = events.iter().filter(|event| matches!(event, Event::Rejected(..))).count();
    assert_eq!(turned_away, 20, "{events:?}");
    world.assert_same(&paths);
}

#[test]
fn a_sender_that_does_not_encrypt_is_no_peer_of_one_that_does() {
    let world = World::new();
    let paths = [world.file("a", 1000)];
    let (receiver, sender) = code();
    let listening = world.listen(receiver);
    world.send(listening.address, SenderTrust::Anybody, &paths, |_| {}).expect_err("no TLS");
    let mut garbage = TcpStream::connect(listening.address).expect("a connection");
    garbage.write_all(b"GET / HTTP/1.1\r\n\r\n").expect("written");
    drop(garbage);
    world.send(listening.address, sender, &paths, |_| {}).expect("sent");
    listening.end().0.expect("received");
    world.assert_same(&paths);
}

#[test]
fn slow_strangers_do_not_keep_the_sender_out_for_long() {
    let world = World::new();
    let paths = [world.file("a", 1000)];
    let (receiver, sender) = code();
    let listening = world.listen(receiver);
    // As many as are let in at once, less one; each says a byte of TLS and no more.
    let mut strangers: Vec<TcpStream> = (1..transfer::PENDING_PEERS_MAX)
        .map(|_| TcpStream::connect(listening.address).expect("a connection"))
        .collect();
    strangers.iter_mut().for_each(|stranger| stranger.write_all(&[22]).expect("written"));
    world.send(listening.address, sender, &paths, |_| {}).expect("sent");
    listening.end().0.expect("received");
    world.assert_same(&paths);
}

#[test]
fn a_stranger_that_trickles_is_turned_away_in_time() {
    let world = World::new();
    let listening = world.listen(ReceiverTrust::Anybody);
    let mut stranger = TcpStream::connect(listening.address).expect("a connection");
    let mut bytes = Vec::new();
    hello(4096).encode(&mut bytes);
    // The pause is what is tested: each byte comes well within the time for all of them, and all of them do not.
    let taken = bytes.chunks(1).take_while(|byte| {
        thread::sleep(Duration::from_millis(700));
        stranger.write_all(byte).is_ok()
    });
    assert!(taken.count() < 20, "{} bytes in 700 ms each", bytes.len());
    let (_, events) = listening.stop();
    assert!(matches!(events[..], [Event::Rejected(..)]), "{events:?}");
}

/// A relay that hands on the first bytes of the sender as they come, and a byte each 200 ms of the others.
fn trickle(target: SocketAddr, at_once: usize) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    thread::spawn(move || {
        let (mut from, _) = listener.accept().expect("a connection");
        let mut to = TcpStream::connect(target).expect("a connection");
        let (mut back, mut forth) = (to.try_clone().expect("it"), from.try_clone().expect("it"));
        thread::spawn(move || {
            let _ = std::io::copy(&mut back, &mut forth);
            let _ = forth.shutdown(std::net::Shutdown::Both);
        });
        let mut buffer = [0; 1];
        for number in 0.. {
            if !from.read(&mut buffer).is_ok_and(|read| read == 1) || to.write_all(&buffer).is_err()
            {
                break;
            }
            if number >= at_once {
                // The trickle itself.
                thread::sleep(Duration::from_millis(200));
            }
        }
        let _ = from.shutdown(std::net::Shutdown::Both);
    });
    address
}

#[test]
fn who_has_the_code_and_trickles_is_turned_away_in_time() {
    let world = World::new();
    let paths = [world.file("a", 1000)];
    let (receiver, sender) = code();
    let listening = world.listen(receiver);
    // The handshake takes 402 bytes; what is said first is one record of 96, which takes 17 seconds.
    let slow = trickle(listening.address, 410);
    let began = Instant::now();
    world.send(slow, sender, &paths, |_| {}).expect_err("too slow");
    assert!(began.elapsed() < Duration::from_secs(14), "{:?}", began.elapsed());
    let (_, events) = listening.stop();
    assert!(matches!(events[..], [Event::Rejected(..)]), "{events:?}");
}

/// Sends messages unchanged to a receiver that trusts anybody, and returns the kinds of its answers.
fn say(address: SocketAddr, messages: &[Message], raw: &[u8]) -> Vec<u8> {
    let mut socket = TcpStream::connect(address).expect("a connection");
    let mut bytes = Vec::new();
    messages.iter().for_each(|message| message.encode(&mut bytes));
    bytes.extend(raw);
    // The receiver may end it before it has read all.
    let _ = socket.write_all(&bytes);
    let _ = socket.shutdown(std::net::Shutdown::Write);
    let mut answer = Vec::new();
    let _ = socket.read_to_end(&mut answer);
    answer
}

#[test]
fn links_in_the_directory_lead_nowhere() {
    let world = World::new();
    let outside = tempfile::tempdir().expect("a folder");
    std::os::unix::fs::symlink(outside.path(), world.target.path().join("link")).expect("a link");
    std::os::unix::fs::symlink(outside.path().join("f"), world.target.path().join("file"))
        .expect("a link");
    world.file("link/inner", 100);
    let paths = [world.path("link"), world.file("file", 100)];
    for overwrite in [false, true] {
        let world = World { overwrite, ..World::new() };
        for name in ["link", "file"] {
            std::os::unix::fs::symlink(outside.path().join("x"), world.target.path().join(name))
                .expect("a link");
        }
        let listening = world.listen(ReceiverTrust::Anybody);
        let sent = world.send(listening.address, SenderTrust::Anybody, &paths, |_| {});
        assert_eq!(sent.expect("sent").refused.len(), 3);
        assert_eq!(listening.end().0.expect("received").missing, 3);
        assert_eq!(fs::read_dir(outside.path()).expect("a folder").count(), 0);
    }
}

#[test]
fn a_folder_that_becomes_a_link_meanwhile_leads_nowhere() {
    let world = World::new();
    let outside = tempfile::tempdir().expect("a folder");
    let listening = world.listen(ReceiverTrust::Anybody);
    let mut socket = TcpStream::connect(listening.address).expect("a connection");
    let mut bytes = Vec::new();
    let content = b"hello".as_slice();
    for message in [hello(4096), Message::Entries(vec![file("folder/f", 5)]), Message::EntriesEnd] {
        message.encode(&mut bytes);
    }
    socket.write_all(&bytes).expect("written");
    let mut answer = [0; 13];
    socket.read_exact(&mut answer).expect("what it has");
    std::os::unix::fs::symlink(outside.path(), world.target.path().join("folder")).expect("a link");
    bytes.clear();
    let hash = *blake3::hash(content).as_bytes();
    Message::Data { entry: 0, chunk: 0, length: 5, hash }.encode(&mut bytes);
    bytes.extend(content);
    Message::Close { entry: 0, unchanged: true }.encode(&mut bytes);
    socket.write_all(&bytes).expect("written");
    bytes.clear();
    Message::Commit.encode(&mut bytes);
    socket.write_all(&bytes).expect("written");
    let (received, _) = listening.end();
    assert_eq!(received.expect("received").missing, 1);
    assert_eq!(fs::read_dir(outside.path()).expect("a folder").count(), 0);
}

/// Permissions of a folder come with its last file; until then it is its owner's.
#[test]
fn a_folder_is_private_before_it_is_whole() {
    let world = World::new();
    let listening = world.listen(ReceiverTrust::Anybody);
    let mut socket = TcpStream::connect(listening.address).expect("a connection");
    let name = Name::new(b"secret").expect("a name");
    let folder = Entry { name, kind: Kind::Folder, mode: 0o750, seconds: 0, nanos: 0 };
    let mut bytes = Vec::new();
    for message in [hello(4096), Message::Entries(vec![folder]), Message::EntriesEnd] {
        message.encode(&mut bytes);
    }
    socket.write_all(&bytes).expect("written");
    let mut answer = [0; 13];
    socket.read_exact(&mut answer).expect("what it has");
    let mode = || {
        let metadata = fs::metadata(world.target.path().join("secret")).expect("a folder");
        metadata.permissions().mode() & 0o777
    };
    assert_eq!(mode(), 0o700);
    bytes.clear();
    Message::Commit.encode(&mut bytes);
    socket.write_all(&bytes).expect("written");
    listening.end().0.expect("received");
    assert_eq!(mode(), 0o750);
}

#[test]
fn what_breaks_the_protocol_ends_the_session_and_not_the_receiver() {
    let world = World::new();
    let paths = [world.file("a", 1000)];
    let listening = world.listen(ReceiverTrust::Anybody);
    let entries = || [hello(4096), Message::Entries(vec![file("f", 5000)]), Message::EntriesEnd];
    let data = |entry, chunk, length| Message::Data { entry, chunk, length, hash: [0; 32] };
    let with = |message: Message| [&entries()[..], &[message]].concat();
    for messages in [
        vec![Message::Commit],
        vec![hello(4096), Message::Finish],
        with(data(1, 0, 4096)),
        with(data(0, 2, 904)),
        with(data(0, 0, 4095)),
        with(data(0, 1 << 60, 1)),
        with(Message::Hole { entry: 0, range: transfer::message::Range { start: 0, end: 1 } }),
        with(Message::HaveEnd { buffer: 0 }),
        with(hello(4096)),
    ] {
        say(listening.address, &messages, &[]);
    }
    // A name that leads out, a body longer than it may be, a kind that there is not.
    let mut out = Vec::new();
    hello(4096).encode(&mut out);
    let mut evil = Vec::new();
    Message::Entries(vec![file("aa/evil", 5)]).encode(&mut evil);
    let at = evil.windows(2).position(|two| two == b"aa").expect("the name");
    evil[at..at + 2].copy_from_slice(b"..");
    for raw in [&evil[..], &[3, 255, 255, 255, 255], &[99, 0, 0, 0, 0], &[5]] {
        say(listening.address, &[hello(4096)], raw);
    }
    assert!(!world.target.path().parent().expect("a folder").join("evil").exists());
    let sent = world.send(listening.address, SenderTrust::Anybody, &paths, |_| {});
    sent.expect("sent");
    listening.end().0.expect("received");
    assert!(world.target.path().join("a").exists() && !world.target.path().join("f").exists());
}

#[test]
fn two_receivers_do_not_share_a_directory() {
    let world = World::new();
    let listening = world.listen(ReceiverTrust::Anybody);
    let second = transfer::Receiver::new(transfer::ReceiverSettings {
        directory: world.target.path().to_owned(),
        listen: "127.0.0.1:0".into(),
        trust: ReceiverTrust::Anybody,
        overwrite: false,
        into: None,
        timeout: Duration::from_secs(1),
    });
    assert!(matches!(second, Err(Error::Locked(_))));
    thread::sleep(Duration::from_millis(10));
    assert!(matches!(listening.stop().0, Err(Error::Interrupted)));
}
