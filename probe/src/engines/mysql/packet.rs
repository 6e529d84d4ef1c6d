//! The parts packets are made of, read off a slice from its front.

use bytes::Buf as _;

use super::conversation::protocol;
use crate::engine::Failure;

/// What is left of a packet.
#[derive(Debug, Clone, Copy)]
pub(super) struct Reader<'p>(pub(super) &'p [u8]);

fn short() -> Failure {
    protocol("a packet that ends too early")
}

impl<'p> Reader<'p> {
    pub(super) fn byte(&mut self) -> Result<u8, Failure> {
        self.0.try_get_u8().map_err(|_| short())
    }

    pub(super) fn u16(&mut self) -> Result<u16, Failure> {
        self.0.try_get_u16_le().map_err(|_| short())
    }

    pub(super) fn u32(&mut self) -> Result<u32, Failure> {
        self.0.try_get_u32_le().map_err(|_| short())
    }

    pub(super) fn take(&mut self, length: usize) -> Result<&'p [u8], Failure> {
        let (taken, rest) = self.0.split_at_checked(length).ok_or_else(short)?;
        self.0 = rest;
        Ok(taken)
    }

    /// Up to a NUL byte, which is taken too.
    pub(super) fn until_nul(&mut self) -> Result<&'p [u8], Failure> {
        let length = self.0.iter().position(|byte| *byte == 0);
        let text = self.take(length.ok_or_else(short)?)?;
        self.byte()?;
        Ok(text)
    }

    /// An integer that says its own length.
    pub(super) fn integer(&mut self) -> Result<u64, Failure> {
        match self.byte()? {
            small @ 0..=0xfa => Ok(u64::from(small)),
            0xfc => self.u16().map(u64::from),
            0xfd => {
                let [a, b, c] = *self.take(3)? else {
                    return Err(short());
                };
                Ok(u64::from(u32::from_le_bytes([a, b, c, 0])))
            }
            0xfe => self.0.try_get_u64_le().map_err(|_| short()),
            _ => Err(protocol("a byte that begins no integer")),
        }
    }

    /// A column of a row of text: NULL, or bytes with their length before them.
    pub(super) fn column(&mut self) -> Result<Option<&'p [u8]>, Failure> {
        if let [0xfb, rest @ ..] = self.0 {
            self.0 = rest;
            return Ok(None);
        }
        let length = self.integer()?;
        let length = usize::try_from(length).map_err(|_| short())?;
        self.take(length).map(Some)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_integer_says_its_own_length() {
        for (bytes, value) in [
            (&[0][..], 0),
            (&[0xfa], 0xfa),
            (&[0xfc, 0xfb, 0], 0xfb),
            (&[0xfd, 1, 2, 3], 0x03_0201),
            (&[0xfe, 1, 0, 0, 0, 0, 0, 0, 0x80], 0x8000_0000_0000_0001),
        ] {
            let mut reader = Reader(bytes);
            assert_eq!(reader.integer().unwrap(), value);
            assert!(reader.0.is_empty());
            for cut in 0..bytes.len() {
                assert!(Reader(&bytes[..cut]).integer().is_err(), "{bytes:?} {cut}");
            }
        }
        for byte in [0xfb, 0xff] {
            assert!(Reader(&[byte, 0, 0]).integer().is_err());
        }
    }

    #[test]
    fn a_column_is_null_or_as_long_as_it_says() {
        let mut row = Reader(b"\x02ab\xfb\x00\x05abc");
        assert_eq!(row.column().unwrap(), Some(&b"ab"[..]));
        assert_eq!(row.column().unwrap(), None);
        assert_eq!(row.column().unwrap(), Some(&b""[..]));
        assert!(row.column().is_err());
        assert!(
            Reader(&[0xfe, 255, 255, 255, 255, 255, 255, 255, 255])
                .column()
                .is_err()
        );
    }

    #[test]
    fn a_text_ends_at_its_nul() {
        let mut reader = Reader(b"ab\0c");
        assert_eq!(reader.until_nul().unwrap(), b"ab");
        assert_eq!(reader.0, b"c");
        assert!(reader.until_nul().is_err());
    }
}
