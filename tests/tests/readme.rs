//! Every command of the README is run, with this build's programs in place of installed ones.

use std::path::Path;
use std::process::Command;

use tests::golden::repository;
use tests::http;
use tests::postgres::Postgres;
use tests::program::{Program, binary};

/// The lines of all blocks of `language` in the README, block by block.
fn blocks(language: &str) -> Vec<String> {
    let readme = std::fs::read_to_string(repository().join("README.md")).unwrap();
    let fence = format!("```{language}\n");
    let blocks = readme.split(&fence).skip(1);
    blocks
        .map(|block| block.split_once("```").unwrap().0.to_owned())
        .collect()
}

/// A server program as the README starts it, on a port of its own and with its state in `dir`.
fn serve(program: &str, arguments: &[&str], dir: &Path) -> Program {
    let mut command = Command::new(binary(program));
    command
        .args(arguments)
        .arg("--web.listen-address=127.0.0.1:0");
    command
        .env("STATE_DIRECTORY", dir.join("state"))
        .current_dir(dir);
    Program::spawn(program, command)
}

/// Runs a command to its end; what it printed.
fn run(mut command: Command) -> String {
    let output = command.output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {errors}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn every_command_works() {
    let server = Postgres::start("");
    let dir = tempfile::tempdir().unwrap();
    let socket = server.socket().display().to_string();
    let [configuration] = &blocks("yaml")[..] else {
        panic!("one configuration is in the README")
    };
    let configuration = configuration.replace("/run/postgresql/.s.PGSQL.5432", &socket);
    std::fs::write(dir.path().join("probe.yaml"), configuration).unwrap();

    let mut newcomer = None;
    for line in blocks("sh").iter().flat_map(|block| block.lines()) {
        let words: Vec<&str> = line.split_whitespace().collect();
        match &words[..] {
            ["cargo", "run", "--release"] => {
                newcomer = Some(serve("wakelag-probe", &[], dir.path()));
            }
            ["curl", "--silent", url] => {
                let address = newcomer.as_mut().unwrap().address();
                let text = http::get(&url.replace("http://127.0.0.1:9974", &address)).unwrap();
                assert!(text.contains("wakelag_profile_info{"), "{text}");
            }
            [
                "wakelag-probe",
                command @ ("check" | "bench"),
                arguments @ ..,
            ] => {
                let mut program = Command::new(binary("wakelag-probe"));
                program.arg(command).args(arguments).current_dir(dir.path());
                let said = run(program);
                assert!(
                    said.contains("probe.yaml: targets: 1") || said.contains("p99"),
                    "{said}"
                );
            }
            [
                program @ ("wakelag-probe" | "wakelag-exporter"),
                arguments @ ..,
            ] => {
                let mut program = serve(program, arguments, dir.path());
                let address = program.address();
                let text = http::get(&format!("{address}/metrics")).unwrap();
                assert!(
                    text.contains("wakelag_cpu_seconds_total{"),
                    "{line}: {text}"
                );
                assert_eq!(program.terminate(), Some(0), "{line}");
            }
            ["promtool", arguments @ ..] => {
                let mut promtool = Command::new("promtool");
                promtool.args(arguments).current_dir(repository());
                run(promtool);
            }
            // What runs this.
            ["tests/run"] => {}
            _ => panic!("the README has a command nobody runs here: {line}"),
        }
    }
}

#[test]
fn every_link_leads_somewhere() {
    let readme = std::fs::read_to_string(repository().join("README.md")).unwrap();
    let links = readme
        .split("](")
        .skip(1)
        .map(|rest| rest.split_once(')').unwrap().0);
    for link in links.filter(|link| !link.starts_with("http")) {
        assert!(repository().join(link).exists(), "{link}");
    }
}
