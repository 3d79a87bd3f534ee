//! What the simulator and the programs in a guest kernel tell each other: files in a folder that both have.
//!
//! The simulator writes the scenario and an [`Assignment`]; the guest's first program writes [`Message`]s.

use std::io::{self, BufRead, Write};
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use traffic::Instant;
use transport::Info;

use crate::totals::FlowTotals;

/// The scenario with every default written out.
pub const SCENARIO: &str = "scenario.toml";
/// The [`Assignment`], in JSON.
pub const ASSIGNMENT: &str = "assignment.json";
/// The [`Message`]s, a line of JSON each.
pub const MESSAGES: &str = "messages.json";

/// What a [`Command`] reads, where it has no terminal.
pub const INPUT: &str = "input";
/// What a [`Command`] writes to its standard output, or to its terminal.
pub const OUTPUT: &str = "output";
/// What a [`Command`] writes to its standard error, where it has no terminal.
pub const ERRORS: &str = "errors";

/// When the run starts: what the guest's wall clock shows then, nanoseconds since 1970, in decimal. It is written once all
/// guests are ready.
pub const START: &str = "start";

/// What a guest is to do.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Assignment {
    /// Whose each network card is, `eth0` first.
    pub cards: Vec<Card>,
    /// What runs in a host, perhaps another guest's, until it ends. There are no flows then.
    pub command: Option<Command>,
}

/// A command in a host, as a person typed it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Command {
    /// The host, by its number in the plan.
    pub node: usize,
    /// The program and its arguments.
    pub words: Vec<String>,
    /// Variables of its environment, beside those that every program has.
    pub environment: Vec<(String, String)>,
    /// Where it runs, if there is such a folder in the guest.
    pub folder: PathBuf,
    /// The size of its terminal; if it has none, its streams are files.
    pub terminal: Option<TerminalSize>,
}

/// Rows and columns of letters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TerminalSize {
    /// From top to bottom.
    pub rows: u16,
    /// From left to right.
    pub columns: u16,
}

/// What a person does at the terminal of a [`Command`]: the simulator writes a file for each, in JSON.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Typed {
    /// Keys, as a terminal sends them.
    Keys(Vec<u8>),
    /// The terminal's size is another.
    Resized(TerminalSize),
}

impl Typed {
    /// The name of that file, counted from 0.
    pub fn file(number: u64) -> String {
        format!("typed.{number}")
    }
}

/// A network card's place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Card {
    /// The host, by its number in the plan.
    pub node: usize,
    /// Its link, by its number in the plan.
    pub link: usize,
}

/// What a guest tells.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Message {
    /// Hosts are made and what serves there can be talked to: the run may start.
    Ready,
    /// Both ends of a flow at some time.
    Sample {
        /// When.
        now: Instant,
        /// The flow, by its number in the plan.
        flow: u32,
        /// The one that writes what counts, and the one that reads it.
        ends: Box<[Info; 2]>,
    },
    /// The command has ended, with a status as of wait(2).
    Exited {
        /// The status.
        status: i32,
        /// The programs of hosts here that failed, each with its status and what it said last.
        failed_programs: Vec<String>,
    },
    /// It is over.
    Ended(Box<Ended>),
    /// Something went wrong, and it is over.
    Failed(String),
}

/// What came of a guest's part of a run.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Ended {
    /// What became of each flow, in the order of the plan; of those at other hosts nothing is known.
    pub flows: Vec<FlowTotals>,
    /// What became of each flow until the measured part of the run began, and until it ended.
    pub looks: Vec<Vec<FlowTotals>>,
    /// For each change of connections, by its number in the plan: what was refused of it.
    pub changes: Vec<(usize, Option<String>)>,
    /// What a reader should know.
    pub notes: Vec<String>,
    /// The scenario's programs that failed, each with its status and what it said last.
    pub failed_programs: Vec<String>,
}

impl Message {
    /// Writes it.
    ///
    /// # Errors
    /// A full disk.
    pub fn write(&self, mut to: impl Write) -> io::Result<()> {
        serde_json::to_writer(&mut to, self)?;
        to.write_all(b"\n")
    }
}

/// The messages that were written whole.
pub fn messages(from: impl BufRead) -> impl Iterator<Item = Message> {
    from.lines().map_while(|line| serde_json::from_str(&line.ok()?).ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_read_as_they_were_written_and_what_was_cut_off_is_left() {
        let info = Info { cwnd: 7, bytes_acked: 1 << 60, ..Info::default() };
        let now = Instant::from_ps(123_456_789_012_345);
        let sample = Message::Sample { now, flow: 3, ends: Box::new([info, Info::default()]) };
        let exchanges = network::exchange::Exchanges { sum: u128::MAX, ..Default::default() };
        let flow = FlowTotals { exchanges: Some(exchanges), ..FlowTotals::default() };
        let ended = Ended { flows: vec![flow], ..Ended::default() };
        let mut bytes = Vec::new();
        for message in [&sample, &Message::Ended(Box::new(ended))] {
            message.write(&mut bytes).expect("memory");
        }
        bytes.extend(b"{\"Sample\":{\"now\":1,\"fl");
        let read: Vec<Message> = messages(&*bytes).collect();
        let [Message::Sample { now: then, flow: 3, ends }, Message::Ended(ended)] = &*read else {
            panic!("{read:?}");
        };
        assert_eq!((*then, ends[0]), (now, info));
        let sum = ended.flows[0].exchanges.as_ref().map(|exchanges| exchanges.sum);
        assert_eq!(sum, Some(u128::MAX));
    }
}
