//! What the texts of statements have in common: comments and quotes, and integers that are written in.

/// The length of the part that `text` begins with: from `open` to `close`, or to the end without one.
pub(super) fn enclosed(text: &str, open: &str, close: &str) -> Option<usize> {
    let inside = text.strip_prefix(open)?;
    let end = inside
        .find(close)
        .map_or(inside.len(), |end| end + close.len());
    Some(open.len() + end)
}

/// An integer as it stands in a statement: a negative one in parentheses, since a `-` before it would begin a comment or
/// mean something else.
pub(super) fn written(value: i64) -> String {
    match value < 0 {
        true => format!("({value})"),
        false => value.to_string(),
    }
}
