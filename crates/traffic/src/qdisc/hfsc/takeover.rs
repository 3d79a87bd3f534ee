//! New parameters on a running discipline: classes of the same name continue.

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;

use super::curve::RuntimeCurve;
use super::leaf::Leaf;
use super::turns::Criterion;
use super::{Hfsc, Node, ps};
use crate::discipline::Discipline;
use base::units::Instant;

/// A class of the old parameters.
struct OldClass {
    node: Node,
    /// The name of its parent.
    parent: Option<String>,
    /// Whether it took turns with its siblings.
    shared: bool,
    /// The virtual times of the class's children, the current and the last one.
    virtual_times: (u128, u128),
}

/// Continues the old curve in the new one: at the same position if the curves are alike; otherwise the new
/// curve starts from there.
fn go_on(new: &mut RuntimeCurve, old: RuntimeCurve) {
    if new.is_like(&old) {
        *new = old;
    } else {
        new.restart(old.eligible());
    }
}

impl Hfsc {
    /// Takes over the state and packets of `old`, which has run until `now`.
    ///
    /// Packets of a class that is removed, or that has children now, go to the default class.
    // Apart, like the other steps of a change: a kernel's stack is small.
    #[inline(never)]
    pub(super) fn take_over(&mut self, mut old: Box<Self>, now: Instant) {
        self.latest = now;
        self.backlog = old.backlog;
        self.backlog_bytes_max = old.backlog_bytes_max;
        let (root, before) = (self.root(), old.root());
        let tops = &mut self.siblings[root];
        tops.virtual_time = old.siblings[before].virtual_time;
        tops.virtual_time_last = old.siblings[before].virtual_time_last;
        let mut old_classes = old.take_old_classes();
        let mut leaves: Vec<Option<Leaf>> = Vec::with_capacity(root);
        for index in 0..root {
            let was = old_classes.remove(&self.names[index]);
            leaves.extend(was.map(|was| self.take_over_class(index, *was, now)));
        }
        let gone = old_classes.into_values().map(|was| Some(was.node.leaf));
        let frame_max = self.frame_max();
        let default = &mut self.nodes[self.default];
        for leaf in leaves.into_iter().chain(gone).flatten() {
            if !leaf.is_empty() {
                // Another packet is first now. Its deadline must not be too early, at the cost of others.
                default.next_bytes = frame_max;
            }
            default.leaf.inherit(leaf);
        }
        self.resume(now);
    }

    #[inline(never)]
    fn take_old_classes(&mut self) -> BTreeMap<String, Box<OldClass>> {
        let nodes = core::mem::take(&mut self.nodes).into_iter();
        let old_class = |(index, node): (usize, Node)| {
            let siblings = &self.siblings[index];
            let virtual_times = (siblings.virtual_time, siblings.virtual_time_last);
            let shared = self.seats.is_taken(index, Criterion::LinkShare);
            let parent = self.name(node.parent).map(String::from);
            let class = Box::new(OldClass { node, parent, shared, virtual_times });
            (self.names[index].clone(), class)
        };
        let mut old_classes = BTreeMap::new();
        for (name, class) in nodes.enumerate().map(old_class) {
            old_classes.insert(name, class);
        }
        old_classes
    }

    /// The name of a class; none of [`Hfsc::root`].
    fn name(&self, index: u32) -> Option<&str> {
        self.names.get(index as usize).map(String::as_str)
    }

    /// Lets a class continue from its old state. Returns its leaf if it has children now.
    fn take_over_class(&mut self, index: usize, was: OldClass, now: Instant) -> Option<Leaf> {
        let same_parent = self.name(self.nodes[index].parent) == was.parent.as_deref();
        let siblings = &mut self.siblings[index];
        (siblings.virtual_time, siblings.virtual_time_last) = was.virtual_times;
        let (node, old) = (&mut self.nodes[index], was.node);
        node.next_bytes = old.next_bytes;
        node.goes_on = old.active && old.real_time.is_some();
        if let (Some(new), Some(old)) = (&mut node.real_time, old.real_time) {
            go_on(new, old);
        }
        if same_parent {
            node.goes_on_sharing = was.shared;
            if let (Some(new), Some(old)) = (&mut node.link_share, old.link_share) {
                go_on(new, old);
            }
        }
        match (&mut node.upper_limit, old.upper_limit) {
            (Some(new), Some(old)) => go_on(new, *old),
            (Some(new), None) => new.restart(ps(now)),
            (None, _) => {}
        }
        if !node.is_leaf {
            return Some(old.leaf);
        }
        let queue = &self.parameters.classes[index].queue;
        node.leaf.follow(old.leaf, queue, now);
        None
    }

    /// Lets every leaf with packets take part from `now` on.
    fn resume(&mut self, now: Instant) {
        for index in 0..self.nodes.len() {
            if !self.nodes[index].leaf.is_empty() {
                self.activate(index, now);
            }
        }
        for node in &mut self.nodes {
            (node.goes_on, node.goes_on_sharing) = (false, false);
        }
        debug_assert_eq!(self.statistics().backlog_bytes, self.backlog.bytes);
    }
}
