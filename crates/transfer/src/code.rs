//! The one-time code that `recv` prints: 120 random bits. Both ends derive the keys of both ends from it.
//!
//! Only a peer that knows the code is accepted: each end proves in the TLS handshake that it has the private key of
//! its side, and accepts no key except the one that the code gives the other side. A peer in the middle sees at most
//! a public key and could try to guess the code from it. 120 bits are too many for that, which is why the code is
//! longer than a PAKE would need.

use std::fmt;
use std::str::FromStr;

use crate::error::Error;
use crate::identity::{PrivateKey, random};

/// Crockford's base 32: no I, L, O or U.
const DIGITS: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";
/// Digits of the random number.
const SECRET: usize = 24;
/// Digits in a group, as it is printed.
const GROUP: usize = 5;

/// The code: 24 random digits of 5 bits. When printed, a check digit distinguishes a typing error from a wrong code.
#[derive(Clone, PartialEq, Eq)]
pub struct Code([u8; SECRET]);

impl Code {
    /// A new one.
    ///
    /// # Errors
    /// If the system has no random numbers.
    pub fn generate() -> Result<Self, Error> {
        let mut digits = [0; SECRET];
        random(&mut digits)?;
        Ok(Self(digits.map(|byte| byte % 32)))
    }

    /// The receiver's key.
    pub(crate) fn receiver(&self) -> PrivateKey {
        self.derive("suimon transfer 2026-11 one-time code: receiver's key")
    }

    /// The sender's key.
    pub(crate) fn sender(&self) -> PrivateKey {
        self.derive("suimon transfer 2026-11 one-time code: sender's key")
    }

    fn derive(&self, context: &str) -> PrivateKey {
        PrivateKey::of_seed(blake3::derive_key(context, &self.0))
    }

    fn check(&self) -> u8 {
        blake3::derive_key("suimon transfer 2026-11 one-time code: check digit", &self.0)[0] % 32
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits =
            self.0.iter().chain(std::iter::once(&self.check())).copied().collect::<Vec<_>>();
        for (index, group) in digits.chunks(GROUP).enumerate() {
            let text: String =
                group.iter().map(|digit| char::from(DIGITS[usize::from(*digit)])).collect();
            write!(f, "{}{text}", if index == 0 { "" } else { "-" })?;
        }
        Ok(())
    }
}

/// Prints nothing: the code is a secret.
impl fmt::Debug for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Code")
    }
}

impl FromStr for Code {
    type Err = Error;

    /// Accepts either case, any hyphens and spaces, O for 0, and I and L for 1.
    fn from_str(text: &str) -> Result<Self, Error> {
        let mut digits = Vec::with_capacity(SECRET + 1);
        for letter in text.chars().filter(|letter| !matches!(letter, '-' | ' ')) {
            let letter = match letter.to_ascii_lowercase() {
                'o' => '0',
                'i' | 'l' => '1',
                other => other,
            };
            let digit = DIGITS.iter().position(|digit| char::from(*digit) == letter);
            let digit = digit.and_then(|digit| u8::try_from(digit).ok());
            digits.push(digit.ok_or(Error::NoCode)?);
        }
        let (check, secret) = digits.split_last().ok_or(Error::NoCode)?;
        let code = Self(secret.try_into().map_err(|_| Error::NoCode)?);
        if *check == code.check() { Ok(code) } else { Err(Error::MistypedCode) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_is_read_as_people_type_it() {
        let code = Code::generate().expect("random numbers");
        let text = code.to_string();
        assert_eq!(text.len(), 29);
        for typed in
            [text.clone(), text.to_uppercase(), text.replace('-', " "), text.replace('0', "O")]
        {
            assert_eq!(typed.parse::<Code>().expect(&typed), code);
        }
        assert!(matches!("abc".parse::<Code>(), Err(Error::NoCode)));
        assert!(matches!("".parse::<Code>(), Err(Error::NoCode)));
    }

    #[test]
    fn the_check_digit_detects_most_typing_errors() {
        let text = Code::generate().expect("random numbers").to_string();
        let mut detected = 0;
        let mut tried = 0;
        for at in (0..text.len()).filter(|at| text.as_bytes()[*at] != b'-') {
            for digit in DIGITS.iter().map(|digit| char::from(*digit)) {
                let typed = format!("{}{digit}{}", &text[..at], &text[at + 1..]);
                if typed != text {
                    tried += 1;
                    detected += usize::from(typed.parse::<Code>().is_err());
                }
            }
        }
        assert!(detected * 100 > tried * 93, "{detected} of {tried}");
    }

    #[test]
    fn both_ends_derive_two_different_keys() {
        let code = Code::generate().expect("random numbers");
        let again: Code = code.to_string().parse().expect("the same code");
        assert_eq!(code.receiver().public(), again.receiver().public());
        assert_ne!(code.receiver().public(), code.sender().public());
        let other = Code::generate().expect("random numbers");
        assert_ne!(code.receiver().public(), other.receiver().public());
    }
}
