//! Numbers, words and CPU lists, tables by CPU, and counters made wider: functions that are public.

use exporter::parse;
use exporter::table::{self, Sum};
use exporter::wide::Wide;

pub(crate) fn run(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return;
    };
    number(text);
    cpu_list(text);
    columns(text);
    let numbers: Vec<u64> = text.lines().filter_map(|l| parse::number(l).ok()).collect();
    wide(&numbers);
    sum(&numbers);
}

fn number(text: &str) {
    let word = text.trim();
    let digits = !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_digit());
    match parse::number(text) {
        Ok(number) => {
            assert!(digits);
            let shortest = word.trim_start_matches('0');
            let shortest = if shortest.is_empty() { "0" } else { shortest };
            assert_eq!(number.to_string(), shortest);
        }
        Err(error) => {
            assert_eq!(error.line, 1);
            assert!(!digits || word.trim_start_matches('0').len() >= 20);
        }
    }
    if let Ok(on) = parse::switch(text) {
        assert_eq!(parse::number(text), Ok(u64::from(on)));
    }
    assert_eq!(parse::word(text).is_ok(), !word.is_empty());
}

/// A list is read as what it says, rising and without doubles, and written down reads as the same.
fn cpu_list(text: &str) {
    let Ok(cpus) = parse::cpu_list(text) else {
        return;
    };
    assert!(cpus.is_sorted_by(|a, b| a < b), "{text:?}: {cpus:?}");
    let word = text.trim();
    let is_of_list = |c: char| c.is_ascii_digit() || c.is_whitespace() || ",-".contains(c);
    assert!(word == "(null)" || word.chars().all(is_of_list), "{text:?}");
    for end in [cpus.first(), cpus.last()].into_iter().flatten() {
        let mut numbers = word.split([',', '-']).map(str::trim);
        assert!(numbers.any(|number| number.parse() == Ok(*end)), "{text:?}");
    }
    assert_eq!(parse::cpu_list(&ranges(&cpus)), Ok(cpus));
}

fn ranges(cpus: &[u32]) -> String {
    let runs = cpus.chunk_by(|a, b| a + 1 == *b);
    let runs = runs.filter_map(|run| match run {
        [] => None,
        [one] => Some(one.to_string()),
        [first, .., last] => Some(format!("{first}-{last}")),
    });
    runs.collect::<Vec<_>>().join(",")
}

fn columns(text: &str) {
    let Ok((cpus, rows)) = table::table(text) else {
        return;
    };
    let head: Vec<String> = cpus.iter().map(|cpu| format!("CPU{cpu}")).collect();
    let first = text.lines().next().unwrap();
    let said: Vec<String> = first.split_ascii_whitespace().map(without_zeros).collect();
    assert_eq!(head, said);
    for row in rows {
        let Ok(counts) = row.counts(&cpus) else {
            continue;
        };
        let line = text.lines().nth(row.line - 1).unwrap();
        let (_, behind) = line.split_once(':').unwrap();
        let mut words = behind.split_ascii_whitespace();
        for ((cpu, count), expected) in counts.iter().zip(&cpus) {
            assert_eq!(cpu, expected);
            assert_eq!(words.next().unwrap().parse(), Ok(*count));
        }
    }
}

/// `CPU007` as the kernel would write it.
fn without_zeros(column: &str) -> String {
    let digits = column.strip_prefix("CPU").unwrap();
    let shortest = digits.trim_start_matches('0');
    format!("CPU{}", if shortest.is_empty() { "0" } else { shortest })
}

/// A total never goes back, and rises by no more than there can have been.
fn wide(numbers: &[u64]) {
    const WRAP: u128 = 1 << 32;
    let mut wide = Wide::default();
    let (mut last, mut total) = (0_u64, 0_u64);
    for now in numbers {
        let next = wide.advance(*now);
        assert_eq!(next, wide.total());
        assert!(next >= total, "{total} and then {next}");
        let counted = u128::from(next - total);
        let most = match now.checked_sub(last) {
            Some(counted) => u128::from(counted),
            None => u128::from(*now) + WRAP - 1,
        };
        assert!(counted <= most, "{last}, {now}: {counted} counted");
        (last, total) = (*now, next);
    }
}

/// The sum over CPUs, which come and go, never goes back either.
fn sum(numbers: &[u64]) {
    let mut sum = Sum::default();
    let mut total = 0;
    for counts in numbers.chunks(3) {
        let counts: Vec<(u32, u64)> = (0..).zip(counts.iter().copied()).collect();
        let next = sum.advance(&counts);
        assert!(next >= total, "{total} and then {next}");
        total = next;
    }
}
