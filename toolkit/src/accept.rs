//! The lists of `Accept` and `Accept-Encoding`: what a client takes, and how much it wants it (RFC 9110, 12.4.2).

/// One member of the list.
#[derive(Debug)]
pub(crate) struct Range<'h> {
    name: &'h str,
    parameters: Vec<(&'h str, &'h str)>,
    /// From 0, which refuses it, to 1.
    pub(crate) quality: f64,
}

impl Range<'_> {
    /// Whether this is the range called `name`.
    pub(crate) fn is(&self, name: &str) -> bool {
        self.name.eq_ignore_ascii_case(name)
    }

    /// The value of the parameter `name`.
    pub(crate) fn parameter(&self, name: &str) -> Option<&str> {
        let found = self
            .parameters
            .iter()
            .find(|(known, _)| known.eq_ignore_ascii_case(name));
        found.map(|(_, value)| *value)
    }
}

/// The members of `header`. A quality that is no number says nothing, and so counts as 1.
pub(crate) fn parse(header: &str) -> Vec<Range<'_>> {
    let range = |member| {
        let mut parts = str::split(member, ';').map(str::trim);
        let name = parts.next().unwrap_or_default();
        let parameters: Vec<(&str, &str)> = parts
            .map(|part| part.split_once('=').unwrap_or((part, "")))
            .map(|(name, value)| (name.trim(), value.trim().trim_matches('"')))
            .collect();
        let mut range = Range {
            name,
            parameters,
            quality: 1.0,
        };
        let quality = range.parameter("q").and_then(|q| q.parse::<f64>().ok());
        if let Some(quality) = quality.filter(|quality| (0.0..=1.0).contains(quality)) {
            range.quality = quality;
        }
        range
    };
    header.split(',').map(range).collect()
}

/// How much a client with `ranges` wants something, from 0 to 1: what the range that describes it most closely says.
pub(crate) fn quality(ranges: &[Range<'_>], specificity: impl Fn(&Range<'_>) -> Option<u8>) -> f64 {
    let fitting = ranges
        .iter()
        .filter_map(|range| Some((specificity(range)?, range)));
    let closest = fitting.max_by_key(|(specificity, _)| *specificity);
    closest.map_or(0.0, |(_, range)| range.quality)
}
