//! Hands the compiler's version and the source's revision to `src/build.rs`.

use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed=WAKELAG_REVISION");
    for head in ["../.git/HEAD", "../.git/refs/heads/main"] {
        if std::path::Path::new(head).exists() {
            println!("cargo::rerun-if-changed={head}");
        }
    }
    let rustc = std::env::var("RUSTC").unwrap_or_else(|_| "rustc".to_owned());
    let rustc = said(Command::new(rustc).arg("--version"));
    // A build from a tarball has no repository: whoever packages it can say.
    let revision = std::env::var("WAKELAG_REVISION")
        .ok()
        .or_else(|| said(Command::new("git").args(["rev-parse", "--short=12", "HEAD"])));
    let unknown = || "unknown".to_owned();
    println!(
        "cargo::rustc-env=WAKELAG_RUSTC={}",
        rustc.unwrap_or_else(unknown)
    );
    println!(
        "cargo::rustc-env=WAKELAG_REVISION={}",
        revision.unwrap_or_else(unknown)
    );
}

fn said(command: &mut Command) -> Option<String> {
    let output = command.output().ok().filter(|o| o.status.success())?;
    let text = String::from_utf8(output.stdout).ok()?;
    Some(text.trim().to_owned()).filter(|text| !text.is_empty())
}
