//! Writing integers in the place of `$1`, `$2`: the simple protocol has no parameters.

use crate::engines::text::{enclosed, written};

/// A statement cut at its placeholders.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Template {
    /// Text before a placeholder, and the number of that placeholder.
    parts: Vec<(String, usize)>,
    rest: String,
}

impl Template {
    /// Cuts `text`. A `$1` inside quotes, a comment or a name is not a placeholder.
    pub(super) fn new(text: &str) -> Self {
        let mut parts = Vec::new();
        let (mut begin, mut at) = (0, 0);
        while at < text.len() {
            if let Some((number, length)) = placeholder(text, at) {
                parts.push((text[begin..at].to_owned(), number));
                at += length;
                begin = at;
            } else {
                at += opaque(&text[at..]);
            }
        }
        Template {
            parts,
            rest: text[begin..].to_owned(),
        }
    }

    /// The text with `params` written in. A placeholder without a parameter stays, for the server to refuse.
    pub(super) fn with(&self, params: &[i64]) -> String {
        let mut text = String::new();
        for (before, number) in &self.parts {
            text.push_str(before);
            match number.checked_sub(1).and_then(|index| params.get(index)) {
                Some(value) => text.push_str(&written(*value)),
                None => text.push_str(&format!("${number}")),
            }
        }
        text.push_str(&self.rest);
        text
    }
}

/// The number of the placeholder at byte `at`, and its length in bytes.
fn placeholder(text: &str, at: usize) -> Option<(usize, usize)> {
    let in_name = |c: char| c.is_alphanumeric() || matches!(c, '_' | '$');
    let digits = text[at..].strip_prefix('$')?;
    let length = digits.len()
        - digits
            .trim_start_matches(|c: char| c.is_ascii_digit())
            .len();
    if text[..at].ends_with(in_name) {
        return None;
    }
    Some((digits[..length].parse().ok()?, length + 1))
}

/// How many bytes from the start of `text` cannot begin a placeholder: a quoted part, a comment, or one character.
fn opaque(text: &str) -> usize {
    // A doubled quote ends one quoted part and begins the next, which comes to the same.
    enclosed(text, "'", "'")
        .or_else(|| enclosed(text, "\"", "\""))
        .or_else(|| enclosed(text, "--", "\n"))
        .or_else(|| enclosed(text, "/*", "*/"))
        .or_else(|| enclosed(text, "$$", "$$"))
        .unwrap_or_else(|| text.chars().next().map_or(1, char::len_utf8))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_stand_where_their_placeholders_stood() {
        for (text, params, expected) in [
            ("SELECT 1", &[][..], "SELECT 1"),
            ("SELECT $1", &[7], "SELECT 7"),
            ("SELECT $2 - $1", &[1, 2], "SELECT 2 - 1"),
            ("SELECT 5-$1", &[-3], "SELECT 5-(-3)"),
            ("SELECT $12", &[1], "SELECT $12"),
            ("SELECT '$1', $1", &[7], "SELECT '$1', 7"),
            ("SELECT 'it''s $1', $1", &[7], "SELECT 'it''s $1', 7"),
            ("SELECT \"$1\", $1", &[7], "SELECT \"$1\", 7"),
            ("SELECT $1 -- $1\n, $1", &[7], "SELECT 7 -- $1\n, 7"),
            ("SELECT /* $1 */ $1", &[7], "SELECT /* $1 */ 7"),
            ("SELECT $$ $1 $$, $1", &[7], "SELECT $$ $1 $$, 7"),
            ("SELECT a$1, é, $1", &[7], "SELECT a$1, é, 7"),
            ("SELECT '$1", &[7], "SELECT '$1"),
        ] {
            assert_eq!(Template::new(text).with(params), expected, "{text}");
        }
    }
}
