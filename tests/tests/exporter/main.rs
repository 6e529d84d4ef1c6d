//! The exporter against inputs that broke other exporters: each test is a kind of input, named after what it is.

#[path = "../support/mod.rs"]
mod support;

mod energy;
mod exposition;
mod frequency;
mod hotplug;
mod idle;
mod profile;
mod scheduler;
mod series;
mod settings;
