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
    fn words_keep_their_inner_blanks() {
        assert_eq!(word("haltpoll idle\n"), Ok("haltpoll idle".to_owned()));
        assert!(word("\n").is_err());
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
