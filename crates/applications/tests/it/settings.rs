//! Laws of everything that can be set in an impairment or of a program, drawn from the declarations alone.

use crate::values::{beside, values};
use applications::bulk::Train;
use applications::datagrams;
use applications::event_builder::Readout;
use applications::exchange::{Exchange, Ping};
use applications::mpi::Library;
use applications::sink::Reader;
use applications::workload::WorkloadConfig as _;
use base::setting::{Settings, Value, in_range};
use base::{Duration, Instant, Random};
use network::application::{ActivePeriod, Application};
use network::host::{Coalescing, Processor};
use network::impairment::{Impairment, Parameters, Transit};
use network::reaction_point;
use proptest::prelude::*;

fn blank(name: &str) -> Parameters {
    Parameters::blank(name).expect("the registry names impairments")
}

fn drawn() -> impl Strategy<Value = (&'static str, Vec<(&'static str, Value)>)> {
    let names: Vec<_> = Parameters::REGISTRY.iter().map(|entry| entry.name).collect();
    let given = |name| (Just(name), values(blank(name).settings()));
    prop::sample::select(names).prop_flat_map(given)
}

/// Parameters, and what they start from.
type Blank = (&'static str, fn() -> Box<dyn Settings>);

/// The settings of each program, and of its host.
const PROGRAMS: [Blank; 10] = [
    ("train", || Box::new(Train::default())),
    ("exchange", || Box::new(Exchange::default())),
    ("ping", || Box::new(Ping::default())),
    ("events", || Box::new(Readout::default())),
    ("datagrams", || Box::new(datagrams::Config::default())),
    ("read", || Box::new(Reader::default())),
    ("processor", || Box::new(Processor::default())),
    ("coalesce", || Box::new(Coalescing::default())),
    ("mpi", || Box::new(Library::default())),
    ("qcn", || Box::new(reaction_point::Config::default())),
];

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(600) })]

    /// Settings drawn within the ranges are read back as set, and work, or are refused at one of them.
    #[test]
    fn drawn_settings_work_or_are_refused_at_one((name, given) in drawn()) {
        let mut parameters = blank(name);
        for (setting, value) in &given {
            prop_assert!(parameters.set(setting, value.clone()), "{setting}");
            prop_assert_eq!(&parameters.get(setting), &Some(value.clone()));
        }
        in_range(parameters.as_settings()).expect("drawn within");
        if let Err(invalid) = parameters.check() {
            let settings = parameters.settings();
            prop_assert!(settings.iter().any(|setting| setting.name == invalid.setting));
            return Ok(());
        }
        let mut impairment = Impairment::new(parameters, Random::from_seed(1));
        for ms in 0..20 {
            impairment.apply(&mut Transit::new(Instant::ZERO + Duration::from_ms(ms)));
        }
    }

    /// Settings of a program drawn within the ranges are read back as set.
    #[test]
    fn drawn_settings_of_a_program_are_held(
        (blank, given) in prop::sample::select(&PROGRAMS[..])
            .prop_flat_map(|(_, blank)| (Just(blank), values(blank().settings()))),
    ) {
        let mut settings = blank();
        for (setting, value) in &given {
            prop_assert!(settings.set(setting, value.clone()), "{setting}");
            prop_assert_eq!(&settings.get(setting), &Some(value.clone()));
        }
        in_range(&*settings).expect("drawn within");
    }

    /// A source of datagrams within the ranges has a time for its next one, or is refused at one of its settings.
    #[test]
    fn drawn_datagrams_leave_or_are_refused_at_a_setting(
        given in values(datagrams::Config::default().settings()),
    ) {
        let mut config = datagrams::Config::default();
        for (setting, value) in given {
            prop_assert!(config.set(setting, value), "{setting}");
        }
        match config.check() {
            Ok(()) => {
                let sender = datagrams::Sender::new(config, ActivePeriod::ALWAYS, Random::from_seed(1));
                let at_once = config.spacing == datagrams::Spacing::Even;
                prop_assert_eq!(sender.next_wakeup() == Instant::ZERO, at_once);
            }
            Err(invalid) => prop_assert!(["on", "off"].contains(&invalid.setting)),
        }
    }
}

#[test]
fn what_is_out_of_range_is_refused_at_its_setting() {
    let mut refused = Vec::new();
    for entry in Parameters::REGISTRY {
        for setting in blank(entry.name).settings() {
            for value in beside(setting) {
                let mut parameters = blank(entry.name);
                assert!(parameters.set(setting.name, value));
                let error = in_range(parameters.as_settings()).expect_err(setting.name);
                assert_eq!(error.setting, setting.name);
                refused.push((entry.name, setting.name));
            }
        }
    }
    assert_eq!(refused, [("gemodel", "to_good"), ("down", "lasts"), ("reorder", "by")]);
}

#[test]
fn what_is_out_of_a_programs_range_is_refused_at_its_setting() {
    let mut refused = Vec::new();
    for (name, blank) in PROGRAMS {
        for setting in blank().settings() {
            for value in beside(setting) {
                let mut settings = blank();
                // What its type cannot hold is not even set.
                if settings.set(setting.name, value.clone()) {
                    assert_eq!(settings.get(setting.name), Some(value.clone()));
                }
                assert_eq!(setting.check(&value).expect_err(name).setting, setting.name);
                refused.push(format!("{name}.{}", setting.name));
            }
        }
    }
    refused.dedup();
    let expected = [
        "train.message",
        "train.every",
        "exchange.request",
        "exchange.response",
        "exchange.every",
        "exchange.count",
        "ping.every",
        "ping.size",
        "ping.count",
        "events.fragment",
        "events.every",
        "events.credits",
        "events.requests_max",
        "events.request",
        "events.count",
        "datagrams.rate",
        "datagrams.size",
        "datagrams.on",
        "processor.backlog",
        "processor.instructions_per_second",
        "processor.tcp_output",
        "processor.tcp_input_data",
        "processor.tcp_input_ack",
        "processor.ip_output",
        "processor.ip_input",
        "processor.call_size",
        "coalesce.delay",
        "coalesce.frames",
        "mpi.header",
        "qcn.byte_reset",
        "qcn.time_reset",
        "qcn.threshold",
        "qcn.ai_rate",
        "qcn.hai_rate",
        "qcn.min_rate",
    ];
    assert_eq!(refused, expected);
}
