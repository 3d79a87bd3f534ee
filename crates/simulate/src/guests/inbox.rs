//! The messages that a guest writes into its shared folder.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use base::Instant;
use record::guest::{Ended, MESSAGES, Message};
use transport::Info;

use super::work;

/// A sample of a flow: the time, the flow, and both ends; the end that writes the measured data comes first.
pub(super) type Sample = (Instant, u32, [Info; 2]);

/// How a command in a host ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exited {
    /// Its status as in wait(2).
    pub status: i32,
    /// The programs of its guest's hosts that failed, each with its status and its last output.
    pub failed_programs: Vec<String>,
}

/// What a guest has sent so far.
#[derive(Default)]
pub(super) struct Inbox {
    path: PathBuf,
    /// How much of the file was read.
    read: u64,
    pub(super) ready: bool,
    pub(super) failed: Option<(String, String)>,
    pub(super) exited: Option<Exited>,
    pub(super) ended: Option<Ended>,
}

impl Inbox {
    /// One inbox for each of `guests` guests in `folder`.
    pub(super) fn each(folder: &Path, guests: usize) -> Vec<Self> {
        let path = |guest| work(folder, guest).join(MESSAGES);
        (0..guests).map(|guest| Self { path: path(guest), ..Self::default() }).collect()
    }

    /// Reads the new lines; returns the samples among them.
    pub(super) fn read(&mut self) -> Vec<Sample> {
        let (mut samples, mut text) = (Vec::new(), Vec::new());
        let Ok(mut file) = File::open(&self.path) else { return samples };
        let read = file.seek(SeekFrom::Start(self.read)).and_then(|_| file.read_to_end(&mut text));
        let whole = text.iter().rposition(|&byte| byte == b'\n').map_or(0, |last| last + 1);
        if read.is_err() || whole == 0 {
            return samples;
        }
        self.read += whole as u64;
        for message in record::guest::messages(&text[..whole]) {
            match message {
                Message::Ready => self.ready = true,
                Message::Sample { now, flow, ends } => samples.push((now, flow, *ends)),
                Message::Exited { status, failed_programs } => {
                    self.exited = Some(Exited { status, failed_programs });
                }
                Message::Failed { message, help } => self.failed = Some((message, help)),
                Message::Ended(ended) => self.ended = Some(*ended),
            }
        }
        samples
    }
}
