//! The probe's part of the page: each lane's latency, the first query after a pause against those that follow.

use maud::{Markup, html};

use crate::record::Failing;
use crate::record::recent::Snapshot;

const FIRST: &str = "first";
const NEXT: &str = "next";
/// Width and height of a chart's own coordinates; the page stretches it.
const WIDTH: f64 = 600.0;
const HEIGHT: f64 = 120.0;
/// What a chart shows at least, in seconds; it grows with the history it has.
const MIN_SPAN_S: f64 = 60.0;
/// Points further apart than this are not joined: nothing was measured between.
const GAP_S: f64 = 20.0;

/// The lanes, with what was measured in the last minutes and who does not answer now.
pub fn lanes(snapshots: &[Snapshot], failing: &[Failing]) -> Markup {
    html! {
        h2 { "Latency" }
        @for lane in failing {
            p {
                "The last query of " strong { (lane.workload) " on " (lane.target) } " was not answered: "
                code { (lane.result) } ". The log says more."
            }
        }
        @if snapshots.is_empty() {
            p .quiet { "No query has been measured in the last ten minutes." }
        } @else {
            (table(snapshots))
        }
        @for workload in workloads(snapshots) { (figure(&workload)) }
    }
}

/// The snapshots of one target's workload.
fn workloads(snapshots: &[Snapshot]) -> Vec<Vec<&Snapshot>> {
    let mut groups: Vec<Vec<&Snapshot>> = Vec::new();
    for snapshot in snapshots {
        let same = |group: &&mut Vec<&Snapshot>| {
            let first = group.first();
            first.is_some_and(|s| s.target == snapshot.target && s.workload == snapshot.workload)
        };
        match groups.iter_mut().find(same) {
            Some(group) => group.push(snapshot),
            None => groups.push(vec![snapshot]),
        }
    }
    groups
}

fn table(snapshots: &[Snapshot]) -> Markup {
    html! {
        div .scroll {
            table {
                thead {
                    tr {
                        th { "Target" } th { "Workload" } th { "Query" } th .number { "p50" } th .number { "p99" }
                        th .number { "Queries" } th { "Under profile" }
                    }
                }
                tbody {
                    @for lane in snapshots {
                        tr {
                            td { (lane.target) }
                            td { (lane.workload) }
                            td class=(lane.position) { (spoken(lane.position)) }
                            td .number { (known(lane.quantiles.map(|known| known.p50_s))) }
                            td .number { (known(lane.quantiles.map(|known| known.p99_s))) }
                            td .number { (lane.count) }
                            td { code { (lane.profile) } }
                        }
                    }
                }
            }
        }
    }
}

fn spoken(position: &str) -> &'static str {
    match position {
        FIRST => "first after a pause",
        _ => "next, back to back",
    }
}

fn figure(lanes: &[&Snapshot]) -> Markup {
    let (Some(lane), Some(top)) = (lanes.first(), highest(lanes)) else {
        return html! {};
    };
    let span = span_s(lanes);
    let described = format!("p50 of {} on {} over time", lane.workload, lane.target);
    html! {
        figure {
            figcaption {
                strong { (lane.workload) " on " (lane.target) }
                @for lane in lanes {
                    span class=(lane.position) { "■ " (spoken(lane.position)) ", p50 " (known(lane.quantiles.map(|known| known.p50_s))) }
                }
            }
            @if let Some(sentence) = cost(lanes) { p .sentence { (sentence) } }
            div .axis { span { (duration(top)) } }
            svg .chart viewBox=(format!("0 0 {WIDTH} {HEIGHT}")) preserveAspectRatio="none" role="img" aria-label=(described) {
                line x1="0" x2=(WIDTH) y1=(HEIGHT) y2=(HEIGHT) {}
                line x1="0" x2=(WIDTH) y1="0" y2="0" {}
                @for lane in lanes {
                    @for points in lines(&lane.history, span, top) {
                        polyline class=(lane.position) points=(points) {}
                    }
                }
            }
            div .axis { span { (format!("{:.0} s ago", span)) } span { "0 at the bottom line" } span { "now" } }
        }
    }
}

/// What the pause costs, where the workload has one.
fn cost(lanes: &[&Snapshot]) -> Option<String> {
    let of = |position: &str| lanes.iter().find(|lane| lane.position == position);
    let (first, next) = (of(FIRST)?.quantiles?, of(NEXT)?.quantiles?);
    let slower = first.p50_s - next.p50_s;
    if slower <= 0.0 {
        return Some(
            "The first query after a pause takes no longer than the next ones.".to_owned(),
        );
    }
    Some(format!(
        "After a pause a query takes {} longer: {:.1} times as long as back to back.",
        duration(slower),
        first.p50_s / next.p50_s.max(f64::MIN_POSITIVE)
    ))
}

fn highest(lanes: &[&Snapshot]) -> Option<f64> {
    let points = lanes.iter().flat_map(|lane| &lane.history);
    points.map(|(_, p50_s)| *p50_s).reduce(f64::max)
}

/// The time since the oldest point, in seconds.
fn span_s(lanes: &[&Snapshot]) -> f64 {
    let points = lanes.iter().flat_map(|lane| &lane.history);
    let ages = points.map(|(age, _)| *age);
    ages.fold(MIN_SPAN_S, f64::max)
}

/// The points of `history` as lines, broken where nothing was measured.
fn lines(history: &[(f64, f64)], span: f64, top: f64) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    let mut last: Option<f64> = None;
    for (age, p50_s) in history {
        let x = WIDTH * (1.0 - age / span);
        let y = HEIGHT * (1.0 - p50_s / top);
        let joined = last.is_some_and(|last| last - age <= GAP_S);
        let point = format!("{x:.1},{y:.1}");
        match lines.last_mut() {
            Some(line) if joined => {
                line.push(' ');
                line.push_str(&point);
            }
            _ => lines.push(point),
        }
        last = Some(*age);
    }
    lines
}

/// A duration in seconds, or a dash where nothing was measured.
fn known(seconds: Option<f64>) -> String {
    seconds.map_or_else(|| "–".to_owned(), duration)
}

/// A duration in seconds as a person reads it.
fn duration(seconds: f64) -> String {
    let (value, unit) = match seconds {
        s if s < 1e-3 => (s * 1e6, "µs"),
        s if s < 1.0 => (s * 1e3, "ms"),
        s => (s, "s"),
    };
    let digits = usize::from(value < 100.0);
    format!("{value:.digits$} {unit}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::recent::Quantiles;

    fn lane(position: &'static str, p50_s: f64) -> Snapshot {
        Snapshot {
            target: "embedded".into(),
            workload: "select1-idle".into(),
            position,
            profile: "<b>".into(),
            count: 7,
            quantiles: Some(Quantiles { p50_s, p99_s: 0.2 }),
            history: vec![(110.0, p50_s), (105.0, p50_s), (10.0, p50_s)],
        }
    }

    #[test]
    fn a_pause_is_said_in_a_sentence_and_names_are_escaped() {
        let lanes = [lane(FIRST, 60e-6), lane(NEXT, 12e-6)];
        let page = super::lanes(&lanes, &[]).into_string();
        assert!(
            page.contains("After a pause a query takes 48.0 µs longer: 5.0 times"),
            "{page}"
        );
        assert!(page.contains("&lt;b&gt;") && !page.contains("<b>"));
    }

    #[test]
    fn a_line_breaks_where_nothing_was_measured() {
        let history = [(600.0, 1.0), (595.0, 0.5), (500.0, 1.0)];
        assert_eq!(
            lines(&history, 600.0, 1.0),
            ["0.0,0.0 5.0,60.0", "100.0,0.0"]
        );
    }

    #[test]
    fn a_database_that_does_not_answer_is_named_and_has_no_figures() {
        let silent = Snapshot {
            quantiles: None,
            count: 0,
            ..lane(FIRST, 60e-6)
        };
        let failing = Failing {
            target: "orders".into(),
            workload: "select1".into(),
            result: "refused",
        };
        let page = super::lanes(&[silent], &[failing]).into_string();
        assert!(
            page.contains(
                "<strong>select1 on orders</strong> was not answered: <code>refused</code>"
            ),
            "{page}"
        );
        assert!(page.contains("<td class=\"number\">–</td>"), "{page}");
        assert!(!page.contains("After a pause"), "{page}");
    }

    #[test]
    fn durations_are_readable() {
        assert_eq!(duration(8.04e-6), "8.0 µs");
        assert_eq!(duration(0.000_350), "350 µs");
        assert_eq!(duration(0.012_5), "12.5 ms");
        assert_eq!(duration(2.5), "2.5 s");
    }
}
