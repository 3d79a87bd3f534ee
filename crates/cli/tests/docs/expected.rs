//! Compares output with a page. An ellipsis matches what differs from run to run: any text within a line, or
//! any lines if it is alone on a line.

/// Matches anything.
const ELLIPSIS: char = '…';

/// Whether `output` is what `page` shows, except for white space at the end of lines and of the whole.
pub(crate) fn matches(page: &str, output: &str) -> bool {
    lines_match(&lines(page), &lines(output))
}

fn lines(text: &str) -> Vec<&str> {
    text.trim_matches('\n').lines().map(str::trim_end).collect()
}

fn lines_match(page: &[&str], output: &[&str]) -> bool {
    match (page, output) {
        ([], output) => output.is_empty(),
        ([first, rest @ ..], output) if first.chars().eq([ELLIPSIS]) => {
            (0..=output.len()).any(|skipped| lines_match(rest, &output[skipped..]))
        }
        (_, []) => false,
        ([first, rest @ ..], [line, others @ ..]) => {
            line_matches(first, line) && lines_match(rest, others)
        }
    }
}

fn line_matches(page: &str, line: &str) -> bool {
    let Some((before, after)) = page.split_once(ELLIPSIS) else {
        return page == line;
    };
    let Some(rest) = line.strip_prefix(before) else {
        return false;
    };
    rest.char_indices()
        .map(|(at, _)| at)
        .chain([rest.len()])
        .any(|at| line_matches(after, &rest[at..]))
}

#[test]
fn an_ellipsis_stands_for_anything_and_nothing_else_does() {
    assert!(matches("a\nb\n", "a\nb  \n\n"));
    assert!(!matches("a\nb\n", "a\nc\n"));
    assert!(!matches("a\n", "a\nb\n"));
    assert!(matches("a\n…\nz\n", "a\nb\nc\nz\n") && matches("a\n…\nz\n", "a\nz\n"));
    assert!(!matches("a\n…\nz\n", "a\nb\n"));
    assert!(matches("rate … of …", "rate 12.5 MB/s of 20") && !matches("rate … x", "rate 1"));
}
