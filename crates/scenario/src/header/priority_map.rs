//! Maps from code points or priorities to priorities, as written in a scenario and in a lock file.

use base::priority_map::PriorityMap;
use base::{DscpMap, PcpMap};

use super::{code_point, digit};
use crate::quantity::Error;

/// A map with keys in scenario notation.
pub(crate) trait Keyed {
    /// The name of a key.
    const KEY: &'static str;
    /// The help for a key, or for a range of keys.
    const KEY_HELP: &'static str;
    /// The help for the map.
    const HELP: &'static str;
    /// Reads a key; `None` for other text.
    fn key(text: &str) -> Option<u8>;
}

impl Keyed for DscpMap {
    const KEY: &'static str = "code point";
    const KEY_HELP: &'static str = "use a name, such as \"ef\" or \"af41\", a number from 0 to 63, or a range \
                                    such as \"24-31\"";
    const HELP: &'static str =
        "write code points and their priorities: \"ef:5 24-31:3\", or { ef = 5, \"24-31\" = 3 }";
    fn key(text: &str) -> Option<u8> {
        code_point(text).ok()
    }
}

impl Keyed for PcpMap {
    const KEY: &'static str = "received priority";
    const KEY_HELP: &'static str = "use a number from 0 to 7, or a range such as \"0-2\"";
    const HELP: &'static str =
        "write priorities and what they become: \"5:3 0-2:0\", or { 5 = 3, \"0-2\" = 0 }";
    fn key(text: &str) -> Option<u8> {
        digit(text)
    }
}

/// A map under construction, with its given keys.
#[derive(Debug)]
pub(crate) struct Mapping<const N: usize> {
    map: PriorityMap<N>,
    /// The given priorities, by key.
    given: [Option<u8>; N],
}

impl<const N: usize> Default for Mapping<N> {
    fn default() -> Self {
        Self { map: PriorityMap::default(), given: [None; N] }
    }
}

impl<const N: usize> Mapping<N>
where
    PriorityMap<N>: Keyed,
{
    /// Assigns a priority to a key or a range of keys.
    ///
    /// # Errors
    ///
    /// An invalid key, an invalid priority, or a key with another priority already.
    pub(crate) fn add(&mut self, key: &str, priority: &str) -> Result<(), Error> {
        let (first, last) = range::<PriorityMap<N>>(key.trim())?;
        let Some(value) = digit(priority) else {
            let message = format!("invalid priority `{}`", priority.trim());
            return Err(Error::new(message, "use a priority from 0 to 7"));
        };
        for key in first..=last {
            let given = &mut self.given[usize::from(key)];
            if let Some(other) = given.filter(|&other| other != value) {
                let name = PriorityMap::<N>::KEY;
                let message = format!("{name} {key} has two priorities, {other} and {value}");
                return Err(Error::new(message, "remove one of them"));
            }
            *given = Some(value);
            self.map.set(key, value);
        }
        Ok(())
    }

    /// The map.
    pub(crate) const fn map(&self) -> PriorityMap<N> {
        self.map
    }
}

/// The first and the last key of a range.
fn range<M: Keyed>(text: &str) -> Result<(u8, u8), Error> {
    if let Some(key) = M::key(text) {
        return Ok((key, key));
    }
    let no_key = || Error::new(format!("invalid {} `{text}`", M::KEY), M::KEY_HELP);
    let (first, last) = text.split_once('-').ok_or_else(no_key)?;
    let ends = M::key(first.trim()).zip(M::key(last.trim()));
    let (first, last) = ends.ok_or_else(no_key)?;
    if first > last {
        return Err(Error::new(format!("invalid range `{text}`"), M::KEY_HELP));
    }
    Ok((first, last))
}

/// Reads a map in the notation of `dcb app … dscp-prio` and `ip link … type vlan ingress-qos-map`: "ef:5 24-31:3",
/// "5:3 0-2:0", separated by blanks or commas.
///
/// # Errors
///
/// See [`Mapping::add`].
pub(crate) fn priority_map<const N: usize>(text: &str) -> Result<PriorityMap<N>, Error>
where
    PriorityMap<N>: Keyed,
{
    let mut mapping = Mapping::default();
    let mut entries = text.split([' ', ',']).filter(|entry| !entry.is_empty()).peekable();
    let (key, help) = (PriorityMap::<N>::KEY, PriorityMap::<N>::HELP);
    if entries.peek().is_none() {
        return Err(Error::new(format!("no {key} is mapped"), help));
    }
    for entry in entries {
        let (key, priority) = entry.split_once(':').ok_or_else(|| {
            Error::new(format!("`{entry}` does not map a {key} to a priority"), help)
        })?;
        mapping.add(key, priority)?;
    }
    Ok(mapping.map())
}

/// The text of a map, as in a scenario.
pub(crate) fn priority_map_text<const N: usize>(map: &PriorityMap<N>) -> String {
    let mut entries: Vec<(u8, u8, u8)> = Vec::new();
    for (key, priority) in map.given() {
        match entries.last_mut() {
            Some((_, last, same)) if *last + 1 == key && *same == priority => *last = key,
            _ => entries.push((key, key, priority)),
        }
    }
    // An identity map still needs an entry.
    if entries.is_empty() {
        entries.push((0, 0, map.priority(0)));
    }
    let entry = |(first, last, priority): (u8, u8, u8)| match first == last {
        true => format!("{first}:{priority}"),
        false => format!("{first}-{last}:{priority}"),
    };
    entries.into_iter().map(entry).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dscp_map(text: &str) -> Result<DscpMap, Error> {
        priority_map(text)
    }

    fn pcp_map(text: &str) -> Result<PcpMap, Error> {
        priority_map(text)
    }

    fn said(text: &str) -> String {
        dscp_map(text).map_or_else(|error| error.to_string(), |map| priority_map_text(&map))
    }

    #[test]
    fn what_is_written_reads_back() {
        // As `dcb app` writes it; the priority of a class selector itself is redundant.
        assert_eq!(said("EF:4 24:3 AF41:6"), "34:6 46:4");
        assert_eq!(said("24-31:5,8:1, 0:7"), "0:7 24-31:5");
        assert_eq!(said("0:0"), "0:0");
        for text in ["0:0", "0:7 24-31:5", "0-63:3", "34:6 46:4"] {
            let map = dscp_map(text).expect("a map");
            assert_eq!(dscp_map(&priority_map_text(&map)).ok(), Some(map), "{text}");
        }
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        for (text, message) in [
            ("", "no code point is mapped"),
            ("ef", "`ef` does not map a code point to a priority"),
            ("64:1", "invalid code point `64`"),
            ("ef:8", "invalid priority `8`"),
            ("31-24:1", "invalid range `31-24`"),
            ("24-31:3 26:4", "code point 26 has two priorities, 3 and 4"),
        ] {
            let error = dscp_map(text).expect_err(text);
            assert!(error.to_string().starts_with(message), "{text}: {error}");
        }
        assert!(dscp_map("24-31:3 26:3").is_ok(), "twice the same");
    }

    #[test]
    fn priorities_become_others() {
        let said = |text: &str| pcp_map(text).map(|map| priority_map_text(&map)).ok();
        assert_eq!(said("5:3, 0-2:0").as_deref(), Some("1-2:0 5:3"), "0 is 0 anyway");
        assert_eq!(said("3:3").as_deref(), Some("0:0"));
        assert_eq!(said("0-7:7").as_deref(), Some("0-6:7"));
        for (text, message) in [
            ("", "no received priority is mapped"),
            ("5", "`5` does not map a received priority to a priority"),
            ("8:1", "invalid received priority `8`"),
            ("ef:1", "invalid received priority `ef`"),
            ("0-8:1", "invalid received priority `0-8`"),
            ("1:8", "invalid priority `8`"),
            ("2-1:1", "invalid range `2-1`"),
            ("0-2:0 1:4", "received priority 1 has two priorities, 0 and 4"),
        ] {
            let error = pcp_map(text).expect_err(text);
            assert!(error.to_string().starts_with(message), "{text}: {error}");
        }
    }
}
