//! Text to parameters.

use alloc::vec::Vec;
use core::iter::Peekable;
use core::str::Lines;

use base::setting::{Kind, Setting, Settings};
use traffic::classify::{Filter, Rule};
use traffic::qdisc::Parameters;

use super::{CLASS, END, Error, FILTER, PARENT, PRIORITY, Reason, filter, value};

type Result<T> = core::result::Result<T, Error>;

/// The discipline at the greatest depth, from 0: a regulator around a discipline whose classes have queues takes this.
/// Each more would need another 1.2 kB of the kernel's stack.
const DEPTH_MAX: u32 = 2;

/// The parameters that the table is.
///
/// # Errors
///
/// The first line that the table cannot have.
pub fn read(text: &str) -> Result<Parameters> {
    let mut reader = Reader { lines: text.lines().peekable(), line: 0 };
    let (name, _) = reader.entry().ok_or(Error { line: 1, reason: Reason::Empty })?;
    let parameters = reader.discipline(name, 0)?;
    match reader.lines.next() {
        Some(_) => {
            reader.line += 1;
            Err(reader.refused(Reason::Surplus))
        }
        None => Ok(parameters),
    }
}

/// A table, read up to a line.
struct Reader<'t> {
    lines: Peekable<Lines<'t>>,
    /// The number of lines read.
    line: u32,
}

impl<'t> Reader<'t> {
    fn refused(&self, reason: Reason) -> Error {
        Error { line: self.line.max(1), reason }
    }

    /// The next line's key and value.
    fn entry(&mut self) -> Option<(&'t str, &'t str)> {
        let line = self.lines.next()?;
        self.line = self.line.saturating_add(1);
        Some(split(line))
    }

    /// The next line's key and value; `None` at the `end`. The outermost discipline ends with the table.
    fn entry_within(&mut self, depth: u32) -> Result<Option<(&'t str, &'t str)>> {
        match self.entry() {
            Some((END, _)) if depth == 0 => Err(self.refused(Reason::Surplus)),
            Some((END, _)) => Ok(None),
            None if depth == 0 => Ok(None),
            None => Err(self.refused(Reason::Unfinished)),
            entry => Ok(entry),
        }
    }

    /// Whether the discipline that begins here has no entries.
    fn is_bare(&mut self) -> bool {
        self.lines.peek().is_none_or(|line| split(line).0 == END)
    }

    /// The discipline of that name, from the line after the name.
    fn discipline(&mut self, name: &str, depth: u32) -> Result<Parameters> {
        if depth > DEPTH_MAX {
            return Err(self.refused(Reason::Depth));
        }
        let start =
            if self.is_bare() { Parameters::by_name(name) } else { Parameters::blank(name) };
        let mut parameters = start.ok_or_else(|| self.refused(Reason::Discipline(name.into())))?;
        let declared = parameters.settings();
        let mut given = Vec::new();
        while let Some((key, text)) = self.entry_within(depth)? {
            match key {
                CLASS => self.class(&mut parameters, text, depth)?,
                FILTER => self.filter(&mut parameters, text)?,
                _ => {
                    self.check_new(&given, key)?;
                    self.setting(parameters.as_settings_mut(), &declared, (key, text), depth)?;
                    given.push(key);
                }
            }
        }
        self.check_complete(&declared, &given)?;
        Ok(parameters)
    }

    fn class(&mut self, parameters: &mut Parameters, name: &str, depth: u32) -> Result<()> {
        let parent = match self.lines.peek().map(|line| split(line)) {
            Some((PARENT, parent)) => {
                self.entry();
                Some(parent)
            }
            _ => None,
        };
        let Some(classes) = parameters.classes_mut() else {
            return Err(self.refused(Reason::Classes));
        };
        let class = classes.add(name, parent);
        let declared = class.settings();
        let mut given = Vec::new();
        while let Some((key, text)) = self.entry_within(depth + 1)? {
            self.check_new(&given, key)?;
            self.setting(class, &declared, (key, text), depth)?;
            given.push(key);
        }
        self.check_complete(&declared, &given)
    }

    fn filter(&mut self, parameters: &mut Parameters, class: &str) -> Result<()> {
        let mut rule = Rule { filter: Filter::default(), priority: 0, class: class.into() };
        while let Some((key, text)) = self.entry_within(1)? {
            if key != PRIORITY && !filter::is_condition(key) {
                return Err(self.refused(Reason::Setting(key.into())));
            }
            let set = match key {
                PRIORITY => value::number(text).map(|priority| rule.priority = priority),
                _ => filter::set(&mut rule.filter, key, text),
            };
            set.ok_or_else(|| self.refused(Reason::Value(key.into())))?;
        }
        let Some(classes) = parameters.classes_mut() else {
            return Err(self.refused(Reason::Classes));
        };
        classes.filters_mut().push(rule);
        Ok(())
    }

    fn setting(
        &mut self,
        settings: &mut dyn Settings,
        declared: &[Setting],
        (key, text): (&str, &str),
        depth: u32,
    ) -> Result<()> {
        let Some(setting) = declared.iter().find(|setting| setting.name == key) else {
            return Err(self.refused(Reason::Setting(key.into())));
        };
        let given = match setting.kind {
            Kind::Queue => Some(self.discipline(text, depth + 1)?.into()),
            kind => value::value(kind, text),
        };
        match given.is_some_and(|given| settings.set(setting.name, given)) {
            true => Ok(()),
            false => Err(self.refused(Reason::Value(key.into()))),
        }
    }

    fn check_new(&self, given: &[&str], key: &str) -> Result<()> {
        match given.contains(&key) {
            true => Err(self.refused(Reason::Repeated(key.into()))),
            false => Ok(()),
        }
    }

    fn check_complete(&self, declared: &[Setting], given: &[&str]) -> Result<()> {
        let missing =
            declared.iter().find(|setting| setting.required && !given.contains(&setting.name));
        missing.map_or(Ok(()), |setting| Err(self.refused(Reason::Missing(setting.name))))
    }
}

/// A line's key, and its value after one space.
fn split(line: &str) -> (&str, &str) {
    let line = line.trim_start();
    line.split_once(' ').unwrap_or((line, ""))
}
