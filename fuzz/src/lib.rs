//! What has to hold whatever is read: one function for each target of `cargo fuzz`.
//!
//! A function takes the bytes of one input and panics where a property does not hold. `cargo fuzz` makes inputs up;
//! `tests/tests/fuzz.rs` holds this same source and goes over the inputs that are kept under `corpus/`, so that neither
//! the functions nor the corpus rot between two fuzzings.
//!
//! Nothing is opened up for it. A parser that is public is called; one that is not is reached as the product reaches it,
//! through its collector over a directory of files, its configuration file or its socket. So the properties are about
//! what is published, and a parser may be moved or renamed without a word here.

mod exposed;
mod machine;
mod protobuf;

mod configuration;
mod exposition;
mod idle;
mod postgres;
mod procfs;
mod rapl;
mod schedstat;
mod schedule;
mod settings;
mod tasks;
mod values;
mod web;

/// The entry of one target.
pub type Entry = fn(&[u8]);

/// Every target by name.
pub const TARGETS: [(&str, Entry); 12] = [
    ("configuration", configuration::run),
    ("exposition", exposition::run),
    ("idle", idle::run),
    ("postgres", postgres::run),
    ("procfs", procfs::run),
    ("rapl", rapl::run),
    ("schedstat", schedstat::run),
    ("schedule", schedule::run),
    ("settings", settings::run),
    ("tasks", tasks::run),
    ("values", values::run),
    ("web", web::run),
];

/// Runs the target `name`.
///
/// # Panics
///
/// If there is none of that name, or one of its properties does not hold.
pub fn run(name: &str, bytes: &[u8]) {
    let target = TARGETS.iter().find(|(known, _)| *known == name);
    let (_, entry) = target.unwrap_or_else(|| panic!("no target is called {name}"));
    entry(bytes);
}
