//! Escapes characters that a terminal interprets. Names in scenarios, output of programs, file names and error
//! messages may contain them, and everything printed passes through here.
//!
//! Control characters of ECMA-48 (C0, DEL and C1; U+009B begins an escape sequence as ESC [ does) and the
//! bidirectional embeddings, overrides and isolates of Unicode (UAX 9), which make a line read differently from
//! what is written (CVE-2021-42574). They are printed as JSON escapes, so that a JSON document keeps its
//! meaning.

use std::borrow::Cow;
use std::fmt::Write;

/// The longest sequence that sets a style.
const STYLE_MAX: usize = 24;

/// Whether a terminal interprets `c`. A newline and a tab are printed as they are.
fn is_obeyed(c: char) -> bool {
    (c.is_control() && c != '\n' && c != '\t')
        || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Text without styles, such as a name or a message.
pub(crate) fn text(text: &str) -> Cow<'_, str> {
    filtered(text, |_| 0)
}

/// Text with our own styles: a colour, bold. Every other ESC is escaped.
pub(crate) fn styled(text: &str) -> Cow<'_, str> {
    filtered(text, style_length)
}

/// A file's text with each character in as many bytes as before, so that positions in it stay valid.
pub(crate) fn source(text: &str) -> Cow<'_, str> {
    let ends_line = |place: usize| text[place..].starts_with("\r\n");
    if !text.char_indices().any(|(place, c)| is_obeyed(c) && !ends_line(place)) {
        return Cow::Borrowed(text);
    }
    let kept = |(place, c): (usize, char)| match c.len_utf8() {
        _ if !is_obeyed(c) || ends_line(place) => c,
        1 => '?',
        2 => '\u{b7}',
        _ => char::REPLACEMENT_CHARACTER,
    };
    text.char_indices().map(kept).collect()
}

/// `passes` returns how many bytes to keep of a text that begins with ESC.
fn filtered(text: &str, passes: impl Fn(&str) -> usize) -> Cow<'_, str> {
    let Some(first) = text.find(is_obeyed) else { return Cow::Borrowed(text) };
    let mut shown = text[..first].to_owned();
    let mut rest = &text[first..];
    while let Some(c) = rest.chars().next() {
        let length = if c == '\u{1b}' { passes(rest) } else { 0 };
        let length = if length > 0 { length } else { c.len_utf8() };
        let (part, after) = rest.split_at(length);
        if length == c.len_utf8() && is_obeyed(c) {
            // Writing to a string does not fail, and all of these characters have at most 16 bits.
            let _ = write!(shown, "\\u{:04x}", u32::from(c));
        } else {
            shown.push_str(part);
        }
        rest = after;
    }
    Cow::Owned(shown)
}

/// The length of a sequence that sets or ends bold, underline or a text colour; 0 for any other. None of them
/// hides text or affects anything else.
fn style_length(text: &str) -> usize {
    let Some(rest) = text.strip_prefix("\u{1b}[") else { return 0 };
    let Some(end) = rest.bytes().take(STYLE_MAX).position(|byte| byte == b'm') else { return 0 };
    let is_plain = |number: &str| {
        let number = if number.is_empty() { Ok(0) } else { number.parse() };
        matches!(number, Ok(0_u8..=4 | 22..=24 | 30..=37 | 39 | 90..=97))
    };
    if rest[..end].split(';').all(is_plain) { 2 + end + 1 } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_terminal_obeys_is_shown() {
        for (given, wanted) in [
            ("plain\tß\n", "plain\tß\n"),
            ("a\u{9b}2Jb", "a\\u009b2Jb"),
            ("a\u{9d}0;title\u{9c}", "a\\u009d0;title\\u009c"),
            ("\u{1b}]0;title\u{7}", "\\u001b]0;title\\u0007"),
            ("\u{202e}gpj.exe", "\\u202egpj.exe"),
            ("\u{2066}x\u{2069}\r\u{7f}", "\\u2066x\\u2069\\u000d\\u007f"),
        ] {
            assert_eq!(text(given), wanted);
            assert_eq!(styled(given), wanted);
        }
    }

    #[test]
    fn only_our_own_styles_pass() {
        let ours = "\u{1b}[1mflow\u{1b}[0m \u{1b}[31;1mFAILED\u{1b}[m";
        assert_eq!(styled(ours), ours);
        assert_eq!(text("\u{1b}[1m"), "\\u001b[1m");
        // Hidden text, the screen cleared, the cursor moved, text sent back as typed.
        for other in
            ["\u{1b}[8m", "\u{1b}[1;8m", "\u{1b}[2J", "\u{1b}[A", "\u{1b}[6n", "\u{1b}[38;5;0m"]
        {
            assert!(!styled(other).contains('\u{1b}'), "{other:?}");
        }
    }

    #[test]
    fn a_json_document_stays_the_same() {
        let document = serde_json::json!({ "na\u{9b}me": "a\u{202e}b\u{1b}\u{7f}" });
        let shown = text(&document.to_string()).into_owned();
        assert!(!shown.chars().any(is_obeyed));
        assert_eq!(serde_json::from_str::<serde_json::Value>(&shown).expect("JSON"), document);
    }

    #[test]
    fn places_in_a_source_stay_the_same() {
        let given = "a = \"\u{1b}\u{9b}\u{202e}\"\r\n\tb";
        let shown = source(given);
        assert_eq!(shown, "a = \"?\u{b7}\u{fffd}\"\r\n\tb");
        assert_eq!(shown.len(), given.len());
    }
}
