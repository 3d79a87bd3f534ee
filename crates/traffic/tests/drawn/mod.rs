//! Parameters drawn at random that a discipline accepts, for every one in the registry: what tests of all
//! disciplines begin with. The port is [`LINK`]'s, with an MTU of 1500 bytes.

use proptest::prelude::*;

use base::{Bytes, Duration, FlowId, Priorities, Share};
use traffic::classify::{Filter, Rule};
use traffic::qdisc::{
    Parameters, blue, cbq, codel, drr, ets, fairq, fifo, fq_codel, hfsc, mark, pie, priq, psp, red,
    rio, tbr, wfq,
};

use crate::wire::{OVERHEAD, rate};

/// Bits per second of the port.
pub(crate) const LINK: u64 = 1_000_000_000;

fn queue() -> impl Strategy<Value = fifo::Parameters> {
    (1_518_u64..20_000, 1_u64..20).prop_map(|(bytes, packets)| fifo::Parameters {
        bytes: Some(Bytes(bytes)),
        packets: Some(packets),
    })
}

/// Classes `0`, `1`, ... with a share of the link each, some of them within class `0`.
fn psp() -> impl Strategy<Value = psp::Parameters> {
    let class = (LINK / 1_000..LINK / 10, any::<bool>(), queue());
    (proptest::collection::vec(class, 1..5), queue(), any::<bool>()).prop_map(
        |(drawn, unclassified, gaps)| {
            let nested = drawn.len() > 2;
            let class = |(index, &(bits, within, queue)): (usize, &(u64, bool, _))| psp::Class {
                name: index.to_string(),
                parent: (nested && within && index > 0).then(|| "0".into()),
                rate: match bits % 4 {
                    _ if nested && index == 0 => rate(LINK / 2).into(),
                    0 => psp::PacingRate::Measured,
                    _ => rate(bits).into(),
                },
                queue,
            };
            let classes: Vec<_> = drawn.iter().enumerate().map(class).collect();
            let leaf = |class: &&psp::Class| {
                !classes.iter().any(|other| other.parent.as_ref() == Some(&class.name))
            };
            let filters = classes.iter().filter(leaf).map(|class| Rule {
                filter: Filter { flow: class.name.parse().ok().map(FlowId), ..Filter::default() },
                priority: 0,
                class: class.name.clone(),
            });
            psp::Parameters { filters: filters.collect(), classes, unclassified, gaps, rate: None }
        },
    )
}

/// Classes `0`, `1`, ... with a tenth of the link at most, some of them within class `0`; the last takes
/// what no filter matches.
fn cbq() -> impl Strategy<Value = cbq::Parameters> {
    let class =
        (LINK / 1_000..LINK / 10, any::<bool>(), any::<bool>(), 0_u32..3, 1_u32..5, queue());
    (proptest::collection::vec(class, 1..6), any::<bool>(), any::<bool>(), any::<bool>()).prop_map(
        |(drawn, formal, efficient, average)| {
            let last = drawn.len() - 1;
            let class = |(index, &(bits, within, borrow, priority, burst, queue)): (usize, &_)| {
                let group = last > 1 && index == 0;
                let rate_bits: u64 = if group { LINK / 2 } else { bits };
                cbq::Class {
                    name: index.to_string(),
                    parent: (last > 1 && index > 0 && (within || index == last))
                        .then(|| "0".into()),
                    rate: Some(rate(rate_bits)),
                    priority,
                    borrow,
                    maxburst: Some(burst + 1),
                    minburst: Some(burst),
                    queue: Parameters::Fifo(queue),
                    ..cbq::Class::default()
                }
            };
            let classes: Vec<_> = drawn.iter().enumerate().map(class).collect();
            let leaves = classes.iter().filter(|class| last <= 1 || class.name != "0");
            let filters = leaves.map(|class| Rule {
                filter: Filter { flow: class.name.parse().ok().map(FlowId), ..Filter::default() },
                priority: 0,
                class: class.name.clone(),
            });
            cbq::Parameters {
                filters: filters.collect(),
                classes,
                default: last.to_string(),
                link_sharing: match formal {
                    true => cbq::LinkSharing::Formal,
                    false => cbq::LinkSharing::TopLevel,
                },
                efficient,
                estimator: match average {
                    true => cbq::Estimator::Average,
                    false => cbq::Estimator::Exact,
                },
            }
        },
    )
}

/// A regulator of at least a thousandth of the link, around a queue that always sends; a discipline never
/// becomes another one.
fn tbr() -> impl Strategy<Value = tbr::Parameters> {
    (LINK / 1_000..=LINK, proptest::option::of(1_u64..20_000), queue()).prop_map(
        |(bits, bucket, queue)| tbr::Parameters {
            rate: Some(rate(bits)),
            bucket: bucket.map(Bytes),
            queue: Box::new(Parameters::Fifo(queue)),
        },
    )
}

/// Classes `0`, `1`, ..., some of them within class `0`, with curves of every shape that together
/// guarantee less than the link has.
fn hfsc() -> impl Strategy<Value = hfsc::Parameters> {
    let class = (LINK / 1_000..LINK / 10, any::<bool>(), 0_u8..12, 0_u64..3_000_000_000, queue());
    proptest::collection::vec(class, 1..6).prop_map(|drawn| {
        let nested = drawn.len() > 2;
        let class = |(index, (bits, within, shape, d, queue)): (usize, (u64, bool, u8, u64, _))| {
            let (interior, d) = (nested && index == 0, Duration::from_ps(d + 1));
            let (guaranteed, limited) = (!interior && shape % 4 != 0, shape % 3 == 0);
            hfsc::Class {
                name: index.to_string(),
                parent: (nested && within && index > 0).then(|| "0".into()),
                real_time_m1: (guaranteed && shape % 4 == 1).then(|| rate(2 * bits)),
                real_time_d: if guaranteed && shape % 4 < 3 { d } else { Duration::ZERO },
                real_time_m2: guaranteed.then(|| rate(bits)),
                link_share_m1: (shape > 8).then(|| rate(3 * bits)),
                link_share_d: if shape > 8 { d } else { Duration::ZERO },
                link_share_m2: (interior || shape != 7).then(|| rate(bits)),
                upper_limit_m2: (limited && shape != 7)
                    .then(|| rate(if interior { LINK } else { 3 * bits })),
                queue: Parameters::Fifo(queue),
                ..hfsc::Class::default()
            }
        };
        let classes: Vec<_> = drawn.into_iter().enumerate().map(class).collect();
        let leaf = |class: &&hfsc::Class| {
            !classes.iter().any(|other| other.parent.as_ref() == Some(&class.name))
        };
        let filters = classes.iter().filter(leaf).map(|class| Rule {
            filter: Filter { flow: class.name.parse().ok().map(FlowId), ..Filter::default() },
            priority: 0,
            class: class.name.clone(),
        });
        let default_class = classes.iter().rev().find(leaf).expect("a leaf").name.clone();
        let filters = filters.collect();
        hfsc::Parameters { classes, filters, default_class, overhead: Bytes(OVERHEAD) }
    })
}

/// A filter for each class, by its flow, except for the last class: its flow is unclassified, or goes to the
/// default class.
fn by_flow(names: &[String]) -> Vec<Rule> {
    let filter = |flow: u32| Filter { flow: Some(FlowId(flow)), ..Filter::default() };
    let rule = |(flow, name): (u32, &String)| Rule {
        filter: filter(flow),
        priority: 0,
        class: name.clone(),
    };
    (0..).zip(names).take(names.len() - 1).map(rule).collect()
}

fn leaf() -> impl Strategy<Value = Parameters> {
    queue().prop_map(Parameters::Fifo)
}

/// Some of eight names, so that a change takes classes away and brings others.
fn names() -> impl Strategy<Value = Vec<String>> {
    let all: Vec<_> = (0..8).map(|n| format!("class {n}")).collect();
    proptest::sample::subsequence(all, 1..6)
}

fn priq() -> impl Strategy<Value = priq::Parameters> {
    let priorities = Just((0..16).collect::<Vec<u32>>()).prop_shuffle();
    (names(), priorities, proptest::collection::vec(leaf(), 6)).prop_map(
        |(names, priorities, queues)| {
            let class = |((name, &priority), queue): ((&String, &u32), &Parameters)| {
                let (name, queue) = (name.clone(), queue.clone());
                priq::Class { name, parent: None, priority, queue }
            };
            let classes = names.iter().zip(&priorities).zip(&queues).map(class).collect();
            priq::Parameters { classes, filters: by_flow(&names), default_class: None }
        },
    )
}

fn drr() -> impl Strategy<Value = drr::Parameters> {
    let share = (proptest::option::of((1518_u64..9000).prop_map(Bytes)), 1_u32..10, leaf());
    (names(), proptest::collection::vec(share, 6)).prop_map(|(names, shares)| {
        let class = |(name, share): (&String, &(Option<Bytes>, u32, Parameters))| {
            let (name, (quantum, weight, queue)) = (name.clone(), share.clone());
            drr::Class { name, parent: None, quantum, weight, queue }
        };
        let classes = names.iter().zip(&shares).map(class).collect();
        let default_class = names.first().cloned();
        drr::Parameters { classes, filters: by_flow(&names), default_class }
    })
}

fn ets() -> impl Strategy<Value = ets::Parameters> {
    let share = (proptest::option::of(1_u32..=20), leaf());
    (names(), proptest::collection::vec(share, 6)).prop_map(|(names, shares)| {
        let class = |(name, share): (&String, &(Option<u32>, Parameters))| {
            let (name, (percent, queue)) = (name.clone(), share.clone());
            let priorities = Priorities::NONE;
            ets::Class { name, parent: None, percent, priorities, queue }
        };
        let classes = names.iter().zip(&shares).map(class).collect();
        ets::Parameters { classes, filters: by_flow(&names), default_class: None }
    })
}

fn wfq() -> impl Strategy<Value = wfq::Parameters> {
    use wfq::{HashBy, Mode};
    let mode = proptest::sample::select(vec![Mode::Stochastic, Mode::Exact]);
    let hash = proptest::sample::select(vec![HashBy::SourcePort, HashBy::Full]);
    let numbers = (1_u32..6, 64_u64..2_000, 1_518_u64..20_000, 10_u32..1_000);
    let weights = proptest::collection::vec(10_u32..=65_535, 6);
    (mode, hash, numbers, names(), weights).prop_map(
        |(mode, hash, (queues, quota, bytes, weight), names, weights)| {
            let class = |(name, &weight): (&String, &u32)| wfq::Class {
                name: name.clone(),
                parent: None,
                weight,
            };
            wfq::Parameters {
                mode,
                hash: Some(hash),
                queues,
                quota: Bytes(quota),
                bytes: Bytes(bytes),
                weight,
                classes: names.iter().zip(&weights).map(class).collect(),
                filters: by_flow(&names),
            }
        },
    )
}

fn fairq() -> impl Strategy<Value = fairq::Parameters> {
    let priorities = Just((0..8).collect::<Vec<u32>>()).prop_shuffle();
    let limit = || proptest::option::of(LINK / 1_000..LINK);
    let class = (limit(), limit(), 1_u32..4, 1_u64..20);
    (names(), priorities, proptest::collection::vec(class, 6)).prop_map(
        |(names, priorities, drawn)| {
            let mut classes = Vec::new();
            for ((name, priority), (bandwidth, hogs, buckets, packets)) in
                names.iter().zip(priorities).zip(drawn)
            {
                let (name, parent) = (name.clone(), None);
                let (bandwidth, hogs) = (bandwidth.map(rate), hogs.map(rate));
                classes.push(fairq::Class {
                    name,
                    parent,
                    priority,
                    bandwidth,
                    hogs,
                    buckets,
                    packets,
                });
            }
            fairq::Parameters { classes, filters: by_flow(&names), default_class: None }
        },
    )
}

/// Guarantees that hold, and some that cannot, all at once.
fn jobs() -> impl Strategy<Value = traffic::qdisc::jobs::Parameters> {
    use proptest::option::of;
    use traffic::qdisc::jobs;
    let relative = || proptest::collection::vec(1_u32..=1_000, 6);
    let absolute = (of(1_u64..100_000_000), of(any::<u32>()), of(LINK / 1_000..=LINK));
    let flags = (any::<bool>(), any::<bool>(), any::<bool>());
    (names(), proptest::collection::vec(absolute, 6), relative(), relative(), queue(), flags)
        .prop_map(|(names, drawn, delays, losses, queue, (relative, separate, last))| {
            let relative = relative && names.len() > 1;
            let class = |(index, name): (usize, &String)| {
                let (delay, loss, rate_bits) = drawn[index];
                jobs::Class {
                    name: name.clone(),
                    parent: None,
                    delay: delay.map(Duration::from_ps),
                    loss: loss.map(Share),
                    rate: rate_bits.map(rate),
                    relative_delay: relative.then_some(delays[index]),
                    relative_loss: (relative && !separate).then_some(losses[index]),
                }
            };
            jobs::Parameters {
                packets: queue.packets.unwrap_or(1),
                bytes: queue.bytes,
                separate,
                classes: names.iter().enumerate().map(class).collect(),
                filters: by_flow(&names),
                default_class: if last { None } else { names.first().cloned() },
            }
        })
}

fn red() -> impl Strategy<Value = red::Parameters> {
    let thresholds = (1_u64..5, 1_u64..5, 1_u64..2_000);
    let flags = (any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>());
    (queue(), thresholds, (1_u32.., 1_u32 << 28..), flags).prop_map(
        |(queue, (min, more, mean), (probability_max, weight), flags)| red::Parameters {
            bytes: queue.bytes,
            packets: queue.packets,
            threshold_min: min,
            threshold_max: min + more,
            probability_max: Share(probability_max),
            weight: Share(weight),
            gentle: flags.0,
            ecn: flags.1,
            in_bytes: flags.2,
            mean_packet: Bytes(mean),
            flow_valve: flags.3,
        },
    )
}

/// Each packet has drop precedence `unmarked`, for their DSCP is that of best effort.
fn rio() -> impl Strategy<Value = rio::Parameters> {
    let precedence = prop::sample::select(vec![
        rio::Precedence::Low,
        rio::Precedence::Medium,
        rio::Precedence::High,
    ]);
    (red(), precedence).prop_map(|(red, unmarked)| rio::Parameters {
        bytes: red.bytes,
        packets: red.packets,
        threshold_min_low: red.threshold_min,
        threshold_max_low: red.threshold_max,
        probability_max_low: red.probability_max,
        threshold_min_medium: red.threshold_min,
        threshold_max_medium: red.threshold_max,
        probability_max_medium: red.probability_max,
        threshold_min_high: red.threshold_min,
        threshold_max_high: red.threshold_max,
        probability_max_high: red.probability_max,
        weight: red.weight,
        gentle: red.gentle,
        ecn: red.ecn,
        unmarked,
        ..rio::Parameters::default()
    })
}

fn mark() -> impl Strategy<Value = mark::Parameters> {
    (queue(), 0_u64..10_000, proptest::option::of(0_u64..10_000), any::<u32>()).prop_map(
        |(queue, threshold, more, probability)| mark::Parameters {
            threshold: Bytes(threshold),
            threshold_max: more.map(|more| Bytes(threshold + more)),
            probability: Share(probability),
            packets: queue.packets,
            bytes: queue.bytes,
        },
    )
}

fn blue() -> impl Strategy<Value = blue::Parameters> {
    let threshold = proptest::option::of(1_u64..5);
    (queue(), 1_u32 << 30.., 1_u64..100_000, threshold, any::<bool>()).prop_map(
        |(queue, increase, freeze, threshold, ecn)| blue::Parameters {
            bytes: queue.bytes,
            packets: queue.packets,
            increase: Share(increase),
            decrease: Share(increase / 2),
            freeze_time: Duration::from_ns(freeze),
            threshold,
            ecn,
        },
    )
}

/// A target of some frames of the link, and a controller that acts within a few, or slowly.
fn pie() -> impl Strategy<Value = pie::Parameters> {
    let times = (1_u64..5_000, 2_000_u64..20_000, 0_u64..20_000);
    let gains = (16_u32..=20, 10_u32..=20);
    let flags = (any::<bool>(), any::<bool>());
    let mark_max = prop_oneof![any::<u32>(), Just(u32::MAX)];
    (queue(), times, gains, mark_max, flags).prop_map(
        |(queue, (target, update, burst), (alpha, beta), mark_max, (ecn, derandomize))| {
            pie::Parameters {
                bytes: queue.bytes,
                packets: queue.packets,
                target: Duration::from_ns(target),
                update: Duration::from_ns(update),
                alpha: 1 << alpha,
                beta: 1 << beta,
                burst: Duration::from_ns(burst),
                ecn,
                mark_max: Share(mark_max),
                derandomize,
            }
        },
    )
}

/// A target of up to 20 us and an interval of up to 10 more: some 30 frames of the link.
fn codel() -> impl Strategy<Value = codel::Parameters> {
    let times = (1_u64..20_000, 1_u64..10_000, proptest::option::of(0_u64..50_000));
    (queue(), times, any::<bool>()).prop_map(|(queue, (target, more, mark), ecn)| {
        codel::Parameters {
            bytes: queue.bytes,
            packets: queue.packets,
            target: Duration::from_ns(target),
            interval: Duration::from_ns(target + more),
            ecn,
            mark_above: mark.map(Duration::from_ns),
        }
    })
}

/// Some flows share a queue, some have their own.
fn fq_codel() -> impl Strategy<Value = fq_codel::Parameters> {
    (codel(), 1_u64..20, 256_u64..4_000).prop_map(|(codel, flows, quantum)| fq_codel::Parameters {
        bytes: codel.bytes.unwrap_or(Bytes(u64::MAX)),
        packets: codel.packets.unwrap_or(1_000),
        flows,
        quantum: Bytes(quantum),
        target: codel.target,
        interval: codel.interval,
        ecn: codel.ecn,
        mark_above: codel.mark_above,
    })
}

/// Parameters that the discipline of this name accepts.
pub(crate) fn parameters(name: &'static str) -> BoxedStrategy<Parameters> {
    match name {
        "fifo" => queue().prop_map(Parameters::Fifo).boxed(),
        "red" => red().prop_map(Parameters::Red).boxed(),
        "rio" => rio().prop_map(Parameters::Rio).boxed(),
        "mark" => mark().prop_map(Parameters::Mark).boxed(),
        "blue" => blue().prop_map(Parameters::Blue).boxed(),
        "pie" => pie().prop_map(Parameters::Pie).boxed(),
        "codel" => codel().prop_map(Parameters::Codel).boxed(),
        "psp" => psp().prop_map(Parameters::Psp).boxed(),
        "priq" => priq().prop_map(Parameters::Priq).boxed(),
        "drr" => drr().prop_map(Parameters::Drr).boxed(),
        "ets" => ets().prop_map(Parameters::Ets).boxed(),
        "hfsc" => hfsc().prop_map(Parameters::Hfsc).boxed(),
        "cbq" => cbq().prop_map(Parameters::Cbq).boxed(),
        "tbr" => tbr().prop_map(Parameters::Tbr).boxed(),
        "fq_codel" => fq_codel().prop_map(Parameters::FqCodel).boxed(),
        "wfq" => wfq().prop_map(Parameters::Wfq).boxed(),
        "fairq" => fairq().prop_map(Parameters::Fairq).boxed(),
        "jobs" => jobs().prop_map(Parameters::Jobs).boxed(),
        other => panic!("give {other} a strategy here, so that the laws are tested on it"),
    }
}
