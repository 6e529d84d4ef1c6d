//! A real Prometheus, from Debian's package, that scrapes what it is told to.

use std::fs;
use std::process::Command;

use serde_json::Value;
use tempfile::TempDir;

use crate::http;
use crate::program::{Program, free_port};

/// A running Prometheus with a database of its own.
#[derive(Debug)]
pub struct Prometheus {
    program: Program,
    url: String,
    _data: TempDir,
}

/// One series of an instant query.
#[derive(Debug, Clone, PartialEq)]
pub struct Series {
    /// Its labels, as the API gives them.
    pub labels: Value,
    /// Its value.
    pub value: f64,
}

impl Series {
    /// The label `name`, empty where the series has none.
    pub fn label(&self, name: &str) -> &str {
        self.labels[name].as_str().unwrap_or_default()
    }
}

impl Prometheus {
    /// Starts a server with `configuration` and waits until it is ready.
    ///
    /// # Panics
    /// If it is not installed or refuses the configuration.
    pub fn start(configuration: &str) -> Prometheus {
        Self::with_flags(configuration, &[])
    }

    /// [`Prometheus::start`] with further `flags`.
    ///
    /// # Panics
    /// If it is not installed or refuses the configuration or the flags.
    pub fn with_flags(configuration: &str, flags: &[&str]) -> Prometheus {
        let data = TempDir::with_prefix("wakelag-prometheus-")
            .unwrap_or_else(|error| panic!("a directory for Prometheus: {error}"));
        let file = data.path().join("prometheus.yaml");
        fs::write(&file, configuration)
            .unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        let url = format!("http://127.0.0.1:{}", free_port());
        let mut command = Command::new("prometheus");
        command
            .arg(format!("--config.file={}", file.display()))
            .arg(format!(
                "--storage.tsdb.path={}",
                data.path().join("tsdb").display()
            ))
            .arg(format!(
                "--web.listen-address={}",
                url.trim_start_matches("http://")
            ))
            .args(flags);
        let mut program = Program::spawn("prometheus", command);
        let ready = format!("{url}/-/ready");
        program.wait_for("readiness", |_| http::get(&ready).ok());
        Prometheus {
            program,
            url,
            _data: data,
        }
    }

    /// Evaluates `query` now.
    ///
    /// # Errors
    /// What the server says of the query.
    pub fn query(&self, query: &str) -> Result<Vec<Series>, String> {
        let encoded: String = query.bytes().map(|byte| format!("%{byte:02X}")).collect();
        let body = http::get(&format!("{}/api/v1/query?query={encoded}", self.url))?;
        let answer: Value = serde_json::from_str(&body).map_err(|error| error.to_string())?;
        let result = &answer["data"]["result"];
        // A scalar is a pair, a vector a list of series.
        if answer["data"]["resultType"] == "scalar" {
            let value = number(&result[1])?;
            return Ok(vec![Series {
                labels: Value::Null,
                value,
            }]);
        }
        let series = result.as_array().ok_or("no list of series")?;
        let one = |series: &Value| {
            Ok(Series {
                labels: series["metric"].clone(),
                value: number(&series["value"][1])?,
            })
        };
        series.iter().map(one).collect()
    }

    /// What the server has logged.
    pub fn log(&self) -> String {
        self.program.log()
    }
}

fn number(value: &Value) -> Result<f64, String> {
    let text = value.as_str().unwrap_or_default();
    text.parse().map_err(|_| format!("{value} is no number"))
}
