//! The state of the screen, and the effect of keys on it.

use experiment::statistics::Statistics;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use experiment::top::history::History;
use experiment::top::lines::{self, Sort};

/// Number of flow lines that a page key scrolls.
const PAGE: usize = 8;

/// The state of the screen.
#[derive(Debug, Default)]
pub(super) struct View {
    /// The latest snapshot; none before the first.
    pub(super) now: Option<Statistics>,
    /// Earlier snapshots.
    pub(super) history: History,
    /// Whether it is a finished run.
    pub(super) recorded: bool,
    /// Why no more snapshots follow, if so.
    pub(super) ended: Option<String>,
    /// Whether it is paused.
    pub(super) paused: bool,
    /// The order of ports, classes and flows.
    pub(super) sort: Sort,
    /// The name of the chosen port; the first port if it is missing.
    pub(super) port: Option<String>,
    /// Number of flows above the first one shown.
    pub(super) above: usize,
    /// Whether the help is shown.
    pub(super) help: bool,
}

/// What a key requests from the source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wish {
    /// Nothing.
    Nothing,
    /// Quit.
    Quit,
    /// Go that many steps of recorded time, backwards if negative.
    Step(i32),
    /// Go to the start of the recording.
    Begin,
    /// Go to its end.
    End,
}

impl View {
    /// Shows the next snapshot.
    pub(super) fn look(&mut self, now: Statistics) {
        self.history.push(&now);
        self.now = Some(now);
    }

    /// Handles a key press.
    pub(super) fn key(&mut self, key: KeyEvent) -> Wish {
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        match key.code {
            KeyCode::Char('c') if control => return Wish::Quit,
            KeyCode::Char('q') => return Wish::Quit,
            KeyCode::Char('?' | 'h') => self.help = !self.help,
            KeyCode::Esc if self.help => self.help = false,
            KeyCode::Char(' ') => self.paused = !self.paused,
            KeyCode::Char('s') => self.sort = self.sort.next(),
            KeyCode::Tab | KeyCode::Down => self.choose(1),
            KeyCode::BackTab | KeyCode::Up => self.choose(-1),
            KeyCode::PageDown => self.above = self.above.saturating_add(PAGE).min(self.flows()),
            KeyCode::PageUp => self.above = self.above.saturating_sub(PAGE),
            KeyCode::Right if self.recorded => return Wish::Step(1),
            KeyCode::Left if self.recorded => return Wish::Step(-1),
            KeyCode::Home if self.recorded => return Wish::Begin,
            KeyCode::End if self.recorded => return Wish::End,
            _ => {}
        }
        Wish::Nothing
    }

    fn flows(&self) -> usize {
        self.now.as_ref().map_or(0, |now| now.flow.0.len().saturating_sub(1))
    }

    /// Chooses the next port, or the one before.
    fn choose(&mut self, by: isize) {
        let Some(now) = &self.now else { return };
        let ports = lines::ports(now, self.sort);
        if ports.is_empty() {
            return;
        }
        let at = chosen(&ports, self.port.as_deref()).checked_add_signed(by);
        let at = at.unwrap_or(ports.len() - 1) % ports.len();
        self.port = Some(ports[at].0.to_owned());
    }
}

/// The index of the port with that name; the first if there is none.
pub(super) fn chosen<T>(ports: &[(&str, T)], name: Option<&str>) -> usize {
    ports.iter().position(|(port, _)| Some(*port) == name).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use record::summary::Named;

    use super::*;
    use experiment::statistics::Port;

    fn press(view: &mut View, code: KeyCode) -> Wish {
        view.key(KeyEvent::new(code, KeyModifiers::NONE))
    }

    #[test]
    fn keys_do_what_the_help_says() {
        let mut view = View::default();
        assert_eq!(press(&mut view, KeyCode::Tab), Wish::Nothing);
        let port = |name: &str| (name.to_owned(), Port::default());
        let port = Named(["a", "b", "c"].map(port).into());
        view.look(Statistics { port, ..Statistics::default() });
        for (key, wanted) in [
            (KeyCode::Tab, "b"),
            (KeyCode::Down, "c"),
            (KeyCode::Tab, "a"),
            (KeyCode::Up, "c"),
            (KeyCode::BackTab, "b"),
        ] {
            press(&mut view, key);
            assert_eq!(view.port.as_deref(), Some(wanted), "{key:?}");
        }
        press(&mut view, KeyCode::Char('s'));
        press(&mut view, KeyCode::Char(' '));
        press(&mut view, KeyCode::Char('?'));
        assert!(view.sort == Sort::Rate && view.paused && view.help);
        // In a live source, time cannot be changed.
        assert_eq!(press(&mut view, KeyCode::Right), Wish::Nothing);
        view.recorded = true;
        assert_eq!(press(&mut view, KeyCode::Left), Wish::Step(-1));
        assert_eq!(press(&mut view, KeyCode::End), Wish::End);
        assert_eq!(press(&mut view, KeyCode::Char('q')), Wish::Quit);
        let interrupt = KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL);
        assert_eq!(view.key(interrupt), Wish::Quit);
    }
}
