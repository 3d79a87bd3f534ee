//! The scheduler of the guests and of the network outside of them: only one of them runs at a time.

use std::io;
use std::os::fd::AsFd;
use std::path::Path;
use std::time::Duration;

use crate::card::{Address, Card, RECEIVE, RINGS, SEND};
use crate::kernel::{Kernel, Settings};
use crate::member::{Guest, broken};
use crate::page::{Kick, Page};
use crate::pinned::Pinned;
use crate::socket;
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
/// The wall-clock time after which the calendar looks for messages of a guest that runs for so long.
const LOOK: Duration = Duration::from_millis(1);
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
        self.wait_for(number)?;
        self.page.take_back();
        self.page.take_kicks(number, &mut self.guests[number].kicks);
        Ok(())
    }

    /// Waits until a guest waits, and handles its messages and its requests to its cards meanwhile.
    fn wait_for(&mut self, number: usize) -> Result<(), Error> {
        let mut silent = Duration::ZERO;
        while self.guests[number].time.is_some() {
            let patience = match self.guests[number].takes_turns {
                // It sends messages only when it ends.
                true => match self.page.wait_for_turn(number, LOOK) {
                    Ok(true) => break,
                    Ok(false) => Duration::ZERO,
                    Err(error) => return Err(Error::system("wait for a guest")(error)),
                },
                false => self.timeout,
            };
            let mut heard = std::mem::take(&mut self.heard);
            let waited = self.guests[number].watch.wait(patience, &mut heard);
            waited.map_err(Error::system("wait for a guest"))?;
            silent = if heard.is_empty() { silent + patience.max(LOOK) } else { Duration::ZERO };
            if silent >= self.timeout {
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

    /// Lets a guest know that it may run. From when its cards are set up, guest and calendar take turns by the page.
    fn let_go(&mut self, number: usize) -> Result<(), Error> {
        self.sequence = self.sequence.wrapping_add(1);
        let guest = &mut self.guests[number];
        guest.requested = NEVER;
        let Some(time) = &guest.time else { return Ok(()) };
        if guest.takes_turns {
            return self.page.give_turn(number).map_err(Error::system("wake a guest"));
        }
        if self.page.is_shared_by(number) && guest.cards.iter().all(Card::is_ready) {
            self.page.offer_turns(number);
            guest.takes_turns = true;
        }
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

fn too_many(guests: usize) -> Error {
    let error = io::Error::other("a calendar has at most 65 534");
    Error::system(format!("start {guests} guests"))(error)
}
