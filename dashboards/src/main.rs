//! Writes every dashboard to its JSON file: `cargo run -p dashboards`.

use std::process::ExitCode;

fn main() -> ExitCode {
    for dashboard in dashboards::all() {
        let path = dashboards::path(&dashboard);
        if let Err(error) = std::fs::write(&path, dashboard.text()) {
            eprintln!("{}: {error}", path.display());
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}
