//! The loop against collectors that fail, panic and hang. A file that hangs is a FIFO nobody writes to.

use std::path::Path;

use nix::sys::stat::Mode;
use toolkit::metric::{Metric, family};

use super::*;
use crate::collector::{Collector, Cost, Info, State};
use crate::parse;
use crate::root::{Error, Root};

static VALUE: Metric<0> = Metric::gauge("test_value", "Value.", &[]);
static STEADY_VALUE: Metric<0> = Metric::gauge("test_steady_value", "Value.", &[]);

/// Reads the file `value`; a value of 13 makes it panic.
#[derive(Default)]
struct Moody;

impl Collector for Moody {
    type Reading = u64;
    const INFO: &'static Info = &Info {
        name: "moody",
        about: "",
        default_on: true,
        cost: Cost::A,
        metrics: &[VALUE.desc()],
    };

    fn read(&mut self, root: &Root) -> Result<u64, Error> {
        root.parse_once(root.sys("value"), parse::number)
    }

    fn emit(&mut self, reading: u64, out: &mut Sink) {
        assert!(reading != 13, "unlucky");
        out.put(&VALUE, [], reading as f64);
    }
}

/// Always well.
#[derive(Default)]
struct Steady;

impl Collector for Steady {
    type Reading = ();
    const INFO: &'static Info = &Info {
        name: "steady",
        about: "",
        default_on: true,
        cost: Cost::A,
        metrics: &[STEADY_VALUE.desc()],
    };

    fn read(&mut self, _: &Root) -> Result<(), Error> {
        Ok(())
    }

    fn emit(&mut self, (): (), out: &mut Sink) {
        out.put(&STEADY_VALUE, [], 1.0);
    }
}

static MOODY: Entry = Entry::of::<Moody>();
static STEADY: Entry = Entry::of::<Steady>();

fn scraper(dir: &Path, deadline: Duration) -> Scraper {
    let paths = Paths::new(dir.to_owned(), dir.to_owned(), dir.to_owned());
    Scraper::new(&paths, &[&MOODY, &STEADY], &Flags::default(), deadline)
}

async fn scrape(scraper: &Scraper) -> Families {
    let wait = Duration::from_secs(20);
    let scrape = scraper.scrape(Selection::All);
    tokio::time::timeout(wait, scrape).await.unwrap().unwrap()
}

fn state(scraper: &Scraper, index: usize) -> (State, String) {
    let outcome = scraper.standings()[index].outcome.clone().unwrap();
    (outcome.state, outcome.reason)
}

fn value(families: &Families, name: &str) -> Option<f64> {
    let family = family(families, name)?;
    family.samples().next()?.value()
}

const LONG: Duration = Duration::from_secs(10);

#[tokio::test]
async fn every_outcome_is_published_as_a_state_set() {
    let dir = tempfile::tempdir().unwrap();
    let scraper = scraper(dir.path(), LONG);
    let families = scrape(&scraper).await;
    assert_eq!(state(&scraper, 0).0, State::Absent);
    assert_eq!(value(&families, "test_value"), None);
    assert_eq!(value(&families, "test_steady_value"), Some(1.0));
    let states = family(&families, "wakelag_scrape_collector_state").unwrap();
    assert_eq!(states.samples().len(), 2 * State::NAMES.len());
    let on: Vec<_> = states
        .samples()
        .filter(|sample| sample.value() == Some(1.0))
        .map(|sample| (sample.label("collector"), sample.label("state")))
        .collect();
    assert_eq!(
        on,
        [
            (Some("moody"), Some("absent")),
            (Some("steady"), Some("ok"))
        ]
    );
}

#[tokio::test]
async fn a_panic_costs_its_own_series_and_the_collector_begins_anew() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("value"), "13\n").unwrap();
    let scraper = scraper(dir.path(), LONG);
    let families = scrape(&scraper).await;
    assert_eq!(value(&families, "test_steady_value"), Some(1.0));
    assert_eq!(
        state(&scraper, 0),
        (State::Failed, "panic: unlucky".to_owned())
    );
    std::fs::write(dir.path().join("value"), "7\n").unwrap();
    let families = scrape(&scraper).await;
    assert_eq!(value(&families, "test_value"), Some(7.0));
    assert_eq!(state(&scraper, 0).0, State::Ok);
}

#[tokio::test]
async fn a_selection_runs_what_it_names() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("value"), "7\n").unwrap();
    let scraper = scraper(dir.path(), LONG);
    let only = Selection::Only(vec!["steady".to_owned()]);
    let families = scraper.scrape(only).await.unwrap();
    assert_eq!(value(&families, "test_value"), None);
    assert_eq!(value(&families, "test_steady_value"), Some(1.0));
    let states = family(&families, "wakelag_scrape_collector_state").unwrap();
    assert_eq!(states.samples().len(), State::NAMES.len());
}

#[tokio::test]
async fn scrapes_at_the_same_time_share_one_collection() {
    let dir = tempfile::tempdir().unwrap();
    let scraper = scraper(dir.path(), LONG);
    let (a, b, c) = tokio::join!(scrape(&scraper), scrape(&scraper), scrape(&scraper));
    // The first may be under way before the others ask; those two wait together.
    assert!(Arc::ptr_eq(&b, &c) || Arc::ptr_eq(&a, &b));
}

#[tokio::test]
async fn a_hanging_file_costs_its_own_series_until_it_answers() {
    let dir = tempfile::tempdir().unwrap();
    let fifo = dir.path().join("value");
    nix::unistd::mkfifo(&fifo, Mode::S_IRWXU).unwrap();
    let scraper = scraper(dir.path(), Duration::from_millis(50));
    let families = scrape(&scraper).await;
    assert_eq!(value(&families, "test_steady_value"), Some(1.0));
    let (outcome, reason) = state(&scraper, 0);
    assert_eq!(outcome, State::Timeout);
    assert!(
        reason.starts_with(&format!("{}: no answer", fifo.display())),
        "{reason}"
    );
    for _ in 0..100 {
        let families = scrape(&scraper).await;
        assert_eq!(value(&families, "test_steady_value"), Some(1.0));
    }
    assert_eq!(
        scraper.shared.lock().generation,
        2,
        "one reader hangs, one works"
    );

    // The file answers at last: the collector serves again.
    let opened = std::fs::OpenOptions::new().write(true).open(&fifo);
    // Opening is enough: the reader's pread of a FIFO fails, and a write would find nobody to read it.
    drop(opened.unwrap());
    std::fs::remove_file(&fifo).unwrap();
    std::fs::write(&fifo, "8\n").unwrap();
    let recovered = async {
        while value(&scrape(&scraper).await, "test_value") != Some(8.0) {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(LONG, recovered).await.unwrap();
    assert_eq!(state(&scraper, 0).0, State::Ok);
}
