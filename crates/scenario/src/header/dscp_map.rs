//! Which priority a code point has, as the file says it and as a lock file writes it.

use traffic::DscpMap;
use traffic::dscp::CODE_POINTS;

use super::code_point;
use crate::quantity::Error;

/// A map in the making: what is given, each code point once.
#[derive(Debug)]
pub(crate) struct Mapping {
    map: DscpMap,
    /// By code point.
    given: [Option<u8>; CODE_POINTS],
}

impl Default for Mapping {
    fn default() -> Self {
        Self { map: DscpMap::default(), given: [None; CODE_POINTS] }
    }
}

impl Mapping {
    /// Gives the code points that `key` names, one or a range, a priority.
    ///
    /// # Errors
    ///
    /// The key names no code points, the priority is none, or a code point has another one already.
    pub(crate) fn add(&mut self, key: &str, priority: &str) -> Result<(), Error> {
        let (first, last) = range(key.trim())?;
        let value = priority.trim().parse().ok().filter(|&priority: &u8| priority < 8);
        let Some(value) = value else {
            let message = format!("`{}` is no priority", priority.trim());
            return Err(Error::new(message, "give a priority from 0 to 7"));
        };
        for dscp in first..=last {
            let given = &mut self.given[usize::from(dscp)];
            if let Some(other) = given.filter(|&other| other != value) {
                let message = format!("code point {dscp} has two priorities, {other} and {value}");
                return Err(Error::new(message, "leave out one"));
            }
            *given = Some(value);
            self.map.set(dscp, value);
        }
        Ok(())
    }

    /// The map.
    pub(crate) const fn map(&self) -> DscpMap {
        self.map
    }
}

/// The first and the last of the code points that are named.
fn range(key: &str) -> Result<(u8, u8), Error> {
    if let Ok(dscp) = code_point(key) {
        return Ok((dscp, dscp));
    }
    let help = "write its name, such as \"ef\" or \"af41\", a number from 0 to 63, or a range such as \"24-31\"";
    let no_code_point = || Error::new(format!("`{key}` is no code point"), help);
    let (first, last) = key.split_once('-').ok_or_else(no_code_point)?;
    let ends = code_point(first.trim()).ok().zip(code_point(last.trim()).ok());
    let (first, last) = ends.ok_or_else(no_code_point)?;
    if first > last {
        return Err(Error::new(format!("`{key}` is no range"), help));
    }
    Ok((first, last))
}

/// A map as `dcb app … dscp-prio` takes it: "ef:5 24-31:3", with blanks or commas between.
///
/// # Errors
///
/// See [`Mapping::add`].
pub(crate) fn dscp_map(text: &str) -> Result<DscpMap, Error> {
    let mut mapping = Mapping::default();
    let mut entries = text.split([' ', ',']).filter(|entry| !entry.is_empty()).peekable();
    let help =
        "write code points and their priorities: \"ef:5 24-31:3\", or { ef = 5, \"24-31\" = 3 }";
    if entries.peek().is_none() {
        return Err(Error::new("no code point has a priority", help));
    }
    for entry in entries {
        let (key, priority) = entry
            .split_once(':')
            .ok_or_else(|| Error::new(format!("`{entry}` gives no code point a priority"), help))?;
        mapping.add(key, priority)?;
    }
    Ok(mapping.map())
}

/// A map as it is read.
pub(crate) fn dscp_map_text(map: &DscpMap) -> String {
    let mut entries: Vec<(u8, u8, u8)> = Vec::new();
    for (dscp, priority) in map.given() {
        match entries.last_mut() {
            Some((_, last, same)) if *last + 1 == dscp && *same == priority => *last = dscp,
            _ => entries.push((dscp, dscp, priority)),
        }
    }
    // One that says nothing has to say something.
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

    fn said(text: &str) -> String {
        dscp_map(text).map_or_else(|error| error.to_string(), |map| dscp_map_text(&map))
    }

    #[test]
    fn what_is_written_reads_back() {
        // As `dcb app` writes it; a class selector's own priority says nothing new.
        assert_eq!(said("EF:4 24:3 AF41:6"), "34:6 46:4");
        assert_eq!(said("24-31:5,8:1, 0:7"), "0:7 24-31:5");
        assert_eq!(said("0:0"), "0:0");
        for text in ["0:0", "0:7 24-31:5", "0-63:3", "34:6 46:4"] {
            let map = dscp_map(text).expect("a map");
            assert_eq!(dscp_map(&dscp_map_text(&map)).ok(), Some(map), "{text}");
        }
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        for (text, message) in [
            ("", "no code point has a priority"),
            ("ef", "`ef` gives no code point a priority"),
            ("64:1", "`64` is no code point"),
            ("ef:8", "`8` is no priority"),
            ("31-24:1", "`31-24` is no range"),
            ("24-31:3 26:4", "code point 26 has two priorities, 3 and 4"),
        ] {
            let error = dscp_map(text).expect_err(text);
            assert!(error.to_string().starts_with(message), "{text}: {error}");
        }
        assert!(dscp_map("24-31:3 26:3").is_ok(), "twice the same");
    }
}
