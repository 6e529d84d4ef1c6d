//! What kernel files have in common: numbers, words and CPU lists.
//!
//! Every parser is a pure function from a file's text to a value. A bad number is an error, never a 0.

/// The kernel's largest configurable CPU count is 8192: a longer list is garbage that would fill memory.
const MAX_CPUS: usize = 1 << 16;

/// Why a kernel file's text could not be understood.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {problem}")]
pub struct ParseError {
    /// Line in the file, from 1.
    pub line: usize,
    /// What is wrong there.
    pub problem: String,
}

impl ParseError {
    /// An error in line `line`, counted from 1.
    pub fn new(line: usize, problem: impl Into<String>) -> Self {
        ParseError {
            line,
            problem: problem.into(),
        }
    }
}

/// A file that holds one whole number: `1234\n`.
///
/// # Errors
/// Anything else, or a number over 2^64 - 1.
pub fn number(text: &str) -> Result<u64, ParseError> {
    field(1, text.trim())
}

/// One field of line `line` that holds a whole number.
///
/// # Errors
/// Anything else, or a number over 2^64 - 1.
pub fn field(line: usize, field: &str) -> Result<u64, ParseError> {
    digits(field).map_err(|problem| ParseError::new(line, problem))
}

/// A whole number without a sign, which is what the kernel prints.
///
/// # Errors
/// Anything else, or a number over 2^64 - 1, as a sentence.
pub fn digits(word: &str) -> Result<u64, String> {
    let (number, length) = leading_digits(word.as_bytes());
    if (1..=SAFE_DIGITS).contains(&length) && length == word.len() {
        return Ok(number);
    }
    let is_digits = length == word.len();
    let number = is_digits.then(|| word.parse().ok()).flatten();
    number.ok_or_else(|| no_number(word))
}

/// The whole numbers of a line, which white space parts.
///
/// What is no number of 64 bits is an error in its place, as a sentence.
pub fn numbers(line: &str) -> impl Iterator<Item = Result<u64, String>> {
    let mut rest = line;
    std::iter::from_fn(move || {
        rest = rest.trim_ascii_start();
        let bytes = rest.as_bytes();
        let (number, length) = leading_digits(bytes);
        if (1..=SAFE_DIGITS).contains(&length)
            && bytes.get(length).is_none_or(u8::is_ascii_whitespace)
        {
            rest = &rest[length..];
            return Some(Ok(number));
        }
        let end = bytes.iter().position(u8::is_ascii_whitespace);
        let (word, behind) = rest.split_at(end.unwrap_or(rest.len()));
        rest = behind;
        (!word.is_empty()).then(|| digits(word))
    })
}

/// As many digits as always fit.
const SAFE_DIGITS: usize = 19;

/// The number `text` begins with, and how many digits it has. Of more than [`SAFE_DIGITS`] the number may be wrong.
///
/// Without a check at each digit: a large host has 50 000 numbers in a scrape.
fn leading_digits(text: &[u8]) -> (u64, usize) {
    let (mut number, mut length) = (0_u64, 0);
    for byte in text {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            break;
        }
        number = number.wrapping_mul(10).wrapping_add(u64::from(digit));
        length += 1;
    }
    (number, length)
}

#[cold]
fn no_number(word: &str) -> String {
    match word.bytes().all(|byte| byte.is_ascii_digit()) && !word.is_empty() {
        true => format!("{word:?} is over {}", u64::MAX),
        false => format!("{word:?} is not a number"),
    }
}

/// A file that holds one line of text: `menu\n`.
///
/// # Errors
/// Nothing but white space.
pub fn word(text: &str) -> Result<String, ParseError> {
    match text.trim() {
        "" => Err(ParseError::new(1, "empty")),
        word => Ok(word.to_owned()),
    }
}

/// The first two numbers of `osrelease`: `6.1.0-57-amd64\n` is Linux 6.1.
///
/// # Errors
/// There are no two numbers with a full stop between at its beginning.
pub fn release(text: &str) -> Result<(u32, u32), ParseError> {
    let bad = || ParseError::new(1, format!("{:?} is no release of Linux", text.trim()));
    let (major, rest) = text.split_once('.').ok_or_else(bad)?;
    let minor = rest.split(|c: char| !c.is_ascii_digit()).next();
    let number = |word: &str| u32::try_from(digits(word).map_err(|_| bad())?).map_err(|_| bad());
    Ok((number(major)?, number(minor.unwrap_or_default())?))
}

/// A file that holds `0` or `1`.
///
/// # Errors
/// Anything else.
pub fn switch(text: &str) -> Result<bool, ParseError> {
    match text.trim() {
        "0" => Ok(false),
        "1" => Ok(true),
        other => Err(ParseError::new(1, format!("{other:?} is neither 0 nor 1"))),
    }
}

/// The kernel's number of a CPU.
///
/// # Errors
/// Anything but digits, or a number over 2^32 - 1, as a sentence.
pub fn cpu(word: &str) -> Result<u32, String> {
    u32::try_from(digits(word)?).map_err(|error| format!("{word:?}: {error}"))
}

/// A CPU list as in `cpu/online`: `0-3,8\n`, in rising order and each CPU once, however it was written. An empty line is
/// an empty list, and so is `(null)`, which `cpu/nohz_full` prints when nothing was set.
///
/// # Errors
/// A part that is neither a number nor a rising range, or more CPUs than any kernel has.
pub fn cpu_list(text: &str) -> Result<Vec<u32>, ParseError> {
    let text = text.trim();
    if text.is_empty() || text == "(null)" {
        return Ok(Vec::new());
    }
    let mut cpus = Vec::new();
    for part in text.split(',') {
        let bad = || ParseError::new(1, format!("{part:?} is no CPU or range of CPUs"));
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let first = cpu(first.trim()).map_err(|_| bad())?;
        let last = cpu(last.trim()).map_err(|_| bad())?;
        if first > last || cpus.len() + (last - first) as usize > MAX_CPUS {
            return Err(bad());
        }
        cpus.extend(first..=last);
    }
    // What the kernel writes is in order already; what a user writes need not be.
    cpus.sort_unstable();
    cpus.dedup();
    Ok(cpus)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers() {
        assert_eq!(number("44123\n"), Ok(44123));
        assert_eq!(number("18446744073709551615\n"), Ok(u64::MAX));
        for bad in [
            "",
            "\n",
            "18446744073709551616\n",
            "-1\n",
            "+1\n",
            "1 2\n",
            "0x10\n",
        ] {
            assert!(number(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn numbers_of_a_line_are_those_of_its_words() {
        let line = " 7\t18446744073709551615  18446744073709551616 -1 x é 0\u{a0}1 08 ";
        let words: Vec<_> = line.split_ascii_whitespace().map(digits).collect();
        assert_eq!(super::numbers(line).collect::<Vec<_>>(), words);
        assert_eq!(words.iter().filter(|word| word.is_err()).count(), 5);
        assert_eq!(super::numbers(" \n").count(), 0);
    }

    #[test]
    fn words_keep_their_inner_blanks() {
        assert_eq!(word("haltpoll idle\n"), Ok("haltpoll idle".to_owned()));
        assert!(word("\n").is_err());
    }

    #[test]
    fn releases() {
        assert_eq!(release("5.10.0-46-amd64\n"), Ok((5, 10)));
        assert_eq!(release("6.12.117+deb12-amd64\n"), Ok((6, 12)));
        assert_eq!(release("7.2-rc1\n"), Ok((7, 2)));
        for bad in [
            "",
            "\n",
            "6\n",
            "6.\n",
            ".1\n",
            "v6.1\n",
            "+6.1\n",
            "4294967296.1\n",
        ] {
            assert!(release(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn switches() {
        assert_eq!(switch("1\n"), Ok(true));
        assert_eq!(switch("0\n"), Ok(false));
        assert!(switch("2\n").is_err());
        assert!(switch("").is_err());
    }

    #[test]
    fn cpu_lists() {
        assert_eq!(cpu_list("0-3,8\n"), Ok(vec![0, 1, 2, 3, 8]));
        assert_eq!(cpu_list("0\n"), Ok(vec![0]));
        assert_eq!(cpu_list("\n"), Ok(vec![]));
        assert_eq!(cpu_list("(null)\n"), Ok(vec![]));
        for bad in ["3-1", "a", "1,", "0-4294967295", "1-2-3"] {
            assert!(cpu_list(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn a_cpu_list_that_names_a_cpu_twice_counted_it_twice() {
        assert_eq!(cpu_list("8,2-3,3,2\n"), Ok(vec![2, 3, 8]));
    }

    #[test]
    fn a_cpu_list_of_many_long_ranges_filled_memory() {
        assert_eq!(cpu_list("0-65535").map(|cpus| cpus.len()), Ok(65_536));
        assert!(cpu_list("0-65535,0-65535").is_err());
    }

    #[test]
    fn a_cpu_with_a_plus_in_front_was_taken_for_a_number() {
        for bad in ["+1", "0-+3", "-1", "4294967296", ""] {
            assert!(cpu(bad).is_err(), "{bad:?}");
        }
        assert!(cpu_list("+1").is_err());
    }
}
