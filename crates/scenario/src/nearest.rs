//! The name probably meant by a mistyped one.

/// The name in `names` nearest to `word`, if it is near enough to be meant: it starts alike and differs by one
/// letter, or two in a long word, or `word` is its prefix. More distant names mislead: `sfq` does not mean `wfq`, nor
/// `trace` `rate`.
pub(crate) fn nearest<'a>(word: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let word_lower = word.to_lowercase();
    names
        .into_iter()
        .map(|name| (distance(&word_lower, &name.to_lowercase()), name))
        .filter(|&(d, name)| {
            let length = word_lower.chars().count().max(name.chars().count());
            let wrong_max = if length < 3 { 0 } else { 1 + usize::from(length >= 8) };
            let alike = begin_alike(&word_lower, &name.to_lowercase());
            (d <= wrong_max && alike) || (word.len() >= 2 && name.starts_with(word))
        })
        .min_by_key(|&(d, _)| d)
        .map(|(_, name)| name)
}

/// Whether two words have the same first letter, or their first two swapped.
fn begin_alike(a: &str, b: &str) -> bool {
    let [mut a, mut b] = [a.chars(), b.chars()];
    match (a.next(), b.next()) {
        (x, y) if x == y => true,
        (x, y) => x == b.next() && y == a.next(),
    }
}

/// "did you mean `x`?" if a name is near, otherwise the list of all names.
pub(crate) fn suggest<'a>(word: &str, names: impl IntoIterator<Item = &'a str>) -> String {
    let names: Vec<&str> = names.into_iter().collect();
    match nearest(word, names.iter().copied()) {
        Some(name) => format!("did you mean `{name}`?"),
        None if names.is_empty() => "none is available".into(),
        None => format!("available: {}", list(&names)),
    }
}

/// The first of `names`, comma-separated.
pub(crate) fn list(names: &[&str]) -> String {
    const SHOWN_MAX: usize = 24;
    let shown: Vec<String> = names.iter().take(SHOWN_MAX).map(|n| format!("`{n}`")).collect();
    let more = if names.len() > SHOWN_MAX { ", …" } else { "" };
    shown.join(", ") + more
}

/// Edits (insert, delete, replace, swap neighbours) between two words. Only the first letters of absurdly long words are
/// compared.
fn distance(a: &str, b: &str) -> usize {
    const LETTERS_MAX: usize = 64;
    let [a, b] = [a, b].map(|word| word.chars().take(LETTERS_MAX).collect::<String>());
    strsim::osa_distance(&a, &b)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_are_edits() {
        assert_eq!(distance("", "abc"), 3);
        assert_eq!(distance("kitten", "sitting"), 3);
        assert_eq!(distance("scalabel", "scalable"), 1);
    }

    #[test]
    fn only_near_names_are_offered() {
        let names = ["scalable", "newreno", "highspeed", "bic", "cubic"];
        assert_eq!(nearest("scaleable", names), Some("scalable"));
        assert_eq!(nearest("Cubci", names), Some("cubic"));
        assert_eq!(nearest("vegas", names), None);
        assert_eq!(nearest("ucbic", names), Some("cubic"));
        let keys = ["rate", "wfq", "psp", "tbr"];
        assert_eq!(["trace", "sfq", "fq"].map(|word| nearest(word, keys)), [None; 3]);
        assert_eq!(nearest("raet", keys), Some("rate"));
    }
}
