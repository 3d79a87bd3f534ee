//! JSON as it is printed: indented, and without characters that a terminal interprets.

use std::io::{self, Write};

use serde::Serialize;
use serde_json::Serializer;
use serde_json::ser::Formatter;

use crate::sanitise;

/// Writes `value` as one JSON document, with a newline at its end.
///
/// # Errors
/// Those of `to`, and values that JSON does not have.
pub(crate) fn write(to: &mut impl Write, value: &impl Serialize) -> io::Result<()> {
    value.serialize(&mut Serializer::with_formatter(&mut *to, Indented::default()))?;
    to.write_all(b"\n")
}

/// A newline and the indentation of a line, as deep as documents usually are.
const INDENTATION: &[u8] = b"\n                                ";

/// Writes as serde's `PrettyFormatter` does, but a line's indentation at once. serde escapes the control characters of
/// C0; this escapes the others that a terminal interprets, which leaves the document's meaning as it is.
#[derive(Default)]
struct Indented {
    depth: usize,
    has_value: bool,
}

impl Indented {
    fn open<W: ?Sized + Write>(&mut self, to: &mut W, bracket: &[u8]) -> io::Result<()> {
        self.depth += 1;
        self.has_value = false;
        to.write_all(bracket)
    }

    fn close<W: ?Sized + Write>(&mut self, to: &mut W, bracket: &[u8]) -> io::Result<()> {
        self.depth -= 1;
        if self.has_value {
            self.line(to)?;
        }
        to.write_all(bracket)
    }

    fn entry<W: ?Sized + Write>(&self, to: &mut W, first: bool) -> io::Result<()> {
        if !first {
            to.write_all(b",")?;
        }
        self.line(to)
    }

    fn line<W: ?Sized + Write>(&self, to: &mut W) -> io::Result<()> {
        let width = 1 + 2 * self.depth;
        to.write_all(&INDENTATION[..width.min(INDENTATION.len())])?;
        (INDENTATION.len()..width).try_for_each(|_| to.write_all(b" "))
    }
}

impl Formatter for Indented {
    fn begin_array<W: ?Sized + Write>(&mut self, to: &mut W) -> io::Result<()> {
        self.open(to, b"[")
    }

    fn end_array<W: ?Sized + Write>(&mut self, to: &mut W) -> io::Result<()> {
        self.close(to, b"]")
    }

    fn begin_array_value<W: ?Sized + Write>(&mut self, to: &mut W, first: bool) -> io::Result<()> {
        self.entry(to, first)
    }

    fn end_array_value<W: ?Sized + Write>(&mut self, _: &mut W) -> io::Result<()> {
        self.has_value = true;
        Ok(())
    }

    fn begin_object<W: ?Sized + Write>(&mut self, to: &mut W) -> io::Result<()> {
        self.open(to, b"{")
    }

    fn end_object<W: ?Sized + Write>(&mut self, to: &mut W) -> io::Result<()> {
        self.close(to, b"}")
    }

    fn begin_object_key<W: ?Sized + Write>(&mut self, to: &mut W, first: bool) -> io::Result<()> {
        self.entry(to, first)
    }

    fn begin_object_value<W: ?Sized + Write>(&mut self, to: &mut W) -> io::Result<()> {
        to.write_all(b": ")
    }

    fn end_object_value<W: ?Sized + Write>(&mut self, _: &mut W) -> io::Result<()> {
        self.has_value = true;
        Ok(())
    }

    fn write_string_fragment<W: ?Sized + Write>(
        &mut self,
        to: &mut W,
        part: &str,
    ) -> io::Result<()> {
        // All of these characters but DEL have more than one byte.
        if part.bytes().all(|byte| byte < 0x7f) {
            return to.write_all(part.as_bytes());
        }
        // In a document's strings, serde escapes newlines and tabs.
        to.write_all(sanitise::text(part).as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(value: &impl Serialize) -> String {
        let mut text = Vec::new();
        write(&mut text, value).expect("memory takes it");
        String::from_utf8(text).expect("UTF-8")
    }

    #[test]
    fn a_document_is_that_of_serde_without_what_a_terminal_interprets() {
        let name = "\u{1b}]0;a\u{7}\u{9b}2J\u{7f}\u{202e}\u{2066}\r\n\tß\"";
        let document = serde_json::json!({ name: [name, 1.5, null, {}, []], "plain": "Größe" });
        let text = written(&document);
        let interpreted = |c: char| c.is_control() && c != '\n' || "\u{202e}\u{2066}".contains(c);
        assert!(!text.contains(interpreted), "{text:?}");
        let read: serde_json::Value = serde_json::from_str(&text).expect("JSON");
        assert_eq!(read, document);
        let deep = (0..20).fold(serde_json::json!({}), |inner, _| serde_json::json!([inner, 1]));
        let harmless = serde_json::json!({ "a": [1, "ß", { "b": true }, []], "c": {}, "d": deep });
        assert_eq!(
            written(&harmless),
            serde_json::to_string_pretty(&harmless).expect("JSON") + "\n"
        );
    }
}
