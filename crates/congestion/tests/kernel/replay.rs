//! Replays logged hook calls through the native build.

use std::fmt;
use std::mem::size_of;

use congestion::{AckSample, Config, Event, INFINITE_SSTHRESH, Sock, State};

use crate::record::{HOOKS, Record, records};

/// The results of a comparison, for the terminal.
#[derive(Default)]
pub(crate) struct Tally {
    pub(crate) compared: usize,
    /// Calls of each of [`HOOKS`].
    pub(crate) calls: [usize; HOOKS.len()],
    /// Calls that found the log full.
    pub(crate) lost: u32,
    cwnd_max: u32,
    /// The largest `delivered_ce` of a call; calls that reported a mark; calls that requested an immediate ACK.
    pub(crate) delivered_ce: u32,
    pub(crate) marks: usize,
    pub(crate) acks_at_once: usize,
    /// Calls that began to pace the connection, and those that ended it.
    pub(crate) paced: usize,
    pub(crate) unpaced: usize,
    /// Views whose threshold came from no hook: above infinity.
    foreign: usize,
}

impl Tally {
    /// The number of times that the kernel asked for a new threshold: a loss, or congestion in the local queue.
    pub(crate) fn losses(&self) -> usize {
        self.calls[0]
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} hook calls replayed bit for bit:", self.compared)?;
        for (name, calls) in HOOKS.iter().zip(self.calls).filter(|(_, calls)| *calls > 0) {
            write!(f, " {name} {calls}")?;
        }
        write!(f, "; windows up to {}; {} calls not logged", self.cwnd_max, self.lost)?;
        if self.foreign > 0 {
            write!(f, "; WARNING: {} views hold a threshold that no hook gave", self.foreign)?;
        }
        Ok(())
    }
}

/// Replays every record; panics at the first that differs, with both views.
pub(crate) fn compare(config: &Config, log: &[u8]) -> Tally {
    let mut tally = Tally::default();
    for record in records(log) {
        if HOOKS[record.hook as usize] == "pkts_acked" {
            let [_, _, in_flight] = record.args;
            assert!(in_flight <= record.before.delivered, "in flight is not in packets");
        }
        let mut sock = record.before;
        let ret = call(config, &record, &mut sock);
        let hook = HOOKS[record.hook as usize];
        let place = format!(
            "{} {hook}{:?}, call {}",
            config.algorithm().name(),
            record.args,
            tally.compared
        );
        assert_eq!(ret, record.ret, "{place}: result from {:?}", record.before);
        assert_eq!(fields(&sock), fields(&record.after), "{place}: from {:?}", record.before);
        tally.compared += 1;
        tally.delivered_ce = tally.delivered_ce.max(record.before.delivered_ce);
        let marked = Event::EcnIsCe as u32;
        tally.marks += usize::from(hook == "cwnd_event" && record.args[0] == marked);
        tally.acks_at_once += usize::from(sock.ack_now != 0);
        tally.paced += usize::from(record.before.paced < record.after.paced);
        tally.unpaced += usize::from(record.before.paced > record.after.paced);
        tally.calls[record.hook as usize] += 1;
        tally.cwnd_max = tally.cwnd_max.max(record.after.cwnd);
        tally.foreign += usize::from(record.before.ssthresh > INFINITE_SSTHRESH);
        tally.lost = tally.lost.max(record.lost);
    }
    tally
}

/// Makes the call natively; 0 for the hooks that return nothing.
fn call(config: &Config, record: &Record, sock: &mut Sock) -> u32 {
    let algorithm = config.algorithm();
    let [a, b, c] = record.args;
    match record.hook {
        0 => return algorithm.ssthresh(sock),
        1 => algorithm.cong_avoid(sock, a, b),
        2 => return algorithm.undo_cwnd(sock),
        3 => config.init(sock),
        4 => {
            let rtt_ns = if (b as i32) < 0 { -1 } else { i64::from(b) * 1000 };
            algorithm.pkts_acked(sock, &AckSample { rtt_ns, acked: a, in_flight: c });
        }
        5 => algorithm.cwnd_event(sock, event(a)),
        6 => algorithm.set_state(sock, state(a)),
        7 => algorithm.cong_control(sock, a, &record.rate),
        other => panic!("hook {other} is none of {HOOKS:?}"),
    }
    0
}

fn event(number: u32) -> Event {
    use Event::{CompleteCwr, CwndRestart, EcnIsCe, EcnNoCe, Loss, TxStart};
    [TxStart, CwndRestart, CompleteCwr, Loss, EcnNoCe, EcnIsCe][number as usize]
}

fn state(number: u32) -> State {
    [State::Open, State::Disorder, State::Cwr, State::Recovery, State::Loss][number as usize]
}

/// Every word of the view that a hook may write. `cwnd_limited` is left out, for the kernel's answer
/// depends on the window that the hook has just written, and the clock, which goes on meanwhile, and the
/// ACKs that a hook asks for, which the kernel keeps elsewhere.
fn fields(sock: &Sock) -> [u32; size_of::<Sock>() / 4] {
    let written = Sock { cwnd_limited: 0, jiffies: 0, ack_prior: 0, ack_now: 0, ..*sock };
    // SAFETY: a `Sock` is whole words without padding (asserted where it is defined).
    unsafe { std::mem::transmute(written) }
}
