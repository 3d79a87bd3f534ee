//! Properties of all settings, tested from their declarations alone: values within their range are read and returned
//! by a lock file; values outside are refused at their place.

use crate::values;
use crate::values::{beside, values};
use applications::bulk::Train;
use applications::datagrams;
use applications::event_builder::Readout;
use applications::exchange::{Exchange, Ping};
use applications::sink::Reader;
use base::action::Action;
use base::setting::{Kind, Setting, Settings, Value};
use base::thresholds::Thresholds;
use base::{Bytes, Distribution, Duration};
use network::host::{Coalescing, Processor};
use network::{balancer, emulator, host, impairment, link, reaction_point, router};
use proptest::prelude::*;
use scenario::plan::{Demand, LabLink, Marks};
use scenario::{Document, Errors, Plan, lock};
use traffic::condition;
use traffic::{meter, qdisc};

/// Two hosts with a link and a flow, to which a table is added.
const NETWORK: &str = r#"duration = "1 s"
[host.a]
[host.b]
[link.l]
between = ["a", "b"]
rate = "1 Gbit/s"
[flow.f]
from = "a"
to = "b"
"#;

/// A value in the notation of a file, by its unit.
fn written(value: &Value) -> String {
    match value {
        Value::Flag(flag) => flag.to_string(),
        Value::Count(count) => count.to_string(),
        Value::Bytes(Bytes(bytes)) => format!("\"{bytes} B\""),
        Value::Rate(rate) => format!("\"{} bit/s\"", rate.bits_per_second()),
        Value::Time(time) => span(*time),
        Value::RandomTime(Distribution::Fixed(time)) => span(*time),
        Value::RandomBytes(Distribution::Fixed(bytes)) => format!("\"{bytes}\""),
        Value::Share(share) => format!("\"{share}\""),
        Value::Frequency(period) => format!("\"{} Hz\"", 1_000_000_000_000 / period.as_ps()),
        Value::Priorities(priorities) => {
            let list: Vec<_> = priorities.iter().map(|priority| priority.to_string()).collect();
            format!("\"{}\"", list.join(", "))
        }
        Value::Thresholds(Thresholds { min, max: None, .. }) => format!("\"{} B\"", min.0),
        Value::Thresholds(Thresholds { min, max: Some(max), probability }) => format!(
            "{{ min = \"{} B\", max = \"{} B\", probability = \"{probability}\" }}",
            min.0, max.0
        ),
        Value::DscpMap(map) => {
            let entries = (0..64).map(|dscp| format!("{dscp} = {}", map.priority(dscp)));
            format!("{{ {} }}", entries.collect::<Vec<_>>().join(", "))
        }
        Value::PcpMap(map) => {
            let entries = (0..8).map(|pcp| format!("{pcp}:{}", map.priority(pcp)));
            format!("\"{}\"", entries.collect::<Vec<_>>().join(" "))
        }
        Value::CodePoint(dscp) => dscp.to_string(),
        Value::Fraction(over, under) => format!("\"{over}/{under}\""),
        Value::Measured => "\"measured\"".into(),
        Value::RateLimit(u64::MAX) => "\"unlimited\"".into(),
        Value::RateLimit(bytes) => format!("\"{bytes} B/s\""),
        Value::TunedBytes { initial, max } => {
            format!("{{ initial = \"{initial}\", max = \"{max}\" }}")
        }
        Value::Choice(word @ ("true" | "false")) => (*word).into(),
        Value::Choice(word) => format!("\"{word}\""),
        Value::Action(Action::Mark(dscp)) => format!("\"mark {dscp}\""),
        Value::Action(action) => format!("\"{action:?}\"").to_lowercase(),
        Value::Text(text) => format!("\"{text}\""),
        Value::Queue(_) => "{ fifo = { packets = 7 } }".into(),
        Value::RandomTime(_) | Value::RandomBytes(_) => panic!("{value:?}: none is drawn"),
    }
}

fn span(time: Duration) -> String {
    format!("\"{} ps\"", time.as_ps())
}

/// A table of the file with settings: its header, the settings, and other required keys.
#[derive(Clone, Debug)]
struct Table {
    header: String,
    settings: Vec<Setting>,
    /// The text after the table's settings.
    rest: String,
}

impl Table {
    fn new(header: String, settings: Vec<Setting>) -> Self {
        Self { header, settings, rest: String::new() }
    }

    /// The file with the given settings.
    fn file(&self, given: &[(&str, String)]) -> String {
        let lines: String = given.iter().map(|(name, text)| format!("{name} = {text}\n")).collect();
        format!("{NETWORK}[{}]\n{lines}{}", self.header, self.rest)
    }

    /// The settings that are required, except for `except`.
    fn required(&self, except: &str) -> Vec<(&'static str, String)> {
        let needed = self.settings.iter().filter(|set| set.required && set.name != except);
        needed.map(|set| (set.name, written(&least(*set)))).collect()
    }
}

/// The minimum of a range.
fn least(setting: Setting) -> Value {
    values::of_number(setting.kind, setting.range.least).expect("what is required is counted")
}

/// Every table with declared settings: nodes, links and their ends, flows, disciplines and their classes,
/// conditioners and meters, impairments, algorithms, TCP, a flow's programs, and processing costs.
fn tables() -> Vec<Table> {
    let mut tables = Vec::new();
    let nodes: [(_, &dyn Settings); 4] = [
        ("host", &host::Config::default()),
        ("router", &router::Config::default()),
        ("balancer", &balancer::Config::default()),
        ("emulator", &emulator::Config::default()),
    ];
    for (kind, settings) in nodes {
        tables.push(Table::new(format!("{kind}.x"), settings.settings()));
    }
    let mut link = link::Config::default().settings();
    // It may be omitted only with a trace.
    link.iter_mut().filter(|setting| setting.name == "rate").for_each(|rate| rate.required = true);
    link.extend(LabLink::default().settings());
    let rest = "between = [\"a\", \"b\"]\n".to_owned();
    tables.push(Table { rest, ..Table::new("link.x".into(), link) });
    tables.push(Table::new("link.l.at.b".into(), link::Direction::default().settings()));
    for entry in qdisc::REGISTRY {
        let blank = qdisc::Parameters::blank(entry.name).expect("a discipline");
        let header = format!("link.l.at.a.queue.{}", entry.name);
        let own = Table::new(header.clone(), blank.settings());
        let Some(classes) = blank.classes() else {
            tables.push(own);
            continue;
        };
        let class = Table::new(format!("{header}.class.x"), classes.fresh().settings());
        let needed: String =
            class.required("").iter().map(|(name, text)| format!("{name} = {text}\n")).collect();
        let rest = format!("[{}]\n{needed}", class.header);
        tables.extend([Table { rest, ..own }, class]);
    }
    for entry in impairment::Parameters::REGISTRY {
        let blank = impairment::Parameters::blank(entry.name).expect("an impairment");
        tables.push(Table::new(format!("link.l.{}", entry.name), blank.settings()));
    }
    for algorithm in congestion::Algorithm::all() {
        let number = |parameter: &'static congestion::Parameter| Setting {
            name: parameter.name(),
            kind: Kind::Count,
            required: false,
            range: base::setting::Range::of::<u32>(parameter.range()),
            doc: parameter.doc(),
        };
        let settings = algorithm.parameters().iter().map(number).collect();
        tables.push(Table::new(format!("flow.f.congestion.{}", algorithm.name()), settings));
    }
    for end in ["tcp", "receiver_tcp"] {
        for (section, _, settings) in transport::Profile::all()[0].config().sections() {
            tables.push(Table::new(format!("flow.f.{end}.{section}"), settings.settings()));
        }
    }
    let flow = [Marks::default().settings(), Demand::default().settings()].concat();
    let rest = "from = \"a\"\nto = \"b\"\n".to_owned();
    tables.push(Table { rest, ..Table::new("flow.x".into(), flow) });
    let conditioner = "link.l.at.a.conditioner";
    let element = format!("{conditioner}.element.x");
    for entry in meter::Parameters::REGISTRY {
        let blank = meter::Parameters::blank(entry.name).expect("a meter");
        tables.push(Table::new(format!("{element}.{}", entry.name), blank.settings()));
    }
    let whole: [(_, &dyn Settings); 11] = [
        (conditioner, &condition::Parameters::default()),
        (&element, &condition::Element::default()),
        ("flow.f.train", &Train::default()),
        ("flow.f.exchange", &Exchange::default()),
        ("flow.f.ping", &Ping::default()),
        ("flow.f.events", &Readout::default()),
        ("flow.f.datagrams", &datagrams::Config::default()),
        ("flow.f.read", &Reader::default()),
        ("host.a.processor", &Processor::default()),
        ("host.a.coalesce", &Coalescing::default()),
        ("host.a.qcn", &reaction_point::Config::default()),
    ];
    for (header, settings) in whole {
        tables.push(Table::new(header.into(), settings.settings()));
    }
    tables
}

fn plan(text: &str) -> Result<Plan, Errors> {
    Document::parse("x.toml", text).and_then(|document| document.plan())
}

/// A table, and values for some of its settings.
fn drawn() -> impl Strategy<Value = (Table, Vec<(&'static str, String)>)> {
    prop::sample::select(tables()).prop_flat_map(|table| {
        // The memory for this number is allocated at once.
        let modest = |(name, value): &(&str, Value)| {
            *name != "packets" || value.number().is_some_and(|packets| packets < 100_000)
        };
        let text = move |given: Vec<(&'static str, Value)>| {
            let given = given.into_iter().filter(modest);
            given.map(|(name, value)| (name, written(&value))).collect()
        };
        let given = values(table.settings.clone()).prop_map(text);
        (Just(table), given)
    })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(400) })]

    /// Settings within their ranges give a plan with an equal lock file, or errors in the table itself, none about a
    /// range.
    #[test]
    fn what_is_within_its_range_is_read_and_locked((table, given) in drawn()) {
        let text = table.file(&given);
        match plan(&text) {
            Ok(plan) => {
                let locked = lock(&plan);
                let again = self::plan(&locked);
                let again = again.unwrap_or_else(|errors| panic!("{errors}\n{locked}"));
                prop_assert_eq!(format!("{plan:?}"), format!("{again:?}"));
            }
            Err(errors) => for problem in errors.diagnostics() {
                prop_assert!(problem.span.start > NETWORK.len(), "{text}\n{problem}");
                let range = |(name, _): &(_, _)| problem.message.starts_with(&format!("`{name}` cannot be "));
                prop_assert!(!given.iter().any(range), "{text}\n{problem}");
            }
        }
    }
}

#[test]
fn what_is_beside_its_range_is_refused_at_its_value() {
    let mut refused = 0;
    for table in tables() {
        for &setting in &table.settings {
            let ends = beside(setting).filter(|value| value.number() <= Some(i64::MAX as u64));
            for value in ends {
                let mut given = table.required(setting.name);
                let text = written(&value);
                given.push((setting.name, text.clone()));
                let file = table.file(&given);
                let errors = plan(&file).map(drop).expect_err(&file).to_string();
                let line = 2 + NETWORK.lines().count() + given.len() - 1;
                let column = setting.name.len() + 4;
                let place = format!("x.toml:{line}:{column}: `{}` cannot be ", setting.name);
                assert!(errors.starts_with(&place), "{file}\n{errors}");
                let range = setting.range.text(setting.kind);
                assert!(errors.contains(&format!("\n  help: give {range}: ")), "{errors}");
                refused += 1;
            }
        }
    }
    assert!(refused > 80, "{refused}");
}

/// The schema gives editors the same ranges.
#[test]
fn the_schema_has_each_range() {
    let schema = scenario::schema();
    let disciplines = schema["$defs"]["Queue"]["oneOf"].as_array().expect("disciplines");
    for (entry, shape) in qdisc::REGISTRY.iter().zip(disciplines) {
        let blank = qdisc::Parameters::blank(entry.name).expect("a discipline");
        for setting in blank.settings() {
            let key = &shape["properties"][entry.name]["properties"][setting.name];
            let (least, greatest) = (setting.range.least, setting.range.greatest);
            if setting.kind == Kind::Count {
                let number = &key["anyOf"][0];
                assert_eq!(number["minimum"], least, "{}: `{}`", entry.name, setting.name);
                let most = number["maximum"].as_u64().unwrap_or(u64::MAX);
                assert_eq!(most, greatest, "{}: `{}`", entry.name, setting.name);
            } else {
                let range = setting.range.text(setting.kind);
                let told = key["description"].as_str().expect("a description");
                assert!(told.ends_with(&format!("Range: {range}.")) || range.is_empty(), "{told}");
            }
        }
    }
}
