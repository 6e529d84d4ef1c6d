//! The kernels that `tests/lab/fetch` has unpacked, and a machine for each.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use crate::transcript::Transcript;
use crate::{ROOMS, guest};

/// The series of every run. Another one is tested where it was asked of `tests/lab/fetch`.
const SERIES: [&str; 2] = ["6.1", "6.12"];

/// A kernel, and what its machine printed once it was started.
pub(crate) struct Kernel {
    /// `6.1`.
    pub(crate) series: String,
    dir: PathBuf,
    absent: Option<String>,
    lab: OnceLock<Option<Transcript>>,
}

/// The kernels to test, the oldest first.
pub(crate) fn all() -> Vec<Arc<Kernel>> {
    let lab = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/lab");
    let found = fs::read_dir(&lab).into_iter().flatten().flatten();
    let mut series: Vec<_> = found
        .filter(|entry| entry.path().join("release").exists())
        .filter_map(|entry| entry.file_name().into_string().ok())
        .chain(SERIES.map(str::to_owned))
        .collect();
    series.sort_by_key(|series| numbers(series));
    series.dedup();
    let kernel = |series: String| Kernel {
        absent: fs::read_to_string(lab.join(&series).join("absent")).ok(),
        dir: lab.join(&series),
        series,
        lab: OnceLock::new(),
    };
    series.into_iter().map(kernel).map(Arc::new).collect()
}

impl Kernel {
    /// Why there is none of this series on this host.
    pub(crate) fn absent(&self) -> Option<&str> {
        self.absent.as_deref().map(str::trim)
    }

    pub(crate) fn release(&self) -> (u32, u32) {
        numbers(&self.series)
    }

    /// What the machine printed.
    ///
    /// # Panics
    /// With a sentence, if it could not be started or did not come to its end.
    pub(crate) fn lab(&self) -> &Transcript {
        let lab = self.lab.get_or_init(|| {
            let steps = ROOMS.iter().map(|room| room.steps).collect::<String>();
            let ran = guest::run(&self.dir, &steps);
            ran.inspect_err(|error| eprintln!("{}: {error}", self.series))
                .ok()
        });
        lab.as_ref()
            .unwrap_or_else(|| panic!("the machine of {} failed, as said above", self.series))
    }
}

fn numbers(series: &str) -> (u32, u32) {
    let (major, minor) = series.split_once('.').unwrap_or((series, "0"));
    let number = |digits: &str| digits.parse().unwrap_or_default();
    (number(major), number(minor))
}
