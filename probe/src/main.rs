//! The program wakelag-probe.

fn main() {}
