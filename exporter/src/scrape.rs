//! The scrape loop: one thread reads every collector in order, and a file that hangs costs that collector only.
//!
//! The reader thread takes a collector out of its slot, runs it and puts it back. Whoever waits for the scrape watches
//! the clock: a collector over its deadline is given up, its reader is retired, and a new reader goes on with the next
//! collector. The retired thread ends when its read comes back, and its collector serves again from then on. So there
//! is one thread in the normal case and one more a file that hangs, however often it is scraped.

mod job;
mod slot;

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use tokio::sync::oneshot;
use toolkit::metric::{Family, Sink};

use self::job::{Job, Request};
pub use self::slot::{METRICS, Standing};
use self::slot::{Runner, Slot};
use crate::collector::{Collector as _, Entry, Outcome};
use crate::collectors::Flags;
use crate::collectors::settings::Settings;
use crate::ledger::Ledger;
use crate::root::Paths;

/// The families of one scrape, shared by everyone who asked for it at the same time.
pub type Families = Arc<Vec<Family>>;

/// Which collectors a scrape runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Selection {
    /// All that are switched on.
    All,
    /// Those with these names.
    Only(Vec<String>),
}

impl Selection {
    /// Whether the collector `name` is among them.
    pub fn takes(&self, name: &str) -> bool {
        match self {
            Selection::All => true,
            Selection::Only(names) => names.iter().any(|n| n == name),
        }
    }
}

/// Why there is no scrape.
#[derive(Debug, thiserror::Error)]
#[error("the reading thread could not be started: the system is out of threads or memory")]
pub struct NoReader;

/// Runs collectors on request.
pub struct Scraper {
    shared: Arc<Shared>,
}

struct Shared {
    deadline: Duration,
    inner: Mutex<Inner>,
    work: Condvar,
}

struct Inner {
    /// Which reader is in charge; a reader of an older generation is retired.
    generation: u64,
    reading: bool,
    slots: Vec<Slot>,
    queue: VecDeque<Request>,
    job: Option<Job>,
    ledger: Ledger,
}

impl Scraper {
    /// A loop over `entries`, made as `flags` say, which gives each collector `deadline` before it goes on without it.
    pub fn new(
        paths: &Paths,
        entries: &[&'static Entry],
        flags: &Flags,
        deadline: Duration,
    ) -> Self {
        let slots = entries
            .iter()
            .map(|entry| Slot::new(entry, paths, flags))
            .collect();
        Scraper {
            shared: Arc::new(Shared {
                deadline,
                inner: Mutex::new(Inner {
                    generation: 0,
                    reading: false,
                    slots,
                    queue: VecDeque::new(),
                    job: None,
                    ledger: Ledger::default(),
                }),
                work: Condvar::new(),
            }),
        }
    }

    /// Collects once. Requests for the same selection that wait at the same time share one collection.
    ///
    /// # Errors
    /// No thread can be started to read with.
    pub async fn scrape(&self, selection: Selection) -> Result<Families, NoReader> {
        let (reply, mut answer) = oneshot::channel();
        self.submit(Request { selection, reply })?;
        loop {
            let overdue_at = self.overdue_at();
            tokio::select! {
                answered = &mut answer => return answered.map_err(|_| NoReader),
                () = tokio::time::sleep_until(overdue_at.into()) => self.give_up_overdue(),
            }
        }
    }

    /// How each collector ended its last run, in the order of the list.
    pub fn standings(&self) -> Vec<Standing> {
        self.shared
            .lock()
            .slots
            .iter()
            .map(Slot::standing)
            .collect()
    }

    fn submit(&self, request: Request) -> Result<(), NoReader> {
        let mut inner = self.shared.lock();
        if !inner.reading {
            self.start_reader(&mut inner)?;
        }
        inner.queue.push_back(request);
        drop(inner);
        self.shared.work.notify_one();
        Ok(())
    }

    fn start_reader(&self, inner: &mut Inner) -> Result<(), NoReader> {
        inner.generation += 1;
        let (shared, generation) = (Arc::clone(&self.shared), inner.generation);
        let started = std::thread::Builder::new()
            .name("reader".to_owned())
            .spawn(move || read_on(&shared, generation));
        inner.reading = started.is_ok();
        started.map(drop).map_err(|error| {
            tracing::error!(%error, "cannot start a reading thread");
            // Whoever waits is answered by the closed channel.
            inner.queue.clear();
            inner.job = None;
            NoReader
        })
    }

    fn overdue_at(&self) -> Instant {
        let inner = self.shared.lock();
        let running = inner.job.as_ref().and_then(|job| job.running);
        running.map_or_else(Instant::now, |(_, started)| started) + self.shared.deadline
    }

    fn give_up_overdue(&self) {
        let mut inner = self.shared.lock();
        let Some(job) = &mut inner.job else { return };
        let Some((index, started)) = job.running else {
            return;
        };
        if started.elapsed() < self.shared.deadline {
            return;
        }
        job.running = None;
        inner.slots[index].give_up(started.elapsed());
        // A failure has emptied the queue and answered everyone.
        let _ = self.start_reader(&mut inner);
    }
}

impl Drop for Scraper {
    fn drop(&mut self) {
        self.shared.lock().generation += 1;
        self.shared.work.notify_all();
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Inner> {
        // Collectors run outside of the lock, so a panic of theirs cannot leave it half-written.
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for the next collector to run; `None` when reader `generation` is retired.
    fn next(&self, generation: u64) -> Option<(usize, Runner)> {
        let mut inner = self.lock();
        loop {
            if inner.generation != generation {
                return None;
            }
            if let Some(next) = inner.next_of_job() {
                return Some(next);
            }
            inner.finish_job();
            inner = match inner.start_job() {
                true => inner,
                false => self
                    .work
                    .wait(inner)
                    .unwrap_or_else(PoisonError::into_inner),
            };
        }
    }
}

impl Inner {
    fn start_job(&mut self) -> bool {
        // Whoever hung up while waiting needs no collection.
        self.queue.retain(|request| !request.reply.is_closed());
        if let Some(first) = self.queue.pop_front() {
            let names: Vec<_> = self.slots.iter().map(Slot::name).collect();
            self.job = Some(Job::new(first, &mut self.queue, &names));
        }
        self.job.is_some()
    }

    fn next_of_job(&mut self) -> Option<(usize, Runner)> {
        let job = self.job.as_mut()?;
        while let Some(index) = job.remaining.pop_front() {
            match self.slots[index].take() {
                Some(runner) => {
                    job.running = Some((index, Instant::now()));
                    return Some((index, runner));
                }
                None => self.slots[index].still_waiting(),
            }
        }
        None
    }

    fn finish_job(&mut self) {
        let Some(job) = self.job.take() else { return };
        let mut out = Sink::new();
        for slot in self.slots.iter().filter(|s| job.selection.takes(s.name())) {
            slot.emit(&mut out);
        }
        self.ledger
            .observe(&job.parts, Instant::now(), SystemTime::now());
        // Who asks for some collectors gets what comes of those.
        if job.selection.takes(Settings::INFO.name) {
            self.ledger.emit(&mut out);
        }
        job.answer(out);
    }
}

/// The life of a reader: run what is next until retired.
fn read_on(shared: &Shared, generation: u64) {
    while let Some((index, mut runner)) = shared.next(generation) {
        let started = Instant::now();
        let mut out = Sink::new();
        let run = AssertUnwindSafe(|| runner.collector.run(&runner.root, &mut out));
        let ran = catch_unwind(run);
        let outcome = match &ran {
            Ok(result) => Outcome::judge(result.clone(), runner.root.take_tolerated())
                .without(&runner.root.take_forgone()),
            Err(panic) => Outcome::panic(panic.as_ref()),
        };
        let mut inner = shared.lock();
        let slot = &mut inner.slots[index];
        slot.put_back(ran.is_ok().then_some(runner));
        if inner.generation != generation {
            return;
        }
        inner.slots[index].settle(outcome, started.elapsed());
        if let Some(job) = &mut inner.job {
            job.running = None;
            job.parts.push(out.into_families());
        }
    }
}

#[cfg(test)]
mod tests;
