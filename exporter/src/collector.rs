//! What a collector is: one kernel interface, read, then emitted.

use toolkit::metric::{Desc, Sink};

use crate::collectors::Flags;
use crate::root::{Error, Root, absent};

use nix::errno::Errno;

/// What reading a source costs other CPUs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cost {
    /// A read of memory.
    A,
    /// No interrupt, but grows with CPUs, interrupts or tasks.
    B,
    /// An interrupt to the CPU that is asked about: it wakes up.
    C,
    /// An interrupt to one CPU a package.
    D,
    /// The reader sleeps or talks to firmware.
    E,
}

/// What a collector says of itself.
#[derive(Debug)]
pub struct Info {
    /// File = collector = flag = label.
    pub name: &'static str,
    /// One line for `--help`, with the kernel's path.
    pub about: &'static str,
    /// Whether it runs unless switched off.
    pub default_on: bool,
    /// The dearest thing it reads.
    pub cost: Cost,
    /// Everything it can publish.
    pub metrics: &'static [&'static Desc],
}

/// One kernel interface.
///
/// `read` cannot emit, and `emit` can neither read nor fail. State is allowed only where the kernel forces it: a
/// counter that wraps, a file worth keeping open.
pub trait Collector: Send + 'static {
    /// Plain data, with units in the names of the fields.
    type Reading;
    /// Name, cost and metrics.
    const INFO: &'static Info;

    /// Reads the kernel's files.
    ///
    /// # Errors
    /// The interface as a whole cannot be read; a single file goes through [`Root::tolerate`].
    fn read(&mut self, root: &Root) -> Result<Self::Reading, Error>;

    /// Publishes a reading.
    fn emit(&mut self, reading: Self::Reading, out: &mut Sink);
}

/// A collector with flags of its own beside `--collector.X`.
pub trait Configured: Collector {
    /// The group of flags (clap's) that ask for the collector, where it has nothing to read without: one of them switches
    /// it on, and `--collector.X` needs one.
    const ASKED_BY: Option<&'static str>;

    /// A collector as the flags say, without any state.
    fn new(flags: &Flags) -> Self;
}

/// A collector with its reading hidden, so that all of them fit in one list.
pub trait Run: Send {
    /// Reads and emits once.
    ///
    /// # Errors
    /// As [`Collector::read`].
    fn run(&mut self, root: &Root, out: &mut Sink) -> Result<(), Error>;
}

impl<C: Collector> Run for C {
    fn run(&mut self, root: &Root, out: &mut Sink) -> Result<(), Error> {
        let reading = self.read(root)?;
        self.emit(reading, out);
        Ok(())
    }
}

/// A line of the list of collectors.
#[derive(Debug)]
pub struct Entry {
    /// Name, cost and metrics.
    pub info: &'static Info,
    /// The group of flags that ask for it, if it has any.
    pub asked_by: Option<&'static str>,
    /// Makes a fresh collector, without any state.
    pub make: fn(&Flags) -> Box<dyn Run>,
}

impl Entry {
    /// The entry of collector `C`, which has nothing to be told.
    pub const fn of<C: Collector + Default>() -> Self {
        Entry {
            info: C::INFO,
            asked_by: None,
            make: |_| Box::new(C::default()),
        }
    }

    /// The entry of collector `C`, which flags configure.
    pub const fn configured<C: Configured>() -> Self {
        Entry {
            info: C::INFO,
            asked_by: C::ASKED_BY,
            make: |flags| Box::new(C::new(flags)),
        }
    }
}

/// How a collector ended a scrape.
///
/// Ordered by how much it asks for a look: the worst of a run is its state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum State {
    /// Everything it should publish was published.
    Ok,
    /// This kernel or machine has no such interface: normal, and silent.
    Absent,
    /// The interface is there, and this process may not read it, or not all of it.
    Denied,
    /// A file could not be read or understood.
    Failed,
    /// A read did not come back in time.
    Timeout,
}

impl State {
    /// All of them, as label values.
    pub const NAMES: [&'static str; 5] = ["ok", "absent", "denied", "failed", "timeout"];

    /// The label value.
    pub const fn name(self) -> &'static str {
        Self::NAMES[self as usize]
    }
}

/// How a collector ended a scrape, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    /// The one word.
    pub state: State,
    /// The sentence. Where all is well it says what was forgone, if anything.
    pub reason: String,
    /// Label values for the error counter, one an error.
    pub errors: Vec<&'static str>,
}

impl Outcome {
    /// Judges a run by what it returned and by the errors it went on from.
    ///
    /// Everything read is published whatever the state is: the state says whether it was all there is.
    pub fn judge(result: Result<(), Error>, tolerated: Vec<Error>) -> Self {
        let fatal = result.err().map(|error| (state_without(&error), error));
        let tolerated = tolerated
            .into_iter()
            .map(|error| (state_without_one(&error), error));
        let errors: Vec<(State, Error)> = fatal.into_iter().chain(tolerated).collect();
        let state = errors.iter().map(|(state, _)| *state).max();
        let state = state.unwrap_or(State::Ok);
        let first = errors.iter().find(|(of, _)| *of == state);
        let more = errors.len().saturating_sub(1);
        Outcome {
            state,
            reason: match (first, more) {
                (None, _) => String::new(),
                (Some((_, first)), 0) => first.to_string(),
                (Some((_, first)), more) => format!("{first} (and {more} more)"),
            },
            // What is not there is no error; what went away while it was read is.
            errors: errors
                .iter()
                .filter(|(of, _)| *of != State::Absent)
                .map(|(_, error)| reason_of(error))
                .collect(),
        }
    }

    /// Adds what was forgone, for lack of rights or for what it would cost. The sentence of something worse stands before it.
    pub fn without(mut self, forgone: &[String]) -> Self {
        if let ([first, more @ ..], true) = (forgone, self.reason.is_empty()) {
            self.reason = match more.len() {
                0 => format!("without {first}"),
                more => format!("without {first} (and {more} more)"),
            };
        }
        self
    }

    /// A run that panicked: a defect of ours, which costs this collector's series and nothing else.
    pub fn panic(payload: &(dyn std::any::Any + Send)) -> Self {
        let text = payload
            .downcast_ref::<String>()
            .map(String::as_str)
            .or_else(|| payload.downcast_ref::<&str>().copied());
        Outcome {
            state: State::Failed,
            reason: format!("panic: {}", text.unwrap_or("no message")),
            errors: vec!["panic"],
        }
    }
}

/// The state of a run that one file of many was missing from.
fn state_without_one(error: &Error) -> State {
    match error.errno() {
        Some(Errno::EACCES | Errno::EPERM) => State::Denied,
        // A CPU went offline between finding its files and reading them: that series is missing, nothing is wrong.
        Some(Errno::EBUSY) => State::Ok,
        Some(errno) if absent(errno) => State::Ok,
        _ => State::Failed,
    }
}

/// The state of a run that published nothing because of `error`.
fn state_without(error: &Error) -> State {
    match error.errno() {
        Some(Errno::EACCES | Errno::EPERM) => State::Denied,
        Some(errno) if absent(errno) => State::Absent,
        _ => State::Failed,
    }
}

fn reason_of(error: &Error) -> &'static str {
    match error {
        Error::Parse { .. } => "parse",
        Error::Read { errno, .. } => errno_name(*errno),
    }
}

/// The errno's symbol, from the closed set a kernel file answers with.
fn errno_name(errno: Errno) -> &'static str {
    match errno {
        Errno::EACCES => "EACCES",
        Errno::EPERM => "EPERM",
        Errno::ENOENT => "ENOENT",
        Errno::ENODEV => "ENODEV",
        Errno::ENODATA => "ENODATA",
        Errno::ENXIO => "ENXIO",
        Errno::EBUSY => "EBUSY",
        Errno::EAGAIN => "EAGAIN",
        Errno::EINVAL => "EINVAL",
        Errno::EIO => "EIO",
        Errno::EFBIG => "EFBIG",
        Errno::EISDIR => "EISDIR",
        Errno::EMFILE => "EMFILE",
        Errno::ENFILE => "ENFILE",
        Errno::ENOMEM => "ENOMEM",
        Errno::EOPNOTSUPP => "EOPNOTSUPP",
        _ => "other",
    }
}

#[cfg(test)]
mod tests;
