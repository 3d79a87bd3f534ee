//! Command lines: splitting into words, and replacing placeholders.

use crate::diagnostic::Problems;
use crate::value::Name;

/// The words of `line` with each `{name}` replaced; reports an error if there are none.
pub(crate) fn resolve(
    line: &Name,
    known: &[(&str, String)],
    problems: &mut Problems,
) -> Option<Vec<String>> {
    let found = words(&line.text)
        .and_then(|words| words.iter().map(|word| filled(word, known)).collect::<Result<_, _>>());
    match found {
        Ok(words) => Some(words),
        Err((message, help)) => {
            problems.push(&line.span, message, help);
            None
        }
    }
}

/// A message and its help.
type Wrong = (String, String);

/// Splits at blanks, except within quotes or after a backslash, as a shell does. No other shell syntax is special.
fn words(line: &str) -> Result<Vec<String>, Wrong> {
    let (mut words, mut word, mut quote) = (Vec::new(), None::<String>, None);
    let mut letters = line.chars();
    while let Some(letter) = letters.next() {
        match (letter, quote) {
            (c, Some(open)) if c == open => quote = None,
            ('\'' | '"', None) => {
                quote = Some(letter);
                word.get_or_insert_default();
            }
            (c, None) if c.is_whitespace() => words.extend(word.take()),
            ('\\', None | Some('"')) => word.get_or_insert_default().extend(letters.next()),
            (c, _) => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    match (quote, words.is_empty()) {
        (Some(open), _) => Err((format!("unclosed quote {open}"), "add the closing quote".into())),
        (None, true) => {
            Err(("empty command line".into(), "write the program and its arguments".into()))
        }
        (None, false) => Ok(words),
    }
}

/// `word` with every `{name}` replaced by the known value; `{{` and `}}` are literal braces.
fn filled(word: &str, known: &[(&str, String)]) -> Result<String, Wrong> {
    let (mut text, mut rest) = (String::new(), word);
    let closed = |text: &str| text.replace("}}", "}");
    while let Some((before, after)) = rest.split_once('{') {
        text += &closed(before);
        let name = after.split_once('}').filter(|(name, _)| is_name(name));
        match (after.strip_prefix('{'), name) {
            (Some(after), _) => {
                text.push('{');
                rest = after;
            }
            (None, Some((name, after))) => {
                let found = known.iter().find(|(known, _)| *known == name);
                text += &found.ok_or_else(|| unknown(name, known))?.1;
                rest = after;
            }
            (None, None) => {
                text.push('{');
                rest = after;
            }
        }
    }
    Ok(text + &closed(rest))
}

fn is_name(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_lowercase() || b == b'_')
}

fn unknown(name: &str, known: &[(&str, String)]) -> Wrong {
    let known: Vec<String> = known.iter().map(|(name, _)| format!("{{{name}}}")).collect();
    let help =
        format!("available: {}; write `{{{{` and `}}}}` for literal braces", known.join(", "));
    (format!("unknown placeholder `{{{name}}}`"), help)
}

fn quoted(word: &str) -> String {
    in_quotes(&escaped(word))
}

/// `word` with its braces escaped for [`filled`]. A single closing brace needs no escape.
fn escaped(word: &str) -> String {
    let word = word.replace('{', "{{");
    if word.contains("}}") { word.replace('}', "}}") } else { word }
}

/// The words of one of several similar command lines, and the placeholder values of that line.
pub(crate) type Words<'w> = (&'w [String], Vec<(&'w str, String)>);

/// The common line of all members: differing parts become placeholders. `None` if there is no such line.
pub(crate) fn common_line(members: &[Words<'_>]) -> Option<String> {
    let (first, known) = members.first()?;
    if members.iter().any(|(words, _)| words.len() != first.len()) {
        return None;
    }
    let word = |at: usize| {
        if members.iter().all(|(words, _)| words[at] == first[at]) {
            return Some(quoted(&first[at]));
        }
        let mut word = escaped(&first[at]);
        for (name, value) in known {
            word = word.replace(value.as_str(), &format!("{{{name}}}"));
        }
        let fits = |(words, known): &Words<'_>| {
            filled(&word, known).is_ok_and(|filled| filled == words[at])
        };
        members.iter().all(fits).then(|| in_quotes(&word))
    };
    let words: Option<Vec<String>> = (0..first.len()).map(word).collect();
    Some(words?.join(" "))
}

/// The word quoted for a shell, with braces unchanged.
fn in_quotes(word: &str) -> String {
    let plain = |c: char| !(c.is_whitespace() || "\"'\\".contains(c));
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_split_as_in_a_shell() {
        let split = |line| words(line).expect("words");
        assert_eq!(split("iperf3  -c x\t-t 10"), ["iperf3", "-c", "x", "-t", "10"]);
        assert_eq!(
            split(r#"sh -c 'echo "a  b"' "it's" '' a\ b"#),
            ["sh", "-c", "echo \"a  b\"", "it's", "", "a b"]
        );
        assert_eq!(words("sh -c 'echo").unwrap_err().0, "unclosed quote '");
        assert_eq!(words("  ").unwrap_err().0, "empty command line");
    }

    #[test]
    fn names_are_filled_in() {
        let known = [("to", "10.0.0.2".to_owned()), ("port", "80".to_owned())];
        let filled = |word| filled(word, &known);
        assert_eq!(filled("http://{to}:{port}/"), Ok("http://10.0.0.2:80/".into()));
        assert_eq!(filled("{{print} {} {1} {"), Ok("{print} {} {1} {".into()));
        assert_eq!(filled("awk {{print $1}} {{{to}}}"), Ok("awk {print $1} {10.0.0.2}".into()));
        assert_eq!(
            filled("{host}"),
            Err((
                "unknown placeholder `{host}`".into(),
                "available: {to}, {port}; write `{{` and `}}` for literal braces".into()
            ))
        );
    }

    #[test]
    fn a_common_line_has_what_differs_in_braces() {
        let members = |words: [[&str; 3]; 2]| {
            let words = words.map(|words| words.map(str::to_owned).to_vec());
            let lines = [["10.0.0.1", "80"], ["10.0.0.2", "81"]]
                .map(|[to, port]| vec![("to", to.to_owned()), ("port", port.to_owned())]);
            let pairs: Vec<_> = words.iter().map(Vec::as_slice).zip(lines).collect();
            common_line(&pairs)
        };
        let line = members([["x", "80", "it's {10.0.0.1}:80"], ["x", "80", "it's {10.0.0.2}:81"]]);
        assert_eq!(line.as_deref(), Some(r"x 80 'it'\''s {{{to}}:{port}'"));
        assert_eq!(members([["x", "80", "y"], ["x", "82", "y"]]), None);
    }

    #[test]
    fn a_line_has_its_words() {
        let all = ["sh", "", "it's {to}", "a\\b", "\"q\"", "tab\t", "{a{b}}", "}}}", "{}"];
        let all = all.map(str::to_owned);
        let line = common_line(&[(&all, Vec::new())]).unwrap();
        let again: Vec<_> =
            words(&line).unwrap().iter().map(|word| filled(word, &[]).unwrap()).collect();
        assert_eq!(again, all);
    }
}
