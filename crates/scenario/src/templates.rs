//! The scenarios that `suimon init` writes: commented, and run as examples by the tests.

/// A commented scenario to start from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Template {
    /// Its name for `suimon init`.
    pub name: &'static str,
    /// Its content, in one line.
    pub summary: &'static str,
    /// The file.
    text: &'static str,
}

impl Template {
    /// The file, without the line that names the schema.
    pub fn text(&self) -> &'static str {
        without_schema(self.text)
    }
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
        name: "office-line",
        summary: "a call beside a download and an upload on a line of 100/20 Mbit/s, fq_codel at both ends",
        text: include_str!("../../../scenarios/office-line.toml"),
    },
    Template {
        name: "aqm-comparison",
        summary: "five queueing disciplines at one bottleneck, as a sweep",
        text: include_str!("../../../scenarios/aqm-comparison.toml"),
    },
    Template {
        name: "lossy-wan",
        summary: "a file over a wide-area path that loses packets without congestion",
        text: include_str!("../../../scenarios/lossy-wan.toml"),
    },
    Template {
        name: "many-flows",
        summary: "sixteen hosts share one drop-tail bottleneck",
        text: include_str!("../../../scenarios/many-flows.toml"),
    },
    Template {
        name: "link-sharing",
        summary: "two organisations share a link, and one takes what the other leaves",
        text: include_str!("../../../scenarios/link-sharing.toml"),
    },
    Template {
        name: "incast",
        summary: "sixty-four servers answer one client at once through a shallow buffer",
        text: include_str!("../../../scenarios/incast.toml"),
    },
    Template {
        name: "incast-lossless",
        summary: "sixty-four servers answer one client at once through a switch that loses nothing",
        text: include_str!("../../../scenarios/incast-lossless.toml"),
    },
    Template {
        name: "daq",
        summary: "sixty-four sources send their fragments of each event to one event builder",
        text: include_str!("../../../scenarios/daq.toml"),
    },
    Template {
        name: "mpi-over-wan",
        summary: "ranks of two clusters compute and exchange messages over a WAN, in step",
        text: include_str!("../../../scenarios/mpi-over-wan.toml"),
    },
];

/// `text` without the first line of the repository's scenarios, `#:schema PATH`, which names their schema for
/// editors. Elsewhere the path is invalid.
pub fn without_schema(text: &str) -> &str {
    match text.split_once('\n') {
        Some((first, rest)) if first.starts_with("#:schema ") => rest,
        _ => text,
    }
}

/// The template of that name, if there is one.
pub fn template(name: &str) -> Option<&'static Template> {
    TEMPLATES.iter().find(|template| template.name == name)
}
