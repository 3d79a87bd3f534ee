//! Who runs when: guests and what is outside of them, one at a time.

use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::process::Child;
use std::time::Duration;

use crate::card::{Address, Card, RECEIVE, RINGS, SEND};
use crate::kernel::{self, Kernel, Settings};
use crate::page::Page;
use crate::pinned::Pinned;
use crate::socket::{self, Watch};
use crate::time_travel::{self, Message, Operation};
use crate::{Error, NEVER};

/// What lies between the guests' cards.
pub trait Outside {
    /// A guest sent a frame by the card of that number, at exactly that time. Whether it has left the card; else it takes its
    /// slot there until [`Cards::left`] says so, and the guest's stack counts it as queued (TCP small queues).
    fn send(&mut self, card: usize, slot: u16, frame: &[u8], now: u64) -> bool;

    /// When it has something to do, [`NEVER`] if nothing.
    fn next(&self) -> u64;

    /// Its time has come: it does what is due, and gives frames that arrive to their cards.
    fn act(&mut self, now: u64, cards: &mut Cards<'_>);
}

/// The guests' cards, to be given frames, and told which of theirs have left.
#[derive(Debug)]
pub struct Cards<'a> {
    guests: &'a mut [Guest],
    places: &'a [(usize, usize)],
    /// Those of which something is to be told, by guest and place there.
    news: &'a mut Vec<(usize, usize)>,
    failed: Option<Error>,
}

impl Cards<'_> {
    /// Gives a frame to the card of that number; false where the guest has no room for it, or is gone.
    pub fn deliver(&mut self, card: usize, frame: &[u8]) -> bool {
        self.tell(card, RECEIVE, |card| card.deliver(frame))
    }

    /// The frame in that slot of the card has left it.
    pub fn left(&mut self, card: usize, slot: u16) {
        self.tell(card, SEND, |card| card.left(slot).map(|()| true));
    }

    /// Does something to a ring of the card of that number; if it was done, the guest is told.
    fn tell(
        &mut self,
        card: usize,
        ring: usize,
        act: impl FnOnce(&mut Card) -> io::Result<bool>,
    ) -> bool {
        let Some(&(guest, own)) = self.places.get(card) else { return false };
        let card = &mut self.guests[guest].cards[own];
        match act(card) {
            Ok(done) => {
                if done && card.news == 0 {
                    self.news.push((guest, own));
                }
                card.news |= u8::from(done) << ring;
                done
            }
            Err(error) => {
                self.failed.get_or_insert(broken(guest, &error));
                false
            }
        }
    }
}

/// How a stretch of time ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The time asked for is reached.
    Reached,
    /// A guest has ended, whose end was not reported before; or none is left.
    Halted {
        /// Its number.
        guest: usize,
    },
}

/// A guest of the calendar.
#[derive(Debug)]
struct Guest {
    folder: PathBuf,
    process: Child,
    console: PathBuf,
    /// Its time-travel socket; `None` once it has ended.
    time: Option<UnixStream>,
    /// Its end was reported.
    reported: bool,
    /// The sequence number of its first message, which is answered when it is to run.
    start: Option<u32>,
    cards: Vec<Card>,
    /// Its time-travel socket by 0, and its cards by their numbers from 1 on.
    watch: Watch,
    /// The number of its first one among all guests' cards.
    first_card: usize,
    /// What it asked for by a message: before it has the page.
    requested: u64,
}

/// Guests, and the clock that they share.
#[derive(Debug)]
pub struct Calendar {
    guests: Vec<Guest>,
    /// By number of a card: its guest, and its place there.
    places: Vec<(usize, usize)>,
    /// Cards in whose rings something happened of which their guests do not know yet.
    news: Vec<(usize, usize)>,
    /// Who has something to say, while a guest runs.
    heard: Vec<usize>,
    page: Page,
    now: u64,
    patience: Duration,
    sequence: u32,
    _pinned: Pinned,
}

/// The most cards of a guest: the page has two bits for each.
pub const CARDS_MAX: usize = 64 / RINGS;
/// The lines of a guest's console that an error shows.
const CONSOLE_LINES: usize = 12;
/// A guest's console gets no longer than about so many bytes.
const CONSOLE_BYTES: u64 = 16 << 20;

impl Calendar {
    /// Starts a guest for each list of cards, each in a folder of its own within `folder`; a card has an address and
    /// an MTU. No guest may let its clock stand still for longer than `patience` of wall time while it runs.
    ///
    /// # Errors
    ///
    /// A machine that refuses something, more than [`CARDS_MAX`] cards, and guests that do not start.
    pub fn start(
        kernel: &Kernel,
        settings: &Settings,
        guests: &[Vec<(Address, u16)>],
        folder: &Path,
        patience: Duration,
    ) -> Result<Self, Error> {
        if let Some(cards) = guests.iter().map(Vec::len).find(|&cards| cards > CARDS_MAX) {
            let why = format!("a guest with {cards} cards: {CARDS_MAX} at most");
            return Err(Error::Refused { why });
        }
        let page = u16::try_from(guests.len()).map_err(|_| too_many(guests.len()))?;
        let page = Page::new(page).map_err(Error::system("share a page of memory"))?;
        let mut calendar = Self {
            guests: Vec::new(),
            places: Vec::new(),
            news: Vec::new(),
            heard: Vec::new(),
            page,
            now: 0,
            patience,
            sequence: 0,
            _pinned: Pinned::here(),
        };
        for (number, cards) in guests.iter().enumerate() {
            let folder = folder.join(format!("guest{number}"));
            let mut guest = Guest::start(kernel, settings, number, cards, folder, patience)?;
            guest.first_card = calendar.places.len();
            calendar.places.extend((0..cards.len()).map(|own| (number, own)));
            calendar.guests.push(guest);
        }
        Ok(calendar)
    }

    /// The time, in nanoseconds.
    pub const fn now(&self) -> u64 {
        self.now
    }

    /// Where what the guest of that number says is written.
    pub fn console(&self, guest: usize) -> &Path {
        &self.guests[guest].console
    }

    /// Lets time pass to `until`, or to the end of a guest.
    ///
    /// # Errors
    ///
    /// A guest that breaks its protocol, never waits, or floods its console.
    pub fn run(&mut self, outside: &mut impl Outside, until: u64) -> Result<End, Error> {
        if let Some(flooded) = (0..self.guests.len()).find_map(|guest| self.flooded(guest)) {
            return Err(flooded);
        }
        loop {
            let mut guest = None;
            let mut at = outside.next();
            for (number, candidate) in self.guests.iter().enumerate() {
                if candidate.time.is_some() && self.wanted(number) < at {
                    (guest, at) = (Some(number), self.wanted(number));
                }
            }
            let ended =
                self.guests.iter().position(|guest| guest.time.is_none() && !guest.reported);
            if let Some(guest) = ended {
                self.guests[guest].reported = true;
                return Ok(End::Halted { guest });
            }
            if self.guests.iter().all(|guest| guest.reported) {
                return Ok(End::Halted { guest: 0 });
            }
            self.now = self.now.max(at.min(until));
            self.page.set_now(self.now);
            if at >= until {
                return Ok(End::Reached);
            }
            match guest {
                Some(number) => self.run_guest(number, outside, until)?,
                None => self.run_outside(outside)?,
            }
        }
    }

    /// When a guest wants to run.
    fn wanted(&self, number: usize) -> u64 {
        match self.page.is_shared_by(number) {
            true => self.page.requested(number),
            false => self.guests[number].requested,
        }
    }

    /// The outside does what is due, and guests are interrupted for frames that arrived or left.
    fn run_outside(&mut self, outside: &mut impl Outside) -> Result<(), Error> {
        let Self { guests, places, news, .. } = self;
        let mut cards = Cards { guests, places, news, failed: None };
        outside.act(self.now, &mut cards);
        if let Some(error) = cards.failed {
            return Err(error);
        }
        for (number, own) in self.news.drain(..) {
            let card = &mut self.guests[number].cards[own];
            let news = std::mem::take(&mut card.news);
            for ring in (0..RINGS).filter(|ring| news >> ring & 1 == 1) {
                if card.wants_interrupt(ring) {
                    self.page.call(number, own * RINGS + ring, self.now);
                }
            }
        }
        Ok(())
    }

    /// Lets a guest run until it waits again.
    fn run_guest(
        &mut self,
        number: usize,
        outside: &mut impl Outside,
        until: u64,
    ) -> Result<(), Error> {
        let others = (0..self.guests.len()).filter(|&other| other != number);
        let others = others.filter(|&other| self.guests[other].time.is_some());
        let free_until = others.map(|other| self.wanted(other)).min().unwrap_or(NEVER);
        let free_until = free_until.min(outside.next()).min(until);
        self.page.let_run(number, free_until);
        self.let_go(number)?;
        while self.guests[number].time.is_some() {
            let mut heard = std::mem::take(&mut self.heard);
            let waited = self.guests[number].watch.wait(self.patience, &mut heard);
            waited.map_err(Error::system("wait for a guest"))?;
            if heard.is_empty() {
                return Err(self.stuck(number));
            }
            let mut waits = false;
            for &who in &heard {
                match who.checked_sub(1) {
                    Some(own) => {
                        let served = self.guests[number].serve(own);
                        served.map_err(|error| broken(number, &error))
                    }
                    None => self.hear(number).map(|ended| waits = ended),
                }?;
            }
            self.heard = heard;
            if waits {
                break;
            }
        }
        self.now = self.now.max(self.page.now());
        self.page.take_back();
        self.send(number, outside).map_err(|error| broken(number, &error))
    }

    /// Takes the frames that a guest has sent, which waits since.
    fn send(&mut self, number: usize, outside: &mut impl Outside) -> io::Result<()> {
        let mut kicks = self.page.take_kicks(number);
        let guest = &mut self.guests[number];
        while kicks != 0 {
            let ring = kicks.trailing_zeros() as usize;
            kicks &= kicks - 1;
            let own = ring / RINGS;
            let Some(card) = guest.cards.get_mut(own).filter(|_| ring % RINGS == SEND) else {
                continue;
            };
            card.send(|slot, frame| outside.send(guest.first_card + own, slot, frame, self.now))?;
            // Its ring was full.
            if card.wants_interrupt(SEND) {
                self.page.call(number, ring, self.now);
            }
        }
        Ok(())
    }

    /// Says to a guest that it may run.
    fn let_go(&mut self, number: usize) -> Result<(), Error> {
        self.sequence = self.sequence.wrapping_add(1);
        let guest = &mut self.guests[number];
        guest.requested = NEVER;
        let Some(time) = &guest.time else { return Ok(()) };
        let sent = match guest.start.take() {
            Some(sequence) => {
                // With the answer to its first message it gets the page, in which it has this place.
                let operation = Operation::Acknowledge;
                let message = Message { operation, sequence, time: number as u64 };
                let files = [self.page.file.as_fd(), self.page.log.as_fd()];
                socket::send(time, &message.bytes(), &files).map(|()| true)
            }
            None => {
                let (operation, sequence) = (Operation::Run, self.sequence);
                time_travel::send(time, Message { operation, sequence, time: self.now })
            }
        };
        if !sent.map_err(|error| broken(number, &error))? {
            guest.time = None;
        }
        Ok(())
    }

    /// Takes a message of a guest. True if it waits now, or has ended.
    fn hear(&mut self, number: usize) -> Result<bool, Error> {
        let now = self.now.max(self.page.now());
        let guest = &mut self.guests[number];
        let Some(time) = &guest.time else { return Ok(true) };
        let received = time_travel::receive(time);
        let Some(message) = received.map_err(|error| broken(number, &error))? else {
            guest.time = None;
            return Ok(true);
        };
        let mut answer = 0;
        match message.operation {
            Operation::Wait if self.page.is_shared_by(number) => return Ok(true),
            Operation::Wait | Operation::Acknowledge => {}
            Operation::Request => guest.requested = message.time,
            Operation::Get => answer = now,
            Operation::Update => self.page.set_now(message.time.max(now)),
            Operation::TimeOfDay => answer = EPOCH + now,
            other => {
                let what = format!("{other:?} is not a guest's to say");
                return Err(Error::Protocol { guest: number, what });
            }
        }
        if message.operation != Operation::Acknowledge {
            let (operation, sequence) = (Operation::Acknowledge, message.sequence);
            let acknowledged =
                time_travel::send(time, Message { operation, sequence, time: answer });
            if !acknowledged.map_err(|error| broken(number, &error))? {
                guest.time = None;
            }
        }
        Ok(message.operation == Operation::Wait)
    }

    /// How the guest of that number ended, which has.
    pub fn ended(&mut self, guest: usize) -> Error {
        let of = &mut self.guests[guest];
        // Its socket is closed: the process is at its end, if it does not hang there.
        let mut status = of.process.try_wait();
        for _ in 0..100 {
            if !matches!(status, Ok(None)) {
                break;
            }
            std::thread::sleep(Duration::from_millis(10));
            status = of.process.try_wait();
        }
        let status = match status {
            Ok(Some(status)) => status.to_string(),
            Ok(None) => "it hangs".into(),
            Err(error) => error.to_string(),
        };
        Error::Ended { guest, now: self.now, status, console: of.last_words() }
    }

    fn stuck(&self, guest: usize) -> Error {
        let now = self.page.now();
        self.flooded(guest).unwrap_or(Error::Stuck { guest, now, waited: self.patience })
    }

    /// That a guest's console is too long, if it is.
    fn flooded(&self, guest: usize) -> Option<Error> {
        let bytes = std::fs::metadata(&self.guests[guest].console).ok()?.len();
        let now = self.page.now();
        (bytes > CONSOLE_BYTES).then_some(Error::Flooded { guest, now, bytes })
    }
}

/// What a guest's clock of the day shows at the calendar's start: 14 November 2023, 22:13:20 UTC.
pub const EPOCH: u64 = 1_700_000_000_000_000_000;

impl Guest {
    fn start(
        kernel: &Kernel,
        settings: &Settings,
        number: usize,
        cards: &[(Address, u16)],
        folder: PathBuf,
        patience: Duration,
    ) -> Result<Self, Error> {
        std::fs::create_dir_all(&folder).map_err(Error::system("make a guest's folder"))?;
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
            reported: false,
            start: None,
            cards: own,
            watch,
            first_card: 0,
            requested: 0,
        };
        guest.greet(number, listener, patience)?;
        Ok(guest)
    }

    /// Does what it asks of a card.
    fn serve(&mut self, own: usize) -> io::Result<()> {
        match self.cards[own].serve()? {
            Some(requests) => self.watch.add(requests, own + 1),
            None => Ok(()),
        }
    }

    /// Waits for its first message.
    fn greet(
        &mut self,
        number: usize,
        listener: UnixListener,
        patience: Duration,
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
            if ended.is_some() || waited >= patience {
                let status =
                    ended.map_or("it said nothing".to_owned(), |status| status.to_string());
                return Err(Error::NotStarted {
                    guest: number,
                    status,
                    console: self.last_words(),
                });
            }
        }
        let (time, _) = listener.accept().map_err(Error::system("hear a guest"))?;
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
                Err(Error::Protocol { guest: number, what })
            }
        }
    }

    /// The last of what it said, from the reason of a panic on.
    fn last_words(&self) -> String {
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
        // It ends when its calendar hangs up; if not, by force.
        self.time = None;
        let _ = self.process.kill();
        let _ = self.process.wait();
        let _ = std::fs::remove_file(self.folder.join(kernel::TIME));
    }
}

fn broken(guest: usize, error: &io::Error) -> Error {
    Error::Protocol { guest, what: error.to_string() }
}

fn too_many(guests: usize) -> Error {
    let error = io::Error::other("a calendar has 65 534 at most");
    Error::System { what: format!("start {guests} guests"), error }
}
