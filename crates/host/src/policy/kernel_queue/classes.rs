//! The kernel's disciplines with classes, each with the filters that lead packets to them.

use base::packet::ETHERNET_HEADER_AND_FCS;
use base::{Duration, Rate};
use traffic::classify::Rule;
use traffic::qdisc::{Parameters, cbq, drr, ets, hfsc, priq};

use super::super::setting::queue::{Part, Role, counted, number};
use super::filters::filters;
use super::leaf::{Place, leaf};
use super::port::{FCS, INNER, KernelQueue, OUTER, Port, SHORTEST};
use crate::rtnetlink::queue as tca;
use crate::wire::{NESTED, push};

/// The number of the class that stands for the link, and the first one of the scenario's.
const LINK: u32 = 1;
const FIRST: u32 = 0x10;
/// The classes whose disciplines have numbers.
const CLASSES_MAX: usize = 0x0eff;
/// The bands of `prio` and `ets` (`TCQ_PRIO_BANDS`, `TCQ_ETS_MAX_BANDS`), and the least that `prio` has.
const BANDS_MAX: usize = 16;
const BANDS_MIN: usize = 2;
/// The entries of their tables from a packet's priority to a band (`TC_PRIO_MAX` + 1).
const PRIORITIES: usize = 16;
/// The largest quantum that `htb` takes without a warning.
const QUANTUM_MAX: u64 = 200_000;
/// Nanoseconds of a tick (`PSCHED_SHIFT`).
const TICK: u128 = 64;

const BANDS: &str = "what TCP leaves to the card to segment counts as one packet";

/// The kernel's discipline with classes that does about what `queue` does.
///
/// # Errors
/// What the kernel's does not have.
pub(super) fn with_classes(queue: &Parameters, port: Port) -> Result<KernelQueue, String> {
    match queue {
        Parameters::Priq(priq) => strict(priq, port),
        Parameters::Ets(ets) => shared(ets, port),
        Parameters::Drr(drr) => rounds(drr, port),
        Parameters::Cbq(cbq) => buckets(cbq, port),
        Parameters::Hfsc(hfsc) => curves(hfsc, port),
        _ => Err(String::new()),
    }
}

/// A discipline with classes under construction.
struct Draft {
    kind: &'static str,
    parts: Vec<Part>,
    /// The classes, for people.
    names: Vec<String>,
    differences: Vec<String>,
    port: Port,
}

impl Draft {
    fn new(kind: &'static str, options: &[u8], port: Port) -> Self {
        let parts = vec![Part::new(tca::TC_H_ROOT, OUTER, kind, options)];
        Self { kind, parts, names: Vec::new(), differences: Vec::new(), port }
    }

    fn class(&mut self, parent: u32, minor: u32, options: &[u8]) {
        self.parts.push(Part::of(Role::Class, parent, OUTER | minor, self.kind, options));
    }

    /// Adds the discipline of a class, the one with that index.
    fn queue(&mut self, index: usize, minor: u32, queue: &Parameters) -> Result<(), String> {
        if index >= CLASSES_MAX {
            return Err(format!("the kernel's `{}` gets {CLASSES_MAX} classes at most", self.kind));
        }
        let place = Place { parent: OUTER | minor, handle: INNER + ((index as u32) << 16) };
        let leaf = leaf(queue, place, self.port)?;
        self.parts.extend(leaf.parts);
        self.differ(leaf.difference);
        Ok(())
    }

    fn differ(&mut self, how: &str) {
        if !how.is_empty() && !self.differences.iter().any(|other| other == how) {
            self.differences.push(how.to_owned());
        }
    }

    /// Adds the filters. Packets that none matches go to `rest`, if the discipline has no setting for them.
    fn done(
        mut self,
        rules: &[Rule],
        class: impl Fn(&str) -> Option<u32>,
        rest: Option<u32>,
    ) -> Result<KernelQueue, String> {
        let found = filters(rules, OUTER, class, rest)?;
        let mut names = format!("{}: {}", self.kind, self.names.join(", "));
        if !found.is_empty() {
            names.push_str(&counted(found.len()));
        }
        self.parts.extend(found);
        let tree = super::Tree { parts: self.parts, names };
        Ok(KernelQueue { tree, difference: self.differences.join("; "), module: false })
    }
}

/// The place of a class in a list by its name.
fn index_of(mut names: impl Iterator<Item = impl AsRef<str>>, name: &str) -> Option<usize> {
    names.position(|other| other.as_ref() == name)
}

/// The place of the class for packets that no filter matches: the last one unless given.
fn default_of(names: &[&str], given: Option<&str>) -> usize {
    let last = names.len().saturating_sub(1);
    given.and_then(|given| index_of(names.iter(), given)).unwrap_or(last)
}

fn bands(kind: &str, classes: usize) -> Result<(), String> {
    match classes {
        0..=BANDS_MAX => Ok(()),
        _ => Err(format!("the kernel's `{kind}` has {BANDS_MAX} bands at most")),
    }
}

/// Strict priorities as `prio`, whose first band goes first (net/sched/sch_prio.c).
fn strict(priq: &priq::Parameters, port: Port) -> Result<KernelQueue, String> {
    let names: Vec<&str> = priq.classes.iter().map(|class| class.name.as_str()).collect();
    bands("prio", names.len())?;
    let mut order: Vec<usize> = (0..names.len()).collect();
    order.sort_by_key(|&class| std::cmp::Reverse(priq.classes[class].priority));
    let band = |class: usize| order.iter().position(|&other| other == class).unwrap_or(0);
    let rest = band(default_of(&names, priq.default_class.as_deref()));
    // `struct tc_prio_qopt`.
    let mut options = (names.len().max(BANDS_MIN) as u32).to_ne_bytes().to_vec();
    options.extend([rest as u8; PRIORITIES]);
    let mut draft = Draft::new("prio", &options, port);
    for (band, &class) in order.iter().enumerate() {
        let class = &priq.classes[class];
        draft.queue(band, band as u32 + 1, &class.queue)?;
        draft.names.push(class.name.clone());
    }
    draft.differ(BANDS);
    let class = |name: &str| Some(OUTER | (band(index_of(names.iter(), name)?) as u32 + 1));
    draft.done(&priq.filters, class, None)
}

/// Enhanced transmission selection as `ets`: strict bands first, then bands with quanta (net/sched/sch_ets.c).
fn shared(ets: &ets::Parameters, port: Port) -> Result<KernelQueue, String> {
    let names: Vec<&str> = ets.classes.iter().map(|class| class.name.as_str()).collect();
    bands("ets", names.len())?;
    if ets.classes.iter().any(|class| !class.priorities.is_empty()) {
        return Err("the kernel's `ets` takes priorities from sockets, not from DSCP".into());
    }
    let mut order: Vec<usize> = (0..names.len()).collect();
    order.sort_by_key(|&class| ets.classes[class].percent.is_some());
    let band = |class: usize| order.iter().position(|&other| other == class).unwrap_or(0);
    let rest = band(default_of(&names, ets.default_class.as_deref()));
    let strict = ets.classes.iter().filter(|class| class.percent.is_none()).count();
    let (mut quanta, mut map) = (Vec::new(), Vec::new());
    for percent in order.iter().filter_map(|&class| ets.classes[class].percent) {
        number(&mut quanta, tca::TCA_ETS_QUANTA_BAND, percent * frame(port) as u32);
    }
    (0..PRIORITIES).for_each(|_| push(&mut map, tca::TCA_ETS_PRIOMAP_BAND, &[rest as u8]));
    let mut options = Vec::new();
    push(&mut options, tca::TCA_ETS_NBANDS, &[names.len() as u8]);
    push(&mut options, tca::TCA_ETS_NSTRICT, &[strict as u8]);
    push(&mut options, tca::TCA_ETS_QUANTA | NESTED, &quanta);
    push(&mut options, tca::TCA_ETS_PRIOMAP | NESTED, &map);
    let mut draft = Draft::new("ets", &options, port);
    for (band, &class) in order.iter().enumerate() {
        let class = &ets.classes[class];
        draft.queue(band, band as u32 + 1, &class.queue)?;
        let share = class.percent.map_or("strict".to_owned(), |percent| format!("{percent} %"));
        draft.names.push(format!("{} {share}", class.name));
    }
    draft.differ(super::NO_FCS);
    let class = |name: &str| Some(OUTER | (band(index_of(names.iter(), name)?) as u32 + 1));
    draft.done(&ets.filters, class, None)
}

/// Deficit round robin as `drr`, which drops what no filter matches: the last filter is for the rest.
fn rounds(drr: &drr::Parameters, port: Port) -> Result<KernelQueue, String> {
    let names: Vec<&str> = drr.classes.iter().map(|class| class.name.as_str()).collect();
    let mut draft = Draft::new("drr", &[], port);
    for (index, class) in drr.classes.iter().enumerate() {
        let quantum = class.quantum.map_or(frame(port) * u64::from(class.weight), |it| it.0);
        let quantum = u32::try_from(quantum).map_err(|_| "the kernel's quanta are below 4 GB")?;
        let mut options = Vec::new();
        number(&mut options, tca::TCA_DRR_QUANTUM, quantum);
        let minor = FIRST + index as u32;
        draft.class(OUTER, minor, &options);
        draft.queue(index, minor, &class.queue)?;
        draft.names.push(format!("{} quantum {quantum}", class.name));
    }
    draft.differ(super::NO_FCS);
    let class = |name: &str| Some(OUTER | (FIRST + index_of(names.iter(), name)? as u32));
    let rest = default_of(&names, drr.default_class.as_deref()) as u32;
    draft.done(&drr.filters, class, Some(OUTER | (FIRST + rest)))
}

/// The longest frame of the device or the link, with its check sequence.
fn frame(port: Port) -> u64 {
    port.mtu.0 + u64::from(ETHERNET_HEADER_AND_FCS)
}

/// Class-based queueing as `htb`, below a class that stands for the link. A class that may borrow has its parent's
/// ceiling, another one its own rate.
fn buckets(cbq: &cbq::Parameters, port: Port) -> Result<KernelQueue, String> {
    let usual = cbq::Parameters::default();
    if cbq.efficient || cbq.estimator != usual.estimator {
        return Err(
            "the kernel's `htb` has no `efficient`, and no `estimator` but the exact one".into()
        );
    }
    let names: Vec<&str> = cbq.classes.iter().map(|class| class.name.as_str()).collect();
    let rates = cbq.classes.iter().map(|class| rate_of(class, port.rate));
    let rates = rates.collect::<Option<Vec<Rate>>>().ok_or("a class has no rate")?;
    let parent = |class: usize| {
        let name = cbq.classes[class].parent.as_deref()?;
        index_of(names.iter(), name)
    };
    let ceiling = |class: usize| {
        let mut at = class;
        // Bounded by the number of classes: the scenario has no cycle.
        for _ in 0..names.len() {
            if !cbq.classes[at].borrow {
                return rates[at];
            }
            match parent(at) {
                Some(above) => at = above,
                None => break,
            }
        }
        port.rate
    };
    let minor = |class: usize| FIRST + class as u32;
    let default = index_of(names.iter(), &cbq.default).ok_or("the default class is missing")?;
    // `struct tc_htb_glob`: version, rate2quantum, the default class, and two that it reports.
    let mut glob = Vec::new();
    let words = [tca::HTB_VERSION, 10, minor(default), 0, 0];
    words.iter().for_each(|word| glob.extend(word.to_ne_bytes()));
    let mut options = Vec::new();
    push(&mut options, tca::TCA_HTB_INIT, &glob);
    let mut draft = Draft::new("htb", &options, port);
    let wire = port.overhead.0 as u16;
    let whole = Bucket {
        rate: port.rate,
        ceiling: port.rate,
        burst: frame(port),
        priority: 0,
        quantum: frame(port),
    };
    draft.class(OUTER, LINK, &whole.options(wire));
    let slowest = rates.iter().map(|rate| rate.bits_per_second()).min().unwrap_or(1);
    for class in depth_first(names.len(), parent) {
        let (own, rate) = (&cbq.classes[class], rates[class]);
        if own.minburst.is_some() {
            return Err("the kernel's `htb` has no `minburst`".into());
        }
        let packet = own.packet_size.map_or(frame(port), |size| size.0);
        // ALTQ's default: fewer packets below 1 Mbit/s.
        let packets = if rate.bits_per_second() < 1_000_000 { 4 } else { 16 };
        let ratio = rate.bits_per_second() / slowest;
        let bucket = Bucket {
            rate,
            ceiling: ceiling(class),
            burst: packet * u64::from(own.maxburst.unwrap_or(packets)),
            // The highest goes first, in Linux the lowest.
            priority: 7_u32.saturating_sub(own.priority),
            quantum: frame(port).saturating_mul(ratio).min(QUANTUM_MAX.max(frame(port))),
        };
        let above = OUTER | parent(class).map_or(LINK, minor);
        draft.class(above, minor(class), &bucket.options(0));
        if !(0..names.len()).any(|other| parent(other) == Some(class)) {
            draft.queue(class, minor(class), &own.queue)?;
        }
        let ceiling = match bucket.ceiling == rate {
            true => String::new(),
            false => format!(" ceil {}", bucket.ceiling),
        };
        draft.names.push(format!("{} {rate}{ceiling}", own.name));
    }
    draft.differ("its rates are token buckets, and what is borrowed is divided by quanta, whatever `link_sharing` says");
    draft.differ(BANDS);
    let class = |name: &str| Some(OUTER | minor(index_of(names.iter(), name)?));
    draft.done(&cbq.filters, class, None)
}

/// The rate of a class, rounded down to a bit per second.
fn rate_of(class: &cbq::Class, link: Rate) -> Option<Rate> {
    let share = |share: base::Share| {
        let bits = (u128::from(link.bits_per_second()) * u128::from(share.0)) >> 32;
        u64::try_from(bits).ok().and_then(Rate::from_bits_per_second)
    };
    class.rate.or_else(|| class.share.and_then(share))
}

/// Classes, each after its parent.
fn depth_first(count: usize, parent: impl Fn(usize) -> Option<usize>) -> Vec<usize> {
    let mut order: Vec<usize> = Vec::new();
    while order.len() < count {
        let is_next = |class: &usize| {
            !order.contains(class) && parent(*class).is_none_or(|above| order.contains(&above))
        };
        match (0..count).find(is_next) {
            Some(next) => order.push(next),
            None => break,
        }
    }
    order
}

/// A class of `htb`: rates in frame bits, burst and quantum in bytes.
struct Bucket {
    rate: Rate,
    ceiling: Rate,
    burst: u64,
    priority: u32,
    quantum: u64,
}

impl Bucket {
    /// `TCA_HTB_*`. Frames count with their FCS and `overhead`, and short ones as the shortest.
    fn options(&self, overhead: u16) -> Vec<u8> {
        let bytes = |rate: Rate| (rate.bits_per_second() / 8).max(1);
        let word = |value: u64| u32::try_from(value).unwrap_or(u32::MAX);
        let ticks = |rate: Rate| {
            let ns = u128::from(self.burst) * 1_000_000_000 / u128::from(bytes(rate));
            u32::try_from(ns.div_ceil(TICK)).unwrap_or(u32::MAX)
        };
        // `struct tc_htb_opt`: two `struct tc_ratespec`, the bursts at both rates, quantum, level, priority.
        let mut opt = Vec::new();
        for rate in [self.rate, self.ceiling] {
            opt.extend([0, tca::TC_LINKLAYER_ETHERNET]);
            opt.extend((FCS as u16 + overhead).to_ne_bytes());
            opt.extend([0; 2]);
            opt.extend((SHORTEST + overhead).to_ne_bytes());
            opt.extend(word(bytes(rate)).to_ne_bytes());
        }
        let words = [ticks(self.rate), ticks(self.ceiling), word(self.quantum), 0, self.priority];
        words.iter().for_each(|word| opt.extend(word.to_ne_bytes()));
        let mut options = Vec::new();
        push(&mut options, tca::TCA_HTB_PARMS, &opt);
        push(&mut options, tca::TCA_HTB_RATE64, &bytes(self.rate).to_ne_bytes());
        push(&mut options, tca::TCA_HTB_CEIL64, &bytes(self.ceiling).to_ne_bytes());
        options
    }
}

/// Hierarchical fair service curves as `hfsc` (net/sched/sch_hfsc.c).
fn curves(hfsc: &hfsc::Parameters, port: Port) -> Result<KernelQueue, String> {
    if hfsc.overhead.0 != 0 {
        return Err("the kernel's `hfsc` counts no `overhead`".into());
    }
    let names: Vec<&str> = hfsc.classes.iter().map(|class| class.name.as_str()).collect();
    let parent = |class: usize| {
        let name = hfsc.classes[class].parent.as_deref()?;
        index_of(names.iter(), name)
    };
    let minor = |class: usize| FIRST + class as u32;
    let default = index_of(names.iter(), &hfsc.default_class);
    let default = default.ok_or("the default class is missing")?;
    // `struct tc_hfsc_qopt`.
    let mut draft = Draft::new("hfsc", &(minor(default) as u16).to_ne_bytes(), port);
    for class in depth_first(names.len(), parent) {
        let own = &hfsc.classes[class];
        let mut options = Vec::new();
        for (kind, m1, d, m2) in [
            (tca::TCA_HFSC_RSC, own.real_time_m1, own.real_time_d, own.real_time_m2),
            (tca::TCA_HFSC_FSC, own.link_share_m1, own.link_share_d, own.link_share_m2),
            (tca::TCA_HFSC_USC, own.upper_limit_m1, own.upper_limit_d, own.upper_limit_m2),
        ] {
            if m1.is_some() || m2.is_some() {
                push(&mut options, kind, &curve(m1, d, m2)?);
            }
        }
        draft.class(OUTER | parent(class).map_or(0, minor), minor(class), &options);
        if !(0..names.len()).any(|other| parent(other) == Some(class)) {
            draft.queue(class, minor(class), &own.queue)?;
        }
        draft.names.push(own.name.clone());
    }
    draft.differ(super::NO_FCS);
    draft.differ("a class starts in the middle of its siblings' virtual times");
    let class = |name: &str| Some(OUTER | minor(index_of(names.iter(), name)?));
    draft.done(&hfsc.filters, class, None)
}

/// `struct tc_service_curve`: bytes per second, microseconds, bytes per second.
fn curve(m1: Option<Rate>, d: Duration, m2: Option<Rate>) -> Result<Vec<u8>, String> {
    let slope = |rate: Option<Rate>| {
        let bytes = rate.map_or(0, |rate| rate.bits_per_second() / 8);
        u32::try_from(bytes).map_err(|_| "the curves of the kernel's `hfsc` end at 34 Gbit/s")
    };
    let d = u32::try_from(d.as_us()).unwrap_or(u32::MAX);
    Ok([slope(m1)?, d, slope(m2)?].iter().flat_map(|word| word.to_ne_bytes()).collect())
}
