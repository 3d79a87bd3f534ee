//! The messages between the simulator and the programs in a guest kernel: files in a folder that both share.
//!
//! The simulator writes the scenario and an [`Assignment`]; the guest's first program writes [`Message`]s.

use std::io::{self, BufRead, Write};
use std::path::PathBuf;

use base::Instant;
use serde::{Deserialize, Serialize};
use transport::Info;

use crate::totals::FlowTotals;

/// The scenario with every default written out.
pub const SCENARIO: &str = "scenario.toml";
/// The [`Assignment`], in JSON.
pub const ASSIGNMENT: &str = "assignment.json";
/// The kernel module `sch_suimon`, if a host needs it.
pub const MODULE: &str = "sch_suimon.ko";
/// The [`Message`]s, a line of JSON each.
pub const MESSAGES: &str = "messages.json";

/// The standard input of a [`Command`] without a terminal.
pub const INPUT: &str = "input";
/// The standard output of a [`Command`], or the output of its terminal.
pub const OUTPUT: &str = "output";
/// The standard error of a [`Command`] without a terminal.
pub const ERRORS: &str = "errors";

/// The file with the start of the run, as the guest's wall clock then shows: nanoseconds since 1970, in decimal. It
/// is written once all guests are ready.
pub const START: &str = "start";

/// The task of a guest.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Assignment {
    /// The owner of each network card, `eth0` first.
    pub cards: Vec<Card>,
    /// The command that runs in a host, perhaps another guest's, until it ends. There are no flows then.
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
    /// The working directory, if it exists in the guest.
    pub folder: PathBuf,
    /// The size of its terminal; if it has none, its streams are files.
    pub terminal: Option<TerminalSize>,
}

/// Rows and columns of characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TerminalSize {
    /// Rows, from top to bottom.
    pub rows: u16,
    /// Columns, from left to right.
    pub columns: u16,
}

/// A person's input at the terminal of a [`Command`]: the simulator writes a file for each, in JSON.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Typed {
    /// Keys, as a terminal sends them.
    Keys(Vec<u8>),
    /// The terminal has a new size.
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

/// A message from a guest.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Message {
    /// Hosts are made and their servers can be reached: the run may start.
    Ready,
    /// Both ends of a flow at some time.
    Sample {
        /// The time.
        now: Instant,
        /// The flow, by its number in the plan.
        flow: u32,
        /// The end that writes the data that counts, and the end that reads it.
        ends: Box<[Info; 2]>,
    },
    /// The command has ended, with a status as from wait(2).
    Exited {
        /// The status.
        status: i32,
        /// The programs of hosts here that failed, each with its status and what it said last.
        failed_programs: Vec<String>,
    },
    /// The run is over.
    Ended(Box<Ended>),
    /// Something went wrong, and it is over.
    Failed {
        /// The problem.
        message: String,
        /// The remedy; may be empty.
        help: String,
    },
}

/// The results of a guest's part of a run.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Ended {
    /// The totals of each flow, in the order of the plan; nothing is known of flows at other hosts.
    pub flows: Vec<FlowTotals>,
    /// The totals of each flow at the start of the measured part of the run, and at its end.
    pub snapshots: Vec<Vec<FlowTotals>>,
    /// For each change of connections, by its number in the plan: the reason if it was refused.
    pub changes: Vec<(usize, Option<String>)>,
    /// Notes for the reader.
    pub notes: Vec<String>,
    /// The scenario's programs that failed, each with its status and what it said last.
    pub failed_programs: Vec<String>,
}

impl Message {
    /// Writes it as a line of JSON.
    ///
    /// # Errors
    /// If the disk is full.
    pub fn write(&self, mut to: impl Write) -> io::Result<()> {
        serde_json::to_writer(&mut to, self)?;
        to.write_all(b"\n")
    }
}

/// Returns the messages that are complete.
pub fn messages(from: impl BufRead) -> impl Iterator<Item = Message> {
    from.lines().map_while(|line| serde_json::from_str(&line.ok()?).ok())
}

#[cfg(test)]
mod tests {
    use applications::exchange::Exchanges;

    use super::*;

    #[test]
    fn messages_are_read_as_they_were_written_and_what_was_cut_off_is_left() {
        let info = Info { cwnd: 7, bytes_acked: 1 << 60, ..Info::default() };
        let now = Instant::from_ps(123_456_789_012_345);
        let sample = Message::Sample { now, flow: 3, ends: Box::new([info, Info::default()]) };
        let exchanges = Exchanges { sum: u128::MAX, ..Default::default() };
        let flow = FlowTotals { results: [Some(exchanges.into()), None], ..FlowTotals::default() };
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
        let sum = ended.flows[0].counts().map(|exchanges: &Exchanges| exchanges.sum);
        assert_eq!(sum, Some(u128::MAX));
    }
}
