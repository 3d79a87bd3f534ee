//! Congestion control by default or by route, and the other metrics of routes.

use std::collections::BTreeMap;
use std::path::Path;

use super::super::setting::{Setting, State, route};
use super::super::{algorithm, apply, rehearsal};
use super::draft::{Draft, FlowEnd};
use super::links::Attached;
use super::sysctls;
use crate::rtnetlink::route::{RTAX_CC_ALGO, RTAX_INITCWND, RTAX_RTO_MIN};
use crate::wire::Attribute;

/// Our algorithms that Linux has itself, with their usual parameters.
const KERNELS_OWN: [(&str, &str); 2] = [("newreno", "reno"), ("cubic", "cubic")];

const DEFAULT: &str = "net.ipv4.tcp_congestion_control";

/// The congestion control that a connection asks for.
#[derive(Clone, Debug, PartialEq)]
struct Chosen {
    /// Its name in the kernel.
    name: String,
    /// Ours, if it has to be loaded.
    ours: Option<congestion::Config>,
    why: String,
}

pub(super) fn add(draft: &mut Draft<'_>, ends: &[FlowEnd<'_>], attached: &[Attached]) {
    let mut chosen: BTreeMap<usize, Chosen> = BTreeMap::new();
    for end in ends.iter().filter(|end| end.writes()) {
        let (Some(link), Some(choice)) = (end.link(), choice(draft, end)) else { continue };
        match chosen.get(&link) {
            Some(other) if other.name != choice.name || other.ours != choice.ours => {
                let what = format!(
                    "link {} has flows with {} ({}) and with {} ({}): Linux chooses by route",
                    draft.request.plan.links[link].name,
                    other.name,
                    other.why,
                    choice.name,
                    choice.why
                );
                draft.problem(what, "give them the same with --set flow.NAME.congestion=...");
            }
            _ => {
                chosen.insert(link, choice);
            }
        }
    }
    chosen.values().for_each(|choice| provide(draft, choice));
    let mut names: Vec<&str> = chosen.values().map(|choice| choice.name.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    let usual = chosen.values().next().filter(|choice| names.len() == 1 && is_allowed(choice));
    if let Some(choice) = usual {
        let name = &choice.name;
        let wanted = State::plain(format!("{name}\n"));
        draft.want(Setting::Sysctl(DEFAULT.to_owned()), wanted, &choice.why);
    }
    let by_route = usual.is_none();
    for at in attached {
        let choice = chosen.get(&at.link).filter(|_| by_route);
        metrics(draft, ends, at, choice);
    }
}

/// Whether the algorithm may be the default. A namespace other than the machine's first one accepts only the algorithms in
/// `tcp_allowed_congestion_control`, and ours is never among them.
fn is_allowed(choice: &Chosen) -> bool {
    let accepts = || rehearsal::sysctl(&Setting::Sysctl(DEFAULT.to_owned()), &choice.name).is_ok();
    sysctls::is_first_namespace() || choice.ours.is_none() && accepts()
}

/// The congestion control that the file gives for a connection.
fn choice(draft: &Draft<'_>, end: &FlowEnd<'_>) -> Option<Chosen> {
    let flow = &end.flow.name;
    let key = if end.sends { draft.place("flow", flow, &["congestion"]) } else { None };
    let why = key.or_else(|| draft.place("flow", flow, &[end.table(), "algorithm"]))?;
    if let Some(name) = &end.tcp.kernel_congestion {
        return Some(Chosen { name: name.clone(), ours: None, why });
    }
    let config = end.config.congestion;
    let own = KERNELS_OWN.iter().find(|(ours, _)| *ours == config.algorithm().name());
    Some(match own {
        Some((_, own)) if config == config.algorithm().into() => {
            Chosen { name: (*own).to_owned(), ours: None, why: format!("{why} (the kernel's own)") }
        }
        _ => Chosen {
            name: algorithm::name(&config),
            ours: Some(config),
            why: format!("{why} (BPF)"),
        },
    })
}

/// Makes sure that the kernel has the algorithm.
fn provide(draft: &mut Draft<'_>, choice: &Chosen) {
    let Some(config) = &choice.ours else {
        if !apply::has_congestion(&choice.name) {
            let what =
                format!("this kernel has no congestion control `{}` ({})", choice.name, choice.why);
            draft.problem(what, format!("sudo modprobe tcp_{}", choice.name));
        }
        return;
    };
    let values: Vec<u32> = config.parameters().map(|(_, value)| value).collect();
    if nix::unistd::geteuid().is_root()
        && let Err(error) = algorithm::try_load(&choice.name, &values)
    {
        let what = format!("`{}` cannot be loaded as BPF: {error} ({})", choice.name, choice.why);
        let [boot, proc] = kernel_configurations();
        let is_there = [&boot, &proc].into_iter().any(|file| Path::new(file).exists());
        draft.problem(what, what_a_load_needs(&boot, is_there));
    }
    let setting = Setting::Algorithm(choice.name.clone(), values);
    draft.want(setting, State::switch(true), &choice.why);
}

/// Where libbpf looks for the configuration of the running kernel.
fn kernel_configurations() -> [String; 2] {
    let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    [format!("/boot/config-{}", release.trim()), "/proc/config.gz".to_owned()]
}

/// What helps if an algorithm is not loaded. Some of them need the kernel's `CONFIG_HZ`, which libbpf reads from a file.
fn what_a_load_needs(configuration: &str, is_there: bool) -> String {
    if is_there {
        return "boot a kernel with BTF and BPF struct_ops with links (Linux 6.4): sudo apt-get install linux-image-amd64"
            .to_owned();
    }
    format!(
        "its clock's CONFIG_HZ is read from {configuration} or /proc/config.gz, and neither is there, as in many containers: \
         copy the file of the kernel's package to that place, or sudo modprobe configs"
    )
}

#[test]
fn a_missing_configuration_of_the_kernel_is_named() {
    let help = what_a_load_needs("/boot/config-6.12", false);
    assert!(help.contains("/boot/config-6.12 or /proc/config.gz"), "{help}");
    assert!(what_a_load_needs("/boot/config-6.12", true).contains("BTF"));
}

/// Adds the metrics of the routes through a device.
fn metrics(draft: &mut Draft<'_>, ends: &[FlowEnd<'_>], at: &Attached, choice: Option<&Chosen>) {
    let mut changes: Vec<Attribute> = Vec::new();
    let mut why = Vec::new();
    if let Some(choice) = choice {
        let mut name = choice.name.clone().into_bytes();
        name.push(0);
        changes.push((RTAX_CC_ALGO, name));
        why.push(choice.why.clone());
    }
    let mut given: Vec<(Attribute, String)> = Vec::new();
    for end in ends.iter().filter(|end| end.writes() && end.link() == Some(at.link)) {
        let place = |keys: &[&str]| {
            let keys: Vec<&str> = [end.table()].iter().chain(keys).copied().collect();
            draft.place("flow", &end.flow.name, &keys)
        };
        let rto = end.config.rto.min.as_us().div_ceil(1_000).max(1);
        let wanted = [
            (RTAX_INITCWND, place(&["window", "initial"]), u64::from(end.config.window.initial)),
            (RTAX_RTO_MIN, place(&["rto", "min"]), rto),
        ];
        for (kind, place, value) in wanted {
            let Some(place) = place else { continue };
            let value = u32::try_from(value).unwrap_or(u32::MAX);
            let metric = (kind, value.to_ne_bytes().to_vec());
            match given.iter().find(|((other, _), _)| *other == kind) {
                None => given.push((metric, place)),
                Some((other, _)) if *other == metric => {}
                Some((other, first)) => {
                    let shown =
                        |metric: &Attribute| route::state(std::slice::from_ref(metric)).shown;
                    let what = format!(
                        "the routes of {} cannot have {} ({place}) and {} ({first})",
                        at.device.name,
                        shown(&metric),
                        shown(other)
                    );
                    draft.problem(what, "give both flows the same value with --set");
                }
            }
        }
    }
    for (metric, place) in given {
        changes.push(metric);
        why.push(place);
    }
    if changes.is_empty() {
        return;
    }
    let routes = route::list(at.device.index).unwrap_or_default();
    if routes.is_empty() {
        let what =
            format!("{} has no route in the main table ({})", at.device.name, why.join(", "));
        draft.problem(what, format!("ip route add default dev {}", at.device.name));
    }
    for (found, given) in routes {
        let wanted = route::with(&given, &changes);
        draft.want(Setting::Route(Box::new(found)), wanted, why.join(", "));
    }
}
