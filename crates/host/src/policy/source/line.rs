//! What a device's line needs beside its discipline: transmit queues and their limits, and PAUSE frames.

use std::{fs, io};

use base::Bytes;
use base::priorities::Priorities;
use scenario::plan::NodeKind;
use traffic::qdisc::Parameters;

use super::super::setting::{Setting, State, channels, offload, priority_pause};
use super::draft::Draft;
use super::links::Attached;
use super::queues::place;

/// Bytes of a VLAN tag (IEEE 802.1Q, 9.3).
const VLAN_TAG: u64 = 4;
/// Bytes of Ethernet's header, beside the MTU.
const ETHERNET_HEADER: u32 = 14;
/// The frames in a transmit queue where gaps are frames: one on the line, one behind it, and one on the way.
const FRAMES: u32 = 3;

/// Whether a discipline fills its gaps with frames.
pub(super) fn is_filled(queue: &Parameters) -> bool {
    matches!(queue, Parameters::Psp(psp) if psp.gaps)
}

/// Where the file gives a discipline that fills the line of the device.
fn filled(draft: &Draft<'_>, at: &Attached) -> Option<String> {
    let queue = &draft.request.plan.links[at.link].ends[at.end].queue;
    place(draft, at.link, "queue").filter(|_| is_filled(queue))
}

/// Bytes of a frame on the line besides those that a discipline counts: the link's, and a tag that the device adds, unless
/// the file gives them.
pub(super) fn overhead(draft: &mut Draft<'_>, at: &Attached) -> Bytes {
    let link = &draft.request.plan.links[at.link];
    let own = link.config.overhead;
    if at.tags == 0 || draft.place("link", &link.name, &["overhead"]).is_some() {
        return own;
    }
    let whole = Bytes(own.0 + VLAN_TAG * at.tags);
    draft.note(format!(
        "{} adds a VLAN tag of 4 bytes after its qdisc: a discipline of the line of {} counts {} B a frame beside the frame",
        at.device.name, at.port.name, whole.0
    ));
    whole
}

/// Notes that a card's transmit queues share the discipline.
pub(super) fn share(draft: &mut Draft<'_>, at: &Attached) {
    let count = transmit_queues(at, "").len();
    if count > 1 && filled(draft, at).is_none() {
        let name = &at.port.name;
        draft.note(format!(
            "the {count} transmit queues of {name} share one qdisc and its lock: at high packet rates, fewer queues cost \
             less (sudo ethtool -L {name} combined 1)"
        ));
    }
}

/// Leaves a device one transmit queue where frames fill the gaps: those of several queues would leave side by side.
pub(super) fn queues(draft: &mut Draft<'_>, at: &Attached) {
    let Some(why) = filled(draft, at) else { return };
    if transmit_queues(at, "").len() < 2 {
        return;
    }
    match channels::single(&at.port) {
        Ok(wanted) => {
            let why = format!("{why} (gaps and packets in one queue)");
            draft.want(Setting::Channels(at.port.clone()), wanted, why);
        }
        Err(error) => draft.note(format!(
            "{} has several transmit queues, and no setting for fewer ({error}): gap frames and packets of different queues \
             may change places ({why})",
            at.port.name
        )),
    }
}

/// Limits the transmit queues (BQL): as the file says, or where frames fill the gaps, so that packets do not wait behind
/// many of those.
pub(super) fn buffer(draft: &mut Draft<'_>, at: &Attached) {
    let Some(why) = place(draft, at.link, "device_buffer") else {
        return short_buffer(draft, at);
    };
    let bytes = draft.request.plan.links[at.link].ends[at.end].direction.device_buffer;
    let queues = limited_queues(draft, at);
    if queues.is_empty() {
        let what = format!("{} has no limit on its transmit queue ({why})", at.port.name);
        let help = format!(
            "leave the key out with --set, or use a device with BQL: ls /sys/class/net/{}/queues/tx-0/byte_queue_limits",
            at.port.name
        );
        return draft.problem(what, help);
    }
    for queue in queues {
        let setting = Setting::QueueLimit(at.port.clone(), queue);
        draft.want(setting, State::plain(format!("{}\n", bytes.0)), &why);
    }
}

/// The limit for a device whose gaps are frames, unless it is lower already.
fn short_buffer(draft: &mut Draft<'_>, at: &Attached) {
    let Some(why) = filled(draft, at) else { return };
    let Ok(mtu) = at.port.mtu() else { return };
    let limit = FRAMES * (mtu + ETHERNET_HEADER + VLAN_TAG as u32);
    for queue in limited_queues(draft, at) {
        let setting = Setting::QueueLimit(at.port.clone(), queue);
        let is_longer = |state: State| state.shown.parse().is_ok_and(|now: u64| now > limit.into());
        if setting.read().is_ok_and(is_longer) {
            let why = format!("{why} ({FRAMES} frames, so that packets do not wait behind gaps)");
            draft.want(setting, State::plain(format!("{limit}\n")), why);
        }
    }
}

/// The transmit queues with a limit that the policy leaves.
fn limited_queues(draft: &Draft<'_>, at: &Attached) -> Vec<String> {
    let mut found = transmit_queues(at, "byte_queue_limits/limit_max");
    if filled(draft, at).is_some() && channels::single(&at.port).is_ok() {
        found.truncate(1);
    }
    found
}

/// The transmit queues of a device that have a file.
fn transmit_queues(at: &Attached, file: &str) -> Vec<String> {
    let list = || -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in fs::read_dir(at.port.folder()?.join("queues"))? {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy().into_owned();
            if name.starts_with("tx-") && entry.path().join(file).exists() {
                names.push(name);
            }
        }
        names.sort();
        Ok(names)
    };
    list().unwrap_or_default()
}

/// Sets whether the device stops for PAUSE frames: it must where the switch at the far end counts on it, and must not where
/// the discipline fills the line, because its clock goes on meanwhile.
pub(super) fn pause(draft: &mut Draft<'_>, at: &Attached) {
    let plan = draft.request.plan;
    let link = &plan.links[at.link];
    let far = &plan.nodes[link.ends[1 - at.end].node];
    let pauses = match &far.kind {
        NodeKind::Switch(switch) if switch.pauses() => Some(switch),
        _ => None,
    };
    let given = draft.place("switch", &far.name, &["lossless"]);
    let Some((switch, why)) = pauses.zip(given) else {
        // Where a device has no such setting, there is nothing to set.
        if let Some(why) = filled(draft, at)
            && let Ok(wanted) = offload::with_reception(&at.port, false)
        {
            let why = format!(
                "{why} (received PAUSE frames would stop the device, but not the clock of psp)"
            );
            draft.want(Setting::Pause(at.port.clone()), wanted, why);
        }
        return;
    };
    if switch.pause == network::switch::PauseBy::Priority {
        return priorities(draft, at, switch.lossless, &why);
    }
    match offload::with_reception(&at.port, true) {
        Ok(wanted) => draft.want(Setting::Pause(at.port.clone()), wanted, why),
        Err(error) => {
            draft.note(format!("{} has no PAUSE frames: {error} ({why})", at.port.name));
        }
    }
}

/// Sets the priorities for which the device sends and obeys PFC frames: those that the switch at the far end pauses.
fn priorities(draft: &mut Draft<'_>, at: &Attached, lossless: Priorities, why: &str) {
    match priority_pause::with(&at.port, lossless.bits()) {
        Ok(wanted) => draft.want(Setting::PriorityPause(at.port.clone()), wanted, why),
        Err(error) => {
            let on: Vec<String> =
                lossless.iter().map(|priority| format!("{priority}:on")).collect();
            let name = &at.port.name;
            draft.note(format!(
                "PFC is not set: {name} has no such setting ({error}); with one, dcb pfc set dev {name} prio-pfc all:off {} \
                 is the command ({why})",
                on.join(" ")
            ));
        }
    }
}
