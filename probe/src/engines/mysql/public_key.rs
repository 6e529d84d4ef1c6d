//! Hiding the password with the server's RSA key, as caching_sha2_password does where there is no TLS.
//!
//! The key comes from whoever answers. The crate that encrypts with it panics on a key that is cut short, has no
//! modulus, or is too small for the password, so each is looked for here first.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use mysql_common::crypto;

use super::conversation::protocol;
use crate::engine::Failure;

/// What OAEP with SHA-1 takes of a key for itself.
const PADDING_BYTES: usize = 42;

/// Sizes of a modulus in bytes: MySQL makes 2048 bits, nothing below 1024 hides anything, and nobody has more than 16384.
const MODULUS_BYTES: std::ops::RangeInclusive<usize> = 128..=2048;

const SEQUENCE: u8 = 0x30;
const BIT_STRING: u8 = 0x03;
const INTEGER: u8 = 0x02;

/// `password` mixed with the server's challenge, for the owner of `pem` alone.
pub(super) fn encrypt(password: &[u8], challenge: &[u8], pem: &[u8]) -> Result<Vec<u8>, Failure> {
    let bad = || protocol("a key that is no RSA public key");
    let size = modulus_bytes(pem).ok_or_else(bad)?;
    if password.len() + PADDING_BYTES > size {
        return Err(protocol("a key that is too small for the password"));
    }
    let mixed: Vec<u8> = password
        .iter()
        .zip(challenge.iter().cycle())
        .map(|(byte, with)| byte ^ with)
        .collect();
    if mixed.len() < password.len() {
        return Err(protocol("a challenge that is empty"));
    }
    crypto::encrypt(&mixed, pem).map_err(|error| protocol(error.to_string()))
}

/// The size of the modulus of a key in PEM (`BEGIN PUBLIC KEY`, RFC 7468), whole in each of its parts.
fn modulus_bytes(pem: &[u8]) -> Option<usize> {
    let text = std::str::from_utf8(pem).ok()?.trim_end_matches('\0').trim();
    let text = text.strip_prefix("-----BEGIN PUBLIC KEY-----")?;
    let text = text.strip_suffix("-----END PUBLIC KEY-----")?;
    let text: String = text.split_ascii_whitespace().collect();
    let der = STANDARD.decode(text).ok()?;
    let mut outer = element(&mut &der[..], SEQUENCE)?;
    let _algorithm = element(&mut outer, SEQUENCE)?;
    let [0, key @ ..] = element(&mut outer, BIT_STRING)? else {
        return None;
    };
    let mut key = element(&mut &key[..], SEQUENCE)?;
    let modulus = element(&mut key, INTEGER)?;
    let exponent = element(&mut key, INTEGER)?;
    // A NUL in front keeps a number positive. Whole bytes, as the encryption reckons.
    let [0, modulus @ ..] = modulus else {
        return None;
    };
    let whole = modulus.first().is_some_and(|byte| byte & 0x80 != 0);
    let odd = |number: &[u8]| number.last().is_some_and(|byte| byte & 1 != 0);
    let fine = whole && odd(modulus) && odd(exponent) && exponent.len() <= 8 && exponent != [1];
    (fine && MODULUS_BYTES.contains(&modulus.len())).then_some(modulus.len())
}

/// The contents of the element of DER that `rest` begins with, which has to be a `tag`.
fn element<'d>(rest: &mut &'d [u8], tag: u8) -> Option<&'d [u8]> {
    let [found, length, after @ ..] = *rest else {
        return None;
    };
    let (length, after) = match (length, after) {
        (0..=0x7f, after) => (usize::from(*length), after),
        (0x81, [low, after @ ..]) => (usize::from(*low), after),
        (0x82, [high, low, after @ ..]) => (usize::from(u16::from_be_bytes([*high, *low])), after),
        _ => return None,
    };
    let (contents, after) = after.split_at_checked(length)?;
    *rest = after;
    (*found == tag).then_some(contents)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Made by `openssl genrsa 1024 | openssl rsa -pubout`.
    const KEY: &str = include_str!("public_key/key.pem");

    #[test]
    fn a_key_is_taken_and_each_use_looks_different() {
        assert_eq!(modulus_bytes(KEY.as_bytes()), Some(128));
        let hidden = encrypt(b"secret\0", b"challenge", KEY.as_bytes()).unwrap();
        assert_eq!(hidden.len(), 128);
        assert_ne!(
            hidden,
            encrypt(b"secret\0", b"challenge", KEY.as_bytes()).unwrap()
        );
        assert!(encrypt(&[b'x'; 86], b"challenge", KEY.as_bytes()).is_ok());
        for (password, challenge) in [(&[b'x'; 87][..], &b"challenge"[..]), (b"secret\0", b"")] {
            assert!(encrypt(password, challenge, KEY.as_bytes()).is_err());
        }
    }

    #[test]
    fn what_is_no_key_is_an_error_and_no_panic() {
        let lines: Vec<&str> = KEY.lines().collect();
        let body = STANDARD.decode(lines[1..lines.len() - 1].concat()).unwrap();
        let pem = |der: &[u8]| {
            let text = STANDARD.encode(der);
            format!("-----BEGIN PUBLIC KEY-----\n{text}\n-----END PUBLIC KEY-----\n").into_bytes()
        };
        assert!(encrypt(b"x", b"y", &pem(&body)).is_ok());
        for cut in 0..body.len() {
            assert!(encrypt(b"x", b"y", &pem(&body[..cut])).is_err(), "{cut}");
        }
        // Any end but a panic.
        for at in 0..body.len() {
            for bit in 0..8 {
                let mut other = body.clone();
                other[at] ^= 1 << bit;
                let _ = encrypt(b"x", b"y", &pem(&other));
            }
        }
        for other in [&b""[..], b"\xff", b"-----BEGIN PUBLIC KEY-----"] {
            assert!(encrypt(b"x", b"y", other).is_err());
        }
    }
}
