//! The one crate both programs share: what every exporter needs and nothing about CPUs or databases.

mod accept;
pub mod build;
pub mod config;
pub mod exposition;
pub mod flags;
pub mod histogram;
pub mod log;
pub mod metric;
pub mod page;
pub mod pem;
pub mod process;
pub mod sandbox;
pub mod systemd;
pub mod web;
