//! The search for the shortest paths between the rows of a routing table.

use std::collections::{BTreeMap, VecDeque};

/// The number of prefixes of a page: as many as a word has bits, so that one search serves them all.
pub(super) const PAGE: usize = u64::BITS as usize;
/// No next-hop set.
pub(super) const NONE: u32 = u32::MAX;

/// A page: the next-hop set for each of its prefixes, by its number within the node, or [`NONE`].
pub(super) type Page = [u32; PAGE];

/// The network between rows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Graph {
    /// Whether each row's node forwards.
    pub(super) forwards: Vec<bool>,
    /// The links of each row in file order, with the row at the other end.
    pub(super) ways: Vec<Vec<(u32, u32)>>,
}

/// The next-hop sets of a row.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Sets {
    links: Vec<u32>,
    /// Where each set ends in `links`.
    ends: Vec<u32>,
}

impl Sets {
    pub(super) fn get(&self, set: u32) -> &[u32] {
        let Some(&end) = self.ends.get(set as usize) else { return &[] };
        let start = (set as usize).checked_sub(1).map_or(0, |last| self.ends[last]);
        &self.links[start as usize..end as usize]
    }

    pub(super) fn len(&self) -> usize {
        self.ends.len()
    }

    fn add(&mut self, links: &[u32]) -> u32 {
        self.links.extend(links);
        self.ends.push(self.links.len() as u32);
        self.ends.len() as u32 - 1
    }
}

/// The routes from every row to the prefixes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Columns {
    /// The number of pages of a row.
    pub(super) width: usize,
    /// The pages, row by row.
    pub(super) table: Vec<u32>,
    pub(super) pages: Vec<Page>,
    pub(super) sets: Vec<Sets>,
}

impl Columns {
    /// The next hops of a row for a prefix.
    pub(super) fn next_hops(&self, row: usize, prefix: usize) -> &[u32] {
        let page = self.table[row * self.width + prefix / PAGE];
        self.sets[row].get(self.pages[page as usize][prefix % PAGE])
    }
}

/// A breadth-first search from up to [`PAGE`] destinations at once, a bit for each (Then et al.: The More the
/// Merrier: Efficient Multi-Source Graph Traversal, VLDB 2014).
struct Flood {
    /// The destinations that found each row, this far.
    seen: Vec<u64>,
    /// Those that found it in the last step, and go on from there.
    spread: Vec<u64>,
    /// Those that find it in this step.
    new: Vec<u64>,
    /// The rows with any in `spread`, and in `new`.
    here: Vec<u32>,
    beyond: Vec<u32>,
}

impl Flood {
    fn new(rows: usize) -> Self {
        let [seen, spread, new] = [0; 3].map(|none| vec![none; rows]);
        Self { seen, spread, new, here: Vec::new(), beyond: Vec::new() }
    }

    fn start(&mut self, destinations: &[u32]) {
        self.seen.fill(0);
        self.here.drain(..).for_each(|row| self.spread[row as usize] = 0);
        for (bit, &row) in destinations.iter().enumerate() {
            self.seen[row as usize] |= 1 << bit;
            self.spread[row as usize] |= 1 << bit;
            self.here.push(row);
        }
    }

    /// Finds the rows one hop further away; false if there are none.
    fn advance(&mut self, graph: &Graph) -> bool {
        for &row in &self.here {
            let spread = self.spread[row as usize];
            for &(_, far) in &graph.ways[row as usize] {
                let new = spread & !self.seen[far as usize];
                if new != 0 && self.new[far as usize] == 0 {
                    self.beyond.push(far);
                }
                self.new[far as usize] |= new;
            }
        }
        !self.beyond.is_empty()
    }

    /// Goes on from the rows that were found.
    fn finish_step(&mut self, graph: &Graph) {
        self.here.drain(..).for_each(|row| self.spread[row as usize] = 0);
        core::mem::swap(&mut self.here, &mut self.beyond);
        for &row in &self.here {
            let new = core::mem::take(&mut self.new[row as usize]);
            self.seen[row as usize] |= new;
            self.spread[row as usize] = if graph.forwards[row as usize] { new } else { 0 };
        }
    }
}

impl Graph {
    /// The routes to these rows.
    pub(super) fn columns(&self, destinations: &[u32]) -> Columns {
        let (rows, width) = (self.ways.len(), destinations.len().div_ceil(PAGE));
        let mut flood = Flood::new(rows);
        let mut known: Vec<BTreeMap<Box<[u32]>, u32>> = vec![BTreeMap::new(); rows];
        let mut sets = vec![Sets::default(); rows];
        let (mut table, mut pages) = (vec![NONE; rows * width], Vec::new());
        let mut numbers: BTreeMap<Page, u32> = BTreeMap::new();
        let mut filled = vec![[NONE; PAGE]; rows];
        let mut split = Split::default();
        for (place, destinations) in destinations.chunks(PAGE).enumerate() {
            filled.fill([NONE; PAGE]);
            flood.start(destinations);
            while flood.advance(self) {
                for &row in &flood.beyond {
                    let row = row as usize;
                    split.by_next_hops(&self.ways[row], &flood, flood.new[row]);
                    let most = if self.forwards[row] { usize::MAX } else { 1 };
                    split.each(&self.ways[row], most, |part, links| {
                        let set = known[row].get(links).copied().unwrap_or_else(|| {
                            let set = sets[row].add(links);
                            known[row].insert(links.into(), set);
                            set
                        });
                        bits(part).for_each(|bit| filled[row][bit] = set);
                    });
                }
                flood.finish_step(self);
            }
            for (row, page) in filled.iter().enumerate() {
                table[row * width + place] = *numbers.entry(*page).or_insert_with(|| {
                    pages.push(*page);
                    pages.len() as u32 - 1
                });
            }
        }
        Columns { width, table, pages, sets }
    }
}

/// The destinations that find a row in one step, split by their next hops from there.
#[derive(Default)]
struct Split {
    /// The destinations to which each of the row's links leads.
    masks: Vec<u64>,
    parts: Vec<u64>,
    links: Vec<u32>,
}

impl Split {
    fn by_next_hops(&mut self, ways: &[(u32, u32)], flood: &Flood, new: u64) {
        self.masks.clear();
        self.masks.extend(ways.iter().map(|&(_, near)| flood.spread[near as usize] & new));
        self.parts.clear();
        self.parts.push(new);
        let mut last = new;
        for &mask in self.masks.iter().filter(|&&mask| mask != 0 && mask != new) {
            // Links side by side mostly lead to the same destinations.
            if core::mem::replace(&mut last, mask) == mask {
                continue;
            }
            for part in 0..self.parts.len() {
                let (inside, outside) = (self.parts[part] & mask, self.parts[part] & !mask);
                if inside != 0 && outside != 0 {
                    self.parts[part] = inside;
                    self.parts.push(outside);
                }
            }
        }
    }

    /// Calls `act` with each part, and the first `most` of its links.
    fn each(&mut self, ways: &[(u32, u32)], most: usize, mut act: impl FnMut(u64, &[u32])) {
        for &part in &self.parts {
            let leads = ways.iter().zip(&self.masks).filter(|&(_, mask)| mask & part != 0);
            self.links.clear();
            self.links.extend(leads.map(|(&(link, _), _)| link).take(most));
            act(part, &self.links);
        }
    }
}

/// The numbers of the bits that are set.
fn bits(mut word: u64) -> impl Iterator<Item = usize> {
    core::iter::from_fn(move || {
        let bit = word.trailing_zeros() as usize;
        word &= word.wrapping_sub(1);
        (bit < PAGE).then_some(bit)
    })
}

/// The distance in hops of every node from one destination.
pub(super) struct Tree {
    pub(super) hops: Vec<u32>,
    pub(super) queue: VecDeque<usize>,
}

pub(super) const UNREACHED: u32 = u32::MAX;

impl Tree {
    pub(super) fn grow(&mut self, destination: usize, forwards: &[bool], ways: &[Vec<(u32, u32)>]) {
        self.hops.fill(UNREACHED);
        self.hops[destination] = 0;
        self.queue.push_back(destination);
        while let Some(node) = self.queue.pop_front() {
            if node != destination && !forwards[node] {
                continue;
            }
            for &(_, next) in &ways[node] {
                if self.hops[next as usize] == UNREACHED {
                    self.hops[next as usize] = self.hops[node] + 1;
                    self.queue.push_back(next as usize);
                }
            }
        }
    }

    /// Adds the links to forwarding nodes that are one hop nearer; only the first one for a host.
    pub(super) fn next_hops(
        &self,
        node: usize,
        ways: &[(u32, u32)],
        forwards: &[bool],
        destination: usize,
        links: &mut Vec<u32>,
    ) {
        let hops = self.hops[node];
        if hops == 0 || hops == UNREACHED {
            return;
        }
        let nearer = |n: usize| self.hops[n] == hops - 1 && (n == destination || forwards[n]);
        let most = if forwards[node] { usize::MAX } else { 1 };
        let shortest = ways.iter().filter(|&&(_, n)| nearer(n as usize)).map(|&(link, _)| link);
        links.extend(shortest.take(most));
    }
}
