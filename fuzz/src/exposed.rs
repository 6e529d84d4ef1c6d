//! Reads the text exposition format 0.0.4 back, strictly, and with no line of the product's.

use std::collections::BTreeMap;

/// One sample: its name, its labels in their order, its value.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Sample {
    pub(crate) name: String,
    pub(crate) labels: Vec<(String, String)>,
    pub(crate) value: f64,
}

/// A family: its type, its help and its samples.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Family {
    pub(crate) kind: String,
    pub(crate) help: String,
    pub(crate) samples: Vec<Sample>,
}

/// The families of `text` by name.
///
/// # Panics
///
/// If a line is not what the format allows, a family comes twice, or a series.
pub(crate) fn read(text: &str) -> BTreeMap<String, Family> {
    let mut families = BTreeMap::<String, Family>::new();
    let (mut help, mut current) = (None, String::new());
    for line in text.split_terminator('\n') {
        if let Some(rest) = line.strip_prefix("# HELP ") {
            let (name, text) = rest.split_once(' ').unwrap_or_else(|| panic!("{line}"));
            help = Some((name.to_owned(), unescape(text, false)));
        } else if let Some(rest) = line.strip_prefix("# TYPE ") {
            let (name, kind) = rest.split_once(' ').unwrap_or_else(|| panic!("{line}"));
            let (helped, help) = help.take().unwrap_or_default();
            assert_eq!(helped, name, "the help of one family stands before another");
            let family = Family {
                kind: kind.to_owned(),
                help,
                samples: Vec::new(),
            };
            current = name.to_owned();
            let before = families.insert(current.clone(), family);
            assert!(before.is_none(), "{name} comes twice");
        } else {
            let sample = sample(line);
            let of_family = ["", "_bucket", "_sum", "_count"]
                .iter()
                .any(|end| sample.name.strip_suffix(end) == Some(&*current));
            assert!(of_family, "{line} is below the type of {current}");
            let family = families.get_mut(&current);
            family
                .unwrap_or_else(|| panic!("{line}"))
                .samples
                .push(sample);
        }
    }
    for family in families.values() {
        let mut series: Vec<_> = family
            .samples
            .iter()
            .map(|s| (&s.name, &s.labels))
            .collect();
        series.sort();
        let twice = series.windows(2).find(|pair| pair[0] == pair[1]);
        assert_eq!(twice, None, "a series comes twice");
    }
    families
}

fn sample(line: &str) -> Sample {
    let name_end = line.find(['{', ' ']).unwrap_or_else(|| panic!("{line}"));
    let (name, mut rest) = line.split_at(name_end);
    assert!(is_name(name), "{line}");
    let mut labels = Vec::new();
    if let Some(inside) = rest.strip_prefix('{') {
        rest = inside;
        loop {
            let (label, after) = rest.split_once("=\"").unwrap_or_else(|| panic!("{line}"));
            assert!(is_name(label) && !label.contains(':'), "{line}");
            let end = end_of_quoted(after).unwrap_or_else(|| panic!("{line}"));
            labels.push((label.to_owned(), unescape(&after[..end], true)));
            rest = &after[end + 1..];
            match rest.strip_prefix(',') {
                Some(more) => rest = more,
                None => break,
            }
        }
        rest = rest.strip_prefix('}').unwrap_or_else(|| panic!("{line}"));
    }
    let value = rest.strip_prefix(' ').unwrap_or_else(|| panic!("{line}"));
    Sample {
        name: name.to_owned(),
        labels,
        value: value.parse().unwrap_or_else(|_| panic!("{line}")),
    }
}

fn is_name(name: &str) -> bool {
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == ':';
    name.chars().all(fits) && name.starts_with(|c: char| !c.is_ascii_digit())
}

/// Where the first quote stands that no backslash takes away.
fn end_of_quoted(text: &str) -> Option<usize> {
    let mut escaped = false;
    text.bytes().position(|byte| {
        let end = byte == b'"' && !escaped;
        escaped = byte == b'\\' && !escaped;
        end
    })
}

fn unescape(text: &str, quotes: bool) -> String {
    let (mut out, mut chars) = (String::new(), text.chars());
    while let Some(char) = chars.next() {
        out.push(match char {
            '\\' => match chars.next() {
                Some('n') => '\n',
                Some('\\') => '\\',
                Some('"') if quotes => '"',
                other => panic!("{text:?}: a backslash before {other:?}"),
            },
            '"' if quotes => panic!("{text:?}: a quote inside"),
            other => other,
        });
    }
    out
}
