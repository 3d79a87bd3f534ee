//! Names of one kind of entity: single entities, and counted ones with numbered members.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::{Bound, Range};

use crate::diagnostic::{Problems, Span};
use crate::nearest;
use crate::value::{Count, Name};

/// The entities of a name.
#[derive(Clone, Debug)]
pub(super) struct Members {
    /// Their numbers in the plan.
    pub(super) range: Range<usize>,
    /// Whether they are `NAME.1`, `NAME.2`, … rather than one `NAME`.
    pub(super) counted: bool,
}

/// The names of one kind of entity.
#[derive(Clone, Debug)]
pub(super) struct Directory<'f> {
    kind: &'static str,
    by_name: BTreeMap<&'f str, (Members, Span)>,
    /// Every name in the file, including those of faulty entities.
    mentioned: BTreeSet<&'f str>,
    length: usize,
    length_max: usize,
}

impl<'f> Directory<'f> {
    /// Creates a directory of at most `length_max` entities.
    pub(super) fn new(kind: &'static str, length_max: usize) -> Self {
        let (by_name, mentioned) = (BTreeMap::new(), BTreeSet::new());
        Self { kind, by_name, mentioned, length: 0, length_max }
    }

    /// The number of entities.
    pub(super) const fn len(&self) -> usize {
        self.length
    }

    /// Records that the file has an entity of that name, so that references to a faulty one do not cause further
    /// errors.
    pub(super) fn mention(&mut self, name: &'f Name) {
        self.mentioned.insert(&name.text);
    }

    /// Adds `count` members, or a single entity; `None` if the name or the count is invalid.
    pub(super) fn add(
        &mut self,
        name: &'f Name,
        count: Option<usize>,
        problems: &mut Problems,
    ) -> Option<Members> {
        check_name(name, problems)?;
        if self.by_name.contains_key(name.text.as_str()) || self.hides(&name.text, count) {
            let message = format!("there are two {}s named `{}`", self.kind, name.text);
            problems.push(&name.span, message, "give each a different name");
            return None;
        }
        let end = self.length.saturating_add(count.unwrap_or(1));
        if end > self.length_max {
            let message = format!("`{}` raises the number of {}s to {end}", name.text, self.kind);
            problems.push(
                &name.span,
                message,
                format!("reduce them to at most {}", self.length_max),
            );
            return None;
        }
        let members = Members { range: self.length..end, counted: count.is_some() };
        self.length = end;
        self.by_name.insert(&name.text, (members.clone(), name.span.clone()));
        Some(members)
    }

    /// Whether a member of one name would have another entity's name.
    fn hides(&self, name: &str, count: Option<usize>) -> bool {
        let stem = name.rsplit_once('.').and_then(|(stem, _)| self.by_name.get(stem));
        stem.is_some_and(|(members, _)| members.counted) || (count.is_some() && self.is_group(name))
    }

    /// Whether there are `NAME.1` and so on, as a lock file writes the members of a count.
    pub(super) fn is_group(&self, name: &str) -> bool {
        let prefix = format!("{name}.");
        let from = (Bound::Included(prefix.as_str()), Bound::Unbounded);
        let next = self.by_name.range::<str, _>(from).next();
        next.is_some_and(|(name, _)| name.starts_with(&prefix))
    }

    /// The entities of `text`: a name, a member `NAME.3`, or a range of members `NAME.3..7`.
    pub(super) fn get(&self, text: &str) -> Option<Members> {
        if let Some((members, _)) = self.by_name.get(text) {
            return Some(members.clone());
        }
        if let Some((first, last)) = text.split_once("..") {
            let (name, _) = first.rsplit_once('.')?;
            let [first, last] = [self.get(first)?, self.get(&format!("{name}.{last}"))?];
            let range = first.range.start..last.range.end;
            return (!range.is_empty()).then_some(Members { range, counted: true });
        }
        let (name, number) = text.rsplit_once('.')?;
        let (members, _) = self.by_name.get(name).filter(|(members, _)| members.counted)?;
        let number: usize = number.parse().ok().filter(|_| !number.starts_with(['0', '+']))?;
        let at = members.range.start.checked_add(number)?.checked_sub(1)?;
        members.range.contains(&at).then_some(Members { range: at..at + 1, counted: false })
    }

    /// The entities of a name; reports an unknown one.
    pub(super) fn find(&self, name: &Name, problems: &mut Problems) -> Option<Members> {
        let found = self.get(&name.text);
        if found.is_none() && !self.is_faulty(&name.text) {
            let message = format!("there is no {} `{}`", self.kind, name.text);
            problems.push(&name.span, message, self.help(&name.text));
        }
        found
    }

    /// Whether the file has it, or its group, with errors of its own.
    fn is_faulty(&self, text: &str) -> bool {
        let faulty = |name| self.mentioned.contains(name) && !self.by_name.contains_key(name);
        let text = text.split_once("..").map_or(text, |(first, _)| first);
        faulty(text) || text.rsplit_once('.').is_some_and(|(name, _)| faulty(name))
    }

    fn help(&self, text: &str) -> String {
        let text = text.split_once("..").map_or(text, |(first, _)| first);
        match text.rsplit_once('.').and_then(|(name, _)| Some((name, self.by_name.get(name)?))) {
            Some((name, (members, _))) if members.counted => {
                format!("they are `{name}.1` to `{name}.{}`", members.range.len())
            }
            Some((name, _)) => format!("`{name}` has no count: write it without a number"),
            None => nearest::suggest(text, self.by_name.keys().copied()),
        }
    }
}

/// The number of members: `Some(None)` for a single entity, `None` for an error.
pub(super) fn count(count: Option<&Count>, problems: &mut Problems) -> Option<Option<usize>> {
    match count {
        None => Some(None),
        Some(Count { value: 0, span }) => {
            problems.push(span, "a count of zero", "give at least 1, or remove the table");
            None
        }
        Some(count) => Some(Some(usize::try_from(count.value).unwrap_or(usize::MAX))),
    }
}

/// The name of member `index`, from 0.
pub(super) fn member_name(name: &str, counted: bool, index: usize) -> String {
    if counted { format!("{name}.{}", index + 1) } else { name.to_owned() }
}

/// The pairs of two ends: by number if both are counted, otherwise each member with the single one.
pub(super) fn pairs(
    [a, b]: [&Members; 2],
    names: [&Name; 2],
    problems: &mut Problems,
) -> Option<Vec<(usize, usize)>> {
    let pairs = a.range.clone().cycle().zip(b.range.clone().cycle());
    if a.counted && b.counted && a.range.len() != b.range.len() {
        let [(from, m), (to, n)] = [(names[0], a.range.len()), (names[1], b.range.len())];
        let members = if m == 1 { "member" } else { "members" };
        let message = format!("`{}` has {m} {members}, but `{}` has {n}", from.text, to.text);
        let help = "counted ends pair by number: use equal counts, or one end without a count";
        problems.push(&names[1].span, message, help);
        return None;
    }
    Some(pairs.take(a.range.len().max(b.range.len())).collect())
}

/// Checks a name. Names appear in paths (`flow.NAME.goodput`) and ports (`NODE:LINK`): letters, digits, `-` and `_`.
/// A number after a dot names a member of a counted entity, as a lock file writes it.
fn check_name(name: &Name, problems: &mut Problems) -> Option<()> {
    const LETTERS_MAX: usize = 64;
    let (stem, number) = name.text.rsplit_once('.').unwrap_or((&name.text, "1"));
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    let numbered = !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit());
    if !stem.is_empty() && stem.chars().all(plain) && numbered && name.text.len() <= LETTERS_MAX {
        return Some(());
    }
    let help = "use up to 64 letters, digits, `-` and `_`";
    problems.push(&name.span, format!("invalid name `{}`", name.text.escape_debug()), help);
    None
}
