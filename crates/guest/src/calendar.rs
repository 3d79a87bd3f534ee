//! The scheduler of the guests and of the network outside of them: only one of them runs at a time.

use std::collections::VecDeque;
use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::process::Child;
use std::time::Duration;

use crate::card::{Address, Card, RECEIVE, RINGS, SEND};
use crate::kernel::{self, Kernel, Settings};
use crate::page::{KICKS, Kick, Page};
use crate::pinned::Pinned;
use crate::socket::{self, Watch};
use crate::time_travel::{self, Message, Operation};
use crate::{Error, NEVER};
use base::Fault;

/// The network between the guests' cards.
pub trait Outside {
    /// Takes a frame that a guest sent by card `card` at exactly `now`. Returns whether the frame has left the card. If
    /// not, it occupies its slot until [`Cards::left`], and the guest's stack counts it as queued (TCP small queues).
    fn send(&mut self, card: usize, slot: u16, frame: &[u8], now: u64) -> bool;

    /// The time of the next event; [`NEVER`] if there is none.
    fn next(&self) -> u64;

    /// Handles the events that are due, and delivers arriving frames to their cards.
    fn handle_due(&mut self, now: u64, cards: &mut Cards<'_>);

    /// The time until which nothing changes a card of guest `guest`, if that guest does not send, and no other guest
    /// sends before `others`. `slots`: a slot that becomes free is a change.
    fn unchanged_until(&self, _guest: usize, others: u64, _slots: bool) -> u64 {
        others.min(self.next())
    }

    /// The time for which nothing changes a card of guest `guest` after it has sent a frame.
    fn answers_after(&self, _guest: usize) -> u64 {
        0
    }
}

/// The guests' cards, to deliver frames to and to report sent frames to.
#[derive(Debug)]
pub struct Cards<'a> {
    guests: &'a mut [Guest],
    places: &'a [(usize, usize)],
    /// The cards with changes that their guests do not know yet, by guest and place there.
    changed: &'a mut Vec<(usize, usize)>,
    failed: Option<Error>,
}

impl Cards<'_> {
    /// Delivers a frame to card `card`. Returns false if the guest has no room for it, or is gone.
    pub fn deliver(&mut self, card: usize, frame: &[u8]) -> bool {
        self.update(card, RECEIVE, |card| card.deliver(frame))
    }

    /// Reports that the frame in slot `slot` has left the card.
    pub fn left(&mut self, card: usize, slot: u16) {
        self.update(card, SEND, |card| card.left(slot).map(|()| true));
    }

    /// Runs `change` on a card. If it succeeds, the guest is notified of a change of `ring` later.
    fn update(
        &mut self,
        card: usize,
        ring: usize,
        change: impl FnOnce(&mut Card) -> io::Result<bool>,
    ) -> bool {
        let Some(&(guest, own)) = self.places.get(card) else { return false };
        let card = &mut self.guests[guest].cards[own];
        match change(card) {
            Ok(done) => {
                if done && card.changed_rings == 0 {
                    self.changed.push((guest, own));
                }
                card.changed_rings |= u8::from(done) << ring;
                done
            }
            Err(error) => {
                self.failed.get_or_insert(broken(guest, &error));
                false
            }
        }
    }
}

/// The reason why [`Calendar::run`] returned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The requested time was reached.
    Reached,
    /// A guest has ended whose end was not reported before, or no guest is left.
    Halted {
        /// The guest's number.
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
    /// Whether its end was reported.
    reported: bool,
    /// The sequence number of its first message, which is answered when the guest is to run.
    start: Option<u32>,
    cards: Vec<Card>,
    /// The watched sockets: its time-travel socket as 0, and its cards from 1 on.
    watch: Watch,
    /// The number of its first card among all guests' cards.
    first_card: usize,
    /// The kicks whose frames are not taken yet, by time: it ran ahead of the outside.
    kicks: VecDeque<Kick>,
    /// The time that it requested by a message, before it has the page.
    requested: u64,
}

/// Guests, and the clock that they share.
#[derive(Debug)]
pub struct Calendar {
    guests: Vec<Guest>,
    /// The guest and the place there, by card number.
    places: Vec<(usize, usize)>,
    /// Cards with changes in their rings that their guests do not know yet.
    changed: Vec<(usize, usize)>,
    /// The sockets of the running guest that have data to read.
    heard: Vec<usize>,
    page: Page,
    now: u64,
    timeout: Duration,
    sequence: u32,
    _pinned: Pinned,
}

/// The maximum number of cards of a guest: the page has two bits for each.
pub const CARDS_MAX: usize = 64 / RINGS;
/// The number of lines of a guest's console that an error shows.
const CONSOLE_LINES: usize = 12;
/// The approximate size limit of a guest's console, in bytes.
const CONSOLE_BYTES: u64 = 16 << 20;

impl Calendar {
    /// Starts a guest for each list of cards, each in its own folder within `folder`. A card has an address and an MTU.
    /// While a guest runs, its clock must advance at least once per `timeout` of wall time.
    ///
    /// # Errors
    ///
    /// If the machine refuses a step, if a guest has more than [`CARDS_MAX`] cards, or if a guest does not start.
    pub fn start(
        kernel: &Kernel,
        settings: &Settings,
        guests: &[Vec<(Address, u16)>],
        folder: &Path,
        timeout: Duration,
    ) -> Result<Self, Error> {
        if let Some(cards) = guests.iter().map(Vec::len).find(|&cards| cards > CARDS_MAX) {
            let why = format!("a guest with {cards} cards: at most {CARDS_MAX} are supported");
            return Err(Fault::usage(why, "").into());
        }
        let page = u16::try_from(guests.len()).map_err(|_| too_many(guests.len()))?;
        let page = Page::new(page).map_err(Error::system("share a page of memory"))?;
        let mut calendar = Self {
            guests: Vec::new(),
            places: Vec::new(),
            changed: Vec::new(),
            heard: Vec::new(),
            page,
            now: 0,
            timeout,
            sequence: 0,
            _pinned: Pinned::here(),
        };
        for (number, cards) in guests.iter().enumerate() {
            let folder = folder.join(format!("guest{number}"));
            let mut guest = Guest::start(kernel, settings, number, cards, folder, timeout)?;
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

    /// The file with the console output of guest `guest`.
    pub fn console(&self, guest: usize) -> &Path {
        &self.guests[guest].console
    }

    /// Runs until the time `until`, or until a guest ends.
    ///
    /// # Errors
    ///
    /// If a guest violates the protocol, never waits, or floods its console.
    pub fn run(&mut self, outside: &mut impl Outside, until: u64) -> Result<End, Error> {
        if let Some(flooded) = (0..self.guests.len()).find_map(|guest| self.flooded(guest)) {
            return Err(flooded);
        }
        loop {
            let mut guest = None;
            let mut at = outside.next();
            for number in 0..self.guests.len() {
                if self.acts_at(number) < at {
                    (guest, at) = (Some(number), self.acts_at(number));
                }
            }
            let ended = self.guests.iter().position(Guest::is_to_be_reported);
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
                Some(number) if self.guests[number].sends_at() <= self.now => {
                    self.send(number, outside).map_err(|error| broken(number, &error))?;
                }
                Some(number) => self.run_guest(number, outside, until)?,
                None => self.run_outside(outside)?,
            }
        }
    }

    /// The time at which a guest wants to run, or its next frame is to be taken.
    fn acts_at(&self, number: usize) -> u64 {
        let guest = &self.guests[number];
        let wanted = guest.time.as_ref().map_or(NEVER, |_| self.wanted(number));
        wanted.min(guest.sends_at())
    }

    /// The time at which a guest wants to run.
    fn wanted(&self, number: usize) -> u64 {
        match self.page.is_shared_by(number) {
            true => self.page.requested(number),
            false => self.guests[number].requested,
        }
    }

    /// Runs the outside's due events, and interrupts guests for frames that arrived or left.
    fn run_outside(&mut self, outside: &mut impl Outside) -> Result<(), Error> {
        let Self { guests, places, changed, .. } = self;
        let mut cards = Cards { guests, places, changed, failed: None };
        outside.handle_due(self.now, &mut cards);
        if let Some(error) = cards.failed {
            return Err(error);
        }
        for (number, own) in self.changed.drain(..) {
            let card = &mut self.guests[number].cards[own];
            let changed = std::mem::take(&mut card.changed_rings);
            for ring in (0..RINGS).filter(|ring| changed >> ring & 1 == 1) {
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
        let others = others.map(|other| self.acts_at(other)).min().unwrap_or(NEVER);
        let slots = self.guests[number].cards.iter().any(Card::lacks_slots);
        let free_until = outside.unchanged_until(number, others, slots).min(until);
        let ahead = if slots { 0 } else { outside.answers_after(number) };
        self.page.let_run(number, free_until, ahead);
        self.let_go(number)?;
        while self.guests[number].time.is_some() {
            let mut heard = std::mem::take(&mut self.heard);
            let waited = self.guests[number].watch.wait(self.timeout, &mut heard);
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
                    None => self.handle_message(number).map(|ended| waits = ended),
                }?;
            }
            self.heard = heard;
            if waits {
                break;
            }
        }
        self.page.take_back();
        self.page.take_kicks(number, &mut self.guests[number].kicks);
        Ok(())
    }

    /// Takes the frames that a guest has sent at this time, card by card. The guest waits.
    fn send(&mut self, number: usize, outside: &mut impl Outside) -> io::Result<()> {
        let guest = &mut self.guests[number];
        while let Some(&Kick { time, ring, available }) = guest.kicks.front()
            && time <= self.now
        {
            guest.kicks.pop_front();
            let own = ring / RINGS;
            let Some(card) = guest.cards.get_mut(own).filter(|_| ring % RINGS == SEND) else {
                continue;
            };
            let number_of_card = guest.first_card + own;
            card.send(available, |slot, frame| {
                outside.send(number_of_card, slot, frame, self.now)
            })?;
            // The guest asked for an interrupt because its ring was full.
            if card.wants_interrupt(SEND) {
                self.page.call(number, ring, self.now);
            }
        }
        Ok(())
    }

    /// Sends a guest the message that it may run.
    fn let_go(&mut self, number: usize) -> Result<(), Error> {
        self.sequence = self.sequence.wrapping_add(1);
        let guest = &mut self.guests[number];
        guest.requested = NEVER;
        let Some(time) = &guest.time else { return Ok(()) };
        let sent = match guest.start.take() {
            Some(sequence) => {
                // The answer to its first message carries the page and the guest's place in it.
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

    /// Handles a message of a guest. Returns true if the guest waits now, or has ended.
    fn handle_message(&mut self, number: usize) -> Result<bool, Error> {
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
                let what = format!("a guest may not send {other:?}");
                return Err(Error::protocol(number, &what));
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

    /// The error for a guest that has ended, with its exit status and last output.
    pub fn ended(&mut self, guest: usize) -> Error {
        let of = &mut self.guests[guest];
        // Its socket is closed, so the process is about to exit, unless it hangs.
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
            Ok(None) => "hung".into(),
            Err(error) => error.to_string(),
        };
        Error::Ended { guest, now: self.now, status, console: of.last_words() }
    }

    fn stuck(&self, guest: usize) -> Error {
        let now = self.page.now();
        let message = format!(
            "the clock of guest {guest} is still at {now} ns after {:?} of wall time: a program there computes or loops \
             without a system call, so no virtual time passes",
            self.timeout
        );
        let help = "leave that program out, or run it with --on lab";
        self.flooded(guest).unwrap_or_else(|| Fault::lacking(message, help).into())
    }

    /// The error for a guest whose console is too long; `None` otherwise.
    fn flooded(&self, guest: usize) -> Option<Error> {
        let bytes = std::fs::metadata(&self.guests[guest].console).ok()?.len();
        let now = self.page.now();
        let help = "leave out the program that writes to /dev/console or /dev/kmsg";
        (bytes > CONSOLE_BYTES).then(|| {
            let message = format!("the console of guest {guest} has {bytes} bytes at {now} ns: a program there floods it");
            Fault::lacking(message, help).into()
        })
    }
}

/// The wall-clock time of guests at the calendar's start: 14 November 2023, 22:13:20 UTC.
pub const EPOCH: u64 = 1_700_000_000_000_000_000;

impl Guest {
    fn start(
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
    fn is_to_be_reported(&self) -> bool {
        self.time.is_none() && !self.reported && self.kicks.is_empty()
    }

    /// The time of its first frame that is not taken yet; [`NEVER`] if there is none.
    fn sends_at(&self) -> u64 {
        self.kicks.front().map_or(NEVER, |kick| kick.time)
    }

    /// Handles the guest's request to a card.
    fn serve(&mut self, own: usize) -> io::Result<()> {
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
        // The guest ends when the calendar closes its socket. If it does not, it is killed.
        self.time = None;
        let _ = self.process.kill();
        let _ = self.process.wait();
        let _ = std::fs::remove_file(self.folder.join(kernel::TIME));
    }
}

fn broken(guest: usize, error: &io::Error) -> Error {
    Error::protocol(guest, &error.to_string())
}

fn too_many(guests: usize) -> Error {
    let error = io::Error::other("a calendar has at most 65 534");
    Error::system(format!("start {guests} guests"))(error)
}
