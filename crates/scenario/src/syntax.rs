//! What to change where a file is no TOML: the parser tells what it met, not what a person would do about it.

/// The parser's words, and what mends it.
const ADVICE: [(&str, &str); 8] = [
    ("duplicate key", "a name stands once in its table: put both parts together, or rename one"),
    (
        "cannot extend value",
        "the table is closed by its `}`: write this within it, or open it with a [header]",
    ),
    ("string values must be quoted", "put it in quotes, as in \"10 s\""),
    ("invalid basic string", "close the text with a `\"` on the same line"),
    ("unclosed inline table", "close the table with a `}` on the same line, or write a [header]"),
    ("unclosed array", "close the array with a `]`"),
    ("missing comma", "put a `,` between the two, if the line before is as it should be"),
    ("missing value", "write a value after the `=`"),
];

/// What else there is to say.
const OTHERWISE: &str = "the file is TOML: `key = \"value\"` under [table] headers";

/// What mends the problem that the TOML parser words so.
pub(crate) fn advice(message: &str) -> &'static str {
    let known = ADVICE.iter().find(|(words, _)| message.starts_with(words));
    known.map_or(OTHERWISE, |(_, advice)| advice)
}
