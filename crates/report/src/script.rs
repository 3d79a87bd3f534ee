//! The scripts of a page and the data of its charts, all inside the page.

use crate::chart::data::Data;

/// uPlot draws; `report.js` controls it (see `uplot/README.md`).
const UPLOT: &str = include_str!("uplot/uPlot.iife.min.js");
const UPLOT_STYLE: &str = include_str!("uplot/uPlot.min.css");
const REPORT: &str = include_str!("report.js");
/// Saves pictures and their data.
const SAVE: &str = include_str!("save.js");
/// Names the folder of the page in the line that runs it again.
const FOLDER: &str = include_str!("folder.js");

/// The hashes that let a browser accept these scripts and no other (Content Security Policy Level 3, section 2.3.1).
pub(super) const HASHES: [&str; 4] = [
    "sha256-GcjUxq2Ikpp59K5J1vcWFWbf0Lo9FcxJXpdPeH63jx8=",
    "sha256-Ul8p29eq5+WY5ZHeXc3j42ICPaTdQTkWFwdR5hy5dp8=",
    "sha256-lI1l9Y8O047LU+QRB3Ek7J3nmPkWvFapBNjC07NssMA=",
    "sha256-6qUQQZ4TBfmxaNqlb3kYli653d0uxD710OWZYBuD8Rg=",
];

/// Returns the style that comes before the page's own.
pub(super) fn style() -> String {
    format!("{}\n", UPLOT_STYLE.trim_end())
}

/// Returns the scripts at the page's end: those that its charts and its body require.
pub(super) fn scripts(charts: &Data, body: &str) -> String {
    let mut scripts = String::new();
    if !charts.is_empty() {
        let data = charts.to_json();
        scripts += &format!("<script type=\"application/json\" id=\"charts\">{data}</script>\n");
    }
    let wanted = [
        (UPLOT, !charts.is_empty()),
        (REPORT, !charts.is_empty()),
        (SAVE, body.contains("<figure")),
        (FOLDER, body.contains("class=\"folder\"")),
    ];
    for (script, _) in wanted.into_iter().filter(|(_, wanted)| *wanted) {
        scripts += &format!("<script>{script}</script>\n");
    }
    scripts
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn scripts_have_the_hashes_that_pages_allow() {
        let folder = tempfile::tempdir().expect("a folder");
        for (script, hash) in [UPLOT, REPORT, SAVE, FOLDER].into_iter().zip(HASHES) {
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
