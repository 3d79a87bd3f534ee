//! A program on its own terminal.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread;

use nix::pty::{Winsize, openpty};

/// A program, and the other end of its terminal.
pub(crate) struct OnTerminal {
    pub(crate) child: Child,
    /// The end that the program has.
    pub(crate) terminal: OwnedFd,
    keyboard: File,
    /// Everything that was written to it.
    text: Arc<Mutex<String>>,
}

impl OnTerminal {
    /// Starts `command` on a terminal with `ws_row` rows and `ws_col` columns.
    pub(crate) fn start(command: &mut Command, [ws_row, ws_col]: [u16; 2]) -> Self {
        let size = Winsize { ws_row, ws_col, ws_xpixel: 0, ws_ypixel: 0 };
        let ends = openpty(Some(&size), None).expect("a terminal");
        let end = || Stdio::from(ends.slave.try_clone().expect("a terminal"));
        let child = command.stdin(end()).stdout(end()).stderr(end()).spawn().expect("it starts");
        let mut screen = File::from(ends.master.try_clone().expect("a terminal"));
        let text = Arc::new(Mutex::new(String::new()));
        let written = Arc::clone(&text);
        thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok(count @ 1..) = screen.read(&mut bytes) {
                let more = String::from_utf8_lossy(&bytes[..count]).into_owned();
                written.lock().expect("no panic").push_str(&more);
            }
        });
        Self { child, terminal: ends.slave, keyboard: File::from(ends.master), text }
    }

    pub(crate) fn text(&self) -> String {
        self.text.lock().expect("no panic").clone()
    }

    pub(crate) fn types(&mut self, keys: &str) {
        self.keyboard.write_all(keys.as_bytes()).expect("typed");
    }

    /// Waits for its end, with that exit code.
    pub(crate) fn ends(&mut self, wanted: i32) {
        let status = self.child.wait().expect("it ends");
        assert_eq!(status.code(), Some(wanted), "{}", self.text());
    }
}

impl Drop for OnTerminal {
    fn drop(&mut self) {
        // Of one that has ended, this does nothing.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
