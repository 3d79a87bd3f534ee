//! What is sent arrives, whatever it is and by whatever path.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::PathBuf;

use transfer::{Path, PrivateKey, ReceiverTrust, SenderTrust, Sink};

use crate::world::{CHUNK, World, code};

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
    for streams in [1, 2, 5] {
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
fn links_and_pipes_are_not_sent_and_that_is_said() {
    let world = World::new();
    world.file("tree/a", 10);
    std::os::unix::fs::symlink("/etc/passwd", world.path("tree/link")).expect("a link");
    nix::unistd::mkfifo(&world.path("tree/pipe"), nix::sys::stat::Mode::S_IRWXU).expect("a pipe");
    let tree = transfer::Tree::of(&[world.path("tree")]).expect("a tree");
    let skipped: Vec<_> = tree.skipped.iter().map(|(_, what)| *what).collect();
    assert_eq!((tree.files(), skipped), (1, vec!["a symbolic link", "a pipe"]));
}
