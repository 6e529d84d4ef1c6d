//! Panels about what a query takes.

use crate::model::{Guide, Panel, Unit};
use crate::query::{service_quantile, service_quantile_of_range};

const NO_SAMPLES: &str =
    "No query was timed: no probe is scraped, or none has this target and workload";
const NO_BURSTS: &str = "Needs a workload with more than one query a burst (pattern: queries: 4)";

/// The first query of a burst: the one that finds the CPUs asleep.
const FIRST: &str = r#",position="first""#;
/// The queries right behind it: the CPUs are awake.
const NEXT: &str = r#",position="next""#;

pub(super) fn typical() -> Panel {
    Panel::stat("Median", Unit::Seconds)
        .query(
            service_quantile_of_range("0.5", "workload", FIRST),
            "{{workload}}",
        )
        .guide(Guide {
            shows: "Median service time of the first query of each burst, over the chosen time.",
            read: "Half of the queries that arrive at a quiet host are faster than this.",
            bad: "More than a few times the median of the queries right behind it (see *First against next*).",
            act: "Compare the profiles in the table below; allow only shallower idle states, or raise the frequency.",
            empty: NO_SAMPLES,
        })
}

pub(super) fn slow() -> Panel {
    Panel::stat("Slow ($quantile)", Unit::Seconds)
        .query(
            service_quantile_of_range("$quantile", "workload", FIRST),
            "{{workload}}",
        )
        .guide(Guide {
            shows: "The chosen quantile of service time of the first query of each burst, over the chosen time.",
            read: "At 0.99, one query in a hundred takes longer. Needs about 3,000 samples to be steady to 10 %.",
            bad: "Far from the median while the median is calm: few queries meet something slow.",
            act: "Look at *Slow by workload and position* for when it happens, and at the marks of setting changes.",
            empty: NO_SAMPLES,
        })
}

pub(super) fn wake_up_cost() -> Panel {
    let first = service_quantile_of_range("0.5", "workload", FIRST);
    let next = service_quantile_of_range("0.5", "workload", NEXT);
    Panel::stat("Idle wake-ups cost about", Unit::Seconds)
        .query(format!("{first} - {next}"), "{{workload}}")
        .guide(Guide {
            shows: "Median of the first query of a burst less the median of those right behind it, over the chosen \
                    time: about what waking idle CPUs (and cold caches) adds to a query that arrives at a quiet host.",
            read: "Near zero: idle CPUs cost nothing. The exit latencies of the idle states are the order to expect.",
            bad: "Tens to hundreds of microseconds: most of a short query is waking up.",
            act: "Disable the deep idle states, or hold /dev/cpu_dma_latency, and compare watts in the table below.",
            empty: NO_BURSTS,
        })
}

pub(super) fn median() -> Panel {
    Panel::series("Median by workload and position", Unit::Seconds)
        .query(
            service_quantile("0.5", "target, workload, position", ""),
            "{{target}} {{workload}} {{position}}",
        )
        .guide(Guide {
            shows: "Median service time, from the request handed to the kernel to the last byte of the reply; \
                    failures are not in it.",
            read: "`first` is the first query of a burst and finds the CPUs idle, `next` the ones right behind it. A \
                   step at a mark is the change of profile.",
            bad: "A step with no mark near it, or `first` that drifts away from `next`.",
            act: "No mark: look for load, a new plan, a new kernel. A mark: compare the two profiles below.",
            empty: NO_SAMPLES,
        })
}

pub(super) fn tail() -> Panel {
    Panel::series("Slow ($quantile) by workload and position", Unit::Seconds)
        .query(
            service_quantile("$quantile", "target, workload, position", ""),
            "{{target}} {{workload}} {{position}}",
        )
        .guide(Guide {
            shows: "The chosen quantile of service time, by workload and position in the burst.",
            read: "It is noisy by nature: one line of this panel at 4 queries a second has 240 samples a minute, and \
                   0.99 rests on two or three of them. Trust its level over many minutes, not one peak.",
            bad: "A level that stays up while the median stays: some queries meet a deep idle state, a throttled CPU \
                  or another task.",
            act: "Look at idle states and frequency at the same time; the drift alerts do the same with enough \
                  samples.",
            empty: NO_SAMPLES,
        })
}

pub(super) fn first_against_next() -> Panel {
    let first = service_quantile("0.5", "target, workload", FIRST);
    let next = service_quantile("0.5", "target, workload", NEXT);
    Panel::series(
        "First against next: what idle wake-ups cost",
        Unit::Seconds,
    )
    .query(format!("{first} - {next}"), "{{target}} {{workload}}")
    .guide(Guide {
        shows: "Median of the first query of a burst less the median of the queries right behind it.",
        read: "The database and the query are the same, so the difference is mostly the wake-up of idle CPUs: the \
               server's, and the client's where it waits by blocking.",
        bad: "A step up at a mark: the new profile lets the CPUs sleep deeper.",
        act: "Compare with the residency of the deep states beside the same moment; disable the state that appeared.",
        empty: NO_BURSTS,
    })
}

pub(super) fn by_profile() -> Panel {
    Panel::series("Slow ($quantile) by profile", Unit::Seconds)
        .query(
            service_quantile(
                "$quantile",
                "workload, profile",
                r#",position="first",profile!="changing""#,
            ),
            "{{workload}} {{profile}}",
        )
        .guide(Guide {
            shows: "The chosen quantile of the first query of each burst, under the profile that was in force while \
                    that very query ran.",
            read: "A line ends where its profile ended, and no window mixes two of them. `unknown`: the probe could \
                   not ask which profile was in force; `other`: more profiles than the probe keeps apart.",
            bad: "The profile you run lies well above another that you have tried on the same host.",
            act: "Look up both in the table below: what the faster one costs in watts.",
            empty: NO_SAMPLES,
        })
}
