//! Compares the kernel's calls with the model's.

use std::fmt::Write;

use base::{Instant, Packet};

use crate::live::Recording;
use crate::model::Call;
use crate::record::HOOKS;

/// The tolerance of a round trip: the kernel's time from an ACK to the segment that it releases.
const RTT_WITHIN_US: u32 = 2_000;

/// The arguments of a call, and the parts of the view that decide its meaning.
fn fields(call: &Call, by_clock: bool) -> [(&'static str, u32); 10] {
    let view = &call.view;
    [
        ("first argument", call.args[0]),
        ("acked", if call.hook == 1 { call.args[1] } else { 0 }),
        ("in flight", if call.hook == 4 { call.args[2] } else { 0 }),
        ("state", view.state),
        ("cwnd", view.cwnd),
        ("cwnd_cnt", if by_clock { 0 } else { view.cwnd_cnt }),
        ("ssthresh", view.ssthresh),
        ("snd_una", view.snd_una),
        ("limited", if call.hook == 1 { view.cwnd_limited } else { 0 }),
        ("result", call.ret),
    ]
}

/// The difference between two calls; none if they are equal.
fn difference(kernel: &Call, model: &Call, by_clock: bool) -> Option<String> {
    if kernel.hook != model.hook {
        return Some("hook".to_owned());
    }
    if kernel.hook == 4 {
        let (a, b) = (kernel.args[1] as i32, model.args[1] as i32);
        if (a < 0) != (b < 0) || a.abs_diff(b) > RTT_WITHIN_US {
            return Some("rtt".to_owned());
        }
    }
    let pairs = fields(kernel, by_clock).into_iter().zip(fields(model, by_clock));
    let differing: Vec<_> = pairs.filter(|(a, b)| a != b).map(|((name, _), _)| name).collect();
    (!differing.is_empty()).then(|| differing.join(", "))
}

/// The first call that differs, and how; none if the sequences are equal. Of an algorithm that grows by the
/// clock's microseconds (`by_clock`) the credit towards the next packet is left out.
pub(crate) fn first_difference(
    kernel: &[Call],
    model: &[Call],
    by_clock: bool,
) -> Option<(usize, String)> {
    (0..kernel.len().max(model.len())).find_map(|n| {
        let what = match (kernel.get(n), model.get(n)) {
            (Some(kernel), Some(model)) => difference(kernel, model, by_clock),
            _ => Some("one ends".to_owned()),
        };
        let counts = format!("call {n} of {} and {}", kernel.len(), model.len());
        what.map(|what| (n, format!("{counts}: {what}")))
    })
}

/// The calls around one, of both.
pub(crate) fn around(n: usize, kernel: &[Call], model: &[Call]) -> String {
    let mut text = String::new();
    for at in n.saturating_sub(3)..n + 4 {
        for (who, calls) in [("kernel", kernel), ("model ", model)] {
            if let Some(call) = calls.get(at) {
                writeln!(text, "  {at} {who} {}", line(call)).expect("a string");
            }
        }
    }
    text
}

/// The kernel's calls from `init` on. Before that, the kernel reports the SYN's acknowledgement, which `init`
/// discards.
pub(crate) fn from_init(calls: &[Call]) -> &[Call] {
    let first = calls.iter().position(|call| HOOKS[call.hook] == "init").unwrap_or(0);
    &calls[first..]
}

/// The first data segment that differs.
pub(crate) fn first_sent(recording: &Recording, model: &[(Instant, Packet)]) -> String {
    let base = recording.sent[0].1.tcp.seq.wrapping_add(1);
    let data = |sent: &[(Instant, Packet)]| -> Vec<_> {
        let data = sent.iter().filter(|(_, packet)| packet.tcp.payload != 0);
        data.map(|(at, p)| (at.as_us(), p.tcp.seq.wrapping_sub(base), p.tcp.payload)).collect()
    };
    let (kernel, model) = (data(&recording.sent), data(model));
    let same = |(a, b): (&(u64, u32, u32), &(u64, u32, u32))| (a.1, a.2) == (b.1, b.2);
    match kernel.iter().zip(&model).position(|pair| !same(pair)) {
        None => format!("{} and {} data segments", kernel.len(), model.len()),
        Some(n) => {
            let around = n.saturating_sub(2)..n + 3;
            format!(
                "data segment {n}: kernel {:?}, model {:?}",
                kernel.get(around.start..around.end.min(kernel.len())),
                model.get(around.start..around.end.min(model.len()))
            )
        }
    }
}

fn line(call: &Call) -> String {
    let view = &call.view;
    let (args, ret) = (call.args, call.ret);
    format!(
        "{} {args:?} = {ret}; state {} cwnd {}.{} ssthresh {} una {} nxt {} in flight {} limited {} at {} us",
        HOOKS[call.hook],
        view.state,
        view.cwnd,
        view.cwnd_cnt,
        view.ssthresh,
        view.snd_una,
        view.snd_nxt,
        view.in_flight,
        view.cwnd_limited,
        view.now_us
    )
}
