//! What a room of the suite is: steps for the machine, and tests of what came of them.

use std::sync::Arc;

use libtest_mimic::{Completion, Trial};

use crate::kernel::Kernel;
use crate::transcript::Transcript;

/// A part of the suite.
pub(crate) struct Room {
    /// The module's name.
    pub(crate) name: &'static str,
    /// Shell, which the machine goes through.
    pub(crate) steps: &'static str,
    /// In the order they are shown.
    pub(crate) tests: &'static [Test],
}

/// A function that panics when what the machine printed is not right.
#[derive(Clone, Copy)]
pub(crate) struct Test {
    name: &'static str,
    run: fn(&Transcript),
    lack: Option<Lack>,
}

/// On which kernels a test has nothing to judge.
#[derive(Clone, Copy)]
enum Lack {
    Before((u32, u32), &'static str),
    Since((u32, u32), &'static str),
}

/// The test that is the function of this name.
macro_rules! test {
    ($name:ident) => {
        $crate::room::Test::new(stringify!($name), $name)
    };
}
pub(crate) use test;

impl Test {
    pub(crate) const fn new(name: &'static str, run: fn(&Transcript)) -> Self {
        let lack = None;
        Test { name, run, lack }
    }

    /// Kernels before `release` are left out, since `why`.
    pub(crate) const fn since(mut self, release: (u32, u32), why: &'static str) -> Self {
        self.lack = Some(Lack::Before(release, why));
        self
    }

    /// Kernels from `release` on are left out, since `why`.
    pub(crate) const fn before(mut self, release: (u32, u32), why: &'static str) -> Self {
        self.lack = Some(Lack::Since(release, why));
        self
    }

    fn complete(self, kernel: &Kernel) -> Completion {
        let missing = match self.lack {
            Some(Lack::Before(release, why)) => (kernel.release() < release).then_some(why),
            Some(Lack::Since(release, why)) => (kernel.release() >= release).then_some(why),
            None => None,
        };
        if let Some(why) = missing.or(kernel.absent()) {
            return Completion::ignored_with(why);
        }
        (self.run)(kernel.lab());
        Completion::Completed
    }
}

impl Room {
    /// Its tests, each on each kernel. The kernels take turns, so that their machines run side by side.
    pub(crate) fn trials(&self, kernels: &[Arc<Kernel>]) -> Vec<Trial> {
        let trial = |test: Test, kernel: &Arc<Kernel>| {
            let kernel = Arc::clone(kernel);
            let name = format!("{}::{}::{}", kernel.series, self.name, test.name);
            Trial::ignorable_test(name, move || Ok(test.complete(&kernel)))
        };
        let tests = self.tests.iter();
        tests
            .flat_map(|test| kernels.iter().map(|kernel| trial(*test, kernel)))
            .collect()
    }
}
