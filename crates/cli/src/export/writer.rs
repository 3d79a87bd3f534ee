//! Rows as CSV (RFC 4180) or as one JSON array of objects, written in pieces.

use std::fmt::Write;

use record::stored_table::Value;

use crate::failure::Failure;

/// Text that is collected before it is written.
const PIECE_BYTES: usize = 1 << 16;

/// How rows are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Format {
    /// A line of column names, then a line for each row; empty where there is no value.
    Csv,
    /// An array with an object for each row; null where there is no value.
    Json,
}

/// Takes text; false if the reader is gone.
type Sink<'s> = &'s mut dyn FnMut(&str) -> Result<bool, Failure>;

/// A table while it is written.
pub(super) struct Rows<'s> {
    format: Format,
    sink: Sink<'s>,
    columns: Vec<String>,
    text: String,
    rows: u64,
    is_read: bool,
}

impl<'s> Rows<'s> {
    pub(super) fn new(format: Format, sink: Sink<'s>) -> Self {
        let text = if format == Format::Json { "[".to_owned() } else { String::new() };
        Self { format, sink, columns: Vec::new(), text, rows: 0, is_read: true }
    }

    /// Names the columns of the rows that follow; a second table must have those of the first.
    pub(super) fn columns(&mut self, columns: &[String]) -> Result<(), Failure> {
        if self.columns == columns {
            return Ok(());
        }
        if !self.columns.is_empty() {
            let message = "the runs have tables of different columns";
            return Err(Failure::usage(message, "run them again by one version of Suimon"));
        }
        columns.clone_into(&mut self.columns);
        if self.format == Format::Csv {
            let names = self.columns.iter().map(|name| Value::Text(name));
            csv_line(&mut self.text, names);
        }
        Ok(())
    }

    /// Adds a row; false if the reader is gone.
    pub(super) fn row<'v>(
        &mut self,
        values: impl IntoIterator<Item = Value<'v>>,
    ) -> Result<bool, Failure> {
        match self.format {
            Format::Csv => csv_line(&mut self.text, values),
            Format::Json => {
                self.text += if self.rows == 0 { "\n" } else { ",\n" };
                json_object(&mut self.text, &self.columns, values);
            }
        }
        self.rows += 1;
        if self.text.len() >= PIECE_BYTES { self.flush() } else { Ok(self.is_read) }
    }

    /// Writes what is left.
    pub(super) fn finish(mut self) -> Result<(), Failure> {
        if self.format == Format::Json {
            self.text += if self.rows == 0 { "]\n" } else { "\n]\n" };
        }
        self.flush().map(drop)
    }

    fn flush(&mut self) -> Result<bool, Failure> {
        if self.is_read {
            self.is_read = (self.sink)(&self.text)?;
        }
        self.text.clear();
        Ok(self.is_read)
    }
}

fn csv_line<'v>(text: &mut String, values: impl IntoIterator<Item = Value<'v>>) {
    for (place, value) in values.into_iter().enumerate() {
        if place > 0 {
            text.push(',');
        }
        // Writing to a string does not fail.
        let _ = match value {
            Value::Null => Ok(()),
            Value::Whole(value) => write!(text, "{value}"),
            Value::Number(value) => write!(text, "{value}"),
            Value::Text(words) if words.contains(['"', ',', '\n', '\r']) => {
                write!(text, "\"{}\"", words.replace('"', "\"\""))
            }
            Value::Text(words) => write!(text, "{words}"),
        };
    }
    text.push('\n');
}

fn json_object<'v>(
    text: &mut String,
    columns: &[String],
    values: impl IntoIterator<Item = Value<'v>>,
) {
    text.push('{');
    for (place, (name, value)) in columns.iter().zip(values).enumerate() {
        if place > 0 {
            text.push_str(", ");
        }
        let value = match value {
            Value::Null => serde_json::Value::Null,
            Value::Whole(value) => value.into(),
            // JSON has no infinity and no NaN.
            Value::Number(value) => value.into(),
            Value::Text(words) => words.into(),
        };
        let _ = write!(text, "{}: {value}", serde_json::Value::from(name.as_str()));
    }
    text.push('}');
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(format: Format, rows: &[[Value<'_>; 2]]) -> String {
        let mut all = String::new();
        let mut sink = |text: &str| {
            all += text;
            Ok(true)
        };
        let mut out = Rows::new(format, &mut sink);
        out.columns(&["a,b".into(), "c".into()]).expect("columns");
        for row in rows {
            assert!(out.row(row.iter().copied()).expect("a row"));
        }
        out.finish().expect("the end");
        all
    }

    #[test]
    fn both_formats_quote_what_they_must() {
        let rows = [
            [Value::Text("say \"x\"\n"), Value::Null],
            [Value::Whole(-7), Value::Number(0.1)],
            [Value::Text("plain"), Value::Number(f64::NAN)],
        ];
        let csv = written(Format::Csv, &rows);
        assert_eq!(csv, "\"a,b\",c\n\"say \"\"x\"\"\n\",\n-7,0.1\nplain,NaN\n");
        let json: serde_json::Value =
            serde_json::from_str(&written(Format::Json, &rows)).expect("JSON");
        assert_eq!(json[0]["a,b"], "say \"x\"\n");
        assert_eq!((&json[1]["c"], &json[2]["c"]), (&0.1.into(), &serde_json::Value::Null));
        assert_eq!(written(Format::Json, &[]), "[]\n");
    }

    #[test]
    fn nothing_is_made_for_a_reader_that_went_away() {
        let mut sink = |_: &str| Ok(false);
        let mut out = Rows::new(Format::Csv, &mut sink);
        out.columns(&["a".into()]).expect("columns");
        let long = "x".repeat(PIECE_BYTES);
        assert!(!out.row([Value::Text(&long)]).expect("a row"));
    }
}
