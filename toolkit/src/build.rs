//! Which build this is.

use crate::metric::{Desc, Metric, Sink};

static BUILD_INFO: Metric<3> = Metric::gauge(
    "wakelag_build_info",
    "Version and source revision of the program, and the compiler that built it.",
    &["version", "revision", "rustc"],
);

/// What is published of the build.
pub static METRICS: &[&Desc] = &[BUILD_INFO.desc()];

/// Version of the program.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");
/// Source revision, or `unknown`.
pub const REVISION: &str = env!("WAKELAG_REVISION");

/// Publishes the build.
pub fn emit(out: &mut Sink) {
    out.put(&BUILD_INFO, [VERSION, REVISION, env!("WAKELAG_RUSTC")], 1.0);
}
