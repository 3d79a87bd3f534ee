//! The kernel's queueing discipline for a scenario's: its own where one does the same, otherwise that of Suimon's
//! module, and without the module one of the kernel's own with classes that does about the same.

mod classes;
mod filters;
mod leaf;
mod port;

use base::Rate;
use base::setting::Value;
use traffic::qdisc::{Parameters, tbr};
use traffic_kernel::{netlink, table};

use super::setting::queue::{Part, Tree};
use crate::rtnetlink::queue as tca;
use crate::wire::push;
use leaf::{NO_FCS, Place, leaf};
use port::{FCS, FIRST, INNER, OUTER, SHORTEST};
pub(super) use port::{KernelQueue, Port};

/// The kernel's disciplines for `queue`: the first one that the kernel has is used.
#[derive(Clone, Debug)]
pub(super) struct Equivalents {
    pub(super) first: KernelQueue,
    /// What replaces the module's; or what the kernel's own lacks, empty if it has none like it.
    pub(super) second: Result<KernelQueue, String>,
}

/// The kernel's disciplines for `queue`.
///
/// # Errors
/// What no discipline can do on a real network.
pub(super) fn equivalents(queue: &Parameters, port: Port) -> Result<Equivalents, String> {
    let reason = match own(queue, port) {
        Ok(first) => return Ok(Equivalents { first, second: Err(String::new()) }),
        Err(reason) => reason,
    };
    let first = by_module(queue, port)?;
    let second = match queue.classes() {
        Some(_) => classes::with_classes(queue, port),
        None => Err(reason),
    };
    Ok(Equivalents { first, second })
}

/// A discipline of the kernel at the device, with its default settings.
pub(super) fn alone(kind: &str) -> Tree {
    let parts = vec![Part::new(tca::TC_H_ROOT, OUTER, kind, &[])];
    Tree { parts, names: kind.to_owned() }
}

/// The discipline of the module `sch_suimon` for `queue`.
fn by_module(queue: &Parameters, port: Port) -> Result<KernelQueue, String> {
    if let Some(class) = frames::rules::class_by_plan(queue.as_settings()) {
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
    let own = match queue.get("rate") {
        Some(Value::Rate(rate)) => format!("rate {rate}, "),
        _ => String::new(),
    };
    let names = format!("{} by sch_suimon, {own}line {}", queue.name(), port.rate);
    let parts = vec![Part::new(tca::TC_H_ROOT, OUTER, netlink::KIND, &options)];
    Ok(KernelQueue { tree: Tree { parts, names }, difference: String::new(), module: true })
}

/// The kernel's own discipline that does what `queue` does.
fn own(queue: &Parameters, port: Port) -> Result<KernelQueue, String> {
    let (parts, names, difference) = match queue {
        Parameters::Tbr(tbr) => regulated(tbr, port)?,
        other => {
            let leaf = leaf(other, Place { parent: tca::TC_H_ROOT, handle: OUTER }, port)?;
            (leaf.parts, leaf.name, leaf.difference)
        }
    };
    let difference = difference.to_owned();
    Ok(KernelQueue { tree: Tree { parts, names }, difference, module: false })
}

/// A token bucket filter around another discipline.
fn regulated(
    parameters: &tbr::Parameters,
    port: Port,
) -> Result<(Vec<Part>, String, &'static str), String> {
    let rate = parameters.rate.unwrap_or(port.rate);
    let frame = port.mtu.0 + u64::from(base::packet::ETHERNET_HEADER_AND_FCS);
    // `tbr` may overdraw its bucket by a packet, `tbf` not.
    let bucket = parameters.bucket.unwrap_or(tbr::automatic_bucket(rate, port.mtu));
    let burst = u32::try_from(bucket.0 + frame).map_err(|_| "the bucket exceeds 4 GiB")?;
    let inner = leaf(&parameters.queue, Place { parent: OUTER | FIRST, handle: INNER }, port)?;
    let options = bucket_filter(rate, burst);
    let mut parts = vec![Part::new(tca::TC_H_ROOT, OUTER, "tbf", &options)];
    parts.extend(inner.parts);
    let names = format!("tbf {rate} burst {burst}, {}", inner.name);
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
