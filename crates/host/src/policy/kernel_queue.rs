//! The kernel's queueing discipline for a scenario's: its own where one does the same, otherwise that of Suimon's module.

use traffic::qdisc::{Parameters, codel, fifo, fq_codel, pie, tbr};
use traffic::setting::Value;
use traffic::{Bytes, Duration, Rate};
use traffic_kernel::{netlink, table};

use super::gaps::GapFrame;
use super::setting::queue::{Part, Tree, number};
use crate::rtnetlink::queue as tca;
use crate::wire::push;

/// The numbers of our disciplines: `5100:` at the device, and `5101:` within it.
const OUTER: u32 = 0x5100_0000;
const INNER: u32 = 0x5101_0000;
/// The first class of a discipline.
const FIRST: u32 = 1;
/// Bytes of the frame check sequence, which Linux does not count.
const FCS: u64 = 4;
/// The bytes of Ethernet's shortest frame, with its check sequence.
const SHORTEST: u16 = 64;

/// What a device is given.
#[derive(Clone, Debug)]
pub(super) struct KernelQueue {
    /// The disciplines.
    pub(super) tree: Tree,
    /// How it differs from the scenario's; empty if it does not.
    pub(super) difference: &'static str,
    /// Whether it is the module's, which does exactly what the simulator's does.
    pub(super) module: bool,
}

/// The port that a discipline is attached to.
#[derive(Clone, Copy, Debug)]
pub(super) struct Port {
    pub(super) rate: Rate,
    pub(super) mtu: Bytes,
    /// Bytes of a frame on the wire besides the frame itself.
    pub(super) overhead: Bytes,
    /// The frame that fills a gap.
    pub(super) gap: GapFrame,
}

/// The kernel's discipline for `queue`.
///
/// # Errors
/// What no discipline can do on a real network.
pub(super) fn equivalent(queue: &Parameters, port: Port) -> Result<KernelQueue, String> {
    own(queue, port).or_else(|_| by_module(queue, port))
}

/// A discipline of the kernel at the device, with its default settings.
pub(super) fn alone(kind: &str) -> Tree {
    let parts = vec![Part::new(tca::TC_H_ROOT, OUTER, kind, &[])];
    Tree { parts, names: kind.to_owned() }
}

/// The discipline of the module `sch_suimon` for `queue`.
fn by_module(queue: &Parameters, port: Port) -> Result<KernelQueue, String> {
    if let Some(class) = frames::rules::class_by_plan(queue.settings()) {
        return Err(format!(
            "the class `{class}` is matched by a host or a flow of the scenario: match addresses, ports or DSCP"
        ));
    }
    let mut text = table::write(queue).map_err(|error| error.to_string())?.into_bytes();
    text.push(0);
    let mut options = Vec::new();
    push(&mut options, netlink::TABLE, &text);
    push(&mut options, netlink::RATE, &port.rate.bits_per_second().to_ne_bytes());
    let overhead = u32::try_from(port.overhead.0).unwrap_or(u32::MAX);
    push(&mut options, netlink::OVERHEAD, &overhead.to_ne_bytes());
    push(&mut options, netlink::GAP, &port.gap.number().to_ne_bytes());
    let own = match queue.settings().get("rate") {
        Some(Value::Rate(rate)) => format!("rate {rate}, "),
        _ => String::new(),
    };
    let names = format!("{} by sch_suimon, {own}line {}", queue.name(), port.rate);
    let parts = vec![Part::new(tca::TC_H_ROOT, OUTER, netlink::KIND, &options)];
    Ok(KernelQueue { tree: Tree { parts, names }, difference: "", module: true })
}

/// The kernel's own discipline that does what `queue` does.
fn own(queue: &Parameters, port: Port) -> Result<KernelQueue, String> {
    let (parts, names, difference) = match queue {
        Parameters::Tbr(tbr) => regulated(tbr, port)?,
        other => {
            let (kind, options, difference) = leaf(other)?;
            let names = described(kind, other);
            (vec![Part::new(tca::TC_H_ROOT, OUTER, kind, &options)], names, difference)
        }
    };
    Ok(KernelQueue { tree: Tree { parts, names }, difference, module: false })
}

type Leaf = (&'static str, Vec<u8>, &'static str);

/// A discipline without classes: its name in the kernel, its options, and how it differs.
fn leaf(queue: &Parameters) -> Result<Leaf, String> {
    match queue {
        Parameters::Fifo(fifo) => plain(fifo),
        Parameters::FqCodel(parameters) => Ok(("fq_codel", fair(parameters), MEMORY)),
        Parameters::Codel(parameters) => {
            let codel::Parameters { bytes, packets, target, interval, ecn, mark_above } =
                *parameters;
            no_bytes("codel", bytes)?;
            let mut options = Vec::new();
            number(&mut options, tca::TCA_CODEL_TARGET, us(target));
            number(&mut options, tca::TCA_CODEL_LIMIT, packets_of(packets));
            number(&mut options, tca::TCA_CODEL_INTERVAL, us(interval));
            number(&mut options, tca::TCA_CODEL_ECN, ecn.into());
            mark_above
                .iter()
                .for_each(|&above| number(&mut options, tca::TCA_CODEL_CE_THRESHOLD, us(above)));
            Ok(("codel", options, ""))
        }
        Parameters::Pie(parameters) => proportional(parameters),
        other => {
            Err(format!("the kernel has no discipline that does what `{}` does", other.name()))
        }
    }
}

const NO_FCS: &str = "Linux counts frames without their 4 bytes of FCS";
const MEMORY: &str = "its limit in bytes is one of the memory that packets take";

fn plain(parameters: &fifo::Parameters) -> Result<Leaf, String> {
    let limit = |number: u64| u32::try_from(number).unwrap_or(u32::MAX).to_ne_bytes().to_vec();
    match *parameters {
        fifo::Parameters { packets: Some(_), bytes: Some(_) } => {
            Err("the kernel's FIFOs are limited by packets or by bytes, not by both".into())
        }
        fifo::Parameters { packets: None, bytes: Some(bytes) } => {
            Ok(("bfifo", limit(bytes.0), NO_FCS))
        }
        fifo::Parameters { packets, bytes: None } => {
            Ok(("pfifo", limit(packets.unwrap_or(1_000)), ""))
        }
    }
}

/// `TCA_FQ_CODEL_*` of include/uapi/linux/pkt_sched.h.
fn fair(parameters: &fq_codel::Parameters) -> Vec<u8> {
    let mut options = Vec::new();
    let count = |number: u64| u32::try_from(number).unwrap_or(u32::MAX);
    number(&mut options, tca::TCA_FQ_CODEL_TARGET, us(parameters.target));
    number(&mut options, tca::TCA_FQ_CODEL_LIMIT, count(parameters.packets));
    number(&mut options, tca::TCA_FQ_CODEL_INTERVAL, us(parameters.interval));
    number(&mut options, tca::TCA_FQ_CODEL_ECN, parameters.ecn.into());
    number(&mut options, tca::TCA_FQ_CODEL_FLOWS, count(parameters.flows));
    number(&mut options, tca::TCA_FQ_CODEL_QUANTUM, count(parameters.quantum.0));
    parameters
        .mark_above
        .iter()
        .for_each(|&above| number(&mut options, tca::TCA_FQ_CODEL_CE_THRESHOLD, us(above)));
    number(&mut options, tca::TCA_FQ_CODEL_MEMORY_LIMIT, count(parameters.bytes.0));
    options
}

/// `TCA_PIE_*`. Linux has the burst of 150 ms and the 10 % of RFC 8033 built in.
fn proportional(parameters: &pie::Parameters) -> Result<Leaf, String> {
    let usual = pie::Parameters::default();
    no_bytes("pie", parameters.bytes)?;
    let same = (parameters.burst, parameters.mark_max) == (usual.burst, usual.mark_max);
    if !same || parameters.derandomize {
        return Err("the kernel's `pie` has no `burst`, `mark_max` and `derandomize`".into());
    }
    let mut options = Vec::new();
    number(&mut options, tca::TCA_PIE_TARGET, us(parameters.target));
    number(&mut options, tca::TCA_PIE_LIMIT, packets_of(parameters.packets));
    number(&mut options, tca::TCA_PIE_TUPDATE, us(parameters.update));
    number(&mut options, tca::TCA_PIE_ALPHA, parameters.alpha);
    number(&mut options, tca::TCA_PIE_BETA, parameters.beta);
    number(&mut options, tca::TCA_PIE_ECN, parameters.ecn.into());
    Ok(("pie", options, ""))
}

/// A token bucket filter around another discipline.
fn regulated(
    parameters: &tbr::Parameters,
    port: Port,
) -> Result<(Vec<Part>, String, &'static str), String> {
    let rate = parameters.rate.unwrap_or(port.rate);
    let frame = port.mtu.0 + u64::from(traffic::packet::ETHERNET_HEADER_AND_FCS);
    // `tbr` may overdraw its bucket by a packet, `tbf` not.
    let bucket = parameters.bucket.unwrap_or(tbr::automatic_bucket(rate, port.mtu));
    let burst = u32::try_from(bucket.0 + frame).map_err(|_| "the bucket exceeds 4 GiB")?;
    let (kind, inner, _) = leaf(&parameters.queue)?;
    let options = bucket_filter(rate, burst);
    let parts = vec![
        Part::new(tca::TC_H_ROOT, OUTER, "tbf", &options),
        Part::new(OUTER | FIRST, INNER, kind, &inner),
    ];
    let names = format!("tbf {rate} burst {burst}, {}", described(kind, &parameters.queue));
    Ok((parts, names, "its burst has one frame more than the bucket, which `tbr` may overdraw"))
}

/// The options of a TBF (`TCA_TBF_*`). Frames count with their FCS, and short ones as the shortest.
fn bucket_filter(rate: Rate, burst: u32) -> Vec<u8> {
    let exact = (rate.bits_per_second() / 8).max(1);
    // `struct tc_tbf_qopt`: two `struct tc_ratespec` of 12 bytes (the second, a peak, is unused), limit, buffer, mtu.
    let mut qopt = vec![0, tca::TC_LINKLAYER_ETHERNET];
    qopt.extend((FCS as u16).to_ne_bytes());
    qopt.extend([0; 2]);
    qopt.extend(SHORTEST.to_ne_bytes());
    qopt.extend(u32::try_from(exact).unwrap_or(u32::MAX).to_ne_bytes());
    qopt.extend([0; 12]);
    // The limit is that of the discipline inside.
    qopt.extend(burst.to_ne_bytes());
    qopt.extend([0; 8]);
    let mut options = Vec::new();
    push(&mut options, tca::TCA_TBF_PARMS, &qopt);
    push(&mut options, tca::TCA_TBF_BURST, &burst.to_ne_bytes());
    push(&mut options, tca::TCA_TBF_RATE64, &exact.to_ne_bytes());
    options
}

/// The discipline's name with its limit, for people.
fn described(kind: &str, queue: &Parameters) -> String {
    match queue {
        Parameters::Fifo(fifo) => match fifo.bytes {
            Some(bytes) => format!("{kind} limit {}b", bytes.0),
            None => format!("{kind} limit {}p", fifo.packets.unwrap_or(1_000)),
        },
        _ => kind.to_owned(),
    }
}

fn no_bytes(kind: &str, bytes: Option<Bytes>) -> Result<(), String> {
    match bytes {
        Some(_) => Err(format!("the kernel's `{kind}` is limited by packets, not by bytes")),
        None => Ok(()),
    }
}

fn packets_of(packets: Option<u64>) -> u32 {
    packets.map_or(u32::MAX, |packets| u32::try_from(packets).unwrap_or(u32::MAX))
}

fn us(time: Duration) -> u32 {
    u32::try_from(time.as_us()).unwrap_or(u32::MAX)
}
