//! Pacing of TCP: the kernel paces all connections of a device whose qdisc is `fq`.

use super::super::setting::{Setting, State};
use super::super::{kernel_queue, rehearsal};
use super::draft::{Draft, FlowEnd};
use super::links::Attached;
use super::{line, queues};

/// The kernel's qdisc that paces TCP, and those that only hold one for each transmit queue.
const PACES: &str = "fq";
const HOLDS: &str = "mq";

/// Where the file asks for pacing of every connection that sends by a link of the host, and gives no queue for the link.
pub(super) fn wanted(draft: &Draft<'_>, ends: &[FlowEnd<'_>], link: usize) -> Option<String> {
    if queues::place(draft, link, "queue").is_some() {
        return None;
    }
    let senders = ends.iter().filter(|end| end.writes() && end.link() == Some(link));
    let place = |end: &FlowEnd<'_>| {
        let keys = [end.table(), "emission", "pacing"];
        draft.place("flow", &end.flow.name, &keys).filter(|_| end.config.emission.pacing)
    };
    let mut places = senders.map(place).collect::<Option<Vec<String>>>()?;
    places.dedup();
    (!places.is_empty()).then(|| places.join(", "))
}

/// Makes `fq` the discipline of a device whose connections are to be paced.
pub(super) fn add(draft: &mut Draft<'_>, ends: &[FlowEnd<'_>], at: &Attached) {
    let Some(why) = wanted(draft, ends, at.link) else { return };
    let setting = Setting::Queue(at.device.clone());
    if let Some(present) = setting.read().ok().filter(paces) {
        return draft.want(setting, present, why);
    }
    if let Some(help) = queues::unrestorable(&setting) {
        let what = format!("the present qdisc of {} could not be restored ({why})", at.device.name);
        return draft.problem(what, help);
    }
    let tree = kernel_queue::alone(PACES);
    match rehearsal::queue(&tree) {
        Ok(tree) => {
            line::share(draft, at);
            let why = format!("{why} (the kernel's own: it also sends one flow after the other)");
            draft.want(setting, State::tree(&tree), why);
        }
        Err(error) => queues::refused(draft, &why, &tree, &error),
    }
}

/// Whether every transmit queue of the device has `fq` already.
fn paces(state: &State) -> bool {
    let kinds: Vec<&str> = state.shown.trim_end_matches(" (default)").split(", ").collect();
    kinds.contains(&PACES) && kinds.iter().all(|kind| [PACES, HOLDS].contains(kind))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::setting::queue::Tree;

    #[test]
    fn a_device_that_paces_already_is_left_alone() {
        let state =
            |shown: &str| State { shown: shown.to_owned(), ..State::tree(&Tree::default()) };
        for (shown, left) in [
            ("fq", true),
            ("fq (default)", true),
            ("mq, fq, fq (default)", true),
            ("mq, fq, pfifo_fast (default)", false),
            ("mq (default)", false),
            ("fq_codel (default)", false),
        ] {
            assert_eq!(paces(&state(shown)), left, "{shown}");
        }
    }
}
