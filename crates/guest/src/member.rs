//! A guest of the calendar: its process, its sockets and its cards.

use std::collections::VecDeque;
use std::fs::File;
use std::io;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::process::Child;
use std::time::Duration;

use base::Fault;

use crate::card::{Address, Card};
use crate::kernel::{self, Kernel, Settings};
use crate::page::{KICKS, Kick};
use crate::socket::Watch;
use crate::time_travel::{self, Message, Operation};
use crate::{Error, NEVER};

/// The number of lines of a guest's console that an error shows.
const CONSOLE_LINES: usize = 12;

/// A guest of the calendar.
#[derive(Debug)]
pub(crate) struct Guest {
    pub(crate) folder: PathBuf,
    pub(crate) process: Child,
    pub(crate) console: PathBuf,
    /// Its time-travel socket; `None` once it has ended.
    pub(crate) time: Option<UnixStream>,
    /// Whether it waits for its turn by the page, not for a message.
    pub(crate) takes_turns: bool,
    /// Whether its end was reported.
    pub(crate) reported: bool,
    /// The sequence number of its first message, which is answered when the guest is to run.
    pub(crate) start: Option<u32>,
    pub(crate) cards: Vec<Card>,
    /// The watched sockets: its time-travel socket as 0, and its cards from 1 on.
    pub(crate) watch: Watch,
    /// The number of its first card among all guests' cards.
    pub(crate) first_card: usize,
    /// The kicks whose frames are not taken yet, by time: it ran ahead of the outside.
    pub(crate) kicks: VecDeque<Kick>,
    /// The time that it requested by a message, before it has the page.
    pub(crate) requested: u64,
}

impl Guest {
    pub(crate) fn start(
        kernel: &Kernel,
        settings: &Settings,
        number: usize,
        cards: &[(Address, u16)],
        folder: PathBuf,
        timeout: Duration,
    ) -> Result<Self, Error> {
        std::fs::create_dir_all(&folder).map_err(Error::system("create a guest's folder"))?;
        let listen = |name: &str| {
            let path = folder.join(name);
            UnixListener::bind(&path)
                .map_err(Error::system(format!("listen at {}", path.display())))
        };
        let listener = listen(kernel::TIME)?;
        let watch = Watch::new().map_err(Error::system("wait for a guest"))?;
        let mut own = Vec::new();
        for (number, &(address, mtu)) in cards.iter().enumerate() {
            let card = Card::new(listen(&kernel::card(number))?, address, mtu);
            watch.add(card.listener(), number + 1).map_err(Error::system("wait for a card"))?;
            own.push(card);
        }
        let console = folder.join("console");
        let file = File::create(&console).map_err(Error::system("write the guest's console"))?;
        let process = kernel.start(number, cards.len(), &folder, settings, file)?;
        let mut guest = Self {
            folder,
            process,
            console,
            time: None,
            takes_turns: false,
            reported: false,
            start: None,
            cards: own,
            watch,
            first_card: 0,
            kicks: VecDeque::with_capacity(KICKS),
            requested: 0,
        };
        guest.wait_for_start(number, listener, timeout)?;
        Ok(guest)
    }

    /// Whether it has ended, all its frames are taken, and its end was not reported.
    pub(crate) fn is_to_be_reported(&self) -> bool {
        self.time.is_none() && !self.reported && self.kicks.is_empty()
    }

    /// The time of its first frame that is not taken yet; [`NEVER`] if there is none.
    pub(crate) fn sends_at(&self) -> u64 {
        self.kicks.front().map_or(NEVER, |kick| kick.time)
    }

    /// Handles the guest's request to a card.
    pub(crate) fn serve(&mut self, own: usize) -> io::Result<()> {
        match self.cards[own].serve()? {
            Some(requests) => self.watch.add(requests, own + 1),
            None => Ok(()),
        }
    }

    /// Waits for the guest's first message.
    fn wait_for_start(
        &mut self,
        number: usize,
        listener: UnixListener,
        timeout: Duration,
    ) -> Result<(), Error> {
        const STEP: Duration = Duration::from_millis(50);
        let system = || Error::system("wait for a guest");
        self.watch.add(&listener, 0).map_err(system())?;
        let (mut waited, mut heard) = (Duration::ZERO, Vec::new());
        loop {
            self.watch.wait(STEP, &mut heard).map_err(system())?;
            if heard.contains(&0) {
                break;
            }
            let ended = self.process.try_wait().map_err(Error::system("wait for a guest"))?;
            waited += STEP;
            if ended.is_some() || waited >= timeout {
                let status =
                    ended.map_or("no message received".to_owned(), |status| status.to_string());
                let console = self.last_words();
                let message = format!("the guest {number} did not start: {status}\n{console}");
                return Err(Fault::lacking(message, "").into());
            }
        }
        let (time, _) = listener.accept().map_err(Error::system("receive from a guest"))?;
        self.watch.add(&time, 0).map_err(system())?;
        let first = time_travel::receive(&time).map_err(|error| broken(number, &error))?;
        match first {
            Some(Message { operation: Operation::Start, sequence, .. }) => {
                self.start = Some(sequence);
                self.time = Some(time);
                Ok(())
            }
            other => {
                let what = format!("its first message is {other:?}");
                Err(Error::protocol(number, &what))
            }
        }
    }

    /// The last lines of the console; after a kernel panic, the lines from its reason on.
    pub(crate) fn last_words(&self) -> String {
        let text = std::fs::read(&self.console).unwrap_or_default();
        let text = String::from_utf8_lossy(&text);
        let lines: Vec<&str> = text.lines().collect();
        let panic = lines.iter().rposition(|line| line.contains("Kernel panic"));
        let from = panic.unwrap_or(lines.len().saturating_sub(CONSOLE_LINES));
        let shown = lines.into_iter().skip(from).take(CONSOLE_LINES);
        shown.collect::<Vec<_>>().join("\n")
    }
}

impl Drop for Guest {
    fn drop(&mut self) {
        // The guest ends when the calendar closes its socket. If it does not, it is killed.
        self.time = None;
        let _ = self.process.kill();
        let _ = self.process.wait();
        let _ = std::fs::remove_file(self.folder.join(kernel::TIME));
    }
}

/// The error for a guest whose socket or ring failed.
pub(crate) fn broken(guest: usize, error: &io::Error) -> Error {
    Error::protocol(guest, &error.to_string())
}
