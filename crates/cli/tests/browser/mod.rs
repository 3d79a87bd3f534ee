//! A page in headless Chromium: its behaviour and its appearance.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;
use tempfile::TempDir;

/// The program, of Debian's package of the same name.
pub(crate) const CHROMIUM: &str = "chromium";

/// Collects what goes wrong in a page; must run before everything else.
const WATCH: &str = include_str!("watch.js");

/// Writes down what the page in its frame found.
const LISTEN: &str = "<script>onmessage = (event) => {
  const pre = document.createElement('pre');
  pre.id = 'findings';
  pre.textContent = event.data;
  document.body.append(pre);
};</script>";

/// A window to look through.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Window {
    /// Pixels.
    pub(crate) width: u32,
    /// Pixels.
    pub(crate) height: u32,
    /// Whether the reader prefers dark pages.
    pub(crate) dark: bool,
}

impl Window {
    /// A window of that width, by day.
    pub(crate) const fn wide(width: u32) -> Self {
        Self { width, height: 1000, dark: false }
    }
}

/// A browser with a profile of its own.
pub(crate) struct Browser {
    profile: TempDir,
}

impl Browser {
    pub(crate) fn new() -> Self {
        Self { profile: tempfile::tempdir().expect("a folder") }
    }

    /// Opens `page`, lets `exercise` use it, and returns what that found. `exercise` is the body of an
    /// asynchronous function that returns an object; `errors` in it is what went wrong in the page.
    pub(crate) fn exercise(&self, page: &Path, window: Window, exercise: &str) -> Value {
        let html = std::fs::read_to_string(page).expect("a page");
        // A page allows its own scripts by their hashes; the copy allows those of the test too.
        let html = html.replacen("'sha256-", "'nonce-test' 'sha256-", 1);
        let watch = format!("<head><script nonce=\"test\">{WATCH}</script>");
        let watched = html.replacen("<head>", &watch, 1);
        let (before, after) = watched.rsplit_once("</body>").expect("a body");
        let script =
            format!("<script nonce=\"test\">watched(async () => {{{exercise}}});</script>");
        let copy = self.profile.path().join("exercised.html");
        std::fs::write(&copy, format!("{before}{script}</body>{after}")).expect("a copy");
        // In a frame, as no window is as narrow as a phone's.
        let Window { width, height, .. } = window;
        let frame =
            format!("<iframe src=\"exercised.html\" width=\"{width}\" height=\"{height}\">");
        let framed = self.profile.path().join("framed.html");
        let frame = format!("<body>{LISTEN}{frame}</iframe></body>");
        std::fs::write(&framed, frame).expect("a frame");
        let mut command = self.command(window);
        command.arg("--dump-dom").arg(address(&framed));
        let output = command.output().expect("the browser starts");
        let dom = String::from_utf8(output.stdout).expect("text");
        let found = dom.rsplit_once("<pre id=\"findings\">").expect("it came to its end").1;
        let found = found.split_once("</pre>").expect("an element").0;
        let text = found.replace("&lt;", "<").replace("&gt;", ">").replace("&nbsp;", "\u{a0}");
        serde_json::from_str(&text.replace("&amp;", "&")).expect("findings")
    }

    /// A picture of `page` as it opens, as PNG.
    pub(crate) fn screenshot(&self, page: &Path, window: Window, picture: &Path) {
        let mut command = self.command(window);
        command.arg(format!("--screenshot={}", picture.display())).arg(address(page));
        let status = command.stdout(Stdio::null()).status().expect("the browser starts");
        assert!(status.success() && picture.is_file(), "a picture");
    }

    fn command(&self, window: Window) -> Command {
        let Window { width, height, dark } = window;
        let mut command = Command::new(CHROMIUM);
        command.stderr(Stdio::null()).args([
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--no-first-run",
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
            "--hide-scrollbars",
            // Pages have time of their own, which passes as fast as they let it.
            "--virtual-time-budget=20000",
        ]);
        command.arg(format!("--blink-settings=preferredColorScheme={}", u8::from(!dark)));
        command.arg(format!("--window-size={width},{height}"));
        command.arg(format!("--user-data-dir={}", self.profile.path().join("profile").display()));
        command
    }
}

fn address(page: &Path) -> String {
    let page: PathBuf = page.canonicalize().expect("a page");
    format!("file://{}", page.display())
}
