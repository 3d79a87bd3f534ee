//! Remedies for files that are not valid TOML: the parser reports what it found, but not what to change.

/// Prefixes of the parser's messages, with remedies.
const ADVICE: [(&str, &str); 8] = [
    ("duplicate key", "a key may occur once in its table: merge both parts, or rename one"),
    (
        "cannot extend value",
        "an inline table cannot be extended: write this inside its `}`, or use a [header]",
    ),
    ("string values must be quoted", "put it in quotes, as in \"10 s\""),
    ("invalid basic string", "close the text with a `\"` on the same line"),
    ("unclosed inline table", "close the table with a `}` on the same line, or write a [header]"),
    ("unclosed array", "close the array with a `]`"),
    ("missing comma", "add a `,` between the two values, or correct the line before"),
    ("missing value", "write a value after the `=`"),
];

/// The remedy for other messages.
const OTHERWISE: &str = "the file is TOML: `key = \"value\"` under [table] headers";

/// The remedy for a message of the TOML parser.
pub(crate) fn advice(message: &str) -> &'static str {
    let known = ADVICE.iter().find(|(words, _)| message.starts_with(words));
    known.map_or(OTHERWISE, |(_, advice)| advice)
}

/// The expected kinds of values, in the parser's words and in plain words, with remedies.
const KINDS: [(&str, &str, &str); 6] = [
    ("u", "a whole number, 0 or above", "write digits without quotes: 3"),
    ("i", "a whole number", "write digits without quotes: 3"),
    ("f", "a number", "write digits without quotes: 0.5"),
    ("a string", "text", "put it in quotes: \"5 ms\""),
    ("an algorithm", "an algorithm", "put its name in quotes: \"cubic\""),
    ("a boolean", "true or false", "write true or false, without quotes"),
];

/// The message and the remedy for a value of the wrong kind.
pub(crate) fn mismatch(message: &str) -> (String, &'static str) {
    const HELP: &str = "see docs/scenario.schema.json";
    let rest = message.strip_prefix("invalid type: ").or(message.strip_prefix("invalid value: "));
    let Some((found, expected)) = rest.and_then(|rest| rest.rsplit_once(", expected ")) else {
        return (message.to_owned(), HELP);
    };
    let bits =
        |kind: &str| expected.strip_prefix(kind).is_some_and(|bits| bits.parse::<u8>().is_ok());
    let known = KINDS.iter().find(|(kind, ..)| expected == *kind || bits(kind));
    match known {
        Some((_, words, help)) => (format!("expected {words}, found {found}"), help),
        None => (message.to_owned(), HELP),
    }
}
