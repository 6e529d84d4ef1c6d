//! Writing integers in the place of `?`: a query by text has no parameters.

use crate::engines::text::{enclosed, written};

/// A statement cut at its placeholders.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Template(Vec<String>);

impl Template {
    /// Cuts `text`. A `?` inside quotes or a comment is not a placeholder.
    pub(super) fn new(text: &str) -> Self {
        let mut parts = Vec::new();
        let (mut begin, mut at) = (0, 0);
        while at < text.len() {
            if text[at..].starts_with('?') {
                parts.push(text[begin..at].to_owned());
                at += 1;
                begin = at;
            } else {
                at += opaque(&text[at..]);
            }
        }
        parts.push(text[begin..].to_owned());
        Template(parts)
    }

    /// How many placeholders there are.
    pub(super) fn placeholders(&self) -> usize {
        self.0.len() - 1
    }

    /// The text with `params` written in. A placeholder without a parameter stays, for the server to refuse.
    pub(super) fn with(&self, params: &[i64]) -> String {
        let mut text = String::new();
        for (index, part) in self.0.iter().enumerate() {
            if let Some(before) = index.checked_sub(1) {
                match params.get(before) {
                    Some(value) => text.push_str(&written(*value)),
                    None => text.push('?'),
                }
            }
            text.push_str(part);
        }
        text
    }
}

/// How many bytes from the start of `text` cannot begin a placeholder: a quoted part, a comment, or one character.
fn opaque(text: &str) -> usize {
    quoted(text)
        .or_else(|| enclosed(text, "#", "\n"))
        .or_else(|| enclosed(text, "-- ", "\n"))
        .or_else(|| enclosed(text, "/*", "*/"))
        .unwrap_or_else(|| text.chars().next().map_or(1, char::len_utf8))
}

/// The length of the quoted part that `text` begins with. A doubled quote ends one and begins the next, which comes to
/// the same; a backslash keeps the next character from ending it, but for names.
fn quoted(text: &str) -> Option<usize> {
    let quote = text
        .chars()
        .next()
        .filter(|c| matches!(c, '\'' | '"' | '`'))?;
    let mut escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' if quote != '`' => escaped = true,
            _ if c == quote => return Some(at + 1),
            _ => {}
        }
    }
    Some(text.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_stand_where_their_placeholders_stood() {
        for (text, params, expected) in [
            ("SELECT 1", &[][..], "SELECT 1"),
            ("SELECT ?", &[7], "SELECT 7"),
            ("SELECT ? - ?", &[1, 2], "SELECT 1 - 2"),
            ("SELECT 5-?", &[-3], "SELECT 5-(-3)"),
            ("SELECT ?, ?", &[1], "SELECT 1, ?"),
            ("SELECT '?', ?", &[7], "SELECT '?', 7"),
            ("SELECT 'it''s ?', ?", &[7], "SELECT 'it''s ?', 7"),
            (r"SELECT 'it\'s ?', ?", &[7], r"SELECT 'it\'s ?', 7"),
            (r"SELECT `a\`, ?", &[7], r"SELECT `a\`, 7"),
            ("SELECT \"?\", ?", &[7], "SELECT \"?\", 7"),
            ("SELECT ? -- ?\n, ?", &[7, 8], "SELECT 7 -- ?\n, 8"),
            ("SELECT ? # ?\n, ?", &[7, 8], "SELECT 7 # ?\n, 8"),
            ("SELECT 1--?", &[7], "SELECT 1--7"),
            ("SELECT /* ? */ ?", &[7], "SELECT /* ? */ 7"),
            ("SELECT é, ?", &[7], "SELECT é, 7"),
            ("SELECT '?", &[7], "SELECT '?"),
        ] {
            assert_eq!(Template::new(text).with(params), expected, "{text}");
        }
    }
}
