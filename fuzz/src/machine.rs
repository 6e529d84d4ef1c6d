//! A machine of a few kernel files, whose texts are the input, and the collectors that read it.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use clap::{Args as _, FromArgMatches as _};
use exporter::collector::{Outcome, State};
use exporter::collectors::{COLLECTORS, Flags};
use exporter::root::{Paths, Root};
use tempfile::TempDir;
use toolkit::exposition::Format;
use toolkit::metric::Sink;

use super::exposed::{self, Sample};

/// Between two texts of an input: ASCII's record separator, which stands in no kernel file.
pub(crate) const NEXT: u8 = 0x1e;
/// The text of a file that is not there: ASCII's unit separator alone.
const GONE: &[u8] = b"\x1f";
/// Scrapes of one input.
const SCRAPES: usize = 4;

/// The files a target is about, in a directory that stays from input to input.
pub(crate) struct Machine {
    dir: TempDir,
    paths: Paths,
    files: Vec<PathBuf>,
    /// What each of them holds now: only what differs is written.
    held: RefCell<Vec<Option<Vec<u8>>>>,
}

/// What one scrape published.
#[derive(Debug, Default)]
pub(crate) struct Scrape {
    /// Samples by family.
    pub(crate) families: BTreeMap<String, Vec<Sample>>,
}

impl Machine {
    /// A machine with `files` from the input, and `fixed` ones with their texts. Paths begin with `proc/`, `sys/` or
    /// `dev/`.
    pub(crate) fn new(files: &[&str], fixed: &[(&str, &str)]) -> Self {
        let dir = scratch();
        let path = |file: &str| {
            let path = dir.path().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            path
        };
        for (file, text) in fixed {
            fs::write(path(file), text).unwrap();
        }
        let paths = ["proc", "sys", "dev"].map(|root| {
            let root = dir.path().join(root);
            fs::create_dir_all(&root).unwrap();
            root
        });
        let [procfs, sysfs, devfs] = paths;
        Machine {
            files: files.iter().map(|file| path(file)).collect(),
            held: RefCell::new(vec![None; files.len()]),
            paths: Paths::new(procfs, sysfs, devfs),
            dir,
        }
    }

    /// A file of it, by its full path.
    pub(crate) fn path(&self, file: &str) -> String {
        self.dir.path().join(file).display().to_string()
    }

    /// Where its kernel files are.
    pub(crate) fn paths(&self) -> Paths {
        self.paths.clone()
    }

    /// Has `collectors`, fresh ones as `flags` say, read the machine once for each full set of texts in `input`, and calls
    /// `check` with what came of it. A text that is missing at the end is a file that is not there, or in later scrapes
    /// one that stays as it was.
    pub(crate) fn scrape(
        &self,
        collectors: &[&str],
        flags: &[&str],
        input: &[u8],
        mut check: impl FnMut(&Scrape),
    ) {
        let Some(flags) = parse(flags) else { return };
        let entries = COLLECTORS
            .iter()
            .filter(|entry| collectors.contains(&entry.info.name));
        let mut runs: Vec<_> = entries
            .map(|entry| ((entry.make)(&flags), Root::new(self.paths())))
            .collect();
        assert_eq!(runs.len(), collectors.len(), "a collector is not known");
        let texts: Vec<&[u8]> = input.split(|byte| *byte == NEXT).collect();
        let sets = texts.chunks(self.files.len().max(1)).take(SCRAPES);
        for (number, set) in sets.enumerate() {
            self.set(set, number == 0);
            let mut scrape = Scrape::default();
            for (run, root) in &mut runs {
                let mut sink = Sink::new();
                let result = run.run(root, &mut sink);
                let nothing = result.is_err();
                let outcome = Outcome::judge(result, root.take_tolerated());
                assert_eq!(
                    outcome.state == State::Ok,
                    outcome.reason.is_empty() || !nothing && outcome.state == State::Ok,
                    "{outcome:?}"
                );
                scrape.take(sink);
            }
            check(&scrape);
        }
    }

    fn set(&self, texts: &[&[u8]], afresh: bool) {
        let mut held = self.held.borrow_mut();
        for (at, (path, held)) in self.files.iter().zip(held.iter_mut()).enumerate() {
            let wanted = match texts.get(at) {
                Some(text) if *text == GONE => None,
                Some(text) => Some(*text),
                None if afresh => None,
                None => continue,
            };
            if held.as_deref() == wanted {
                continue;
            }
            match wanted {
                Some(text) => fs::write(path, text).unwrap(),
                None => fs::remove_file(path).unwrap(),
            }
            *held = wanted.map(<[u8]>::to_vec);
        }
    }
}

/// A directory for one target, in memory where there is such a place: on a disk, writing a file anew takes longer than
/// reading all of them.
pub(crate) fn scratch() -> TempDir {
    let memory = Path::new("/dev/shm");
    match memory.is_dir() {
        true => TempDir::with_prefix_in("wakelag-fuzz-", memory).unwrap(),
        false => TempDir::with_prefix("wakelag-fuzz-").unwrap(),
    }
}

/// The flags of collectors, or nothing where the command line refuses them.
fn parse(flags: &[&str]) -> Option<Flags> {
    if flags.is_empty() {
        return Some(Flags::default());
    }
    let command = Flags::augment_args(clap::Command::new("fuzz").no_binary_name(true));
    let matches = command.try_get_matches_from(flags).ok()?;
    Flags::from_arg_matches(&matches).ok()
}

impl Scrape {
    /// Takes in what a collector put into `sink`, read back from the text a scraper would get.
    fn take(&mut self, sink: Sink) {
        let text = Format::Text.encode(&sink.into_families()).unwrap();
        for (name, family) in exposed::read(std::str::from_utf8(&text).unwrap()) {
            for sample in &family.samples {
                assert!(sample.value.is_finite(), "{sample:?}");
                assert!(
                    family.kind != "counter" || sample.value >= 0.0,
                    "{sample:?}"
                );
            }
            let before = self.families.insert(name, family.samples);
            assert!(before.is_none(), "two collectors publish one family");
        }
    }

    /// The samples of a family.
    pub(crate) fn samples(&self, family: &str) -> &[Sample] {
        self.families.get(family).map_or(&[], Vec::as_slice)
    }
}

/// Counters that never go back, whatever the kernel's do.
pub(crate) struct Rising<'f> {
    families: &'f [&'f str],
    last: BTreeMap<String, f64>,
}

impl<'f> Rising<'f> {
    /// Those of `families`.
    pub(crate) fn of(families: &'f [&'f str]) -> Self {
        Rising {
            families,
            last: BTreeMap::new(),
        }
    }

    /// Takes a scrape; what each of them counted since the one before, or since nothing.
    pub(crate) fn check(&mut self, scrape: &Scrape) -> f64 {
        let mut most = 0.0_f64;
        for sample in self.families.iter().flat_map(|f| scrape.samples(f)) {
            let key = format!("{}{:?}", sample.name, sample.labels);
            let before = self.last.insert(key, sample.value).unwrap_or_default();
            assert!(sample.value >= before, "{sample:?} was at {before}");
            most = most.max(sample.value - before);
        }
        most
    }
}

/// The largest number that stands in `input`: what is published of a counter as it is cannot be above it.
pub(crate) fn largest(input: &[u8]) -> f64 {
    let words = input.split(|byte| !byte.is_ascii_digit());
    let numbers = words.filter_map(|word| std::str::from_utf8(word).ok()?.parse::<u64>().ok());
    numbers.max().unwrap_or_default() as f64
}

/// Whether `value` in a unit of which `per` make one of the kernel's is at most `largest`, but for rounding.
pub(crate) fn at_most(value: f64, per: f64, largest: f64) -> bool {
    value * per <= largest * (1.0 + 1e-12)
}
