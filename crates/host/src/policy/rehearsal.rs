//! Tries changes in a network namespace of their own, which disappears afterwards: whether this kernel takes them, and
//! in which form it reports them. Only root may try; for others, nothing is tried.

use std::{io, panic, thread};

use nix::sched::{CloneFlags, unshare};

use super::setting::queue::{self, Tree};
use super::setting::{Setting, State};
use crate::netlink::Socket;
use crate::rtnetlink::link::{IFLA_MTU, LOOPBACK_INDEX as LOOPBACK, header};
use crate::rtnetlink::message::RTM_NEWLINK;
use crate::wire::{Message, push};

/// Gives the loopback of a new namespace the disciplines, and reads them back.
///
/// # Errors
/// The kernel's refusal; `NotFound` if it has no discipline of that name.
pub(super) fn queue(tree: &Tree) -> io::Result<Tree> {
    if !nix::unistd::geteuid().is_root() {
        return Ok(tree.clone());
    }
    apart(|| {
        limit_datagrams()?;
        queue::write(LOOPBACK, tree)?;
        let read = queue::read(LOOPBACK)?;
        Ok(Tree { names: tree.names.clone(), ..read.made_by(tree) })
    })
}

/// Gives the loopback the MTU of Ethernet: classes must have room for the longest frame of their device.
fn limit_datagrams() -> io::Result<()> {
    const MTU: u32 = 1_500;
    let mut bytes = header(LOOPBACK);
    push(&mut bytes, IFLA_MTU, &MTU.to_ne_bytes());
    Socket::here()?.change(Message { kind: RTM_NEWLINK, bytes }, 0)
}

/// Writes a kernel setting in a new namespace, and reads it back.
///
/// # Errors
/// The kernel's refusal; `NotFound` if it has no such setting for each namespace.
pub(super) fn sysctl(setting: &Setting, value: &str) -> io::Result<State> {
    if !nix::unistd::geteuid().is_root() {
        return Ok(State::plain(value));
    }
    apart(|| {
        setting.write(&State::plain(value))?;
        setting.read()
    })
}

/// Runs `work` on a thread in a new network namespace.
pub(super) fn apart<T: Send>(work: impl FnOnce() -> io::Result<T> + Send) -> io::Result<T> {
    let enter = || -> io::Result<T> {
        unshare(CloneFlags::CLONE_NEWNET)?;
        work()
    };
    thread::scope(|scope| {
        let worker = thread::Builder::new().spawn_scoped(scope, enter)?;
        worker.join().unwrap_or_else(|panicked| panic::resume_unwind(panicked))
    })
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;
    use crate::policy::setting::queue::Part;
    use crate::rtnetlink::queue::TC_H_ROOT;

    /// The disciplines that commands of tc make.
    fn made_by(commands: &[&str]) -> io::Result<Tree> {
        apart(|| {
            for command in commands {
                let status = Command::new("tc").args(command.split(' ')).status()?;
                assert!(status.success(), "tc {command}");
            }
            queue::read(LOOPBACK)
        })
    }

    #[test]
    fn what_tc_makes_is_made_again() {
        if testbed::lacks("disciplines that are made again", &["tc"]) {
            return;
        }
        for commands in [
            &["qdisc add dev lo root handle 7: tbf rate 5mbit burst 20000 limit 90000"][..],
            &[
                "qdisc add dev lo root handle 1: htb default 20 r2q 5",
                "class add dev lo parent 1: classid 1:1 htb rate 90mbit burst 15k",
                "class add dev lo parent 1:1 classid 1:20 htb rate 6gbit ceil 8gbit prio 2",
                "class add dev lo parent 1:1 classid 1:10 htb rate 1mbit quantum 1514",
                "qdisc add dev lo parent 1:20 handle 20: pfifo limit 17",
            ],
        ] {
            let tree = made_by(commands).expect("tc makes them");
            let again = super::queue(&tree).expect("this kernel has them");
            assert_eq!(again.parts, tree.parts);
        }
    }

    #[test]
    fn a_refusal_has_the_kernels_reason() {
        if testbed::lacks("the kernel's reason for a refusal", &[]) {
            return;
        }
        let part = Part::new(TC_H_ROOT, 0x1_0000, "nonesuch", &[]);
        let tree = Tree { parts: vec![part], ..Tree::default() };
        let error = super::queue(&tree).expect_err("no kernel has it");
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
        assert!(error.to_string().ends_with("Specified qdisc kind is unknown"), "{error}");
    }
}
