//! The scenarios that `suimon init` writes: commented, and run as examples by the tests.

/// A commented scenario to start from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Template {
    /// Its name, as `suimon init` takes it.
    pub name: &'static str,
    /// What it shows, in one line.
    pub summary: &'static str,
    /// The file.
    pub text: &'static str,
}

/// Every template.
pub const TEMPLATES: &[Template] = &[
    Template {
        name: "long-fat-pipe",
        summary: "one bulk flow, paced with gap packets through a shallow buffer",
        text: include_str!("../../../scenarios/long-fat-pipe.toml"),
    },
    Template {
        name: "two-bottlenecks",
        summary: "two paths of different rates behind one sender, a class for each",
        text: include_str!("../../../scenarios/two-bottlenecks.toml"),
    },
    Template {
        name: "many-flows",
        summary: "sixteen hosts share one drop-tail bottleneck",
        text: include_str!("../../../scenarios/many-flows.toml"),
    },
];

/// The template of that name, if there is one.
pub fn template(name: &str) -> Option<&'static Template> {
    TEMPLATES.iter().find(|template| template.name == name)
}
