//! The script of a page with charts, and the charts' data, all inside the page.

use crate::chart::data::Data;

/// uPlot draws; `report.js` controls it (see `uplot/README.md`).
const UPLOT: &str = include_str!("uplot/uPlot.iife.min.js");
const UPLOT_STYLE: &str = include_str!("uplot/uPlot.min.css");
const REPORT: &str = include_str!("report.js");

/// The hashes that let a browser accept both scripts and no other (Content Security Policy Level 3, section 2.3.1).
pub(super) const HASHES: [&str; 2] = [
    "sha256-GcjUxq2Ikpp59K5J1vcWFWbf0Lo9FcxJXpdPeH63jx8=",
    "sha256-yzl5FG0Ya3CFRt+8TEUfwSlfgaJQjxOPuBjgflpo/Js=",
];

/// Returns the style that comes before the page's own.
pub(super) fn style() -> String {
    format!("{}\n", UPLOT_STYLE.trim_end())
}

/// Returns the scripts at the page's end.
pub(super) fn scripts(charts: &Data) -> String {
    format!(
        "<script type=\"application/json\" id=\"charts\">{}</script>\n<script>{UPLOT}</script>\n\
         <script>{REPORT}</script>\n",
        charts.to_json()
    )
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn scripts_have_the_hashes_that_pages_allow() {
        let folder = tempfile::tempdir().expect("a folder");
        for (script, hash) in [UPLOT, REPORT].into_iter().zip(HASHES) {
            let path = folder.path().join("script.js");
            std::fs::write(&path, script).expect("written");
            // In hexadecimal digits, which `basenc` reads.
            let command = "sha256sum < \"$1\" | tr a-f A-F | cut -c 1-64 | tr -d '\\n' | basenc -d --base16 | base64";
            let output = Command::new("sh").args(["-c", command, "sh"]).arg(&path).output();
            let digest = output.expect("coreutils").stdout;
            let digest = String::from_utf8(digest).expect("base64");
            assert_eq!(
                hash,
                format!("sha256-{}", digest.trim()),
                "write the right one into HASHES"
            );
        }
    }
}
