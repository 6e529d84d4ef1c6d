//! The exporter against inputs that broke other exporters: each test is a kind of input, named after what it is.

#[path = "../support/mod.rs"]
mod support;

mod cardinality;
mod damage;
mod doctor;
mod energy;
mod errno;
mod exposition;
mod footprint;
mod frequency;
mod hotplug;
mod idle;
mod idle_driver;
mod interrupts;
mod kernel;
mod machines;
mod numbering;
mod power_limits;
mod preference;
mod process;
mod profile;
mod qos;
mod sched;
mod scheduler;
mod series;
mod sets;
mod settings;
mod task_groups;
mod tasks;
mod throttling;
