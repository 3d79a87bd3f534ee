//! How long packets waited at a port, in total and by class, and how far apart they left it.

use base::histogram::Histogram;
use base::{Duration, Instant};

/// The delays of a port's packets.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Delays {
    /// The time from when the port took a packet until its first bit left.
    pub sojourn: Histogram,
    /// The time from one packet's first bit to the next one's.
    pub spacing: Histogram,
    /// When the first bit of the last packet left.
    last: Option<Instant>,
    /// Sojourns by class; none where the port never has classes.
    classes: Option<Box<ByClass>>,
}

/// Sojourns by class.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct ByClass {
    /// The sojourns by the class number that packets carry now.
    numbered: Vec<Histogram>,
    /// The sojourns by class name, of packets with a class number from before classes changed.
    named: Vec<(String, Histogram)>,
}

impl ByClass {
    #[inline(never)]
    fn note(&mut self, class: u16, sojourn: Duration) {
        let Some(class) = usize::from(class).checked_sub(1) else { return };
        if class >= self.numbered.len() {
            self.numbered.resize(class + 1, Histogram::default());
        }
        self.numbered[class].note(sojourn);
    }

    /// Assigns the packets with this class number so far to the class of that name.
    fn renumber(&mut self, class: usize, name: &str) {
        let Some(counted) = self.numbered.get_mut(class) else { return };
        let counted = std::mem::take(counted);
        match self.named.iter_mut().find(|(known, _)| known == name) {
            Some((_, sojourn)) => sojourn.merge(&counted),
            None => self.named.push((name.to_owned(), counted)),
        }
    }

    fn of(&self, class: usize, name: &str) -> Histogram {
        let mut sojourn = self.numbered.get(class).cloned().unwrap_or_default();
        let before = self.named.iter().find(|(known, _)| known == name);
        before.into_iter().for_each(|(_, before)| sojourn.merge(before));
        sojourn
    }
}

impl Delays {
    /// No delays so far, of a port with or without classes.
    pub fn new(classes: bool) -> Self {
        Self { classes: classes.then(Box::default), ..Self::default() }
    }

    /// Assigns the packets with this class number so far to the class of that name.
    pub fn renumber(&mut self, class: usize, name: &str) {
        if let Some(classes) = &mut self.classes {
            classes.renumber(class, name);
        }
    }

    /// Counts a packet that was queued at `queued` and began to leave at `start`; `class` is [`base::Packet::class`].
    #[inline]
    pub fn note(&mut self, class: u16, queued: Instant, start: Instant) {
        let sojourn = start.since(queued);
        self.sojourn.note(sojourn);
        if let Some(last) = self.last.replace(start) {
            self.spacing.note(start.since(last));
        }
        if let Some(classes) = &mut self.classes {
            classes.note(class, sojourn);
        }
    }

    /// Asks for the memory that [`Delays::note`] needs for such a packet, if it is soon the port's next one.
    #[inline]
    pub fn prefetch(&self, queued: Instant, start: Instant) {
        self.sojourn.prefetch(start.since(queued));
        if let Some(last) = self.last {
            self.spacing.prefetch(start.since(last));
        }
    }

    /// Returns the delays since `earlier`, of all classes together.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        let (sojourn, spacing) =
            (self.sojourn.since(&earlier.sojourn), self.spacing.since(&earlier.spacing));
        Self { sojourn, spacing, last: self.last, classes: None }
    }

    /// How long the packets of the class of that number and name waited.
    pub fn of_class(&self, class: usize, name: &str) -> Histogram {
        self.classes.as_ref().map(|classes| classes.of(class, name)).unwrap_or_default()
    }
}
