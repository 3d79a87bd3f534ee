//! What a user may set on `psp`, and why it may be refused.

use alloc::string::String;
use alloc::vec::Vec;
use alloc::{format, vec};

use crate::classify::{Classifier, Filter, Rule};
use crate::discipline::Port;
use crate::qdisc::fifo;
use crate::units::Rate;

/// A bottleneck that some packets pass, and the rate at which to send to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Class {
    /// Its name, unique within the discipline.
    pub name: String,
    /// The class that bounds this one and its siblings together; `None` if only the link does.
    pub parent: Option<String>,
    /// Frame bits per second (header and FCS counted, preamble and gap not).
    pub rate: Rate,
    /// Its queue; unused in a class that has children.
    pub queue: fifo::Parameters,
}

/// The classes, and which packets go to which.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameters {
    /// At least one. Packets queue in those without children.
    pub classes: Vec<Class>,
    /// Tried in this order; a packet that none matches is unclassified.
    pub filters: Vec<Rule>,
    /// The queue of unclassified packets, which go out whenever no class's packet is due.
    pub unclassified: fifo::Parameters,
    /// Whether gap frames hold the wire between packets. If not, the discipline answers "not
    /// before" and leaves it to the driver's timer, which may be late.
    pub gaps: bool,
}

impl Parameters {
    /// Everything in one class, `all`, paced with gap frames to `rate`: `tc qdisc add dev eth0 root
    /// ipg rate ...` of paper 0, section 3.2.
    pub fn single(rate: Rate) -> Self {
        let name = String::from("all");
        let queue = fifo::Parameters::default();
        Self {
            filters: vec![Rule { filter: Filter::default(), class: name.clone() }],
            classes: vec![Class { name, parent: None, rate, queue }],
            unclassified: queue,
            gaps: true,
        }
    }
}

/// Why parameters are refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// Nothing to pace.
    #[error("no classes: give at least one class with a rate, or use fifo, which does not pace")]
    NoClass,
    /// Two classes of one name.
    #[error("two classes are named `{0}`: give each its own name")]
    DuplicateName(String),
    /// The parent does not exist.
    #[error("class `{class}` has the parent `{parent}`, which does not exist: name one of {known}")]
    UnknownParent {
        /// The class.
        class: String,
        /// The name it gives.
        parent: String,
        /// The names there are.
        known: String,
    },
    /// A class is its own ancestor.
    #[error("class `{0}` is its own ancestor: a chain of parents must end at a class without one")]
    Cycle(String),
    /// A class is to be faster than what bounds it.
    #[error("class `{class}` has {rate}, but {within} has only {has}: lower the class's rate")]
    Above {
        /// The class.
        class: String,
        /// Its rate.
        rate: Rate,
        /// Its parent, or the link.
        within: String,
        /// The rate of that.
        has: Rate,
    },
    /// Siblings promise more than what bounds them.
    #[error(
        "the classes {children} have {promised} together, but {within} has only {has}: lower their \
         rates by {excess} in all"
    )]
    Promise {
        /// The siblings' names.
        children: String,
        /// The sum of their rates.
        promised: String,
        /// The parent, or the link.
        within: String,
        /// The rate of that.
        has: Rate,
        /// What is too much.
        excess: String,
    },
    /// A filter leads nowhere.
    #[error(
        "filter {index} leads to the class `{class}`, which does not exist: name one of {known}"
    )]
    UnknownClass {
        /// The filter's place in the list, from 1.
        index: usize,
        /// The name it gives.
        class: String,
        /// The names there are.
        known: String,
    },
    /// A filter leads to a class that holds classes, not packets.
    #[error(
        "filter {index} leads to the class `{class}`, which is divided into {children}: name one \
         of those"
    )]
    NotALeaf {
        /// The filter's place in the list, from 1.
        index: usize,
        /// The name it gives.
        class: String,
        /// The classes within that class.
        children: String,
    },
    /// A queue's limits make no sense.
    #[error("the queue of {of}: {error}")]
    Queue {
        /// The class, or the unclassified packets.
        of: String,
        /// What is wrong with it.
        error: fifo::Error,
    },
}

/// Parameters in which every name is known to lead somewhere.
pub(super) struct Checked {
    /// For each class its parent's index.
    pub(super) parents: Vec<Option<usize>>,
    /// Where packets go.
    pub(super) classifier: Classifier,
}

/// Resolves the names and checks the sums.
pub(super) fn check(parameters: &Parameters, port: Port) -> Result<Checked, Error> {
    let classes = &parameters.classes;
    if classes.is_empty() {
        return Err(Error::NoClass);
    }
    check_names(classes)?;
    let parents = parents(classes)?;
    check_chains(classes, &parents)?;
    check_rates(classes, &parents, port.rate)?;
    check_queues(parameters, port)?;
    Ok(Checked { classifier: classifier(parameters, &parents)?, parents })
}

fn index_of(classes: &[Class], name: &str) -> Option<usize> {
    classes.iter().position(|class| class.name == name)
}

fn names<'a>(classes: impl Iterator<Item = &'a Class>) -> String {
    let mut text = String::new();
    for class in classes {
        text.push_str(if text.is_empty() { "`" } else { ", `" });
        text.push_str(&class.name);
        text.push('`');
    }
    text
}

/// The classes whose parent is `parent`.
fn children<'a>(
    classes: &'a [Class],
    parents: &'a [Option<usize>],
    parent: Option<usize>,
) -> impl Iterator<Item = &'a Class> + Clone {
    classes.iter().zip(parents).filter(move |(_, p)| **p == parent).map(|(class, _)| class)
}

fn check_names(classes: &[Class]) -> Result<(), Error> {
    let mut sorted: Vec<&str> = classes.iter().map(|class| class.name.as_str()).collect();
    sorted.sort_unstable();
    match sorted.windows(2).find(|pair| pair[0] == pair[1]) {
        Some(pair) => Err(Error::DuplicateName(pair[0].into())),
        None => Ok(()),
    }
}

fn parents(classes: &[Class]) -> Result<Vec<Option<usize>>, Error> {
    let resolve = |class: &Class| {
        let Some(parent) = &class.parent else {
            return Ok(None);
        };
        index_of(classes, parent).map(Some).ok_or_else(|| Error::UnknownParent {
            class: class.name.clone(),
            parent: parent.clone(),
            known: names(classes.iter().filter(|other| other.name != class.name)),
        })
    };
    classes.iter().map(resolve).collect()
}

fn check_chains(classes: &[Class], parents: &[Option<usize>]) -> Result<(), Error> {
    for (start, class) in classes.iter().enumerate() {
        // A chain without a cycle ends within as many steps as there are classes.
        let mut at = Some(start);
        for _ in 0..classes.len() {
            at = at.and_then(|index| parents[index]);
        }
        if at.is_some() {
            return Err(Error::Cycle(class.name.clone()));
        }
    }
    Ok(())
}

fn check_rates(classes: &[Class], parents: &[Option<usize>], link: Rate) -> Result<(), Error> {
    for parent in core::iter::once(None).chain((0..classes.len()).map(Some)) {
        let siblings = children(classes, parents, parent);
        let has = parent.map_or(link, |index| classes[index].rate);
        let within = || match parent {
            Some(index) => names(core::iter::once(&classes[index])),
            None => "the link".into(),
        };
        if let Some(class) = siblings.clone().find(|class| class.rate > has) {
            let (class, rate) = (class.name.clone(), class.rate);
            return Err(Error::Above { class, rate, within: within(), has });
        }
        let rates = siblings.clone().map(|class| u128::from(class.rate.bits_per_second()));
        let promised: u128 = rates.sum();
        let excess = promised.saturating_sub(has.bits_per_second().into());
        if excess > 0 {
            let (promised, excess) = (sum_text(promised), sum_text(excess));
            let (children, within) = (names(siblings), within());
            return Err(Error::Promise { children, promised, within, has, excess });
        }
    }
    Ok(())
}

/// A sum of rates as a rate is written, if it is not above the highest.
fn sum_text(bits: u128) -> String {
    let rate = u64::try_from(bits).ok().and_then(Rate::from_bits_per_second);
    rate.map_or_else(|| format!("{bits} bit/s"), |rate| format!("{rate}"))
}

fn check_queues(parameters: &Parameters, port: Port) -> Result<(), Error> {
    let named = |class: &Class| names(core::iter::once(class));
    for class in &parameters.classes {
        fifo::check(&class.queue, port)
            .map_err(|error| Error::Queue { of: named(class), error })?;
    }
    fifo::check(&parameters.unclassified, port)
        .map_err(|error| Error::Queue { of: "unclassified packets".into(), error })
}

fn classifier(parameters: &Parameters, parents: &[Option<usize>]) -> Result<Classifier, Error> {
    let classes = &parameters.classes;
    let resolve = |(n, rule): (usize, &Rule)| {
        let (index, class) = (n + 1, rule.class.clone());
        let Some(target) = index_of(classes, &class) else {
            return Err(Error::UnknownClass { index, class, known: names(classes.iter()) });
        };
        if parents.contains(&Some(target)) {
            let children = names(children(classes, parents, Some(target)));
            return Err(Error::NotALeaf { index, class, children });
        }
        Ok((rule.filter, target))
    };
    let rules: Result<_, _> = parameters.filters.iter().enumerate().map(resolve).collect();
    Ok(Classifier::new(rules?))
}
