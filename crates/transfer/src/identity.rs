//! The identity of a peer, an Ed25519 key, and the keys that it trusts. There are no certificates.

use std::fmt;
use std::path::Path;
use std::str::FromStr;

use ring::rand::{SecureRandom, SystemRandom};
use ring::signature::{Ed25519KeyPair, KeyPair};

use crate::error::Error;

/// The bytes before the 32 bytes of an Ed25519 private key in PKCS #8 (RFC 8410, section 7).
const PKCS8: [u8; 16] = [0x30, 0x2e, 2, 1, 0, 0x30, 5, 6, 3, 0x2b, 0x65, 0x70, 4, 0x22, 4, 0x20];
/// The bytes before the 32 bytes of an Ed25519 public key in its SubjectPublicKeyInfo (RFC 8410, section 4).
const SPKI: [u8; 12] = [0x30, 0x2a, 0x30, 5, 6, 3, 0x2b, 0x65, 0x70, 3, 0x21, 0];

/// A private key: the seed of an Ed25519 key pair (RFC 8032, section 5.1.5).
#[derive(Clone)]
pub struct PrivateKey([u8; 32]);

/// A public key.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct PublicKey([u8; 32]);

/// Fills `bytes` with random ones.
pub(crate) fn random(bytes: &mut [u8]) -> Result<(), Error> {
    SystemRandom::new().fill(bytes).map_err(|_| Error::Random)
}

impl PrivateKey {
    /// A new one.
    ///
    /// # Errors
    /// If the system has no random numbers.
    pub fn generate() -> Result<Self, Error> {
        let mut seed = [0; 32];
        random(&mut seed)?;
        Ok(Self(seed))
    }

    pub(crate) const fn of_seed(seed: [u8; 32]) -> Self {
        Self(seed)
    }

    /// Its public key.
    pub fn public(&self) -> PublicKey {
        // Only a seed that is not of 32 bytes is refused.
        let pair = Ed25519KeyPair::from_seed_unchecked(&self.0).ok();
        let public = pair.and_then(|pair| pair.public_key().as_ref().try_into().ok());
        PublicKey(public.unwrap_or_default())
    }

    pub(crate) fn pkcs8(&self) -> Vec<u8> {
        [&PKCS8[..], &self.0].concat()
    }

    /// Reads the key in the file at `path`; one that others may read is refused.
    ///
    /// # Errors
    /// If there is no such file, others may read it, or it has no key in it.
    pub fn load(path: &Path) -> Result<Self, Error> {
        use std::os::unix::fs::PermissionsExt;
        let mode = std::fs::metadata(path).map_err(Error::io("read", path))?.permissions().mode();
        if mode & 0o077 != 0 {
            return Err(Error::Exposed { path: path.to_owned(), mode: mode & 0o777 });
        }
        let text = std::fs::read_to_string(path).map_err(Error::io("read", path))?;
        let seed = text.trim().strip_prefix(PRIVATE).and_then(bytes_of_hex);
        seed.map(Self).ok_or_else(|| Error::NoKey { path: path.to_owned() })
    }

    /// Writes the key into a new file at `path` that only its owner may read.
    ///
    /// # Errors
    /// If the file exists already, or it cannot be written.
    pub fn save(&self, path: &Path) -> Result<(), Error> {
        use std::io::Write;
        use std::os::unix::fs::OpenOptionsExt;
        let file = std::fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(path);
        let mut file = file.map_err(Error::io("create", path))?;
        writeln!(file, "{PRIVATE}{}", Hex(&self.0)).map_err(Error::io("write", path))
    }
}

/// Prints the public key only.
impl fmt::Debug for PrivateKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PrivateKey of {}", self.public())
    }
}

const PRIVATE: &str = "suimon-private-";
const PUBLIC: &str = "suimon-public-";

impl PublicKey {
    pub(crate) fn spki(&self) -> Vec<u8> {
        [&SPKI[..], &self.0].concat()
    }
}

impl fmt::Display for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{PUBLIC}{}", Hex(&self.0))
    }
}

impl fmt::Debug for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for PublicKey {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let key = text.trim().strip_prefix(PUBLIC).and_then(bytes_of_hex);
        key.map(Self).ok_or_else(|| Error::NoPublicKey { text: text.to_owned() })
    }
}

/// Bytes as hexadecimal digits.
pub(crate) struct Hex<'a>(pub(crate) &'a [u8]);

impl fmt::Display for Hex<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

fn bytes_of_hex(text: &str) -> Option<[u8; 32]> {
    if text.len() != 64 || !text.is_ascii() {
        return None;
    }
    let mut bytes = [0; 32];
    for (byte, at) in bytes.iter_mut().zip((0..64).step_by(2)) {
        *byte = u8::from_str_radix(&text[at..at + 2], 16).ok()?;
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 8032, section 7.1, test 1.
    #[test]
    fn a_seed_has_the_public_key_of_the_rfc() {
        let seed = "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60";
        let public = "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a";
        let key = PrivateKey::of_seed(bytes_of_hex(seed).expect("a seed"));
        assert_eq!(key.public().to_string(), format!("suimon-public-{public}"));
        assert_eq!(key.public().to_string().parse::<PublicKey>().expect("a key"), key.public());
    }

    #[test]
    fn a_key_file_is_the_owners_alone() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("key");
        let key = PrivateKey::generate().expect("random numbers");
        key.save(&path).expect("saved");
        assert_eq!(PrivateKey::load(&path).expect("loaded").public(), key.public());
        assert!(key.save(&path).is_err(), "a second key over the first");
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o644)).expect("chmod");
        assert!(matches!(PrivateKey::load(&path), Err(Error::Exposed { mode: 0o644, .. })));
    }
}
