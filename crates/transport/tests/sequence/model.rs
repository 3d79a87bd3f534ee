//! The same segments, at the same times, through the modelled sender, and the calls that it makes.

use std::cell::{Cell, RefCell};

use base::{Duration, FlowId, HostId, Instant, Packet};
use congestion::{AckSample, Algorithm, Event, Hooks, Sock, State, TOLD_UNUSED};
use transport::{Config, Connection};

use crate::live::{Recording, What};
use crate::record::Record;

/// One call of a hook: its number in `record::HOOKS`, its arguments and result, and the view before it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Call {
    pub(crate) hook: usize,
    pub(crate) args: [u32; 3],
    pub(crate) ret: u32,
    pub(crate) view: Sock,
}

impl From<&Record> for Call {
    fn from(record: &Record) -> Self {
        Self { hook: record.hook as usize, args: record.args, ret: record.ret, view: record.before }
    }
}

thread_local! {
    static CALLS: RefCell<Vec<Call>> = const { RefCell::new(Vec::new()) };
    static ALGORITHM: Cell<Option<&'static Algorithm>> = const { Cell::new(None) };
}

/// Makes the call of the algorithm that is being recorded, and takes note of it.
fn note(
    sock: &mut Sock,
    hook: usize,
    args: [u32; 3],
    call: impl FnOnce(&Algorithm, &mut Sock) -> u32,
) -> u32 {
    let view = *sock;
    let ret = call(ALGORITHM.get().expect("a connection is replayed"), sock);
    CALLS.with_borrow_mut(|calls| calls.push(Call { hook, args, ret, view }));
    ret
}

extern "C" fn ssthresh(sock: &mut Sock) -> u32 {
    note(sock, 0, [0; 3], |algorithm, sock| algorithm.ssthresh(sock))
}

extern "C" fn cong_avoid(sock: &mut Sock, ack: u32, acked: u32) {
    note(sock, 1, [ack, acked, 0], |algorithm, sock| {
        algorithm.cong_avoid(sock, ack, acked);
        0
    });
}

extern "C" fn undo_cwnd(sock: &mut Sock) -> u32 {
    note(sock, 2, [0; 3], |algorithm, sock| algorithm.undo_cwnd(sock))
}

extern "C" fn init(sock: &mut Sock) {
    note(sock, 3, [0; 3], |algorithm, sock| {
        algorithm.init(sock);
        0
    });
}

extern "C" fn pkts_acked(sock: &mut Sock, ack: &AckSample) {
    let rtt_us = if ack.rtt_ns < 0 { u32::MAX } else { (ack.rtt_ns / 1_000) as u32 };
    note(sock, 4, [ack.acked, rtt_us, ack.in_flight], |algorithm, sock| {
        algorithm.pkts_acked(sock, ack);
        0
    });
}

extern "C" fn cwnd_event(sock: &mut Sock, event: u32) {
    use Event::{CompleteCwr, CwndRestart, EcnIsCe, EcnNoCe, Loss, TxStart};
    let events = [TxStart, CwndRestart, CompleteCwr, Loss, EcnNoCe, EcnIsCe];
    note(sock, 5, [event, 0, 0], |algorithm, sock| {
        algorithm.cwnd_event(sock, events[event as usize]);
        0
    });
}

extern "C" fn set_state(sock: &mut Sock, state: u32) {
    let states = [State::Open, State::Disorder, State::Cwr, State::Recovery, State::Loss];
    note(sock, 6, [state, 0, 0], |algorithm, sock| {
        algorithm.set_state(sock, states[state as usize]);
        0
    });
}

static RECORDER: Algorithm = Algorithm::of_hooks(
    "recorder",
    &Hooks {
        ssthresh,
        cong_avoid,
        undo_cwnd,
        init: Some(init),
        pkts_acked: Some(pkts_acked),
        cwnd_event: Some(cwnd_event),
        set_state: Some(set_state),
        cong_control: None,
        parameters: &congestion::Parameters::NONE,
        flags: TOLD_UNUSED,
    },
);

/// Whether the algorithm has the hook, so that the kernel calls it.
pub(crate) fn has(algorithm: &Algorithm, hook: usize) -> bool {
    let hooks = algorithm.hooks();
    match hook {
        3 => hooks.init.is_some(),
        4 => hooks.pkts_acked.is_some(),
        5 => hooks.cwnd_event.is_some(),
        6 => hooks.set_state.is_some(),
        _ => true,
    }
}

/// The kernel's timers fire late by a jiffy, and beyond 64 jiffies by up to eight (its timer wheel): one
/// that is due waits this long for what the kernel sent when its own fired.
const LATENESS: Duration = Duration::from_ms(40);

/// They are set in whole jiffies from the last tick on: two of them at most is one early.
const EARLINESS: Duration = Duration::from_ms(8);

struct Replay<'a> {
    end: Connection,
    record: &'a Recording,
    /// The offset from the kernel's timestamps to the model's.
    echo: u32,
    /// The time, which does not go back where a timer of the model's fires after the kernel's.
    now: Instant,
    sent: Vec<(Instant, Packet)>,
    idles: Vec<Idle>,
}

/// The application writes when nothing is in flight.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Idle {
    pub(crate) until: Instant,
    /// The time since the last segment was sent.
    pub(crate) length: Duration,
    /// The retransmission timeout then.
    pub(crate) rto: Duration,
}

/// The model's replay of a recorded connection: the calls of the hooks that the algorithm has, and the segments
/// that it sends.
pub(crate) struct Replayed {
    pub(crate) calls: Vec<Call>,
    /// The writes after silence.
    pub(crate) idles: Vec<Idle>,
    pub(crate) sent: Vec<(Instant, Packet)>,
}

/// Runs the recorded connection through the model.
pub(crate) fn replay(
    config: &Config,
    algorithm: &'static Algorithm,
    record: &Recording,
) -> Replayed {
    let config = Config { congestion: (&RECORDER).into(), ..*config };
    ALGORITHM.set(Some(algorithm));
    CALLS.take();
    let (start, syn) = record.sent[0];
    let mut end = Connection::connect(&config, FlowId(0), HostId(0), HostId(1), syn.tcp.seq);
    let mut ours = Packet::default();
    assert!(end.poll_transmit(start, &mut ours), "the SYN");
    let echo = ours.tcp.ts_val.wrapping_sub(ms(start)).wrapping_add(lead(record));
    let mut replay =
        Replay { end, record, echo, now: start, sent: vec![(start, ours)], idles: Vec::new() };
    replay.run();
    let mut calls = CALLS.take();
    calls.retain(|call| has(algorithm, call.hook));
    Replayed { calls, idles: replay.idles, sent: replay.sent }
}

fn ms(at: Instant) -> u32 {
    (at.as_us() / 1_000) as u32
}

/// The lead of the record's millisecond clock over the kernel's timestamps. A segment may have waited for its
/// reader; the one with the shortest wait counts.
fn lead(record: &Recording) -> u32 {
    let leads = record.sent.iter().map(|(at, packet)| ms(*at).wrapping_sub(packet.tcp.ts_val));
    let least = leads.reduce(|a, b| if (b.wrapping_sub(a) as i32) < 0 { b } else { a });
    least.expect("the SYN was sent")
}

impl Replay<'_> {
    fn run(&mut self) {
        for input in &self.record.inputs {
            while self.end.next_wakeup() < input.at && self.end.next_wakeup() + LATENESS <= input.at
            {
                self.wake();
            }
            self.now = self.now.max(input.at);
            match input.what {
                What::Arrival(mut packet) => {
                    packet.tcp.ts_ecr = self.echoed(packet.tcp.ts_ecr);
                    self.end.receive(&packet, self.now);
                }
                What::Write(bytes) => {
                    self.note_idle();
                    self.end.supply(bytes, self.now);
                }
                What::Timer if self.end.next_wakeup() <= input.at + EARLINESS => self.wake(),
                What::Timer => {}
            }
            self.send();
        }
    }

    /// What the model's own segment said in place of the kernel's that is echoed: a timer may have sent it at
    /// another time. Where they do not send the same, what it would have said at the kernel's time.
    fn echoed(&self, echo: u32) -> u32 {
        let kernel = &self.record.sent;
        let carrier = kernel.iter().position(|(_, packet)| packet.tcp.ts_val == echo);
        let pair = carrier.and_then(|n| Some((&kernel[n].1.tcp, &self.sent.get(n)?.1.tcp)));
        match pair {
            Some((theirs, ours)) if (theirs.seq, theirs.payload) == (ours.seq, ours.payload) => {
                ours.ts_val
            }
            _ => echo.wrapping_add(self.echo),
        }
    }

    fn note_idle(&mut self) {
        let (until, rto) = (self.now, self.end.info().rto);
        if let Some((last, _)) = self.sent.last() {
            self.idles.push(Idle { until, length: until.since(*last), rto });
        }
    }

    /// The timer that is due next fires.
    fn wake(&mut self) {
        self.now = self.now.max(self.end.next_wakeup());
        self.end.wake(self.now);
        self.send();
    }

    fn send(&mut self) {
        let mut packet = Packet::default();
        while self.end.poll_transmit(self.now, &mut packet) {
            self.sent.push((self.now, packet));
        }
    }
}
