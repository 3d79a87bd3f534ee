//! Known differences between the model and the kernel, each with its reason.

use base::Duration;
use congestion::{Event, State};
use nix::time::{ClockId, clock_getres};

use crate::live::{Recording, What};
use crate::model::{Call, Idle};

/// A difference that is understood.
pub(crate) struct Known {
    pub(crate) name: &'static str,
    pub(crate) reason: &'static str,
    pub(crate) holds: fn(&Difference<'_>) -> bool,
}

/// The first difference of two sequences: the number of the call, and all of both.
pub(crate) struct Difference<'a> {
    pub(crate) at: usize,
    pub(crate) kernel: &'a [Call],
    pub(crate) model: &'a [Call],
    pub(crate) idles: &'a [Idle],
    /// The algorithm grows by the time.
    pub(crate) by_clock: bool,
    pub(crate) recording: &'a Recording,
}

/// The number of calls around a reduction that it explains.
const NEAR: usize = 8;
/// The numbers of hooks in `record::HOOKS`.
const SSTHRESH: usize = 0;
const CWND_EVENT: usize = 5;
const SET_STATE: usize = 6;
/// The tolerance for the kernel's timers being late or early, and for RACK's differences, in microseconds.
const APART_US: u64 = 10_000;

pub(crate) const KNOWN: [Known; 4] = [
    Known {
        name: "timer",
        reason: "a timer of the kernel fires in whole jiffies, later for long ones (its timer wheel); what it \
                 decides lies between other segments than in the model, whose clock is exact",
        holds: by_timer,
    },
    Known {
        name: "RACK",
        reason: "RACK compares microseconds (RFC 8985, section 6.2): the kernel's segments leave some after the \
                 ACK that lets them out, the model's with it; a loss is found an ACK earlier or later",
        holds: by_rack,
    },
    Known {
        name: "idling",
        reason: "the kernel counts in whole jiffies how many timeouts a sender was silent, for each of which the \
                 window is halved (RFC 2861, section 3.1): one more or fewer where that is a multiple but for jiffies",
        holds: by_idling,
    },
    Known {
        name: "the clock",
        reason: "CUBIC grows by the time of an ACK, and the kernel reads its clock some microseconds later than the \
                 segment came: its window grows by a packet an ACK earlier or later",
        holds: by_clock,
    },
];

/// Packets: the initial window, below which silence takes nothing.
const RESTART_WINDOW: u32 = 10;

/// The tick of the kernel's clock; its coarse clocks have no finer resolution.
fn jiffy() -> Duration {
    let tick = clock_getres(ClockId::CLOCK_MONOTONIC_COARSE).expect("the clock is there");
    Duration::from_ns(tick.tv_nsec() as u64)
}

/// The kernel's call, or the reduction before it, was a timer's: it came within no segment's arrival.
fn by_timer(difference: &Difference<'_>) -> bool {
    let kernel = &difference.kernel[..difference.kernel.len().min(difference.at + 1)];
    let reduces = |call: &&Call| {
        call.hook == SSTHRESH
            || call.hook == CWND_EVENT && call.args[0] == Event::Loss as u32
            || call.hook == SET_STATE && call.args[0] == State::Loss as u32
    };
    let last = kernel.iter().rev().take(NEAR).find(reduces);
    // The same question has the same answer whenever it is asked.
    let answers = [difference.kernel, difference.model].map(|calls| calls.get(difference.at));
    if let [Some(a), Some(b)] = answers
        && (a.hook, a.view.cwnd, a.view.ssthresh) == (b.hook, b.view.cwnd, b.view.ssthresh)
        && a.hook == SSTHRESH
        && a.ret != b.ret
    {
        return false;
    }
    let record = difference.recording;
    let timers = record.inputs.iter().filter(|input| matches!(input.what, What::Timer));
    let origin_us = record.origin_ns / 1_000;
    last.is_some_and(|call| {
        let at = call.view.now_us - origin_us;
        timers.clone().any(|timer| timer.at.as_us().abs_diff(at) < APART_US)
    })
}

/// Both reduce within the next calls, with the same data unacknowledged and to the same threshold, but not by the
/// same ACK.
fn by_rack(difference: &Difference<'_>) -> bool {
    let next = |calls: &[Call]| {
        let from = difference.at.saturating_sub(2).min(calls.len());
        calls[from..].iter().take(NEAR).find(|call| call.hook == SSTHRESH).copied()
    };
    let (Some(kernel), Some(model)) = (next(difference.kernel), next(difference.model)) else {
        return false;
    };
    let origin_us = difference.recording.origin_ns / 1_000;
    let apart = (kernel.view.now_us - origin_us).abs_diff(model.view.now_us);
    let same = |of: fn(&Call) -> u32| of(&kernel) == of(&model);
    let alike =
        same(|call| call.view.snd_una) && same(|call| call.view.cwnd) && same(|call| call.ret);
    alike && apart != 0 && apart < APART_US
}

/// Before the call there was a silence of a multiple of the timeout, to within a jiffy of its own and one for
/// each timeout, and one of the windows is half the other's.
fn by_idling(difference: &Difference<'_>) -> bool {
    let call = |calls: &[Call]| calls.get(difference.at).copied();
    let (Some(kernel), Some(model)) = (call(difference.kernel), call(difference.model)) else {
        return false;
    };
    let now_us = model.view.now_us;
    let silence = |idle: &&Idle| idle.until.as_us() <= now_us && idle.length + jiffy() > idle.rto;
    let Some(idle) = difference.idles.iter().rev().find(silence) else { return false };
    // It is the first call since, except for those that report the silence.
    let earlier = difference.at.checked_sub(1).and_then(|before| difference.model.get(before));
    if earlier.is_some_and(|earlier| earlier.view.now_us > idle.until.as_us()) {
        return false;
    }
    let [length, rto] = [idle.length, idle.rto].map(Duration::as_ps);
    let timeouts = (length + rto / 2) / rto;
    let apart = length.abs_diff(timeouts * rto);
    // The restart window bounds it.
    let halved = |one: u32, other: u32| one == other / 2 || one < other && one == RESTART_WINDOW;
    let [a, b] = [kernel.view.cwnd, model.view.cwnd];
    apart <= (timeouts + 1) * jiffy().as_ps() && (halved(a, b) || halved(b, a))
}

/// One of the windows has just grown by a packet, and the other's credit is about to make it grow too.
fn by_clock(difference: &Difference<'_>) -> bool {
    let call = |calls: &[Call]| calls.get(difference.at).map(|call| call.view);
    let (Some(kernel), Some(model)) = (call(difference.kernel), call(difference.model)) else {
        return false;
    };
    let (ahead, behind) = if kernel.cwnd > model.cwnd { (kernel, model) } else { (model, kernel) };
    let grown = ahead.cwnd == behind.cwnd + 1 && 16 * ahead.cwnd_cnt <= behind.cwnd_cnt;
    difference.by_clock && grown && ahead.snd_una == behind.snd_una
}
