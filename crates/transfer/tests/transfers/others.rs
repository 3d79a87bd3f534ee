//! The effects of other users, and of unreadable files, on a directory and on a transfer.

use std::fs;
use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, symlink};
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use testbed::eventually;
use transfer::message::{HEADER, Message};
use transfer::{
    Entry, Error, Kind, Meter, Name, Receiver, ReceiverSettings, ReceiverTrust, SenderTrust, Tree,
    send,
};

use crate::world::{World, bytes, file, hello, relay, settings};

/// Another user, if this one may give files away.
const SOMEBODY: u32 = 65_534;

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("permissions");
}

fn mode_and_time(path: &Path) -> (u32, i64) {
    let metadata = fs::metadata(path).expect("it is there");
    (metadata.mode() & 0o7777, metadata.mtime())
}

#[test]
fn a_work_folder_of_others_is_refused() {
    let refuses = |world: &World| {
        let refused = Receiver::new(ReceiverSettings {
            directory: world.target.path().to_owned(),
            listen: "127.0.0.1:0".into(),
            trust: ReceiverTrust::Anybody,
            overwrite: false,
            into: None,
            timeout: Duration::from_secs(1),
        });
        assert!(matches!(refused, Err(Error::Shared(_))), "{refused:?}");
    };
    let world = World::new();
    let work = world.target.path().join(".suimon-recv");
    fs::create_dir(&work).expect("a folder");
    for mode in [0o777, 0o1777, 0o770] {
        set_mode(&work, mode);
        refuses(&world);
    }
    set_mode(&work, 0o700);
    if chown(&work, Some(SOMEBODY), None).is_ok() {
        refuses(&world);
    }
}

/// A sender that sends arbitrary messages.
struct Peer(TcpStream);

impl Peer {
    /// Announces the entries, and waits until the receiver asks for them.
    fn begin(address: SocketAddr, entries: Vec<Entry>) -> Self {
        let mut peer = Self(TcpStream::connect(address).expect("a connection"));
        peer.send(&[hello(4096), Message::Entries(entries), Message::EntriesEnd], b"");
        while !matches!(peer.receive(), Message::HaveEnd { .. }) {}
        peer
    }

    fn send(&mut self, messages: &[Message], content: &[u8]) {
        let mut bytes = Vec::new();
        messages.iter().for_each(|message| message.encode(&mut bytes));
        bytes.extend(content);
        self.0.write_all(&bytes).expect("written");
    }

    fn data(&mut self, entry: u32, chunk: u64, content: &[u8]) {
        let hash = *blake3::hash(content).as_bytes();
        let length = u32::try_from(content.len()).expect("a chunk");
        self.send(&[Message::Data { entry, chunk, length, hash }], content);
    }

    /// Waits until everything sent is handled.
    fn wait(&mut self) {
        self.send(&[Message::Finish], b"");
        while self.receive() != Message::Finished {}
    }

    fn receive(&mut self) -> Message {
        let mut header = [0; HEADER];
        self.0.read_exact(&mut header).expect("an answer");
        let (kind, length) = Message::header(header).expect("a header");
        let mut body = vec![0; length];
        self.0.read_exact(&mut body).expect("an answer");
        Message::decode(kind, &body).expect("a message")
    }

    /// Commits, and returns what the receiver does not have, and how many files it has.
    fn commit(mut self) -> (Vec<(u32, String)>, u64) {
        self.send(&[Message::Commit], b"");
        let mut refused = Vec::new();
        loop {
            match self.receive() {
                Message::Refused { entry, why } => refused.push((entry, why)),
                Message::Committed { files } => return (refused, files),
                _ => {}
            }
        }
    }
}

#[test]
fn a_file_that_is_put_in_the_place_of_one_that_comes_is_not_taken_for_it() {
    let world = World::new();
    let listening = world.listen(ReceiverTrust::Anybody);
    let contents = [bytes(1000, 1), bytes(5000, 2)];
    let mut peer = Peer::begin(listening.address, vec![file("small", 1000), file("large", 5000)]);
    peer.data(0, 0, &contents[0]);
    peer.data(1, 0, &contents[1][..4096]);
    peer.data(1, 1, &contents[1][4096..]);
    peer.wait();
    let work = world.target.path().join(".suimon-recv");
    for entry in fs::read_dir(&work).expect("a folder").map(|entry| entry.expect("it").path()) {
        if entry.extension().is_some_and(|ending| ending == "data") {
            let other = world.target.path().join("other");
            fs::write(&other, "something else").expect("written");
            fs::rename(&other, &entry).expect("renamed");
        }
    }
    let close = |entry| Message::Close { entry, unchanged: true };
    peer.send(&[close(0), close(1)], b"");
    let (mut refused, files) = peer.commit();
    refused.sort();
    let numbers: Vec<u32> = refused.iter().map(|(number, _)| *number).collect();
    assert_eq!((numbers, files), (vec![0, 1], 0), "{refused:?}");
    assert!(refused.iter().all(|(_, why)| why.contains("another file")), "{refused:?}");
    assert_eq!(listening.end().0.expect("received").missing, 2);
    assert!(["small", "large"].iter().all(|name| !world.target.path().join(name).exists()));
}

#[test]
fn a_file_that_cannot_be_had_is_named_and_the_others_come() {
    let world = World::new();
    let listening = world.listen(ReceiverTrust::Anybody);
    let paths = [world.file("a", 200_000), world.file("b", 300_000), world.file("c", 100)];
    let there = world.target.path().join("b");
    // Somebody makes a file of that name once the data comes.
    let through =
        relay(listening.address, move |before, _| before == 0 || fs::write(&there, "mine").is_ok());
    let sent = world.send(through, SenderTrust::Anybody, &paths, |_| {}).expect("sent");
    assert_eq!((sent.files, sent.refused.len()), (2, 1), "{sent:?}");
    let (name, why) = &sent.refused[0];
    assert!(name.to_string() == "b" && why.contains("already"), "{name}: {why}");
    let received = listening.end().0.expect("received");
    assert_eq!((received.files, received.missing), (2, 1));
    assert_eq!(fs::read(world.target.path().join("b")).expect("read"), b"mine");
    assert_eq!(fs::read(world.target.path().join("c")).expect("read"), bytes(100, 2));
}

#[test]
fn folders_that_were_there_keep_what_they_are_unless_they_may_be_replaced() {
    for overwrite in [false, true] {
        let world = World { overwrite, ..World::new() };
        world.file("old/f", 100);
        world.file("old/new/f", 100);
        set_mode(&world.path("old"), 0o755);
        set_mode(&world.path("old/new"), 0o750);
        let there = world.target.path().join("old");
        fs::create_dir(&there).expect("a folder");
        set_mode(&there, 0o2711);
        let listening = world.listen(ReceiverTrust::Anybody);
        let sent =
            world.send(listening.address, SenderTrust::Anybody, &[world.path("old")], |_| {});
        assert_eq!(sent.expect("sent").files, 2);
        listening.end().0.expect("received");
        let (mode, time) = mode_and_time(&there);
        let (_, time_sent) = mode_and_time(&world.path("old"));
        assert_eq!(mode, if overwrite { 0o2755 } else { 0o2711 });
        assert!(!overwrite || time == time_sent);
        // One that is made in it has the sender's permissions, and what the folder around it hands down.
        assert_eq!(mode_and_time(&there.join("new")).0 & 0o777, 0o750);
        assert!(!world.target.path().join(".suimon-recv").exists());
    }
}

#[test]
fn a_folder_of_a_transfer_that_was_broken_off_is_finished_by_the_next() {
    let world = World::new();
    let name = Name::new(b"made").expect("a name");
    let folder = Entry { name, kind: Kind::Folder, mode: 0o755, seconds: 1_000, nanos: 0 };
    let entries = || vec![folder.clone(), file("made/f", 0)];
    let listening = world.listen(ReceiverTrust::Anybody);
    drop(Peer::begin(listening.address, entries()));
    listening.wait_until_broken();
    assert!(matches!(listening.stop().0, Err(Error::Interrupted)));
    let made = world.target.path().join("made");
    assert_eq!(mode_and_time(&made).0, 0o700);
    let listening = world.listen(ReceiverTrust::Anybody);
    let mut peer = Peer::begin(listening.address, entries());
    peer.send(&[Message::Close { entry: 1, unchanged: true }], b"");
    assert_eq!(peer.commit(), (vec![], 1));
    listening.end().0.expect("received");
    assert_eq!(mode_and_time(&made), (0o755, 1_000));
    assert!(!world.target.path().join(".suimon-recv").exists());
}

#[test]
fn a_sender_that_begins_again_and_again_leaves_nothing_behind() {
    let world = World::new();
    let listening = world.listen(ReceiverTrust::Anybody);
    let names: Vec<_> = (0..1000).map(|n| file(&format!("{n}-{}", "x".repeat(200)), 1)).collect();
    let is_held = |peer: &mut Peer| match peer.0.read(&mut [0; 64]) {
        Ok(bytes) => bytes > 0,
        Err(error) => error.kind() == ErrorKind::WouldBlock,
    };
    let mut peers: Vec<Peer> = Vec::new();
    for _ in 0..24 {
        let mut peer = Peer(TcpStream::connect(listening.address).expect("a connection"));
        peer.send(&[hello(4096), Message::Entries(names.clone())], b"");
        peer.0.set_nonblocking(true).expect("a setting");
        peers.push(peer);
        eventually("only the last session is kept", || {
            peers.iter_mut().map(is_held).filter(|is_held| *is_held).count() == 1
        });
    }
    assert!(peers.last_mut().is_some_and(is_held), "the last session is not kept");
    assert!(matches!(listening.stop().0, Err(Error::Interrupted)));
}

#[test]
fn a_link_that_is_put_in_after_the_scan_sends_nothing() {
    let world = World::new();
    let secret = tempfile::tempdir().expect("a folder");
    for name in ["f", "g"] {
        fs::write(secret.path().join(name), bytes(100, 7)).expect("written");
    }
    world.file("tree/folder/f", 100);
    world.file("tree/g", 100);
    let tree = Tree::of(&[world.path("tree")]).expect("a tree");
    // A folder becomes a link, and a file another one with the same size and time.
    fs::rename(world.path("tree/folder"), world.path("elsewhere")).expect("renamed");
    symlink(secret.path(), world.path("tree/folder")).expect("a link");
    let times = |path: &Path| fs::metadata(path).expect("it is there").modified().expect("a time");
    let time = times(&world.path("tree/g"));
    let other = fs::File::options().write(true).open(secret.path().join("g")).expect("a file");
    other.set_modified(time).expect("a time");
    fs::rename(secret.path().join("g"), world.path("tree/g")).expect("renamed");

    let listening = world.listen(ReceiverTrust::Anybody);
    let settings = settings(listening.address, SenderTrust::Anybody);
    let sent = send(&settings, &tree, &Meter::default(), &AtomicBool::new(false)).expect("sent");
    let names = |names: Vec<&Name>| names.iter().map(ToString::to_string).collect::<Vec<_>>();
    assert_eq!(names(sent.changed.iter().collect()), ["tree/g"]);
    assert_eq!(names(sent.unread.iter().map(|(name, _)| name).collect()), ["tree/folder/f"]);
    assert_eq!((sent.files, listening.end().0.expect("received").missing), (0, 2));
}
