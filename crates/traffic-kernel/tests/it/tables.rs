//! Tables of settings: what is written is read again, and nothing else is taken.

use proptest::prelude::*;

use base::setting::Value;
use base::{FlowId, HostId};
use traffic::classify::{Dscp, Filter, PortRange, Prefix, Rule};
use traffic::qdisc::{Parameters, REGISTRY};
use traffic_kernel::table::{self, Error, Reason};

use crate::drawn;
use crate::values::values;

fn any_discipline() -> impl Strategy<Value = &'static str> {
    prop::sample::select(REGISTRY.iter().map(|entry| entry.name).collect::<Vec<_>>())
}

fn drawn_parameters() -> impl Strategy<Value = Parameters> {
    any_discipline().prop_flat_map(drawn::parameters)
}

/// A discipline with some settings given, from their declarations alone.
fn declared_parameters() -> impl Strategy<Value = Parameters> {
    any_discipline().prop_flat_map(|name| {
        let blank = Parameters::blank(name).expect("the registry names disciplines");
        values(blank.settings()).prop_map(move |given| {
            let start = if given.is_empty() { Parameters::by_name } else { Parameters::blank };
            let mut parameters = start(name).expect("as above");
            for (name, value) in given {
                assert!(parameters.set(name, value), "{name}");
            }
            parameters
        })
    })
}

fn filter() -> impl Strategy<Value = Filter> {
    use prop::option::of;
    let prefix = || {
        let address = prop_oneof![
            any::<[u8; 4]>().prop_map(std::net::IpAddr::from),
            any::<[u8; 16]>().prop_map(std::net::IpAddr::from),
        ];
        of((address, any::<u8>()).prop_map(|(address, length)| Prefix { address, length }))
    };
    let ports =
        || of((any::<u16>(), any::<u16>()).prop_map(|(first, last)| PortRange { first, last }));
    let dscp = of((any::<u8>(), any::<u8>()).prop_map(|(value, mask)| Dscp { value, mask }));
    let numbers = (of(any::<u8>()), of(any::<u32>()), of(any::<u8>()), of(any::<u32>()));
    let hosts = (of(any::<u32>()), of(any::<u32>()));
    (prefix(), prefix(), ports(), ports(), dscp, numbers, hosts).prop_map(
        |(source, destination, source_ports, destination_ports, dscp, numbers, hosts)| Filter {
            source,
            destination,
            protocol: numbers.0,
            source_ports,
            destination_ports,
            dscp,
            flow_label: numbers.1,
            vlan_priority: numbers.2,
            source_host: hosts.0.map(HostId),
            destination_host: hosts.1.map(HostId),
            flow: numbers.3.map(FlowId),
        },
    )
}

fn comes_back(parameters: &Parameters) {
    let text = table::write(parameters).expect("names of one line");
    let read = table::read(&text).unwrap_or_else(|error| panic!("{error} in\n{text}"));
    assert_eq!(&read, parameters, "{text}");
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(600) })]

    #[test]
    fn parameters_come_back(parameters in prop_oneof![drawn_parameters(), declared_parameters()]) {
        comes_back(&parameters);
    }

    #[test]
    fn filters_come_back(filters in prop::collection::vec((filter(), any::<u16>()), 1..4), name in "[^\r\n]{0,8}") {
        let mut parameters = Parameters::by_name("drr").expect("drr");
        let classes = parameters.as_settings_mut().classes_mut().expect("classes");
        classes.add(&name, Some(&name));
        for (filter, priority) in filters {
            classes.filters_mut().push(Rule { filter, priority, class: name.clone() });
        }
        comes_back(&parameters);
    }

    /// Lines in any order, of words that mean something somewhere.
    #[test]
    fn any_lines_are_read_or_refused(lines in prop::collection::vec(prop::sample::select(WORDS), 0..40)) {
        if let Ok(parameters) = table::read(&lines.join("\n")) {
            comes_back(&parameters);
        }
    }

    #[test]
    fn any_text_is_read_or_refused(text in "\\PC{0,60}") {
        let _ = table::read(&text);
    }
}

const WORDS: &[&str] = &[
    "psp",
    "drr",
    "tbr",
    "fifo",
    "queue fifo",
    "queue fq_codel",
    "queue tbr",
    "queue psp",
    "end",
    "class a",
    "class b",
    "parent a",
    "filter a",
    "filter",
    "priority 3",
    "protocol 6",
    "source 10.0.0.0/8",
    "destination ::1/128",
    "rate 1000000",
    "rate measured",
    "gaps true",
    "gaps 1",
    "packets 100",
    "bytes 3000",
    "quantum 1514",
    "default_class b",
    "flows 8",
    "",
    "unclassified fifo",
    "source_ports 1-2",
    "dscp 46/63",
];

/// The reason to refuse a text, and its line.
fn reason(text: &str) -> (u32, Reason) {
    let Error { line, reason } = table::read(text).expect_err("refused");
    (line, reason)
}

#[test]
fn a_wrong_line_is_named() {
    let setting = |name: &str| Reason::Setting(name.into());
    let value = |name: &str| Reason::Value(name.into());
    assert_eq!(reason(""), (1, Reason::Empty));
    assert_eq!(reason("pfifo"), (1, Reason::Discipline("pfifo".into())));
    assert_eq!(reason("fifo\nlimit 3"), (2, setting("limit")));
    assert_eq!(reason("fifo\npackets many"), (2, value("packets")));
    assert_eq!(reason("fifo\nclass a\nend"), (2, Reason::Classes));
    assert_eq!(reason("fifo\nend"), (2, Reason::Surplus));
    assert_eq!(reason("psp\nclass a\nend"), (3, Reason::Missing("rate")));
    assert_eq!(reason("fifo\nbytes 9000\nbytes 9000"), (3, Reason::Repeated("bytes".into())));
    assert_eq!(reason("psp\nclass a\nrate 1\nrate 2"), (4, Reason::Repeated("rate".into())));
    assert_eq!(reason("psp\nclass a\nrate 8"), (3, Reason::Unfinished));
    assert_eq!(reason("psp\nfilter a\ncolour 3\nend"), (3, setting("colour")));
    assert_eq!(reason("psp\nfilter a\nprotocol tcp\nend"), (3, value("protocol")));
    let deep = |regulators: usize| {
        let regulator = "tbr\nrate 8\nbucket 8\nqueue ";
        format!("{}fifo\n{}", regulator.repeat(regulators), "end\n".repeat(regulators))
    };
    assert!(table::read(&deep(2)).is_ok());
    assert_eq!(reason(&deep(3)), (10, Reason::Depth));
    assert_eq!(reason(&deep(100)).1, Reason::Depth);
}

#[test]
fn a_discipline_without_settings_has_its_defaults() {
    for entry in REGISTRY {
        let settings = Parameters::by_name(entry.name).expect("a discipline");
        if settings.settings().iter().all(|setting| !setting.required) {
            assert_eq!(table::read(entry.name), Ok(settings));
        }
    }
}

/// A discipline that has a setting of another kind needs a text for it.
#[test]
fn a_name_with_a_line_break_is_not_written() {
    let mut parameters = Parameters::by_name("drr").expect("drr");
    parameters.set("default_class", Value::Text("a\nb".into()));
    assert_eq!(table::write(&parameters), Err(table::Unwritable("a\nb".into())));
}
