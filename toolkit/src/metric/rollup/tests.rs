use super::*;
use crate::metric::{Metric, Sink};

static ENTRIES: Metric<2> = Metric::counter("test_entries_total", "Entries.", &["cpu", "state"]);
static WORST: Metric<1> = Metric::gauge("test_worst", "Worst.", &["cpu"]).rolled(Roll::Max);
static LEAST: Metric<1> = Metric::gauge("test_least", "Least.", &["cpu"]).rolled(Roll::Min);
static ON: Metric<1> = Metric::gauge("test_on", "On.", &["cpu"]).rolled(Roll::Count);
static OTHER: Metric<1> = Metric::gauge("test_other", "Other.", &["mode"]);

/// CPUs 0 and 1 are package 0, the others package 1.
fn package(cpu: &str) -> &'static str {
    match cpu {
        "0" | "1" => "0",
        _ => "1",
    }
}

fn families(metric: &'static Metric<1>, values: &[(&str, f64)]) -> Vec<Family> {
    let mut sink = Sink::new();
    for (cpu, value) in values {
        sink.put(metric, [cpu], *value);
    }
    sink.into_families()
}

fn entries(values: &[(&str, f64)]) -> Vec<Family> {
    let mut sink = Sink::new();
    for (cpu, value) in values {
        sink.put(&ENTRIES, [cpu, "C1"], *value);
    }
    sink.into_families()
}

fn values(families: &[Family]) -> Vec<f64> {
    let samples = families.iter().flat_map(Family::samples);
    samples.filter_map(Sample::value).collect()
}

/// The one sum over all CPUs, scrape by scrape.
fn sums(scrapes: &[&[(&str, f64)]]) -> Vec<f64> {
    let mut rollup = Rollup::new("cpu", None);
    let one = |scrape: &&[(&str, f64)]| values(&rollup.roll(entries(scrape), package))[0];
    scrapes.iter().map(one).collect()
}

#[test]
fn another_label_takes_the_place_and_the_others_stay() {
    let mut rollup = Rollup::new("cpu", Some("package"));
    let scrape = [("0", 1.0), ("2", 10.0), ("1", 2.0), ("3", 20.0)];
    let rolled = rollup.roll(entries(&scrape), package);
    let labels: Vec<Vec<_>> = rolled[0].samples().map(|s| s.labels().collect()).collect();
    let expected = ["0", "1"].map(|package| vec![("package", package), ("state", "C1")]);
    assert_eq!(labels, expected);
    assert_eq!(values(&rolled), [3.0, 30.0]);
    assert_eq!(rolled[0].help(), "Entries. Rolled up over cpu: the sum.");
}

#[test]
fn a_label_is_left_out_even_if_it_was_the_only_one() {
    let scrape = [("0", 3.0), ("1", 1.0), ("2", 2.0)];
    let all = |metric| {
        let rolled = Rollup::new("cpu", None).roll(families(metric, &scrape), package);
        assert_eq!(rolled[0].samples().next().unwrap().labels().count(), 0);
        values(&rolled)
    };
    assert_eq!(all(&WORST), [3.0]);
    assert_eq!(all(&LEAST), [1.0]);
    assert_eq!(all(&ON), [6.0]);
}

#[test]
fn a_family_without_the_label_stays() {
    let before = families(&OTHER, &[("on", 1.0)]);
    let after = Rollup::new("cpu", None).roll(before.clone(), package);
    assert_eq!(after, before);
}

#[test]
fn a_gauge_forgets_who_is_gone() {
    let mut rollup = Rollup::new("cpu", None);
    rollup.roll(families(&WORST, &[("0", 3.0), ("1", 9.0)]), package);
    let rolled = rollup.roll(families(&WORST, &[("0", 3.0)]), package);
    assert_eq!(values(&rolled), [3.0]);
}

#[test]
fn a_counter_that_is_gone_stays_in_the_sum_and_counts_on_when_it_is_back() {
    let scrapes: [&[_]; 5] = [
        &[("0", 100.0), ("1", 50.0)],
        &[("0", 101.0)],
        &[("0", 102.0), ("1", 51.0)],
        &[("0", 103.0), ("1", 53.0)],
        &[("0", 104.0), ("1", 54.0)],
    ];
    assert_eq!(sums(&scrapes), [150.0, 151.0, 152.0, 155.0, 157.0]);
}

#[test]
fn a_counter_that_comes_back_from_zero_does_not_take_the_sum_back() {
    let scrapes: [&[_]; 3] = [
        &[("0", 100.0), ("1", 50.0)],
        &[("0", 101.0)],
        &[("0", 102.0), ("1", 2.0)],
    ];
    assert_eq!(sums(&scrapes), [150.0, 151.0, 152.0]);
}

#[test]
fn a_counter_that_begins_anew_in_between_counts_from_zero() {
    let scrapes: [&[_]; 3] = [
        &[("0", 100.0), ("1", 50.0)],
        &[("0", 100.0), ("1", 2.0)],
        &[("0", 100.0), ("1", 3.0)],
    ];
    assert_eq!(sums(&scrapes), [150.0, 152.0, 153.0]);
}

/// A counter of a cpufreq policy goes to another CPU when its first one goes offline: it is not counted twice.
#[test]
fn a_counter_that_comes_later_brings_no_past() {
    let scrapes: [&[_]; 4] = [
        &[("0", 1000.0)],
        &[("1", 1001.0)],
        &[("1", 1003.0)],
        &[("0", 1004.0)],
    ];
    assert_eq!(sums(&scrapes), [1000.0, 1000.0, 1002.0, 1002.0]);
}

#[test]
fn a_group_without_any_counter_is_not_published_and_goes_on_later() {
    let mut rollup = Rollup::new("cpu", Some("package"));
    let mut roll = |scrape: &[(&str, f64)]| values(&rollup.roll(entries(scrape), package));
    assert_eq!(roll(&[("0", 1.0), ("2", 10.0)]), [1.0, 10.0]);
    assert_eq!(roll(&[("0", 2.0)]), [2.0]);
    assert_eq!(roll(&[("0", 3.0), ("2", 11.0)]), [3.0, 10.0]);
    assert_eq!(roll(&[("0", 3.0), ("2", 13.0)]), [3.0, 12.0]);
}

/// 0.3 - 0.1 + 0.1 is less than 0.3 in binary: a scrape later that would be a restart to Prometheus.
#[test]
fn rounding_never_takes_a_sum_back() {
    for tenths in 1..200_u32 {
        let (before, after) = (f64::from(tenths) / 10.0, f64::from(tenths % 17) / 10.0);
        let sums = sums(&[
            &[("0", 0.7), ("1", before)],
            &[("0", 0.7)],
            &[("0", 0.7), ("1", after)],
            &[("0", 0.7), ("1", after)],
        ]);
        assert!(sums.is_sorted(), "{before} {after}: {sums:?}");
    }
}
