//! This machine's CPU times for a host's operations, as a machine file for scenarios.
//!
//! Times are CPU times of a thread, the best of several rounds: other load on the machine only adds.

use std::fmt::Write as _;
use std::hint::black_box;
use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::FileExt;
use std::os::unix::net::UnixStream;
use std::{fs, thread};

use nix::sched::{CpuSet, sched_getaffinity, sched_getcpu, sched_setaffinity};
use nix::sys::memfd::{MFdFlags, memfd_create};
use nix::unistd::Pid;
use record::meter::thread_seconds;
use serde::Serialize;

/// The measured values.
#[derive(Clone, Debug, Serialize)]
pub struct Measured {
    /// The CPU's name, as in the kernel.
    processor: String,
    /// Bytes per second that the kernel copies from a file's pages to a program's buffer.
    memory_copy: f64,
    /// Bytes per second copied from memory to memory, beyond the size of caches.
    memory_move: f64,
    /// Bytes per second read.
    memory_read: f64,
    /// Bytes per second written.
    memory_write: f64,
    /// Bytes per second for the Internet checksum (RFC 1071).
    checksum: f64,
    /// Seconds for a system call that writes a byte to /dev/null.
    system_call: f64,
    /// Seconds to wake a thread that waits in a read, without its system calls.
    wakeup: f64,
    /// Seconds for the sender and the receiver per segment of a stream over loopback, without copies.
    sent: f64,
    received: f64,
}

/// Larger than any private cache of a CPU.
const BUFFER: usize = 64 << 20;
/// System calls and wake-ups per round.
const TIMES: u32 = 20_000;
/// Bytes that a program reads at once: they stay in the CPU's private caches.
const READ: usize = 128 << 10;
/// Bytes that a stream's sender writes at once: many, so that waking the receiver counts little.
const WRITE: usize = 1 << 20;
/// Bytes of a stream per round.
const STREAM: u64 = 512 << 20;
/// Payload of an Ethernet segment with timestamps.
const SEGMENT: f64 = 1448.0;

/// Measures in that number of rounds, at least 1.
///
/// # Errors
/// A machine without a loopback interface.
pub fn measure(rounds: usize) -> io::Result<Measured> {
    let (mut from, mut to) = (vec![1_u8; BUFFER], vec![2_u8; BUFFER]);
    let rate = |seconds: f64| BUFFER as f64 / seconds;
    let copy = best(rounds, || {
        black_box(&mut to).copy_from_slice(black_box(&from));
        Ok(())
    })?;
    let write = best(rounds, || {
        black_box(&mut from).fill(3);
        Ok(())
    })?;
    let read = best(rounds, || {
        // It reads each byte, because none matches.
        black_box(black_box(&from).contains(&0));
        Ok(())
    })?;
    let checksum = best(rounds, || {
        black_box(internet_checksum(black_box(&from)));
        Ok(())
    })?;
    let mut nowhere = fs::OpenOptions::new().write(true).open("/dev/null")?;
    let call = each(rounds, || nowhere.write_all(&[0]))?;
    let file_copy = file_copy(rounds, &from)?;
    let (sender, receiver) = stream(rounds)?;
    Ok(Measured {
        processor: processor_name(),
        memory_copy: 1.0 / file_copy,
        memory_move: rate(copy),
        memory_read: rate(read),
        memory_write: rate(write),
        checksum: rate(checksum),
        system_call: call,
        wakeup: (wakeup(rounds)? - 2.0 * call).max(0.0),
        sent: (sender - file_copy).max(0.0) * SEGMENT,
        received: (receiver - file_copy).max(0.0) * SEGMENT,
    })
}

/// Seconds of the best round.
fn best(rounds: usize, mut work: impl FnMut() -> io::Result<()>) -> io::Result<f64> {
    let mut least = f64::INFINITY;
    for _ in 0..rounds {
        let before = thread_seconds();
        work()?;
        least = least.min(thread_seconds() - before);
    }
    Ok(least.max(1e-9))
}

/// Seconds of one call, in the best round.
fn each(rounds: usize, mut work: impl FnMut() -> io::Result<()>) -> io::Result<f64> {
    let round = || (0..TIMES).try_for_each(|_| work());
    Ok(best(rounds, round)? / f64::from(TIMES))
}

/// Time for a thread to wake another and be woken by it, on one CPU: the time in which a second CPU leaves its
/// idle state is not work.
fn wakeup(rounds: usize) -> io::Result<f64> {
    let (mut near, mut far) = UnixStream::pair()?;
    let before = sched_getaffinity(Pid::from_raw(0))?;
    stay()?;
    let echo = thread::spawn(move || {
        let mut byte = [0];
        while far.read_exact(&mut byte).is_ok() && far.write_all(&byte).is_ok() {}
    });
    let mut byte = [0];
    let seconds = each(rounds, || {
        near.write_all(&byte)?;
        near.read_exact(&mut byte)
    });
    drop(near);
    let _ = echo.join();
    sched_setaffinity(Pid::from_raw(0), &before)?;
    seconds
}

/// Pins this thread, and those that it starts, to its current CPU.
fn stay() -> io::Result<()> {
    let mut here = CpuSet::new();
    here.set(sched_getcpu()?)?;
    Ok(sched_setaffinity(Pid::from_raw(0), &here)?)
}

/// Seconds per byte for a program that reads a file in memory.
fn file_copy(rounds: usize, data: &[u8]) -> io::Result<f64> {
    let mut file = fs::File::from(memfd_create(c"suimon-cost", MFdFlags::empty())?);
    file.write_all(data)?;
    let mut buffer = vec![0; READ];
    let places = || (0..data.len() as u64).step_by(READ);
    let read = best(rounds, || places().try_for_each(|at| file.read_exact_at(&mut buffer, at)))?;
    Ok(read / data.len() as f64)
}

/// Seconds per byte of a stream over loopback for the sender and the receiver, each from its best round.
fn stream(rounds: usize) -> io::Result<(f64, f64)> {
    let listener = TcpListener::bind(("127.0.0.1", 0))?;
    let address = listener.local_addr()?;
    let data = vec![1_u8; WRITE];
    let mut least = (f64::INFINITY, f64::INFINITY);
    for _ in 0..rounds {
        let mut sender = TcpStream::connect(address)?;
        let (mut receiver, _) = listener.accept()?;
        let reads = thread::spawn(move || {
            let before = thread_seconds();
            let mut room = vec![0; READ];
            for _ in 0..STREAM / READ as u64 {
                receiver.read_exact(&mut room)?;
            }
            Ok(thread_seconds() - before)
        });
        let before = thread_seconds();
        for _ in 0..STREAM / WRITE as u64 {
            sender.write_all(&data)?;
        }
        let sent = thread_seconds() - before;
        let received: io::Result<f64> =
            reads.join().map_err(|_| io::Error::other("the receiver panicked"))?;
        least = (least.0.min(sent), least.1.min(received?));
    }
    Ok((least.0 / STREAM as f64, least.1 / STREAM as f64))
}

/// The one's complement sum of 16-bit words (RFC 1071); adding four bytes at a time gives the same result.
fn internet_checksum(bytes: &[u8]) -> u16 {
    let words = bytes.chunks_exact(4);
    let sum = words.fold(0_u64, |sum, word| {
        sum + u64::from(u32::from_be_bytes(word.try_into().unwrap_or_default()))
    });
    let fold = |sum: u64| (sum & 0xffff) + (sum >> 16);
    !(fold(fold(fold(fold(sum)))) as u16)
}

/// The CPU's name, as in the kernel.
fn processor_name() -> String {
    let known = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let line = known.lines().find_map(|line| line.strip_prefix("model name"));
    let name = line.and_then(|line| line.split_once(':')).map(|(_, name)| name.trim());
    name.unwrap_or("unnamed CPU").to_owned()
}

impl Measured {
    /// The machine's file.
    pub fn file(&self) -> String {
        let rate = |bytes: f64| format!("\"{:.1} MB/s\"", bytes / 1e6);
        let time = |seconds: f64| format!("\"{:.1} ns\"", seconds * 1e9);
        let mut text = format!(
            "# {}, measured by `suimon cost host`.\n#\n# Copies from a file of 64 MiB in memory to a program's buffer of 128 KiB; from memory to memory, beyond what\n# caches hold, {:.1} MB/s. Reads and writes of 64 MiB.\n",
            self.processor,
            self.memory_move / 1e6
        );
        let mut line = |name: &str, value: String| {
            let _ = writeln!(text, "{name} = {value}");
        };
        line("memory_copy", rate(self.memory_copy));
        line("memory_read", rate(self.memory_read));
        line("memory_write", rate(self.memory_write));
        let _ = writeln!(
            text,
            "# Current interfaces compute checksums; the CPU would compute {:.1} MB/s.\nchecksum = false",
            self.checksum / 1e6
        );
        let mut line = |comment: &str, name: &str, seconds: f64| {
            let _ = writeln!(text, "# {comment}\n{name} = {}", time(seconds));
        };
        line("A write of one byte to /dev/null.", "system_call", self.system_call);
        line("Waking a thread that waits in a read, and being woken.", "wakeup", self.wakeup);
        line(
            "Per 1448 bytes of a stream over loopback, including system calls and ACKs, excluding copies.",
            "per_sent",
            self.sent,
        );
        let _ = writeln!(text, "per_segment = {}", time(self.received));
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_checksum_is_that_of_rfc_1071() {
        // Section 3: the sum of these is ddf2.
        assert_eq!(internet_checksum(&[0, 1, 0xf2, 3, 0xf4, 0xf5, 0xf6, 0xf7]), !0xddf2);
    }
}
