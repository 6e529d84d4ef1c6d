//! What a collector is: one kernel interface, read, then emitted.

use toolkit::metric::{Desc, Sink};

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
pub trait Collector: Default + Send + 'static {
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
    /// Makes a fresh collector, without any state.
    pub make: fn() -> Box<dyn Run>,
}

impl Entry {
    /// The entry of collector `C`.
    pub const fn of<C: Collector>() -> Self {
        Entry {
            info: C::INFO,
            make: || Box::new(C::default()),
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
    /// The sentence, empty where all is well.
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
mod tests {
    use super::*;
    use crate::parse::ParseError;

    fn read(errno: Errno) -> Error {
        Error::Read {
            path: "/sys/x".into(),
            errno,
        }
    }

    #[test]
    fn an_interface_that_is_not_there_is_absent_and_no_error() {
        let outcome = Outcome::judge(Err(read(Errno::ENOENT)), vec![]);
        assert_eq!(outcome.state, State::Absent);
        assert!(outcome.errors.is_empty());
    }

    #[test]
    fn an_interface_that_went_away_while_it_was_read_is_absent_and_not_well() {
        let outcome = Outcome::judge(Err(read(Errno::ENOENT)), vec![read(Errno::ENODEV)]);
        assert_eq!(outcome.state, State::Absent);
        assert_eq!(outcome.errors, ["ENODEV"]);
        let unsure = Outcome::judge(Err(read(Errno::ENOENT)), vec![read(Errno::EACCES)]);
        assert_eq!(unsure.state, State::Denied);
    }

    #[test]
    fn a_run_that_published_nothing_is_never_well() {
        for errno in [Errno::EBUSY, Errno::EIO, Errno::EISDIR] {
            let outcome = Outcome::judge(Err(read(errno)), vec![]);
            assert_eq!(outcome.state, State::Failed, "{errno}");
        }
    }

    #[test]
    fn a_denied_file_makes_the_whole_denied_and_is_named() {
        let outcome = Outcome::judge(Ok(()), vec![read(Errno::EACCES), read(Errno::EACCES)]);
        assert_eq!(outcome.state, State::Denied);
        assert_eq!(outcome.reason, "/sys/x: Permission denied (and 1 more)");
        assert_eq!(outcome.errors, ["EACCES", "EACCES"]);
    }

    #[test]
    fn a_file_that_went_with_its_cpu_is_counted_and_all_is_well() {
        let outcome = Outcome::judge(Ok(()), vec![read(Errno::EBUSY)]);
        assert_eq!(outcome.state, State::Ok);
        assert_eq!(outcome.errors, ["EBUSY"]);
    }

    #[test]
    fn a_file_that_is_not_understood_is_a_failure() {
        let error = Error::Parse {
            path: "/sys/x".into(),
            source: ParseError::new(3, "bad"),
        };
        let outcome = Outcome::judge(Ok(()), vec![read(Errno::EACCES), error]);
        assert_eq!(outcome.state, State::Failed);
        assert_eq!(outcome.reason, "/sys/x:3: bad (and 1 more)");
    }
}
