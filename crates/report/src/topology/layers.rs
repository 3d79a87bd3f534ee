//! Columns for boxes, so that links go from left to right, and their order, so that few links cross.
//!
//! The method is that of Sugiyama, Tagawa and Toda ("Methods for visual understanding of hierarchical system
//! structures", 1981): longest paths make the columns, links that pass a column have a place in it, and each column
//! is sorted by the mean of its neighbours' places, back and forth.

use super::graph::{Graph, Wire};

/// Times that all columns are sorted.
const SWEEPS: usize = 8;

/// The positions of all items.
#[derive(Debug)]
pub(super) struct Layers {
    /// The columns from left to right, each from top to bottom.
    pub(super) columns: Vec<Vec<Item>>,
    /// The column of each box.
    pub(super) column: Vec<usize>,
}

/// An item of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Item {
    /// A box.
    Box(usize),
    /// A link that passes.
    Wire(usize),
}

/// Finds columns and their order.
pub(super) fn lay_out(graph: &Graph) -> Layers {
    let column = columns(graph);
    let count = column.iter().max().map_or(0, |last| last + 1);
    let mut columns = vec![Vec::new(); count];
    column.iter().enumerate().for_each(|(number, &at)| columns[at].push(Item::Box(number)));
    for (number, wire) in graph.wires.iter().enumerate() {
        let [low, high] = span(wire, &column);
        (low + 1..high).for_each(|at| columns[at].push(Item::Wire(number)));
    }
    let mut layers = Layers { columns, column };
    for sweep in 0..SWEEPS {
        let right = sweep % 2 == 0;
        let order: Vec<usize> =
            if right { (1..count).collect() } else { (1..count).rev().collect() };
        for at in order {
            let (fixed, moved) = if right { (at - 1, at) } else { (at, at - 1) };
            layers.sort(graph, fixed, moved);
        }
    }
    layers
}

/// The first and the last column that a link touches.
pub(super) fn span(wire: &Wire, column: &[usize]) -> [usize; 2] {
    let [a, b] = wire.ends.map(|end| column[end]);
    [a.min(b), a.max(b)]
}

/// Returns the column of each box: one more than the highest of the boxes that lead there. A box that nothing leads
/// to is right before the nearest one that it leads to. A cycle is cut at its first box.
fn columns(graph: &Graph) -> Vec<usize> {
    let count = graph.boxes.len();
    let mut waiting = vec![0; count];
    graph.wires.iter().for_each(|wire| waiting[wire.ends[1]] += 1);
    let (mut column, mut done) = (vec![0_usize; count], vec![false; count]);
    for _ in 0..count {
        let open = |number: &usize| !done[*number];
        let ready = (0..count).filter(open).find(|&number| waiting[number] == 0);
        let Some(next) = ready.or_else(|| (0..count).find(open)) else { break };
        done[next] = true;
        for wire in graph.wires.iter().filter(|wire| wire.ends[0] == next && !done[wire.ends[1]]) {
            let to = wire.ends[1];
            waiting[to] -= 1;
            column[to] = column[to].max(column[next] + 1);
        }
    }
    let reached = |number: usize| graph.wires.iter().any(|wire| wire.ends[1] == number);
    let ahead = |number: usize| {
        let wires = graph.wires.iter().filter(|wire| wire.ends[0] == number);
        wires.map(|wire| column[wire.ends[1]]).min()
    };
    let place = |number: usize| match ahead(number) {
        Some(nearest) if !reached(number) => nearest.saturating_sub(1),
        _ => column[number],
    };
    (0..count).map(place).collect()
}

impl Layers {
    /// Sorts the column `moved` by the mean place that each item's neighbours have in `fixed`.
    fn sort(&mut self, graph: &Graph, fixed: usize, moved: usize) {
        let mut keyed: Vec<(f64, Item)> = Vec::new();
        for (place, &item) in self.columns[moved].iter().enumerate() {
            let places = graph.wires.iter().enumerate().filter_map(|(number, wire)| {
                let mine = match item {
                    Item::Box(me) => wire.ends.contains(&me),
                    Item::Wire(me) => me == number,
                };
                if mine { self.place(number, wire, fixed) } else { None }
            });
            let places: Vec<f64> = places.collect();
            let mean = places.iter().sum::<f64>() / places.len() as f64;
            keyed.push((if places.is_empty() { place as f64 } else { mean }, item));
        }
        keyed.sort_by(|a, b| a.0.total_cmp(&b.0));
        self.columns[moved] = keyed.into_iter().map(|(_, item)| item).collect();
    }

    /// Where in a column a link ends or passes.
    fn place(&self, number: usize, wire: &Wire, column: usize) -> Option<f64> {
        let there = |item: &Item| match *item {
            Item::Box(end) => wire.ends.contains(&end),
            Item::Wire(passing) => passing == number,
        };
        self.columns[column].iter().position(there).map(|place| place as f64)
    }
}
