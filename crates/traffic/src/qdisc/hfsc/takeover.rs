//! New parameters on a running discipline: classes of the same name go on where they were.

use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;

use super::curve::Course;
use super::leaf::Leaf;
use super::{Hfsc, Node, ps};
use crate::discipline::Discipline;

/// A class of the old parameters.
struct Former {
    node: Node,
    /// The name of its parent.
    parent: Option<String>,
    /// Whether it took turns with its siblings.
    shared: bool,
    /// Its children's virtual times, the current and the last one.
    virtual_times: (u128, u128),
}

/// Lets the new curve stand where the old one did: at the same place if it is the same curve, else
/// it starts anew from there.
fn go_on(new: &mut Option<Course>, old: Option<Course>) {
    if let (Some(new), Some(old)) = (new, old) {
        let same = new.curve == old.curve;
        *new = if same { old } else { Course::starting(new.curve, old.eligible()) };
    }
}

impl Hfsc {
    /// Takes over what `old`, which has run until now, holds.
    ///
    /// Packets of a class that is no more, or that is divided now, go to the default class.
    pub(super) fn take_over(&mut self, old: Self) {
        self.latest = old.latest;
        self.backlog = old.backlog;
        self.backlog_bytes_max = old.backlog_bytes_max;
        let (root, before) = (self.root(), old.root());
        let tops = &mut self.siblings[root];
        tops.virtual_time = old.siblings[before].virtual_time;
        tops.virtual_time_last = old.siblings[before].virtual_time_last;
        let mut former = old.into_former();
        let mut leaves: Vec<Option<Leaf>> = Vec::with_capacity(root);
        for index in 0..root {
            let was = former.remove(&self.nodes[index].name);
            leaves.extend(was.map(|was| self.take_over_class(index, was)));
        }
        let gone = former.into_values().map(|was| Some(was.node.leaf));
        for leaf in leaves.into_iter().chain(gone).flatten() {
            self.nodes[self.default].leaf.inherit(leaf);
        }
        self.resume();
    }

    fn into_former(mut self) -> BTreeMap<String, Former> {
        let parents: Vec<_> =
            self.nodes.iter().map(|node| self.name(node.parent).map(String::from)).collect();
        let nodes = core::mem::take(&mut self.nodes).into_iter().zip(parents).enumerate();
        let former = |(index, (node, parent)): (usize, (Node, _))| {
            let siblings = &self.siblings[index];
            let virtual_times = (siblings.virtual_time, siblings.virtual_time_last);
            let shared = self.share_seats[index].is_taken();
            (node.name.clone(), Former { node, parent, shared, virtual_times })
        };
        nodes.map(former).collect()
    }

    fn name(&self, index: usize) -> Option<&str> {
        self.nodes.get(index).map(|node| node.name.as_str())
    }

    /// Lets a class go on where it was; its leaf, if it has children now.
    fn take_over_class(&mut self, index: usize, was: Former) -> Option<Leaf> {
        let same_parent = self.name(self.nodes[index].parent) == was.parent.as_deref();
        let siblings = &mut self.siblings[index];
        (siblings.virtual_time, siblings.virtual_time_last) = was.virtual_times;
        let latest = ps(self.latest);
        let (node, old) = (&mut self.nodes[index], was.node);
        node.next_bytes = old.next_bytes;
        node.goes_on = old.active && old.real_time.is_some();
        go_on(&mut node.real_time, old.real_time);
        if same_parent {
            node.goes_on_sharing = was.shared;
            go_on(&mut node.link_share, old.link_share);
        }
        match (&mut node.upper_limit, old.upper_limit) {
            (Some(new), None) => new.restart(latest),
            (new, old) => go_on(new, old),
        }
        if !node.is_leaf {
            return Some(old.leaf);
        }
        let queue = &self.parameters.classes[index].queue;
        node.leaf.follow(old.leaf, queue);
        None
    }

    /// Every leaf that has packets takes part.
    fn resume(&mut self) {
        for index in 0..self.nodes.len() {
            if !self.nodes[index].leaf.is_empty() {
                self.activate(index, self.latest);
            }
        }
        for node in &mut self.nodes {
            (node.goes_on, node.goes_on_sharing) = (false, false);
        }
        debug_assert_eq!(self.statistics().backlog_bytes, self.backlog.bytes);
    }
}
