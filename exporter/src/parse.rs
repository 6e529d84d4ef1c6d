//! What kernel files have in common: numbers, words and CPU lists.
//!
//! Every parser is a pure function from a file's text to a value. A bad number is an error, never a 0.

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
    if !word.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(format!("{word:?} is not a number"));
    }
    word.parse().map_err(|error| format!("{word:?}: {error}"))
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

/// A CPU list as in `cpu/online`: `0-3,8\n`. An empty line is an empty list, and so is `(null)`, which
/// `cpu/nohz_full` prints when nothing was set.
///
/// # Errors
/// A part that is neither a number nor a rising range.
pub fn cpu_list(text: &str) -> Result<Vec<u32>, ParseError> {
    let text = text.trim();
    if text.is_empty() || text == "(null)" {
        return Ok(Vec::new());
    }
    let mut cpus = Vec::new();
    for part in text.split(',') {
        let bad = || ParseError::new(1, format!("{part:?} is no CPU or range of CPUs"));
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let first: u32 = first.trim().parse().map_err(|_| bad())?;
        let last: u32 = last.trim().parse().map_err(|_| bad())?;
        // The kernel's largest configurable CPU count is 8192: a longer range is garbage that would fill memory.
        if first > last || last - first > 1 << 16 {
            return Err(bad());
        }
        cpus.extend(first..=last);
    }
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
}
