//! The picture: boxes in columns, and links between the slots on their sides.

use std::fmt::Write;

use super::graph::{Box, Graph, Kind};
use super::layers::{Item, Layers};
use crate::escape;

const LETTER: f64 = 7.0;
const LINE: f64 = 16.0;
/// The distance between two links on one side of a box: room for a discipline's name.
const PITCH: f64 = 34.0;
/// The distance between two boxes of a column.
const GAP: f64 = 26.0;
/// The straight part of a link before it turns: room for a discipline's name.
const LEAD: f64 = 54.0;
/// The distance between the leads of two columns: room for a link's name.
const TURN: f64 = 140.0;
const MARGIN: f64 = 10.0;
/// The number of letters of a name that are shown.
const LETTERS_MAX: usize = 24;

#[derive(Clone, Copy, Debug)]
struct Point {
    x: f64,
    y: f64,
}

/// The position of a column and of each of its items, from top to bottom.
struct Column {
    left: f64,
    width: f64,
    /// Middle and height.
    items: Vec<(Item, f64, f64)>,
}

struct Picture<'a> {
    graph: &'a Graph,
    layers: &'a Layers,
    columns: Vec<Column>,
    size: Point,
}

/// The picture as SVG.
pub(super) fn svg(graph: &Graph, layers: &Layers, description: &str) -> String {
    let picture = Picture::new(graph, layers);
    let Point { x: width, y: height } = picture.size;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"map\" viewBox=\"0 0 {width:.0} {height:.0}\" \
         role=\"img\" aria-label=\"Topology\" font-family=\"system-ui, sans-serif\" font-size=\"12\" \
         fill=\"var(--ink, #1b1b1b)\" style=\"min-width:{:.0}px;max-width:{width:.0}px\">\
         <title>Topology</title><desc>{}</desc>",
        0.7 * width,
        escape(description)
    );
    // Links first: their names must not be below another link.
    let ways: Vec<Vec<Point>> = (0..graph.wires.len()).map(|number| picture.way(number)).collect();
    ways.iter().for_each(|way| line(&mut svg, way));
    ways.iter().enumerate().for_each(|(number, way)| picture.words(&mut svg, number, way));
    for column in &picture.columns {
        for &(item, middle, height) in &column.items {
            if let Item::Box(number) = item {
                draw_box(&mut svg, &graph.boxes[number], column, (middle, height));
            }
        }
    }
    svg + "</svg>"
}

impl<'a> Picture<'a> {
    fn new(graph: &'a Graph, layers: &'a Layers) -> Self {
        let mut picture =
            Self { graph, layers, columns: Vec::new(), size: Point { x: 0.0, y: 0.0 } };
        let mut left = MARGIN;
        let mut heights = Vec::new();
        for items in &layers.columns {
            let items: Vec<_> = items.iter().map(|&item| (item, picture.height(item))).collect();
            let boxes = items.iter().filter_map(|(item, _)| match item {
                Item::Box(number) => Some(width(&graph.boxes[*number])),
                Item::Wire(_) => None,
            });
            let width = boxes.fold(90.0, f64::max);
            heights.push(items.iter().map(|(_, height)| height + GAP).sum::<f64>());
            let items = items.into_iter().map(|(item, height)| (item, 0.0, height)).collect();
            picture.columns.push(Column { left, width, items });
            left += width + 2.0 * LEAD + TURN;
        }
        let tallest = heights.iter().copied().fold(0.0, f64::max);
        for (column, height) in picture.columns.iter_mut().zip(heights) {
            // Spread over the whole height, so that columns with equal numbers of boxes form rows.
            let room = GAP + (tallest - height) / column.items.len().max(1) as f64;
            let mut top = MARGIN;
            for (_, middle, height) in &mut column.items {
                *middle = top + (*height + room) / 2.0;
                top += *height + room;
            }
        }
        picture.size = Point { x: left - 2.0 * LEAD - TURN + MARGIN, y: tallest + 2.0 * MARGIN };
        picture
    }

    /// Returns the height of an item: a box has room for its words and its links.
    fn height(&self, item: Item) -> f64 {
        let Item::Box(number) = item else { return PITCH };
        let words = LINE * (1 + self.graph.boxes[number].lines.len()) as f64;
        let slots = [true, false].map(|right| self.wires(number, right).count()).into_iter().max();
        (words + 14.0).max(PITCH * slots.unwrap_or(0) as f64)
    }

    /// The links on one side of a box.
    fn wires(&self, number: usize, right: bool) -> impl Iterator<Item = usize> {
        let column = &self.layers.column;
        let here = move |ends: [usize; 2]| {
            let other = if ends[0] == number { ends[1] } else { ends[0] };
            ends.contains(&number) && (column[other] >= column[number]) == right
        };
        let all = self.graph.wires.iter().enumerate();
        all.filter(move |(_, wire)| here(wire.ends)).map(|(number, _)| number)
    }

    /// Returns the middle of an item in a column.
    fn middle(&self, column: usize, wanted: Item) -> f64 {
        let items = &self.columns[column].items;
        items.iter().find(|(item, _, _)| *item == wanted).map_or(0.0, |(_, middle, _)| *middle)
    }

    /// Returns the slot of a link at one of its boxes: the slots of a side are in the order of the links' other ends.
    fn slot(&self, number: usize, at: usize, right: bool) -> Point {
        let toward = |wire: usize| {
            let ends = self.graph.wires[wire].ends;
            let other = if ends[0] == at { ends[1] } else { ends[0] };
            let (here, there) = (self.layers.column[at], self.layers.column[other]);
            let next = if there > here { here + 1 } else { here.saturating_sub(1) };
            if next == there || here == there {
                self.middle(there, Item::Box(other))
            } else {
                self.middle(next, Item::Wire(wire))
            }
        };
        let mut side: Vec<(f64, usize)> = self.wires(at, right).map(|w| (toward(w), w)).collect();
        side.sort_by(|a, b| a.0.total_cmp(&b.0));
        let place = side.iter().position(|(_, wire)| *wire == number).unwrap_or(0) as f64;
        let column = &self.columns[self.layers.column[at]];
        let middle = self.middle(self.layers.column[at], Item::Box(at));
        Point {
            x: if right { column.left + column.width } else { column.left },
            y: middle + PITCH * (place - (side.len() as f64 - 1.0) / 2.0),
        }
    }

    /// The corners of a link from left to right: its slots, and where it passes columns.
    fn way(&self, number: usize) -> Vec<Point> {
        let mut ends = self.graph.wires[number].ends;
        if self.layers.column[ends[0]] > self.layers.column[ends[1]] {
            ends.reverse();
        }
        let [low, high] = ends.map(|end| self.layers.column[end]);
        let first = self.slot(number, ends[0], true);
        let mut way = vec![first, Point { x: first.x + LEAD, ..first }];
        for column in low + 1..high {
            let y = self.middle(column, Item::Wire(number));
            let Column { left, width, .. } = self.columns[column];
            way.extend([left - LEAD, left + width + LEAD].map(|x| Point { x, y }));
        }
        // Both boxes in one column: the wire turns back.
        let last = self.slot(number, ends[1], low == high);
        let lead = if low == high { LEAD } else { -LEAD };
        way.extend([Point { x: last.x + lead, ..last }, last]);
        way
    }

    /// The disciplines at a link's ends, and its name in the middle.
    fn words(&self, svg: &mut String, number: usize, way: &[Point]) {
        let wire = &self.graph.wires[number];
        let [Some(&first), Some(&last)] = [way.first(), way.last()] else { return };
        let column = wire.ends.map(|end| self.layers.column[end]);
        let mut disciplines = [&wire.disciplines[0], &wire.disciplines[1]];
        if column[0] > column[1] {
            disciplines.reverse();
        }
        let back = column[0] == column[1];
        text(svg, (first.x + 5.0, first.y - 5.0), "start", disciplines[0]);
        let (x, anchor) = if back { (last.x + 5.0, "start") } else { (last.x - 5.0, "end") };
        text(svg, (x, last.y - 5.0), anchor, disciplines[1]);
        let turns = way.len() / 2;
        let turn = 2 * (turns / 2).max(1) - 1;
        let (a, b) = (way[turn], way[turn + 1]);
        let (x, y) = ((a.x + b.x) / 2.0 + if back { 40.0 } else { 0.0 }, (a.y + b.y) / 2.0);
        text(svg, (x, y - 5.0), "middle", &short(&wire.name));
        text(svg, (x, y + 13.0), "middle", &wire.facts);
    }
}

fn line(svg: &mut String, way: &[Point]) {
    let Some(first) = way.first() else { return };
    let _ = write!(svg, "<path d=\"M{:.0} {:.0}", first.x, first.y);
    let leads = way.chunks_exact(2);
    for (before, after) in leads.clone().zip(leads.skip(1)) {
        let ([_, a], [b, c]) = (before, after) else { continue };
        let _ = write!(svg, "L{:.0} {:.0}", a.x, a.y);
        // Level at both ends; back to its own column in an arc.
        let bend = if (a.x - b.x).abs() < 1.0 { TURN / 2.0 } else { (b.x - a.x) / 2.0 };
        let (out, back) =
            (a.x + bend, if (a.x - b.x).abs() < 1.0 { b.x + bend } else { b.x - bend });
        let _ = write!(svg, "C{out:.0} {:.0} {back:.0} {:.0} {:.0} {:.0}", a.y, b.y, b.x, b.y);
        let _ = write!(svg, "L{:.0} {:.0}", c.x, c.y);
    }
    *svg += "\" fill=\"none\" stroke=\"var(--soft, #5c5c5c)\" stroke-width=\"1.5\"/>";
}

/// Words with an outline in the page's colour, which keeps them readable on top of a link.
fn text(svg: &mut String, (x, y): (f64, f64), anchor: &str, words: &str) {
    if !words.is_empty() {
        let _ = write!(
            svg,
            "<text x=\"{x:.0}\" y=\"{y:.0}\" text-anchor=\"{anchor}\" font-size=\"11\" \
             stroke=\"var(--paper, #fff)\" stroke-width=\"3\" paint-order=\"stroke\">{}</text>",
            escape(words)
        );
    }
}

fn draw_box(svg: &mut String, node: &Box, column: &Column, (middle, height): (f64, f64)) {
    let (x, y, width) = (column.left, middle - height / 2.0, column.width);
    let (colour, round, dash) = match node.kind {
        Kind::Host => ("--c0, #0072b2", 3.0, ""),
        Kind::Router => ("--c2, #009e73", 18.0, ""),
        Kind::Emulator => ("--c1, #d55e00", 3.0, " stroke-dasharray=\"6 3\""),
    };
    let _ = write!(
        svg,
        "<rect x=\"{x:.0}\" y=\"{y:.0}\" width=\"{width:.0}\" height=\"{height:.0}\" rx=\"{round}\" \
         fill=\"var(--panel, #f6f7f9)\" stroke=\"var({colour})\" stroke-width=\"2\"{dash}/>"
    );
    let centre = x + width / 2.0;
    let first = middle - LINE * node.lines.len() as f64 / 2.0 + 4.0;
    let name = escape(&short(&node.name));
    let _ = write!(
        svg,
        "<text x=\"{centre:.0}\" y=\"{first:.0}\" text-anchor=\"middle\" font-weight=\"600\">{name}</text>"
    );
    for (number, words) in (1..).zip(&node.lines) {
        let (y, words) = (first + LINE * f64::from(number), escape(words));
        let _ = write!(
            svg,
            "<text x=\"{centre:.0}\" y=\"{y:.0}\" text-anchor=\"middle\" font-size=\"11\">{words}</text>"
        );
    }
}

fn width(node: &Box) -> f64 {
    let letters = |text: &str| short(text).chars().count();
    let longest = node.lines.iter().map(|l| letters(l)).chain([letters(&node.name)]).max();
    20.0 + LETTER * longest.unwrap_or(0) as f64
}

/// Shortens a name to the available room.
fn short(name: &str) -> String {
    if name.chars().count() <= LETTERS_MAX {
        return name.to_owned();
    }
    name.chars().take(LETTERS_MAX - 1).chain(['…']).collect()
}
