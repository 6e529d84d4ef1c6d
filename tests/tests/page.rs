//! The page of `cargo run`, looked at in a real browser, with and without scripts.

use std::path::Path;
use std::process::{Command, Output};

use tests::http;
use tests::program::{Program, binary};

/// The probe as a newcomer starts it, with a state directory of its own.
fn newcomer(state: &Path) -> Program {
    let mut command = Command::new(binary("wakelag-probe"));
    command
        .env("STATE_DIRECTORY", state)
        .arg("--web.listen-address=127.0.0.1:0");
    Program::spawn("wakelag-probe", command)
}

fn chromium(profile: &Path, flags: &[&str], url: &str) -> Output {
    let output = Command::new("chromium")
        .args([
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-quic",
            "--no-first-run",
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
        ])
        .arg(format!("--user-data-dir={}", profile.display()))
        .args(flags)
        .arg(url)
        .output()
        .expect("chromium, from Debian's package of that name");
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    output
}

/// The text a person reads where no script runs. Headless Chromium prints nothing with scripts switched off, so the
/// page is printed as it was served, without its script.
fn text_without_script(dir: &Path, page: &str) -> String {
    let (start, rest) = page.split_once("<script>").unwrap();
    let (_, end) = rest.split_once("</script>").unwrap();
    let (still, pdf) = (dir.join("still.html"), dir.join("still.pdf"));
    std::fs::write(&still, format!("{start}{end}")).unwrap();
    let print = format!("--print-to-pdf={}", pdf.display());
    chromium(
        &dir.join("still"),
        &[&print],
        &format!("file://{}", still.display()),
    );
    let output = Command::new("pdftotext")
        .arg(&pdf)
        .arg("-")
        .output()
        .expect("pdftotext, from Debian's package poppler-utils");
    String::from_utf8(output.stdout).unwrap()
}

/// The number of queries in each row of the latency table.
fn queries(page: &str) -> Vec<u64> {
    let table = page.split_once("Under profile").unwrap().1;
    let table = table.split_once("</table>").unwrap().0;
    let rows = table.split("<tr>").skip(1);
    let last_number = |row: &str| {
        let cell = row.rsplit("<td class=\"number\">").next().unwrap();
        cell.split('<').next().unwrap().parse().unwrap()
    };
    rows.map(last_number).collect()
}

#[test]
fn one_command_shows_profile_collectors_and_latency_in_a_browser() {
    let state = tempfile::tempdir().unwrap();
    let browser = tempfile::tempdir().unwrap();
    let mut probe = newcomer(state.path());
    let url = format!("{}/", probe.address());
    // Both positions of all three presets, and a first point in the charts.
    let before = probe.wait_for("latencies on the page", |_| {
        let page = http::get(&url).ok()?;
        page.contains("<polyline")
            .then(|| queries(&page))
            .filter(|rows| rows.len() == 6)
    });

    let live = ["--virtual-time-budget=6000", "--dump-dom"];
    let page = chromium(&browser.path().join("live"), &live, &url).stdout;
    let page = String::from_utf8(page).unwrap();
    for part in [
        "Profile in force",
        "Collectors",
        "cpuidle",
        "select1-idle",
        "<polyline",
        "After a pause",
    ] {
        assert!(page.contains(part), "{part}: {page}");
    }
    assert!(!page.contains("class=\"stale\""), "the live part is stale");
    // The browser's clock is faster than ours: how often the script got a fresh copy is told by the script.
    assert!(
        page.contains("data-refreshed="),
        "the script did not run: {page}"
    );
    let after = queries(&page);
    assert!(
        before
            .iter()
            .zip(&after)
            .all(|(before, after)| before <= after),
        "{before:?} {after:?}"
    );

    let text = text_without_script(browser.path(), &http::get(&url).unwrap());
    // Paper is narrow: a name may be broken over two lines, and loses its hyphen there.
    let kept = |c: &char| !c.is_whitespace() && *c != '-';
    let joined: String = text.chars().filter(kept).collect();
    for part in [
        "Profileinforce",
        "select1idle",
        "firstafterapause",
        "cpuidle",
    ] {
        assert!(joined.contains(part), "{part}: {text}");
    }
    assert_eq!(probe.terminate(), Some(0));
}

#[test]
fn nothing_on_the_page_comes_from_elsewhere() {
    let state = tempfile::tempdir().unwrap();
    let mut probe = newcomer(state.path());
    let page = http::get(&format!("{}/", probe.address())).unwrap();
    for foreign in ["src=", "@import", "url(", "href=\"http", "href=\"//"] {
        assert!(!page.contains(foreign), "{foreign}: {page}");
    }
}
