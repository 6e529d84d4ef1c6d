//! What the suites share: fixture machines to scrape instead of the host, golden files to compare with, and real
//! programs to run beside ours.
//!
//! Everything here panics with a message that names the file, because everything here runs under a test or a
//! benchmark.

pub mod certificates;
pub mod fixture;
pub mod golden;
pub mod http;
pub mod mariadb;
pub mod postgres;
pub mod program;
pub mod prometheus;
pub mod scraped;
