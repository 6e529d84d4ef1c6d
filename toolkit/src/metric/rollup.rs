//! One label given up: the samples that differ in nothing else become one.
//!
//! A sum of counters must never go back, or Prometheus takes it for a restart and counts the whole of it again; nor
//! must it jump by what was counted long ago. So a counter that is gone stays in the sum with what it had counted, one
//! that comes to a sum that is there already, or comes back to it, counts from then on, and one that begins anew counts
//! from 0, as Prometheus would have it.

use std::collections::HashMap;

use super::{Family, Kind, Sample};

/// How samples that fall together become one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Roll {
    /// Their sum.
    Sum,
    /// How many of them are 1: a sum of 0/1 samples.
    Count,
    /// The least of them.
    Min,
    /// The most of them, or the one value all of them have.
    Max,
}

impl Roll {
    /// The word of references and of the catalogue.
    pub const fn word(self) -> &'static str {
        match self {
            Roll::Sum => "sum",
            Roll::Count => "count",
            Roll::Min => "min",
            Roll::Max => "max",
        }
    }

    /// What a rolled sample is, within a sentence.
    const fn phrase(self) -> &'static str {
        match self {
            Roll::Sum => "the sum",
            Roll::Count => "how many it is so for",
            Roll::Min => "the least",
            Roll::Max => "the most",
        }
    }

    fn together(self, one: f64, other: f64) -> f64 {
        match self {
            Roll::Sum | Roll::Count => one + other,
            Roll::Min => one.min(other),
            Roll::Max => one.max(other),
        }
    }
}

/// Gives up a label of one source's families, scrape after scrape.
#[derive(Debug)]
pub struct Rollup {
    label: &'static str,
    into: Option<&'static str>,
    /// What the counters of each metric have counted.
    totals: HashMap<String, Totals>,
}

impl Rollup {
    /// Gives up `label`: the label `into` takes its place, or nothing does.
    pub fn new(label: &'static str, into: Option<&'static str>) -> Self {
        Rollup {
            label,
            into,
            totals: HashMap::new(),
        }
    }

    /// Whether another label takes the place.
    pub fn has_groups(&self) -> bool {
        self.into.is_some()
    }

    /// The families without the label. `group_of` says which value of the label that takes its place belongs to a value
    /// of it. A family without the label stays as it is; so does a gauge that does not say how it is rolled up.
    pub fn roll<'g>(
        &mut self,
        families: Vec<Family>,
        group_of: impl Fn(&str) -> &'g str,
    ) -> Vec<Family> {
        let roll = |family| self.roll_one(family, &group_of);
        families.into_iter().map(roll).collect()
    }

    fn roll_one<'g>(&mut self, family: Family, group_of: impl Fn(&str) -> &'g str) -> Family {
        let at = family.labels().iter().position(|name| *name == self.label);
        let (Some(roll), Some(at)) = (family.roll(), at) else {
            return family;
        };
        let mut labels = family.labels().to_vec();
        labels.splice(at..=at, self.into);
        let into = self.into.is_some();
        let grouped = |sample: Sample<'_>| {
            let mut values: Vec<_> = sample.labels().map(|(_, value)| value).collect();
            let group = into.then(|| group_of(values[at]));
            values.splice(at..=at, group);
            key(values)
        };
        let help = format!(
            "{} Rolled up over {}: {}.",
            family.help(),
            self.label,
            roll.phrase()
        );
        let mut rolled = family.relabelled(labels, help);
        let mut rows = match family.kind() {
            Kind::Counter => {
                let totals = self.totals.entry(family.name().to_owned()).or_default();
                totals.advance(&family, grouped)
            }
            Kind::Gauge | Kind::Histogram => level(&family, roll, grouped),
        };
        for (labels, value) in rows.drain(..) {
            let labels: Vec<_> = labels.split(SEPARATOR).collect();
            // A family without labels has one empty key.
            let labels = if rolled.labels().is_empty() {
                &[]
            } else {
                &labels[..]
            };
            rolled.push(labels, value);
        }
        rolled
    }
}

/// Stands between the label values of a key. No text of the kernel has it.
const SEPARATOR: char = '\0';

/// Label values, and the value that belongs to them.
type Row = (String, f64);

fn key<'v>(values: impl IntoIterator<Item = &'v str>) -> String {
    let mut key = String::new();
    for (position, value) in values.into_iter().enumerate() {
        if position > 0 {
            key.push(SEPARATOR);
        }
        key.push_str(value);
    }
    key
}

/// Gauges rolled up, in the order of their first sample.
fn level(family: &Family, roll: Roll, grouped: impl Fn(Sample<'_>) -> String) -> Vec<Row> {
    let mut places = HashMap::new();
    let mut rows: Vec<Row> = Vec::new();
    for sample in family.samples() {
        let Some(value) = sample.value() else {
            continue;
        };
        let group = grouped(sample);
        match places.get(&group) {
            Some(place) => {
                let (_, so_far): &mut Row = &mut rows[*place];
                *so_far = roll.together(*so_far, value);
            }
            None => {
                places.insert(group.clone(), rows.len());
                rows.push((group, value));
            }
        }
    }
    rows
}

/// The counters of one metric, and the sums they go to. Both only grow, and keep their order: that way rounding cannot
/// make a sum smaller than it was.
#[derive(Debug, Default)]
struct Totals {
    scrape: u64,
    sums: Vec<Sum>,
    sum_places: HashMap<String, usize>,
    counters: Vec<Counter>,
    counter_places: HashMap<String, usize>,
}

#[derive(Debug)]
struct Sum {
    labels: String,
    /// The first and the last scrape that had a counter of it.
    first: u64,
    last: u64,
}

#[derive(Debug)]
struct Counter {
    sum: usize,
    /// What it had counted before it began anew, less what it had before it came to the sum.
    base: f64,
    value: f64,
    /// What it has in the sum.
    counted: f64,
    /// The last scrape that had it.
    last: u64,
}

impl Totals {
    /// Takes the counters of a scrape; the sums that have one of them.
    fn advance(&mut self, family: &Family, grouped: impl Fn(Sample<'_>) -> String) -> Vec<Row> {
        self.scrape += 1;
        for sample in family.samples() {
            let Some(value) = sample.value() else {
                continue;
            };
            let own = key(sample.labels().map(|(_, value)| value));
            match self.counter_places.get(&own) {
                Some(place) => self.counters[*place].advance(value, self.scrape),
                None => {
                    self.counter_places.insert(own, self.counters.len());
                    self.join(grouped(sample), value);
                }
            }
        }
        let mut rows: Vec<Row> = self
            .sums
            .iter()
            .map(|sum| (sum.labels.clone(), 0.0))
            .collect();
        for counter in &self.counters {
            rows[counter.sum].1 += counter.counted;
            let last = &mut self.sums[counter.sum].last;
            *last = counter.last.max(*last);
        }
        let mut sums = self.sums.iter();
        rows.retain(|_| sums.next().is_some_and(|sum| sum.last == self.scrape));
        rows
    }

    /// A counter that was never there.
    fn join(&mut self, group: String, value: f64) {
        let sum = *self.sum_places.entry(group).or_insert_with_key(|group| {
            self.sums.push(Sum {
                labels: group.clone(),
                first: self.scrape,
                last: self.scrape,
            });
            self.sums.len() - 1
        });
        let is_first = self.sums[sum].first == self.scrape;
        self.counters.push(Counter {
            sum,
            base: if is_first { 0.0 } else { -value },
            value,
            counted: if is_first { value } else { 0.0 },
            last: self.scrape,
        });
    }
}

impl Counter {
    fn advance(&mut self, value: f64, scrape: u64) {
        if self.last + 1 != scrape {
            self.base = self.counted - value;
        } else if value < self.value {
            self.base = self.counted;
        }
        self.value = value;
        self.last = scrape;
        // A difference is rounded: its sum may be less than what it is made of.
        self.counted = self.counted.max(self.base + value);
    }
}

#[cfg(test)]
mod tests;
