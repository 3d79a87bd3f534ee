//! The settings of devices: queueing disciplines, with the frames that fill their gaps, and offloads.

use std::{fs, io};

use base::{Bytes, Rate};
use traffic::qdisc::Parameters;
use traffic_kernel::netlink::KIND;
use traffic_kernel::version::VERSION;

use super::super::gaps::{self, Found, GapFrame, Line};
use super::super::kernel_queue::{self, Equivalents, KernelQueue, Port};
use super::super::rehearsal;
#[cfg(test)]
use super::super::setting::queue::Part;
use super::super::setting::queue::{Role, Tree};
use super::super::setting::{Setting, State, offload};
use super::draft::{Draft, FlowEnd, Problem};
use super::links::Attached;
use super::{line, pacing};

/// The features that let a device segment what TCP passes to it.
const SEGMENTATION: [&str; 5] = [
    "tx-tcp-segmentation",
    "tx-tcp-ecn-segmentation",
    "tx-tcp-mangleid-segmentation",
    "tx-tcp6-segmentation",
    "tx-tcp-accecn-segmentation",
];

/// The version of the module that the kernel has.
const LOADED: &str = "/sys/module/sch_suimon/version";

/// Bytes of Ethernet's header, beside the MTU.
const ETHERNET_HEADER: u32 = 14;

/// The times of the line's time from which a trial with gap frames decides nothing.
const SLOW: f64 = 1.2;

/// The discipline of devices that get none, a setting of the whole machine.
const DEFAULT: &str = "net.core.default_qdisc";

pub(super) fn add(draft: &mut Draft<'_>, ends: &[FlowEnd<'_>], attached: &[Attached]) {
    for at in attached {
        segmentation(draft, ends, at);
        line::buffer(draft, at);
        // After those that decide what leaves the discipline, and before those that may take the line down for a while:
        // a discipline keeps the rate of a line that it has seen.
        discipline(draft, ends, at);
        line::queues(draft, at);
        line::pause(draft, at);
    }
}

/// Where the file gives a key of the host's end of the link, or of the link.
pub(super) fn place(draft: &Draft<'_>, link: usize, key: &str) -> Option<String> {
    let link = &draft.request.plan.links[link].name;
    let of_end = draft.place("link", link, &["at", draft.request.host, key]);
    of_end.or_else(|| draft.place("link", link, &[key]))
}

fn discipline(draft: &mut Draft<'_>, ends: &[FlowEnd<'_>], at: &Attached) {
    let Some(why) = place(draft, at.link, "queue") else { return pacing::add(draft, ends, at) };
    let link = &draft.request.plan.links[at.link];
    let queue = &link.ends[at.end].queue;
    let setting = Setting::Queue(at.device.clone());
    if let Some(help) = unrestorable(&setting) {
        let what = format!("the present qdisc of {} could not be restored ({why})", at.device.name);
        return draft.problem(what, help);
    }
    let own_mtu = at.device.mtu().map_or(Bytes(0), |mtu| Bytes(mtu.into()));
    let mtu = link.config.mtu.max(own_mtu);
    let mut port = Port {
        rate: link.from_end(at.end).rate,
        mtu,
        overhead: line::overhead(draft, at),
        gap: GapFrame::Pause,
    };
    port.gap = match fill(draft, queue, port, at) {
        Ok(gap) => gap,
        Err(Problem { what, help }) => return draft.problem(format!("{what} ({why})"), help),
    };
    let found = match kernel_queue::equivalents(queue, port) {
        Ok(found) => found,
        Err(reason) => {
            return draft.problem(format!("{reason} ({why})"), "change the queue's settings");
        }
    };
    let available = available(draft, &found, &why);
    let chosen = available.as_ref().map_or(&found.first, |(chosen, _)| chosen);
    compare_lines(draft, at, port.rate, chosen);
    let Some((found, tree)) = available else { return };
    let difference = match &found.difference[..] {
        "" => String::new(),
        difference => format!(": {difference}"),
    };
    line::share(draft, at);
    if found.module {
        compare_versions(draft);
        note_segmentation(draft, at);
    } else if mtu > link.config.mtu && matches!(queue, Parameters::Tbr(_)) {
        note_longer_frames(draft, at, mtu, link.config.mtu);
    }
    let whose = if found.module { "Suimon's module" } else { "the kernel's own" };
    let why = format!("{why} ({whose}{difference})");
    draft.want(setting, State::tree(&tree), why);
}

/// Notes that the module splits what TCP leaves to the card to segment.
fn note_segmentation(draft: &mut Draft<'_>, at: &Attached) {
    let setting = Setting::Offload(at.device.clone(), SEGMENTATION[0].to_owned());
    if setting.read().is_ok_and(|state| state == State::switch(true)) {
        draft.note(format!(
            "{} {} may stay on: sch_suimon splits what TCP leaves to the card, for the processor's time",
            at.device.name, SEGMENTATION[0]
        ));
    }
}

/// Notes that the burst of the kernel's `tbf`, which drops longer frames, is for those of the device.
fn note_longer_frames(draft: &mut Draft<'_>, at: &Attached, of_device: Bytes, of_link: Bytes) {
    draft.note(format!(
        "{} has an MTU of {}, its link in the scenario one of {}: the burst of tbf has room for the longer frames",
        at.device.name, of_device.0, of_link.0
    ));
}

/// Notes that the kernel's module is not of this program's text.
fn compare_versions(draft: &mut Draft<'_>) {
    let Ok(loaded) = fs::read_to_string(LOADED) else { return };
    if loaded.trim() != VERSION {
        draft.note(format!(
            "the kernel has sch_suimon {}, which is not of the text of this program, {VERSION}: its disciplines may act \
             differently; docs/how-to/module.md renews it",
            loaded.trim()
        ));
    }
}

/// The first of the disciplines that this kernel has, and as what it reports it.
fn available<'a>(
    draft: &mut Draft<'_>,
    Equivalents { first, second }: &'a Equivalents,
    why: &str,
) -> Option<(&'a KernelQueue, Tree)> {
    let error = match rehearsal::queue(&first.tree) {
        Ok(tree) => return Some((first, tree)),
        Err(error) => error,
    };
    let second = match second {
        Ok(second) if error.kind() == io::ErrorKind::NotFound => second,
        Err(lacks) if !lacks.is_empty() && first.module => {
            draft.note(format!("{lacks} ({why})"));
            refused(draft, why, &first.tree, &error);
            return None;
        }
        _ => {
            refused(draft, why, &first.tree, &error);
            return None;
        }
    };
    match rehearsal::queue(&second.tree) {
        Ok(tree) => return Some((second, tree)),
        // The module does what the scenario says.
        Err(other) if other.kind() == io::ErrorKind::NotFound => {
            let what = lacking(&first.tree, why);
            let instead = format!("; or, for the kernel's own: {}", loading(&second.tree));
            draft.problem(what, loading(&first.tree) + &instead);
        }
        Err(other) => refused(draft, why, &second.tree, &other),
    }
    None
}

/// Notes that packets leave at another rate than the device's line has, or at another one than the link's: the module
/// and HTB send at that of the link, the kernel's other disciplines with classes as fast as the device takes them.
fn compare_lines(draft: &mut Draft<'_>, at: &Attached, rate: Rate, found: &KernelQueue) {
    let Some(root) = found.tree.parts.first() else { return };
    let kind = root.kind();
    if !found.module && !found.has_classes() {
        return;
    }
    let line = at.port.line_rate().and_then(Rate::from_bits_per_second);
    let Some(line) = line.filter(|&line| line != rate) else { return };
    let link = &draft.request.plan.links[at.link].name;
    let sends = match (found.module, &kind[..]) {
        (true, _) => format!("sch_suimon sends at most {rate}"),
        (false, "htb") => format!("htb sends at most {rate}"),
        (false, kind) => format!("{kind} sends as fast as that, not at {rate}"),
    };
    draft.note(format!(
        "the line of {} has {line}, and {sends}, the rate of link.{link}: {}",
        at.device.name,
        typed_rate(link, line)
    ));
}

/// The option that gives a link the rate of a device's line.
fn typed_rate(link: &str, line: Rate) -> String {
    format!("--set \"link.{link}.rate={line}\" makes it the line's")
}

/// The frames that fill the gaps of a discipline.
///
/// # Errors
/// Why none can.
fn fill(
    draft: &mut Draft<'_>,
    queue: &Parameters,
    port: Port,
    at: &Attached,
) -> Result<GapFrame, Problem> {
    const TIMER: &str = "a timer makes the gaps with gaps = false";
    let timed = |what: String| Problem { what, help: TIMER.to_owned() };
    let Port { rate, overhead, .. } = port;
    if !line::is_filled(queue) {
        return Ok(port.gap);
    }
    let name = &at.device.name;
    match at.port.line_rate().and_then(Rate::from_bits_per_second) {
        None => return Err(timed(format!("{name} has no line that gap frames could fill"))),
        Some(line) if line != rate => {
            let what = format!("the line of {name} has {line}, the scenario's {rate}");
            let link = &draft.request.plan.links[at.link].name;
            return Err(Problem { what, help: format!("{}; {TIMER}", typed_rate(link, line)) });
        }
        Some(_) => {}
    }
    if !draft.request.may_send {
        draft.note(format!(
            "apply sends up to three thousand gap frames by {name} first, to see which of them its line carries"
        ));
        return Ok(port.gap);
    }
    let frame =
        at.device.mtu().map_err(|error| timed(format!("{name}: {error}")))? + ETHERNET_HEADER;
    let line = Line { rate: rate.bits_per_second(), frame, overhead: overhead.0 };
    match gaps::find(&at.device, line) {
        Err(error) => Err(timed(format!("{name} cannot send gap frames: {error}"))),
        Ok(Found::Unfilled) => Err(timed(format!(
            "{name} sends gap frames faster than a line of {rate}: it drops them, or has no such line"
        ))),
        Ok(Found::Filled(gap, share)) => {
            if share > SLOW {
                draft.note(format!(
                    "{name} took {share:.1} times as long for gap frames as its line: other traffic, or a slower machine; \
                     whether it drops them is not known"
                ));
            }
            Ok(gap)
        }
    }
}

/// Reports that the kernel refused a trial.
pub(super) fn refused(draft: &mut Draft<'_>, why: &str, tree: &Tree, error: &io::Error) {
    match error.kind() {
        io::ErrorKind::NotFound => draft.problem(lacking(tree, why), loading(tree)),
        _ => {
            let what = format!("this kernel refuses the qdisc {}: {error} ({why})", tree.names);
            draft.problem(what, "change the queue's settings");
        }
    }
}

fn lacking(tree: &Tree, why: &str) -> String {
    format!("this kernel has no qdisc {} ({why})", tree.names)
}

/// The command that loads the modules of disciplines.
fn loading(tree: &Tree) -> String {
    let mut modules: Vec<String> = Vec::new();
    for part in &tree.parts {
        let module = match part.role {
            Role::Filter(_) => format!("cls_{}", part.kind()),
            Role::Discipline | Role::Class => format!("sch_{}", part.kind()),
        };
        // The kernel's FIFOs are always there.
        if !modules.contains(&module) && !part.kind().ends_with("fifo") {
            modules.push(module);
        }
    }
    let mut help = format!("sudo modprobe -a {}", modules.join(" "));
    if tree.parts.iter().any(|part| part.kind() == KIND) {
        help.push_str("; docs/how-to/module.md builds it");
    }
    help
}

/// The command to type first, if the present disciplines of the device could not be restored to the byte.
pub(super) fn unrestorable(setting: &Setting) -> Option<String> {
    let Setting::Queue(device) = setting else { return None };
    let present = setting.read().ok()?.to_tree().ok()?;
    let name = &device.name;
    let remove = format!("remove it first: sudo tc qdisc del dev {name} root");
    if present.filters() > 0 {
        return Some(format!("it has filters, which are not restored; {remove}"));
    }
    if present.parts.is_empty() {
        return other_default(&present).map(|kind| {
            format!(
                "the kernel would now choose another than {kind}: sudo sysctl -w {DEFAULT}={kind}, or sudo tc qdisc \
                 replace dev {name} root {kind}"
            )
        });
    }
    let restored = rehearsal::queue(&present);
    let same = restored.as_ref().is_ok_and(|tree| tree.parts == present.parts);
    (!same).then(|| format!("a trial gave something else than {}; {remove}", present.names))
}

/// The discipline of a device that the kernel chose, and would not choose any more.
fn other_default(present: &Tree) -> Option<String> {
    let usual = Setting::Sysctl(DEFAULT.to_owned()).read().ok()?.shown;
    let mut kinds = present.names.trim_end_matches(" (default)").split(", ");
    // Those that the kernel chooses by the kind of device.
    let fixed = ["mq", "noqueue", "none", "noop"];
    kinds.find(|kind| !fixed.contains(kind) && *kind != usual).map(str::to_owned)
}

/// Switches segmentation off where the file says that TCP passes single segments to the device.
fn segmentation(draft: &mut Draft<'_>, ends: &[FlowEnd<'_>], at: &Attached) {
    let on_link = ends.iter().filter(|end| end.link() == Some(at.link) && !end.config.emission.tso);
    let why = on_link
        .filter_map(|end| draft.place("flow", &end.flow.name, &[end.table(), "emission", "tso"]));
    let Some(why) = why.min() else { return };
    for feature in SEGMENTATION {
        let setting = Setting::Offload(at.device.clone(), feature.to_owned());
        // A device has only some of them.
        if setting.read().is_ok() && offload::is_changeable(&at.device, feature) {
            draft.want(setting, State::switch(false), &why);
        }
    }
    draft.want(Setting::Segments(at.device.clone()), State::plain("1"), &why);
}

#[test]
fn modules_of_classes_and_filters_are_named_once() {
    let part = |role, kind: &str| Part::of(role, 0, 0, kind, &[]);
    let parts = vec![
        part(Role::Discipline, "htb"),
        part(Role::Class, "htb"),
        part(Role::Discipline, "pfifo"),
        part(Role::Filter(1), "flower"),
        part(Role::Filter(2), "flower"),
    ];
    let tree = Tree { parts, names: String::new() };
    assert_eq!(loading(&tree), "sudo modprobe -a sch_htb cls_flower");
    let of_module = Tree { parts: vec![part(Role::Discipline, KIND)], names: String::new() };
    assert!(loading(&of_module).ends_with("; docs/how-to/module.md builds it"));
}
