//! Files of any kind arrive over any path.

use std::fs;
use std::io::Write;
use std::net::TcpStream;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::thread;
use std::time::Duration;

use transfer::message::Message;
use transfer::{
    Meter, Path, PrivateKey, ReceiverTrust, STREAMS_MAX, SenderSettings, SenderTrust, Sink, Tree,
    send,
};

use crate::world::{CHUNK, World, bytes, code, dirty, file, hello, settings};

/// Files of every size about chunks and batches, in folders, one of them empty.
fn tree(world: &World) -> Vec<PathBuf> {
    let chunk = CHUNK as usize;
    for (number, size) in
        [0, 1, 4096, chunk - 1, chunk, chunk + 1, 10 * chunk + 17].iter().enumerate()
    {
        world.file(&format!("tree/sizes/{number}"), *size);
    }
    for number in 0..700 {
        world.file(&format!("tree/many/{}/{number}", number % 7), number * 13);
    }
    world.file("tree/with space/\u{6c34}\u{9580}", 3000);
    fs::create_dir(world.path("tree/empty")).expect("a folder");
    let secret = world.file("tree/secret", 10);
    fs::set_permissions(secret, fs::Permissions::from_mode(0o400)).expect("chmod");
    fs::set_permissions(world.path("tree/empty"), fs::Permissions::from_mode(0o750))
        .expect("chmod");
    vec![world.path("tree"), world.file("alone", 5 * chunk)]
}

#[test]
fn a_tree_arrives_as_it_is_encrypted_and_over_any_number_of_streams() {
    for streams in [1, 2, 5, STREAMS_MAX] {
        let world = World::new();
        let paths = tree(&world);
        let (receiver, sender) = code();
        let listening = world.listen(receiver);
        let sent =
            world.send(listening.address, sender, &paths, |settings| settings.streams = streams);
        let sent = sent.expect("sent");
        let received = listening.end().0.expect("received");
        assert_eq!((sent.files, received.files, sent.already), (710, 710, 0));
        assert_eq!((received.bytes, received.again, sent.path), (sent.bytes, 0, Path::Copy));
        assert_eq!(sent.connections.len(), usize::from(streams));
        world.assert_same(&paths);
    }
}

/// Files of a few small chunks each, many of them: what one stream sends late is not of as many files as it is chunks.
#[test]
fn small_chunks_of_many_files_arrive_over_several_streams() {
    let world = World::new();
    let paths = tree(&world);
    let (receiver, sender) = code();
    let listening = world.listen(receiver);
    let sent = world.send(listening.address, sender, &paths, |settings| {
        (settings.streams, settings.chunk) = (3, 4096);
    });
    assert_eq!(sent.expect("sent").files, 710);
    listening.end().0.expect("received");
    world.assert_same(&paths);
}

#[test]
fn each_path_from_file_to_socket_moves_the_same_bytes() {
    for path in Path::ALL {
        for verified in [true, false] {
            let world = World::new();
            let paths = tree(&world);
            let listening = world.listen(ReceiverTrust::Anybody);
            let sent = world.send(listening.address, SenderTrust::Anybody, &paths, |settings| {
                (settings.path, settings.verified) = (Some(path), verified);
            });
            assert_eq!(sent.expect("sent").path, path);
            assert_eq!(listening.end().0.expect("received").verified, verified);
            world.assert_same(&paths);
        }
    }
}

#[test]
fn each_path_from_socket_to_file_moves_the_same_bytes() {
    for sink in Sink::ALL {
        for (verified, streams) in [(true, 1), (false, 1), (false, 3)] {
            let mut world = World::new();
            world.into = Some(sink);
            let paths = tree(&world);
            let listening = world.listen(ReceiverTrust::Anybody);
            let sent = world.send(listening.address, SenderTrust::Anybody, &paths, |settings| {
                (settings.streams, settings.verified) = (streams, verified);
            });
            sent.expect("sent");
            let received = listening.end().0.expect("received");
            // What is verified is seen before it is in the file.
            let into = if verified && sink == Sink::Splice { Sink::Plain } else { sink };
            assert_eq!((received.into, received.verified), (into, verified));
            world.assert_same(&paths);
        }
    }
}

#[test]
fn the_path_is_chosen_by_what_each_takes() {
    let world = World::new();
    let paths = [world.file("large", 40 * CHUNK as usize)];
    let listening = world.listen(ReceiverTrust::Anybody);
    let sent = world.send(listening.address, SenderTrust::Anybody, &paths, |_| {}).expect("sent");
    listening.end().0.expect("received");
    let least = sent.costs.iter().min_by_key(|(_, cost)| *cost).expect("each was tried");
    assert_eq!((sent.costs.len(), sent.path), (Path::ALL.len(), least.0));
    world.assert_same(&paths);
}

#[test]
fn holes_of_sparse_files_stay_holes() {
    let world = World::new();
    let size = 100 * u64::from(CHUNK) + 77;
    let paths = [world.sparse("sparse", size)];
    let (receiver, sender) = code();
    let listening = world.listen(receiver);
    let sent = world
        .send(listening.address, sender, &paths, |settings| settings.streams = 2)
        .expect("sent");
    listening.end().0.expect("received");
    world.assert_same(&paths);
    assert!(sent.bytes <= 2 * u64::from(CHUNK), "{} bytes for a file of holes", sent.bytes);
    let blocks = fs::metadata(world.target.path().join("sparse")).expect("it is there").blocks();
    assert!(blocks * 512 <= 4 * 4096, "{blocks} blocks for 5000 bytes");
}

#[test]
fn keys_for_standing_use_let_in_who_has_them() {
    let world = World::new();
    let paths = [world.file("a", 1000)];
    let [own, sender, stranger] = [(); 3].map(|()| PrivateKey::generate().expect("random numbers"));
    let receiver = own.public();
    let senders = vec![PrivateKey::generate().expect("random numbers").public(), sender.public()];
    let listening = world.listen(ReceiverTrust::Keys { own, senders });
    let refused =
        world.send(listening.address, SenderTrust::Key { own: stranger, receiver }, &paths, |_| {});
    refused.expect_err("a stranger");
    let sent =
        world.send(listening.address, SenderTrust::Key { own: sender, receiver }, &paths, |_| {});
    sent.expect("sent");
    listening.end().0.expect("received");
    world.assert_same(&paths);
}

#[test]
fn files_that_are_there_are_left_alone_unless_they_may_be_replaced() {
    let mut world = World::new();
    let paths = [world.file("a", 1000), world.file("b", 2000)];
    fs::write(world.target.path().join("a"), b"something else").expect("written");
    let listening = world.listen(ReceiverTrust::Anybody);
    let sent = world.send(listening.address, SenderTrust::Anybody, &paths, |_| {}).expect("sent");
    assert_eq!(listening.end().0.expect("received").files, 1);
    assert_eq!(sent.refused.len(), 1, "{:?}", sent.refused);
    assert_eq!(fs::read(world.target.path().join("a")).expect("a file"), b"something else");

    world.overwrite = true;
    let listening = world.listen(ReceiverTrust::Anybody);
    let sent = world.send(listening.address, SenderTrust::Anybody, &paths, |_| {}).expect("sent");
    listening.end().0.expect("received");
    assert_eq!((sent.refused.len(), sent.already, sent.files), (0, 1, 2));
    world.assert_same(&paths);
}

#[test]
fn where_a_folder_cannot_be_had_the_rest_arrives() {
    let world = World::new();
    world.file("tree/taken/a", 1000);
    world.file("tree/taken/deep/b", 1000);
    let paths = [world.path("tree"), world.file("alone", 1000)];
    world.file("tree/well", 1000);
    // A file of that name.
    fs::create_dir(world.target.path().join("tree")).expect("a folder");
    fs::write(world.target.path().join("tree/taken"), b"a file").expect("written");
    let listening = world.listen(ReceiverTrust::Anybody);
    let sent = world.send(listening.address, SenderTrust::Anybody, &paths, |_| {}).expect("sent");
    let received = listening.end().0.expect("received");
    let refused: Vec<_> = sent.refused.iter().map(|(name, _)| name.to_string()).collect();
    assert_eq!(refused, ["tree/taken", "tree/taken/a", "tree/taken/deep", "tree/taken/deep/b"]);
    assert_eq!((sent.files, received.files, received.missing), (2, 2, 4));
    assert_eq!(fs::read(world.target.path().join("tree/well")).expect("a file").len(), 1000);
    assert_eq!(fs::read(world.target.path().join("tree/taken")).expect("a file"), b"a file");
}

/// Drops the file privileges of this thread and those that it starts.
fn as_anybody() {
    // SAFETY: it changes who this thread is, and nothing in memory.
    unsafe { libc::setfsuid(65534) };
}

#[test]
fn where_nothing_can_be_written_or_read_the_rest_arrives() {
    let world = World::new();
    for name in ["tree/shut/new/a/x", "tree/shut/new/b", "tree/shut/c", "tree/well", "tree/mine/d"]
    {
        world.file(name, 1000);
    }
    let open_to = |path: &std::path::Path, mode| {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("permissions");
    };
    fs::create_dir_all(world.target.path().join("tree/shut")).expect("a folder");
    for folder in [world.source.path(), world.target.path(), &world.target.path().join("tree")] {
        open_to(folder, 0o777);
    }
    open_to(&world.target.path().join("tree/shut"), 0o555);
    open_to(&world.path("tree/mine"), 0);
    let (sent, received) = thread::scope(|scope| {
        let transfer = scope.spawn(|| {
            as_anybody();
            let listening = world.listen(ReceiverTrust::Anybody);
            let paths = [world.path("tree")];
            let sent = world.send(listening.address, SenderTrust::Anybody, &paths, |_| {});
            (sent.expect("sent"), listening.end().0.expect("received"))
        });
        transfer.join().expect("it ends")
    });
    // What may not be read may be deleted in the end.
    open_to(&world.path("tree/mine"), 0o700);
    let names = |named: &[(transfer::Name, String)]| -> Vec<String> {
        named.iter().map(|(name, _)| name.to_string()).collect()
    };
    assert_eq!(names(&sent.unread), ["tree/mine"]);
    let refused = ["c", "new", "new/a", "new/a/x", "new/b"].map(|name| format!("tree/shut/{name}"));
    assert_eq!(names(&sent.refused), refused);
    assert_eq!((sent.files, received.files, received.missing), (1, 1, 5));
    assert_eq!(fs::read(world.target.path().join("tree/well")).expect("a file").len(), 1000);
}

#[test]
fn what_cannot_be_read_is_named_and_the_rest_arrives() {
    let world = World::new();
    let paths: Vec<_> = ["vanished", "large", "stays", "folder"]
        .iter()
        .map(|name| world.file(name, if *name == "large" { 10 * CHUNK as usize } else { 1000 }))
        .collect();
    let tree = Tree::of(&paths).expect("a tree");
    for name in ["vanished", "large", "folder"] {
        fs::remove_file(world.path(name)).expect("removed");
    }
    fs::create_dir(world.path("folder")).expect("a folder");
    let listening = world.listen(ReceiverTrust::Anybody);
    let settings =
        SenderSettings { streams: 2, ..settings(listening.address, SenderTrust::Anybody) };
    let sent = send(&settings, &tree, &Meter::default(), &AtomicBool::new(false)).expect("sent");
    let received = listening.end().0.expect("received");
    let unread: Vec<_> = sent.unread.iter().map(|(name, _)| name.to_string()).collect();
    assert_eq!(unread, ["vanished", "large", "folder"]);
    assert_eq!((sent.files, received.files, received.missing), (1, 1, 3));
    world.assert_same(&paths[2..3]);
}

#[test]
fn what_is_there_in_the_end_is_on_the_disk() {
    let world = World::new();
    let paths = [world.file("large", 50 * CHUNK as usize), world.file("small", 1000)];
    let listening = world.listen(ReceiverTrust::Anybody);
    world.send(listening.address, SenderTrust::Anybody, &paths, |_| {}).expect("sent");
    listening.end().0.expect("received");
    for name in ["large", "small"] {
        assert_eq!(dirty(&world.target.path().join(name)), 0, "{name}");
    }
}

/// A file has its full size from its first chunk on. Its content is on the disk before it gets its name: a
/// power failure does not leave zeros that look like the whole file.
#[test]
fn what_has_its_name_is_on_the_disk() {
    let world = World::new();
    let listening = world.listen(ReceiverTrust::Anybody);
    let mut socket = TcpStream::connect(listening.address).expect("a connection");
    let content = bytes(4096, 1);
    let mut said = Vec::new();
    let chunks = 2000;
    for message in
        [hello(4096), Message::Entries(vec![file("f", chunks * 4096)]), Message::EntriesEnd]
    {
        message.encode(&mut said);
    }
    for chunk in 0..chunks {
        let hash = *blake3::hash(&content).as_bytes();
        Message::Data { entry: 0, chunk, length: 4096, hash }.encode(&mut said);
        said.extend(&content);
    }
    Message::Close { entry: 0, unchanged: true }.encode(&mut said);
    socket.write_all(&said).expect("written");
    let path = world.target.path().join("f");
    for _ in 0..100_000 {
        if path.exists() {
            break;
        }
        thread::sleep(Duration::from_micros(100));
    }
    assert_eq!(dirty(&path), 0);
    drop(socket);
    listening.stop().0.expect_err("it was not committed");
}

#[test]
fn links_and_pipes_are_not_sent_and_that_is_said() {
    let world = World::new();
    world.file("tree/a", 10);
    std::os::unix::fs::symlink("/etc/passwd", world.path("tree/link")).expect("a link");
    nix::unistd::mkfifo(&world.path("tree/pipe"), nix::sys::stat::Mode::S_IRWXU).expect("a pipe");
    let tree = transfer::Tree::of(&[world.path("tree")]).expect("a tree");
    let skipped: Vec<_> = tree.skipped.iter().map(|(_, what)| *what).collect();
    assert_eq!((tree.files(), skipped), (1, vec!["a symbolic link", "a pipe"]));
}
