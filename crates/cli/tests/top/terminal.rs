//! The view on a terminal: what it shows, and that it restores the terminal.

use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::process::{Command, Stdio};

use nix::fcntl::{FcntlArg, FdFlag, fcntl};
use nix::pty::openpty;
use nix::sys::signal::{Signal, kill};
use nix::sys::termios::{LocalFlags, tcgetattr};
use nix::unistd::Pid;

use crate::on_terminal::OnTerminal;
use crate::typed::SUIMON;
use crate::{finished, folder};
use testbed::eventually;

/// The other screen is left, and the cursor seen again.
const LEFT: &str = "\x1b[?1049l";
const SEEN: &str = "\x1b[?25h";

/// `suimon top` on a terminal of 80 columns and 24 lines.
pub(crate) struct Shown(OnTerminal);

impl Shown {
    pub(crate) fn start(folder: &Path, words: &[&str]) -> Self {
        let mut command = Command::new(SUIMON);
        command.arg("top").args(words).current_dir(folder).env("TERM", "xterm-256color");
        Self(OnTerminal::start(&mut command, [24, 80]))
    }

    fn text(&self) -> String {
        self.0.text()
    }

    pub(crate) fn shows(&self, part: &str) {
        eventually(part, || picture(&self.text()).contains(part));
    }

    pub(crate) fn types(&mut self, keys: &str) {
        self.0.types(keys);
    }

    /// Whether keys come line by line, and are shown, as a shell has it.
    fn is_plain(&self) -> bool {
        let flags = tcgetattr(&self.0.terminal).expect("a terminal").local_flags;
        flags.contains(LocalFlags::ICANON | LocalFlags::ECHO)
    }

    /// Waits for its end, and checks that the terminal is restored.
    pub(crate) fn ends(mut self, wanted: i32) {
        self.0.ends(wanted);
        let last = |part: &str| self.text().rfind(part);
        eventually("the other screen is left", || last(LEFT) > last("\x1b[?1049h"));
        eventually("the cursor is seen", || last(SEEN) > last("\x1b[?25l"));
        assert!(self.is_plain());
    }
}

/// The screen that a terminal shows for `text`. Only cursor moves matter: the text contains only what changes.
fn picture(text: &str) -> String {
    let mut cells = vec![[' '; 80]; 24];
    let (mut row, mut column) = (0, 0);
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        if letter != '\x1b' {
            if let Some(cell) = cells.get_mut(row).and_then(|cells| cells.get_mut(column)) {
                *cell = letter;
            }
            column += 1;
            continue;
        }
        // ESC [ parameters, and a letter.
        let sequence: String =
            letters.by_ref().skip(1).take_while(|c| !c.is_alphabetic()).collect();
        let numbers: Vec<usize> = sequence.split(';').filter_map(|n| n.parse().ok()).collect();
        if let [to_row, to_column] = numbers[..] {
            // Colour sequences do not move the cursor.
            let after = text.len() - letters.as_str().len();
            if text[..after].ends_with('H') {
                (row, column) = (to_row - 1, to_column - 1);
            }
        }
    }
    cells.iter().map(|cells| cells.iter().collect::<String>() + "\n").collect()
}

#[test]
fn a_key_ends_it_and_the_terminal_is_as_before() {
    let folder = folder();
    finished(folder.path());
    let mut shown = Shown::start(folder.path(), &["run"]);
    shown.shows("Classes and a connection");
    shown.shows("gold");
    assert!(!shown.is_plain(), "each key counts at once");
    shown.types("?");
    shown.shows("beginning, end");
    shown.types("? s");
    shown.shows("paused");
    shown.types("q");
    shown.ends(0);
}

#[test]
fn time_goes_back_and_forward() {
    let folder = folder();
    finished(folder.path());
    let mut shown = Shown::start(folder.path(), &["run", "--at", "2 s", "--every", "1 s"]);
    shown.shows("2 s of 5 s");
    // Left, left, and to the end.
    shown.types("\x1b[D\x1b[D");
    shown.shows("0 s of 5 s");
    shown.types("\x1b[F");
    shown.shows("5 s of 5 s");
    shown.types("\x03");
    shown.ends(0);
}

#[test]
fn a_signal_ends_it_and_the_terminal_is_as_before() {
    let folder = folder();
    finished(folder.path());
    for signal in [Signal::SIGTERM, Signal::SIGHUP, Signal::SIGINT] {
        let shown = Shown::start(folder.path(), &["run"]);
        shown.shows("gold");
        kill(Pid::from_raw(shown.0.child.id() as i32), signal).expect("it runs");
        shown.ends(130);
    }
}

#[test]
fn the_last_picture_stays_when_the_run_ends() {
    let folder = folder();
    let mut run = crate::UnderWay::start(folder.path());
    eventually("it answers", || {
        crate::code(&crate::output(folder.path(), &["top", "run", "--once"])) == 0
    });
    let mut shown = Shown::start(folder.path(), &["run", "--every", "100 ms"]);
    shown.shows("gold");
    run.end(Signal::SIGTERM);
    shown.shows("has ended");
    assert!(shown.0.child.try_wait().expect("it runs").is_none(), "the picture stays");
    shown.types("q");
    shown.ends(0);
}

#[test]
fn a_terminal_that_is_closed_ends_it() {
    let folder = folder();
    finished(folder.path());
    let ends = openpty(None, None).expect("a terminal");
    // The child must not inherit the other end of the terminal.
    fcntl(&ends.master, FcntlArg::F_SETFD(FdFlag::FD_CLOEXEC)).expect("a file");
    let end = || Stdio::from(ends.slave.try_clone().expect("a terminal"));
    let mut command = Command::new(SUIMON);
    command.args(["top", "run"]).current_dir(folder.path()).env("TERM", "xterm-256color");
    let mut child = command.stdin(end()).stdout(end()).stderr(end()).spawn().expect("it starts");
    drop((command, ends.slave));
    let mut screen = File::from(ends.master);
    assert!(screen.read(&mut [0; 64]).expect("something is drawn") > 0);
    drop(screen);
    eventually("it ends", || child.try_wait().expect("it was started").is_some());
}
