//! What forwarding a frame of 1500 bytes costs on one core: the fabric, bare devices, and the kernel.
//!
//! Frames come in bursts from another core. Counted is the time of the forwarder's core while there is
//! something to forward: in it are the system calls, and what the kernel does for the next host up to
//! where that drops the frame. Waiting costs nothing, so that the figure is that of a forwarder which
//! always finds a full batch. A round's figure is the median of its bursts.

mod bed;
mod forward;
mod kernel;

use std::hint::spin_loop;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;
use std::{env, thread};

use bed::{Bed, FORWARDER, GENERATOR, Generator, Result, arrived, pin};
use forward::Forwarder;
use kernel::Kernel;
use lab::clock::Clock;
use lab::device::Kind;
use lab::{Error, FabricBench, Namespace};
use scenario::Document;

/// Frames of a burst: fewer than any forwarder has room for.
const BURST: u32 = 512;
/// A veth interface has room for 256 until its thread has woken.
const KERNEL_BURST: u32 = 192;
/// Bursts of a round.
const BURSTS: u32 = 200;
/// The number of steps without a frame after which a forwarder has seen the whole burst.
const IDLE_STEPS_MAX: u32 = 20_000;
/// An Ethernet address of no host, so that the sink's kernel drops the frame at once.
const NOBODY: [u8; 6] = [2, 0, 0, 0, 0, 0x99];

/// Two hosts and a router between them, on lines that never wait.
const SCENARIO: &str = r#"
duration = "1 h"
[host.a]
address = "10.0.0.2"
[router.r]
[host.b]
address = "10.0.1.2"
[link.in]
between = ["a", "r"]
rate = "400 Gbit/s"
[link.out]
between = ["r", "b"]
rate = "400 Gbit/s"
[link.out.at.r.queue.fifo]
packets = 1000
"#;

/// Forwards bursts from `generator` by `step`, which says how many frames it sent; nanoseconds a frame, and
/// how many frames there were.
fn measure(
    generator: &mut Generator,
    mut step: impl FnMut() -> Result<u32> + Send,
) -> Result<(f64, u64)> {
    // Bursts made, and bursts forwarded.
    let (made, gone) = (AtomicU32::new(0), AtomicU32::new(0));
    let (costs, moved) = thread::scope(|scope| {
        let worker = scope.spawn(|| -> Result<(Vec<f64>, u64)> {
            pin(0, FORWARDER)?;
            let (mut costs, mut moved) = (Vec::new(), 0);
            for burst in 1..=BURSTS {
                while made.load(Ordering::Acquire) < burst {
                    spin_loop();
                }
                let (cost, count) = forward(&mut step)?;
                costs.push(cost);
                moved += u64::from(count);
                gone.store(burst, Ordering::Release);
            }
            Ok((costs, moved))
        });
        pin(0, GENERATOR)?;
        for burst in 1..=BURSTS {
            generator.send(BURST)?;
            made.store(burst, Ordering::Release);
            while gone.load(Ordering::Acquire) < burst && !worker.is_finished() {
                spin_loop();
            }
        }
        worker.join().map_err(|_| "the forwarder panicked")?
    })?;
    Ok((median(costs)?, moved))
}

/// The cost, if the frames that were forwarded are nearly all that were made, and all arrived.
fn checked((cost, moved): (f64, u64), through: u64) -> Result<f64> {
    let sent = u64::from(BURST * BURSTS);
    if through != moved || moved < sent * 9 / 10 {
        return Err(format!("{moved} of {sent} frames forwarded, {through} arrived").into());
    }
    Ok(cost)
}

/// Forwards one burst: nanoseconds a frame, and how many frames there were.
fn forward(step: &mut impl FnMut() -> Result<u32>) -> Result<(f64, u32)> {
    let clock = Clock::starting_in(Duration::ZERO);
    let (mut last, mut count, mut idle) = (clock.now(), 0, 0);
    let start = last;
    while count < BURST && idle < IDLE_STEPS_MAX {
        match step()? {
            0 => idle += 1,
            some => {
                (last, idle) = (clock.now(), 0);
                count += some;
            }
        }
    }
    Ok((last.since(start).as_ps() as f64 / 1e3 / f64::from(count.max(1)), count))
}

fn bare(kind: Kind) -> Result<f64> {
    let bed = Bed::new()?;
    let mut forwarder = Forwarder::new(&bed, kind)?;
    let mut generator = Generator::new(&bed.source, "g0", NOBODY)?;
    let before = arrived(&bed.sink, "s0")?;
    let measured = measure(&mut generator, || forwarder.step())?;
    checked(measured, arrived(&bed.sink, "s0")? - before)
}

fn fabric(kind: Kind) -> Result<f64> {
    let document = Document::parse("fabric", SCENARIO).map_err(|error| error.to_string())?;
    let plan = document.plan().map_err(|error| error.to_string())?;
    let mut alone = FabricBench::build(&plan, kind)?;
    let [source, sink] = ["a", "b"].map(|name| plan.nodes.iter().position(|n| n.name == name));
    let (source, sink) = (source.ok_or("no source")?, sink.ok_or("no sink")?);
    let mut generator = Generator::new(host(&alone, source)?, "eth0", NOBODY)?;
    let before = arrived(host(&alone, sink)?, "eth0")?;
    let measured = measure(&mut generator, || Ok(alone.step()? as u32))?;
    checked(measured, arrived(host(&alone, sink)?, "eth0")? - before)
}

fn host(alone: &FabricBench, node: usize) -> Result<&Namespace> {
    Ok(alone.host(node).ok_or("the node is no host")?)
}

fn kernel(htb: bool) -> Result<f64> {
    let bed = Bed::new()?;
    let kernel = Kernel::new(&bed, htb)?;
    let mut generator = Generator::new(&bed.source, "g0", kernel::ADDRESS)?;
    pin(0, GENERATOR)?;
    median(kernel.measure(&bed, &mut generator, BURSTS, KERNEL_BURST)?)
}

/// The one in the middle, which a neighbour that takes the core now and then does not move.
fn median(mut costs: Vec<f64>) -> Result<f64> {
    costs.sort_by(f64::total_cmp);
    Ok(*costs.get(costs.len() / 2).ok_or("nothing was measured")?)
}

/// One forwarder: its name, and how to measure it once, in nanoseconds of its core a frame.
type Case = (&'static str, fn() -> Result<f64>);

const CASES: [Case; 7] = [
    ("fabric by AF_XDP, generic", || fabric(Kind::Xdp { native: false })),
    ("bare AF_XDP, generic", || bare(Kind::Xdp { native: false })),
    ("bare AF_XDP, native", || bare(Kind::Xdp { native: true })),
    ("fabric by AF_PACKET", || fabric(Kind::Packet { vnet: false })),
    ("bare AF_PACKET", || bare(Kind::Packet { vnet: false })),
    ("kernel ip_forward", || kernel(false)),
    ("kernel ip_forward + HTB", || kernel(true)),
];

fn main() -> Result<()> {
    if let Err(error @ Error::Lacking { .. }) = Namespace::new() {
        println!("skipped: {error}");
        return Ok(());
    }
    let rounds = env::args().skip(1).find_map(|word| word.parse().ok()).unwrap_or(7);
    println!("{:<26} {:>10} {:>12}", "Mpps a core, 1500 bytes", "best", "median");
    // In turns, so that a neighbour's work falls on all alike.
    let mut costs = vec![Vec::new(); CASES.len()];
    for _ in 0..rounds {
        for ((name, measure), costs) in CASES.iter().zip(&mut costs) {
            costs.push(measure().map_err(|error| format!("{name}: {error}"))?);
        }
    }
    for ((name, _), costs) in CASES.iter().zip(costs) {
        let best = costs.iter().copied().fold(f64::INFINITY, f64::min);
        println!("{name:<26} {:>10.3} {:>12.3}", 1e3 / best, 1e3 / median(costs)?);
    }
    Ok(())
}
