//! Silent peers and streams, and whether they count as lost.

use std::fs;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use nix::sys::socket::{
    AddressFamily, Backlog, SockFlag, SockType, SockaddrIn, bind, listen, socket,
};
use testbed::eventually;
use transfer::message::{HEADER, Message};
use transfer::{Error, Event, ReceiverTrust, SenderTrust};

use crate::world::{World, relay};

/// A stream that has nothing more to send while another one does: neither end considers the other lost. Data in
/// transit also counts as a sign of life: a chunk takes longer than the timeout.
#[test]
fn a_stream_that_is_done_is_not_lost_while_another_goes_on() {
    let world = World { timeout: Duration::from_secs(2), ..World::new() };
    let chunk = 1 << 20;
    let paths = [world.file("large", 3 * chunk as usize)];
    let listening = world.listen(ReceiverTrust::Anybody);
    let sent = world.send(listening.address, SenderTrust::Anybody, &paths, |settings| {
        (settings.streams, settings.chunk, settings.rate) = (2, chunk, Some(512 << 10));
        settings.timeout = Duration::from_secs(2);
    });
    sent.expect("sent");
    let (received, events) = listening.end();
    received.expect("received");
    assert!(matches!(events[..], [Event::Began(_)]), "{events:?}");
    world.assert_same(&paths);
}

/// A receiver that gives up on a silent sender does not end the transfer: the sender may come again.
#[test]
fn a_sender_that_was_silent_may_come_again() {
    let world = World { timeout: Duration::from_secs(1), ..World::new() };
    let paths = [world.file("large", 2 << 20)];
    let listening = world.listen(ReceiverTrust::Anybody);
    let stalled = AtomicBool::new(false);
    let stalling = relay(listening.address, move |before, _| {
        if before > 1 << 20 && !stalled.swap(true, Ordering::Relaxed) {
            // The silence itself: longer than the receiver's timeout.
            thread::sleep(Duration::from_secs(3));
        }
        true
    });
    let error = world.send(stalling, SenderTrust::Anybody, &paths, |_| {}).expect_err("lost");
    assert!(error.is_passing(), "{error}");
    world.send(stalling, SenderTrust::Anybody, &paths, |_| {}).expect("sent");
    listening.end().0.expect("received");
    world.assert_same(&paths);
}

/// Reads messages, and what data follows them, up to one of this kind.
fn read_to(socket: &mut TcpStream, last: &Message) {
    loop {
        let mut header = [0; HEADER];
        socket.read_exact(&mut header).expect("a message");
        let (kind, length) = Message::header(header).expect("a message");
        let mut body = vec![0; length];
        socket.read_exact(&mut body).expect("its body");
        let message = Message::decode(kind, &body).expect("a message");
        if let Message::Data { length, .. } = message {
            socket.read_exact(&mut vec![0; length as usize]).expect("a chunk");
        }
        if message == *last {
            return;
        }
    }
}

/// A receiver that says to one sender what `speak` has it say.
fn receiver(speak: impl FnOnce(&mut TcpStream) + Send + 'static) -> (SocketAddr, JoinHandle<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    let thread = thread::spawn(move || {
        let (mut socket, _) = listener.accept().expect("a connection");
        speak(&mut socket);
    });
    (address, thread)
}

/// A receiver that takes long for each answer, and says each 300 ms that it is busy.
#[test]
fn a_receiver_that_is_busy_is_not_lost() {
    let world = World::new();
    let paths = [world.file("a", 100)];
    let (address, receiver) = receiver(|socket| {
        for (asked, answer) in [
            (Message::EntriesEnd, Message::HaveEnd { buffer: 0 }),
            (Message::Finish, Message::Finished),
            (Message::Commit, Message::Committed { files: 1 }),
        ] {
            read_to(socket, &asked);
            let mut bytes = Vec::new();
            Message::Busy.encode(&mut bytes);
            for _ in 0..8 {
                // The pause itself: eight are longer than the sender's timeout, one is not.
                thread::sleep(Duration::from_millis(300));
                socket.write_all(&bytes).expect("written");
            }
            bytes.clear();
            answer.encode(&mut bytes);
            socket.write_all(&bytes).expect("written");
        }
    });
    let sent = world.send(address, SenderTrust::Anybody, &paths, |settings| {
        settings.timeout = Duration::from_secs(1);
    });
    assert_eq!(sent.expect("sent").files, 1);
    receiver.join().expect("the receiver");
}

/// A receiver that says the same of a file again and again, or speaks of what there is not, takes no memory by it.
#[test]
fn a_receiver_that_babbles_is_left() {
    let refused = Message::Refused { entry: 0, why: "no".into() };
    let range = transfer::message::Range { start: 0, end: 2 };
    for said in [
        vec![refused.clone(), refused],
        vec![Message::Complete { entry: 1 }],
        vec![Message::Have { entry: 0, range }],
    ] {
        let world = World::new();
        let paths = [world.file("a", 100)];
        let (address, receiver) = receiver(move |socket| {
            read_to(socket, &Message::EntriesEnd);
            let mut bytes = Vec::new();
            said.iter().for_each(|message| message.encode(&mut bytes));
            socket.write_all(&bytes).expect("written");
            // Until the sender ends it.
            let _ = socket.read_to_end(&mut bytes);
        });
        let error = world.send(address, SenderTrust::Anybody, &paths, |_| {});
        assert!(matches!(error, Err(Error::Protocol(_))), "{error:?}");
        receiver.join().expect("the receiver");
    }
}

/// An address that accepts no more connections: its queue is full, so it does not answer.
fn unanswering() -> (SocketAddr, Vec<TcpStream>, std::os::fd::OwnedFd) {
    let (family, flags) = (AddressFamily::Inet, SockFlag::SOCK_CLOEXEC);
    let listener = socket(family, SockType::Stream, flags, None).expect("a socket");
    let any = SockaddrIn::new(127, 0, 0, 1, 0);
    bind(std::os::fd::AsRawFd::as_raw_fd(&listener), &any).expect("an address");
    listen(&listener, Backlog::new(0).expect("a length")).expect("a queue");
    let listening = TcpListener::from(listener.as_fd().try_clone_to_owned().expect("a socket"));
    let address = listening.local_addr().expect("an address");
    let mut waiting = Vec::new();
    while let Ok(more) = TcpStream::connect_timeout(&address, Duration::from_millis(300)) {
        waiting.push(more);
    }
    (address, waiting, listener)
}

/// Whether a socket of this machine waits for an answer from `address`: state 02 is SYN_SENT (proc_pid_net(5)).
fn is_connecting(address: SocketAddr) -> bool {
    let table = fs::read_to_string("/proc/net/tcp").expect("a kernel with TCP");
    let port = format!(":{:04X}", address.port());
    table.lines().any(|line| {
        let fields: Vec<_> = line.split_whitespace().collect();
        matches!(fields[..], [_, _, remote, "02", ..] if remote.ends_with(&port))
    })
}

#[test]
fn who_does_not_answer_is_waited_for_no_longer_than_asked() {
    let world = World::new();
    let paths = [world.file("a", 100)];
    let (address, _waiting, _listener) = unanswering();
    let began = Instant::now();
    let error = world.send(address, SenderTrust::Anybody, &paths, |settings| {
        settings.timeout = Duration::from_secs(1);
    });
    assert!(matches!(error, Err(Error::Connect { .. })), "{error:?}");
    assert!((1.0..3.0).contains(&began.elapsed().as_secs_f64()), "{:?}", began.elapsed());

    let stop = Arc::new(AtomicBool::new(false));
    let stopping = Arc::clone(&stop);
    let stopper = thread::spawn(move || {
        eventually("the sender connects", || is_connecting(address));
        stopping.store(true, Ordering::Relaxed);
    });
    let began = Instant::now();
    let stopped = world.send_until(address, SenderTrust::Anybody, &paths, |_| {}, &stop);
    assert!(matches!(stopped, Err(Error::Interrupted)), "{stopped:?}");
    assert!(began.elapsed() < Duration::from_secs(3), "{:?}", began.elapsed());
    stopper.join().expect("it ends");
}
