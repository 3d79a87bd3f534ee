//! A command's terminal in a guest. The user is outside of the guest; typed input comes in files.

use std::fs::{self, File};
use std::io::Write;
use std::os::fd::AsRawFd;
use std::path::Path;
use std::process::ExitStatus;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use nix::pty::{OpenptyResult, Winsize, openpty};
use record::guest::{OUTPUT, TerminalSize, Typed};

use super::command::{copy, finish};
use crate::Error;
use crate::program::{Output, Program};

/// The interval of checks for typed input, in the guest's time.
const POLL_INTERVAL: Duration = Duration::from_millis(5);
/// The interval between reads of a program's output: about 4 MB/s, so that a flood leaves time for input that ends it.
const PAUSE: Duration = Duration::from_millis(1);

/// Runs a program on a terminal of size `size`.
pub(super) fn run(
    folder: &Path,
    size: TerminalSize,
    spawn: impl FnOnce(Output) -> Result<Program, Error>,
) -> Result<ExitStatus, Error> {
    let opened = openpty(&window(size), None);
    let OpenptyResult { master, slave } = opened.map_err(Error::system("make a terminal"))?;
    let mut keyboard = File::from(master);
    let screen = keyboard.try_clone().map_err(Error::system("share a terminal"))?;
    let copied = copy(screen, folder.join(OUTPUT), PAUSE)?;
    let over = AtomicBool::new(false);
    let status = thread::scope(|scope| {
        scope.spawn(|| type_in(folder, &mut keyboard, &over));
        let status = spawn(Output::Terminal(slave)).and_then(|mut program| {
            let status = program.wait()?;
            program.end()?;
            Ok(status)
        });
        over.store(true, Ordering::Relaxed);
        status
    })?;
    finish(copied)?;
    Ok(status)
}

/// Writes incoming input to the terminal until `over` is set.
fn type_in(folder: &Path, keyboard: &mut File, over: &AtomicBool) {
    let mut number = 0;
    while !over.load(Ordering::Relaxed) {
        thread::sleep(POLL_INTERVAL);
        let path = folder.join(Typed::file(number));
        let Ok(text) = fs::read_to_string(&path) else { continue };
        let _ = fs::remove_file(&path);
        number += 1;
        match serde_json::from_str(&text) {
            // Writing fails only if the terminal has ended.
            Ok(Typed::Keys(keys)) => drop(keyboard.write_all(&keys)),
            Ok(Typed::Resized(size)) => resize(keyboard, size),
            Err(_) => {}
        }
    }
}

/// Changes the size of the terminal. Its programs are notified (`TIOCSWINSZ`, ioctl_tty(2)).
fn resize(terminal: &File, size: TerminalSize) {
    let size = window(size);
    // SAFETY: the kernel reads a size, which outlives the call.
    unsafe { libc::ioctl(terminal.as_raw_fd(), libc::TIOCSWINSZ, &raw const size) };
}

fn window(TerminalSize { rows, columns }: TerminalSize) -> Winsize {
    Winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 }
}
