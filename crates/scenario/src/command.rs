//! Command lines: words apart, and what stands for an address filled in.

use crate::diagnostic::Problems;
use crate::value::Name;

/// The words of `line`, each `{name}` in them replaced; a complaint if it has none.
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

/// What is wrong, and what would be right.
type Wrong = (String, String);

/// Splits at blanks, except within quotes or behind a backslash, as a shell does; nothing else that a
/// shell knows is heeded.
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
        (Some(open), _) => Err((format!("the quote {open} has no end"), "close it".into())),
        (None, true) => Err(("no program".into(), "write it with its arguments".into())),
        (None, false) => Ok(words),
    }
}

/// `word` with every `{name}` replaced by what is known under that name; `{{` is a brace.
fn filled(word: &str, known: &[(&str, String)]) -> Result<String, Wrong> {
    let (mut text, mut rest) = (String::new(), word);
    while let Some((before, after)) = rest.split_once('{') {
        text += before;
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
    Ok(text + rest)
}

fn is_name(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_lowercase() || b == b'_')
}

fn unknown(name: &str, known: &[(&str, String)]) -> Wrong {
    let known: Vec<String> = known.iter().map(|(name, _)| format!("{{{name}}}")).collect();
    let help = format!("there is {}; write `{{{{` for a brace", known.join(", "));
    (format!("`{{{name}}}` stands for nothing"), help)
}

/// The line that has these words.
pub(crate) fn line(words: &[String]) -> String {
    words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ")
}

fn quoted(word: &str) -> String {
    let word = word.replace('{', "{{");
    let plain = |c: char| !(c.is_whitespace() || "\"'\\".contains(c));
    if !word.is_empty() && word.chars().all(plain) {
        return word;
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
        assert_eq!(words("sh -c 'echo").unwrap_err().0, "the quote ' has no end");
        assert_eq!(words("  ").unwrap_err().0, "no program");
    }

    #[test]
    fn names_are_filled_in() {
        let known = [("to", "10.0.0.2".to_owned()), ("port", "80".to_owned())];
        let filled = |word| filled(word, &known);
        assert_eq!(filled("http://{to}:{port}/"), Ok("http://10.0.0.2:80/".into()));
        assert_eq!(filled("{{print} {} {1} {"), Ok("{print} {} {1} {".into()));
        assert_eq!(
            filled("{host}"),
            Err((
                "`{host}` stands for nothing".into(),
                "there is {to}, {port}; write `{{` for a brace".into()
            ))
        );
    }

    #[test]
    fn a_line_has_its_words() {
        let all = ["sh", "", "it's {to}", "a\\b", "\"q\"", "tab\t"].map(str::to_owned);
        let again: Vec<_> =
            words(&line(&all)).unwrap().iter().map(|word| filled(word, &[]).unwrap()).collect();
        assert_eq!(again, all);
    }
}
