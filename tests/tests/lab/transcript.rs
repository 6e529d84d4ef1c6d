//! What the machine printed, in sections.

use std::collections::BTreeMap;

/// The sections of a run by name.
#[derive(Debug)]
pub(crate) struct Transcript(BTreeMap<String, String>);

/// The samples of one scrape: a series as the text format spells it, and its value.
#[derive(Debug)]
pub(crate) struct Scrape(BTreeMap<String, f64>);

impl Transcript {
    /// Sections begin with a line `@@ NAME`.
    pub(crate) fn parse(text: &str) -> Transcript {
        let sections = text.split("@@ ").skip(1);
        let sections = sections.filter_map(|section| section.split_once('\n'));
        Transcript(
            sections
                .map(|(name, text)| (name.trim().to_owned(), text.to_owned()))
                .collect(),
        )
    }

    /// The text of the section `name`, if it was reached.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    /// The text of the section `name`.
    pub(crate) fn text(&self, name: &str) -> &str {
        self.get(name)
            .unwrap_or_else(|| panic!("the machine never came to {name}"))
    }

    /// The number that the line of `section` that begins with `label` ends with.
    pub(crate) fn number(&self, section: &str, label: &str) -> f64 {
        let text = self.text(section);
        let line = text
            .lines()
            .find_map(|line| line.strip_prefix(label)?.strip_prefix(' '));
        line.and_then(|number| number.parse().ok())
            .unwrap_or_else(|| panic!("no {label} in:\n{text}"))
    }

    /// The scrape `name`.
    pub(crate) fn scrape(&self, name: &str) -> Scrape {
        let samples = self.text(name).lines().map(|line| {
            let (series, value) = line
                .rsplit_once(' ')
                .unwrap_or_else(|| panic!("{name}: {line:?}"));
            let value = value.parse().unwrap_or_else(|_| panic!("{name}: {line:?}"));
            (series.to_owned(), value)
        });
        Scrape(samples.collect())
    }

    /// The scrapes there are, by name.
    pub(crate) fn scrapes(&self) -> Vec<&str> {
        let sections = self.0.iter();
        let scrapes =
            sections.filter(|(_, text)| text.contains("\nwakelag_scrape_collector_state"));
        scrapes.map(|(name, _)| &**name).collect()
    }

    /// How long the machine was up when `clock` was printed.
    pub(crate) fn uptime_s(&self, clock: &str) -> f64 {
        let uptime = self.text(clock).split(' ').next().unwrap();
        uptime.parse().unwrap()
    }

    /// When `clock` was printed, seconds since 1970.
    pub(crate) fn time_s(&self, clock: &str) -> f64 {
        self.text(clock).lines().nth(1).unwrap().parse().unwrap()
    }
}

impl Scrape {
    /// The one sample of `series`.
    pub(crate) fn value(&self, series: &str) -> f64 {
        self.get(series).unwrap_or_else(|| {
            let family = series.split('{').next().unwrap_or_default();
            panic!("no {series} among {:#?}", self.series(family, ""))
        })
    }

    /// The one sample of `series`, if there is one.
    pub(crate) fn get(&self, series: &str) -> Option<f64> {
        self.0.get(series).copied()
    }

    /// The series of `family`, which may be of one CPU only.
    pub(crate) fn series(&self, family: &str, labels: &str) -> Vec<(&str, f64)> {
        let of_family = |series: &str| series.split('{').next() == Some(family);
        let samples = self.0.iter().map(|(series, value)| (&**series, *value));
        samples
            .filter(|(series, _)| of_family(series) && series.contains(labels))
            .collect()
    }

    /// Families with a series that has `label`.
    pub(crate) fn families_with(&self, label: &str) -> Vec<&str> {
        let series = self.0.keys().filter(|series| series.contains(label));
        let mut families: Vec<_> = series
            .filter_map(|series| series.split('{').next())
            .collect();
        families.dedup();
        families
    }

    /// The profile in force.
    pub(crate) fn profile(&self) -> &str {
        let active = self.series("wakelag_profile_active", "");
        let mut active = active.iter().filter(|(_, value)| *value == 1.0);
        let (Some((series, _)), None) = (active.next(), active.next()) else {
            panic!("not one profile is active: {self:#?}");
        };
        series.split('"').nth(1).unwrap()
    }

    /// The settings with another date of their last change than `earlier`.
    pub(crate) fn settings_changed_since(&self, earlier: &Scrape) -> Vec<&str> {
        let dated = self.series("wakelag_setting_last_change_timestamp_seconds", "");
        let changed = dated
            .into_iter()
            .filter(|(series, date)| earlier.get(series) != Some(*date));
        changed
            .map(|(series, _)| series.split('"').nth(1).unwrap())
            .collect()
    }

    /// Changes of the profile that were counted since `earlier`.
    pub(crate) fn profile_changes_since(&self, earlier: &Scrape) -> f64 {
        let changes = "wakelag_profile_changes_total";
        self.value(changes) - earlier.value(changes)
    }

    /// Collectors that have not ended `ok` or `absent`, and errors counted.
    pub(crate) fn troubles(&self) -> Vec<(&str, f64)> {
        let states = self.series("wakelag_scrape_collector_state", "");
        let bad =
            |series: &str| !series.contains("state=\"ok\"") && !series.contains("state=\"absent\"");
        let states = states
            .into_iter()
            .filter(|(series, value)| *value != 0.0 && bad(series));
        let errors = self.series("wakelag_scrape_errors_total", "");
        states
            .chain(errors.into_iter().filter(|(_, count)| *count != 0.0))
            .collect()
    }
}
