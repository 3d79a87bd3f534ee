//! The maximum sizes of TCP's buffers, from the products of bandwidth and delay.

use base::Bytes;
use scenario::Units;
use transport::config::Buffer;

use super::super::setting::{Setting, State};
use super::draft::{Draft, FlowEnd};
use super::sysctls;

/// A sender keeps what it sent until it is acknowledged. To recover from a loss at full rate, it needs two products:
/// one for the round trip of the loss, and one for that of the retransmission.
const SEND: u64 = 2;
/// A receiver advertises half of its buffer as window until it has measured its segments
/// (`TCP_DEFAULT_SCALING_RATIO`).
const RECEIVE: u64 = 2 * SEND;
/// The kernel keeps sizes in an `int`.
const MOST: u64 = i32::MAX as u64;

/// A direction's setting and table key, and the products that it needs.
const KINDS: [(&str, &str, u64); 2] =
    [("net.ipv4.tcp_wmem", "send", SEND), ("net.ipv4.tcp_rmem", "receive", RECEIVE)];

/// A direction's key of the table, and the limit on what programs may request (socket(7)).
const LIMITS: [(&str, &str); 2] = [("send", "net.core.wmem_max"), ("receive", "net.core.rmem_max")];

pub(super) fn add(draft: &mut Draft<'_>, ends: &[FlowEnd<'_>]) {
    LIMITS.iter().for_each(|(key, name)| limit(draft, ends, key, name));
    let units = draft.request.plan.units;
    for (name, key, products) in KINDS {
        let used = ends.iter().filter(|end| if key == "send" { end.writes() } else { end.reads() });
        let used: Vec<&FlowEnd<'_>> = used.collect();
        let given = used.iter().filter_map(|end| {
            let place = draft.place("flow", &end.flow.name, &[end.table(), "buffers", key])?;
            let buffers = &end.config.buffers;
            let size = if key == "send" { buffers.send.max() } else { buffers.receive.max() };
            Some((size, place))
        });
        let Some(present) = present(name) else { continue };
        let needed = used.iter().filter_map(|end| needed(end, products, units));
        let wanted = match given.max() {
            Some((size, place)) => (size, place),
            // Buffers are raised only: other programs of this machine may need what they have.
            None => match needed.max().filter(|(size, _)| *size > present[2]) {
                Some(needed) => needed,
                None => continue,
            },
        };
        let (size, why) = (wanted.0.min(MOST), wanted.1);
        let value = format!("{} {} {size}", present[0].min(size), present[1].min(size));
        sysctls::want(draft, name, &value, &why);
    }
}

/// Raises the limit on what programs may request, where the file gives a connection a fixed buffer. The kernel doubles what
/// is requested.
fn limit(draft: &mut Draft<'_>, ends: &[FlowEnd<'_>], key: &str, name: &str) {
    let fixed = ends.iter().filter_map(|end| {
        let (used, buffer) = match key {
            "send" => (end.writes(), end.config.buffers.send),
            _ => (end.reads(), end.config.buffers.receive),
        };
        let Buffer::Fixed(size) = buffer else { return None };
        let place = draft.place("flow", &end.flow.name, &[end.table(), "buffers", key])?;
        used.then_some((size, place))
    });
    let Some((size, place)) = fixed.max() else { return };
    let setting = Setting::Sysctl(name.to_owned());
    let wanted = size.div_ceil(2).min(MOST);
    let now = setting.read().ok().and_then(|state| state.shown.parse::<u64>().ok());
    if now.is_some_and(|now| now >= wanted) {
        return;
    }
    if !sysctls::is_first_namespace() {
        return draft.note(format!(
            "{name} is a setting of the whole machine: in its first network namespace, type sudo sysctl -w {name}={wanted} \
             ({place})"
        ));
    }
    let why = format!("{place} (so that programs may request it)");
    draft.want(setting, State::plain(format!("{wanted}\n")), why);
}

/// The bytes that a connection needs, with the reason.
fn needed(end: &FlowEnd<'_>, products: u64, units: Units) -> Option<(u64, String)> {
    let narrow = end.path.links.iter().min_by_key(|hop| hop.rate)?;
    let (rate, round_trip) = (narrow.rate, end.path.round_trip);
    let bits = u128::from(rate.bits_per_second()) * u128::from(round_trip.as_ps());
    let product = u64::try_from(bits / 8 / u128::from(base::units::PS_PER_SECOND)).ok()?;
    let why = format!(
        "flow.{}: {products} BDPs of {rate} ({}) and {} of RTT: {} each",
        end.flow.name,
        narrow.at,
        units.time.text(round_trip.as_secs_f64()),
        units.size(Bytes(product)),
    );
    Some((product.saturating_mul(products), why))
}

/// The three values of a setting now.
fn present(name: &str) -> Option<[u64; 3]> {
    let state = Setting::Sysctl(name.to_owned()).read().ok()?;
    let values: Vec<u64> = state.shown.split(' ').filter_map(|value| value.parse().ok()).collect();
    values.try_into().ok()
}
