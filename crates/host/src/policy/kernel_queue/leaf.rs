//! The kernel's disciplines without classes.

use base::{Bytes, Duration};
use traffic::qdisc::{Parameters, codel, fifo, fq_codel, pie, red};

use super::super::setting::queue::{Part, number};
use super::port::Port;
use crate::rtnetlink::queue as tca;
use crate::wire::push;

/// The difference of everything that counts bytes.
pub(super) const NO_FCS: &str = "Linux counts frames without their 4 bytes of FCS";
const MEMORY: &str = "its limit in bytes is one of the memory that packets take";

/// Where a discipline is attached.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    /// The discipline or class that it belongs to.
    pub(super) parent: u32,
    /// Its number. That of a discipline within it is higher by [`WITHIN`].
    pub(super) handle: u32,
}

/// What separates the number of a discipline from that of the one within it.
const WITHIN: u32 = 0x1000_0000;

/// A discipline without classes.
#[derive(Debug)]
pub(super) struct Leaf {
    pub(super) parts: Vec<Part>,
    /// Its name with its limit, for people.
    pub(super) name: String,
    /// How it differs from the scenario's.
    pub(super) difference: &'static str,
}

/// The kernel's discipline without classes that does what `queue` does.
///
/// # Errors
/// What the kernel's does not have.
pub(super) fn leaf(queue: &Parameters, place: Place, port: Port) -> Result<Leaf, String> {
    let (kind, options, difference) = match queue {
        Parameters::Fifo(fifo) => plain(fifo)?,
        Parameters::FqCodel(parameters) => ("fq_codel", fair(parameters), MEMORY),
        Parameters::Codel(parameters) => ("codel", controlled(parameters)?, ""),
        Parameters::Pie(parameters) => ("pie", proportional(parameters)?, ""),
        Parameters::Red(parameters) => return early(parameters, place, port),
        other => {
            return Err(format!(
                "the kernel has no discipline that does what `{}` does",
                other.name()
            ));
        }
    };
    let parts = vec![Part::new(place.parent, place.handle, kind, &options)];
    Ok(Leaf { parts, name: described(kind, queue), difference })
}

type Options = (&'static str, Vec<u8>, &'static str);

fn plain(parameters: &fifo::Parameters) -> Result<Options, String> {
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

/// `TCA_CODEL_*` of include/uapi/linux/pkt_sched.h.
fn controlled(parameters: &codel::Parameters) -> Result<Vec<u8>, String> {
    let codel::Parameters { bytes, packets, target, interval, ecn, mark_above } = *parameters;
    no_bytes("codel", bytes)?;
    let mut options = Vec::new();
    number(&mut options, tca::TCA_CODEL_TARGET, us(target));
    number(&mut options, tca::TCA_CODEL_LIMIT, packets_of(packets));
    number(&mut options, tca::TCA_CODEL_INTERVAL, us(interval));
    number(&mut options, tca::TCA_CODEL_ECN, ecn.into());
    mark_above
        .iter()
        .for_each(|&above| number(&mut options, tca::TCA_CODEL_CE_THRESHOLD, us(above)));
    Ok(options)
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
fn proportional(parameters: &pie::Parameters) -> Result<Vec<u8>, String> {
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
    Ok(options)
}

/// RED around a FIFO with its limit (`TCA_RED_*`, net/sched/sch_red.c). Linux counts the queue in bytes, and drops
/// everything above the upper threshold.
fn early(parameters: &red::Parameters, place: Place, port: Port) -> Result<Leaf, String> {
    let red::Parameters { bytes, packets, threshold_min, threshold_max, mean_packet, .. } =
        *parameters;
    if parameters.flow_valve || parameters.gentle || !parameters.in_bytes {
        return Err(
            "the kernel's `red` needs in_bytes = true, gentle = false and no `flow_valve`".into()
        );
    }
    let weight = parameters.weight.0;
    if !weight.is_power_of_two() {
        return Err("the weight of the kernel's `red` is a power of two".into());
    }
    let weight_log = u32::BITS - weight.trailing_zeros();
    let level = |threshold: u64| u32::try_from(threshold.saturating_mul(mean_packet.0)).ok();
    let (Some(min), Some(max)) = (level(threshold_min), level(threshold_max)) else {
        return Err("the thresholds of the kernel's `red` are below 4 GB".into());
    };
    let probability = parameters.probability_max.0;
    // The least power of two above the bytes of queue for which the probability rises to one.
    let rise = (u128::from(max - min) << u32::BITS) / u128::from(probability.max(1));
    let probability_log = (u128::BITS - rise.leading_zeros()).min(31);
    let (cell_log, table) = idle(weight_log, port.rate.time_for(mean_packet));
    let flags = tca::TC_RED_HARDDROP | if parameters.ecn { tca::TC_RED_ECN } else { 0 };
    // `struct tc_red_qopt`. The limit is that of the FIFO inside.
    let mut qopt = Vec::new();
    [0, min, max].iter().for_each(|word: &u32| qopt.extend(word.to_ne_bytes()));
    qopt.extend([weight_log as u8, probability_log as u8, cell_log, flags]);
    let mut options = Vec::new();
    push(&mut options, tca::TCA_RED_PARMS, &qopt);
    push(&mut options, tca::TCA_RED_STAB, &table);
    number(&mut options, tca::TCA_RED_MAX_P, probability);
    let mut parts = vec![Part::new(place.parent, place.handle, "red", &options)];
    let inner = fifo::Parameters { bytes, packets };
    let inside = Place { parent: place.handle | super::FIRST, handle: place.handle + WITHIN };
    let inner = leaf(&Parameters::Fifo(inner), inside, port)?;
    parts.extend(inner.parts);
    let name = format!("red {min} to {max} B, {}", inner.name);
    Ok(Leaf { parts, name, difference: NO_FCS })
}

/// How far the average of a RED is halved after each idle time: the shift of microseconds to cells, and the halvings of
/// each cell (`red_calc_qavg_from_idle_time` of include/net/red.h).
fn idle(weight_log: u32, packet: Duration) -> (u8, [u8; 256]) {
    const MOST: f64 = 31.0;
    let halvings = -(1.0 - 0.5_f64.powi(weight_log as i32)).log2();
    let of_us = halvings / (packet.as_secs_f64() * 1e6).max(1e-6);
    // The last cell is for all longer idle times: what is halved so often is nothing.
    let log = (0..31).find(|&log| 255.0 * 2_f64.powi(log) * of_us >= MOST / 2.0).unwrap_or(31);
    let cell = |index: usize| (index as f64 * 2_f64.powi(log) * of_us).min(MOST) as u8;
    let mut table = std::array::from_fn(cell);
    table[255] = MOST as u8;
    (log as u8, table)
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

#[test]
fn an_idle_red_halves_its_average_as_often_as_packets_of_nothing_would() {
    // 1000 bytes at 10 Mbit/s, weight 2^-9: (1 - 2^-9)^m is 2^-1 after 354.5 packets of 800 us. A cell has 33 ms.
    let (log, table) = idle(9, Duration::from_us(800));
    let at = |packets: f64| table[((packets * 800.0) as u64 >> log) as usize];
    assert_eq!((at(340.0), at(400.0), at(1_100.0), at(6_000.0)), (0, 1, 3, 16));
    assert_eq!((table[0], table[255]), (0, 31));
}
