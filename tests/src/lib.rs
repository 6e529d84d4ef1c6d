//! What the suites share: fixture machines to scrape instead of the host, and golden files to compare with.
//!
//! Everything here panics with a message that names the file, because everything here runs under a test or a
//! benchmark.

pub mod fixture;
pub mod golden;
