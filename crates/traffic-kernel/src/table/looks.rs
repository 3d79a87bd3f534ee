//! What a discipline looks at in packets.

use base::setting::Settings;
use traffic::classify::Filter;
use traffic::qdisc::Parameters;

/// The parts of packets that a discipline looks at, besides length, type of service and priority. Others need not be read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Looks {
    /// The numbers of flow and hosts.
    pub flows: bool,
    /// The headers.
    pub headers: bool,
}

impl Looks {
    /// What a discipline with these parameters looks at, with all disciplines within it.
    pub fn of(parameters: &Parameters) -> Self {
        let mut looks = Self::default();
        looks.add(parameters);
        looks
    }

    fn add(&mut self, parameters: &Parameters) {
        self.flows |= parameters.distinguishes_flows();
        let settings = parameters.as_settings();
        self.add_queues(settings);
        let Some(classes) = settings.classes() else { return };
        for index in 0..classes.count() {
            self.add_queues(classes.class(index).2);
        }
        for rule in classes.filters() {
            let Filter { flow, source_host, destination_host, .. } = rule.filter;
            let numbers = Filter { flow, source_host, destination_host, ..Filter::default() };
            self.flows |= numbers != Filter::default();
            self.headers |= numbers != rule.filter;
        }
    }

    fn add_queues(&mut self, settings: &dyn Settings) {
        for setting in settings.settings() {
            if let Some(queue) = settings.get(setting.name).as_ref().and_then(Parameters::of) {
                self.add(queue);
            }
        }
    }
}
