//! Names of files as they cross the wire: paths below the receiver's directory, and nothing else.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// Longest name in bytes, `PATH_MAX` less its zero.
pub const LENGTH_MAX: usize = 4095;
/// Longest part between two slashes in bytes (`NAME_MAX`).
pub const PART_MAX: usize = 255;

/// The receiver's own folder, which no name may enter.
pub(crate) const RESERVED: &str = ".suimon-recv";

/// A path below the receiver's directory: parts joined by `/`, none of them empty, `.` or `..`.
///
/// It consists of bytes, as Unix names do: the receiver's file system gets the sender's name unchanged.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Name(Box<[u8]>);

/// Why bytes are not a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NameError {
    /// No bytes, or more than a path has.
    #[error("a name has 1 to {LENGTH_MAX} bytes, and each of its parts at most {PART_MAX}")]
    Length,
    /// The name begins or ends with a slash, or has two in a row.
    #[error("a name is relative, and has one `/` between its parts")]
    Slash,
    /// A part that leads elsewhere.
    #[error("`.` and `..` are not allowed in a name")]
    Dots,
    /// A byte that no name has.
    #[error("a zero byte in a name")]
    Zero,
    /// The receiver's own folder.
    #[error("`{RESERVED}` is the receiver's own folder")]
    Reserved,
}

impl Name {
    /// Makes a name of `bytes`.
    ///
    /// # Errors
    /// If they could lead out of a directory, or are not a name.
    pub fn new(bytes: &[u8]) -> Result<Self, NameError> {
        if bytes.is_empty() || bytes.len() > LENGTH_MAX {
            return Err(NameError::Length);
        }
        if bytes.contains(&0) {
            return Err(NameError::Zero);
        }
        for (index, part) in bytes.split(|byte| *byte == b'/').enumerate() {
            match part {
                b"" => return Err(NameError::Slash),
                b"." | b".." => return Err(NameError::Dots),
                part if part.len() > PART_MAX => return Err(NameError::Length),
                part if index == 0 && part == RESERVED.as_bytes() => {
                    return Err(NameError::Reserved);
                }
                _ => {}
            }
        }
        Ok(Self(bytes.into()))
    }

    /// Its bytes.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// Whether it is in that folder, or in one below.
    pub(crate) fn is_below(&self, folder: &Self) -> bool {
        self.0.strip_prefix(&*folder.0).is_some_and(|rest| rest.first() == Some(&b'/'))
    }

    /// Returns it as a relative path.
    pub fn as_path(&self) -> &Path {
        Path::new(OsStr::from_bytes(&self.0))
    }

    /// The folder that it is in, "" for the receiver's directory itself, and the last part.
    pub fn split(&self) -> (&[u8], &[u8]) {
        match self.0.iter().rposition(|byte| *byte == b'/') {
            Some(at) => (&self.0[..at], &self.0[at + 1..]),
            None => (b"", &self.0),
        }
    }
}

impl std::fmt::Display for Name {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        shown(self.as_path()).fmt(f)
    }
}

/// Returns a path for display on one line, so that a file's name cannot forge lines of our output. Control characters
/// are shown as JSON escapes them.
pub fn shown(path: &Path) -> String {
    let text = path.to_string_lossy();
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        if c.is_control() || matches!(c, '\u{2028}' | '\u{2029}') {
            shown.push_str(&format!("\\u{:04x}", u32::from(c)));
        } else {
            shown.push(c);
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn nothing_that_leads_out_of_a_directory_is_a_name() {
        for (bytes, error) in [
            (&b""[..], NameError::Length),
            (b"/etc/passwd", NameError::Slash),
            (b"a//b", NameError::Slash),
            (b"a/", NameError::Slash),
            (b"..", NameError::Dots),
            (b"a/../b", NameError::Dots),
            (b"./a", NameError::Dots),
            (b"a\0b", NameError::Zero),
            (b".suimon-recv/lock", NameError::Reserved),
            (&[b'a'; 256], NameError::Length),
        ] {
            assert_eq!(Name::new(bytes), Err(error), "{}", String::from_utf8_lossy(bytes));
        }
        for bytes in [&b"a"[..], b"a/b/c", b"...", b"a/..b", b"a/.suimon-recv", b"\xff\xfe"] {
            assert!(Name::new(bytes).is_ok(), "{}", String::from_utf8_lossy(bytes));
        }
    }

    #[test]
    fn a_name_is_shown_on_one_line() {
        let name = Name::new(b"a\n  help: b\x1b[2J\xff").expect("a name");
        assert_eq!(name.to_string(), "a\\u000a  help: b\\u001b[2J\u{fffd}");
    }

    proptest! {
        #[test]
        fn the_path_of_a_name_has_normal_parts_only(bytes in proptest::collection::vec(any::<u8>(), 0..40)) {
            if let Ok(name) = Name::new(&bytes) {
                let normal = |part| matches!(part, std::path::Component::Normal(_));
                prop_assert!(name.as_path().components().all(normal));
            }
        }
    }
}
