//! Every lane of a configuration, running, and the records they fill.

use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use toolkit::metric::Sink;

use crate::config::{Config, Target};
use crate::engine;
use crate::record::recent::Snapshot;
use crate::record::{Failing, Recorder, metrics};
use crate::runner::{self, Lane, Observer};
use crate::schedule::Stop;

/// Lanes start spread over this time, so that patterns whose periods have a common divisor (the presets': 50 ms) do
/// not meet: a query that is to be the first after a pause must not find its CPU busy with another lane's.
const SPREAD: Duration = Duration::from_millis(50);

/// A lane that connects or asks is waited for this long when the program ends: what both may take by default. With
/// longer timeouts, or on a file system that hangs, it would be minutes, and whoever asked the program to end has long
/// killed it.
const GRACE: Duration = Duration::from_secs(3);

/// Why lanes could not be started.
#[derive(Debug, thiserror::Error)]
#[error("target `{target}`, workload `{workload}`: {source}")]
pub struct Error {
    target: String,
    workload: String,
    source: runner::Error,
}

/// The lanes of a configuration. Dropping it stops them without waiting; [`Prober::stop`] waits.
pub struct Prober {
    targets: Vec<Probed>,
    stop: Arc<Stop>,
    lanes: Mutex<Vec<JoinHandle<()>>>,
}

/// A target with the records of its workloads.
#[derive(Debug)]
pub struct Probed {
    target: Target,
    recorders: Vec<Arc<Recorder>>,
}

impl Probed {
    /// Its configuration: name, node, where its profile comes from.
    pub fn target(&self) -> &Target {
        &self.target
    }

    /// The record of each of its workloads.
    pub fn recorders(&self) -> &[Arc<Recorder>] {
        &self.recorders
    }

    /// Publishes the target and all its workloads.
    fn emit(&self, out: &mut Sink) {
        let [name, node] = [&*self.target.name, &*self.target.node];
        if let Some(peer) = self.recorders.iter().find_map(|recorder| recorder.peer()) {
            let engine = self.target.access.engine();
            let labels = [name, node, engine, &peer.version, peer.transport, peer.tls];
            out.put(&metrics::TARGET_INFO, labels, 1.0);
        }
        let known = self
            .recorders
            .iter()
            .filter_map(|recorder| recorder.is_up());
        // Absent until a first query ended: nothing is known before that.
        if let Some(up) = known.reduce(|one, other| one || other) {
            out.put(&metrics::UP, [name, node], f64::from(u8::from(up)));
        }
        for recorder in &self.recorders {
            recorder.emit(out);
        }
    }
}

impl Prober {
    /// Starts every lane of `config`. They connect on their own time; a target that does not answer is no error here.
    ///
    /// # Errors
    /// A lane's thread could not be made or not be placed as configured; those already running are stopped.
    pub fn start(config: Config) -> Result<Self, Error> {
        let mut prober = Prober {
            targets: Vec::new(),
            stop: Arc::new(Stop::default()),
            lanes: Mutex::default(),
        };
        let mut lanes = Vec::new();
        let begun = Instant::now();
        for target in config.targets {
            let mut recorders = Vec::new();
            for workload in &target.workloads {
                let recorder = Arc::new(Recorder::new(&target.name, &target.node, &workload.name));
                for _ in 0..workload.lanes {
                    let number = lanes.len();
                    let lane = Lane {
                        engine: engine::of(&target),
                        workload: Arc::clone(workload),
                        placement: target.placement,
                        query_limit: target.timeout.query,
                        first: begun + offset(number),
                        seed: number as u64,
                        observer: Arc::clone(&recorder) as Arc<dyn Observer>,
                        stop: Arc::clone(&prober.stop),
                    };
                    let started = runner::start(lane).map_err(|source| Error {
                        target: target.name.clone(),
                        workload: workload.name.clone(),
                        source,
                    })?;
                    lanes.push(started);
                }
                recorders.push(recorder);
            }
            prober.targets.push(Probed { target, recorders });
        }
        prober.lanes = Mutex::new(lanes);
        Ok(prober)
    }

    /// The targets, in the order of the configuration.
    pub fn targets(&self) -> &[Probed] {
        &self.targets
    }

    /// The record of every workload of every target.
    pub fn recorders(&self) -> impl Iterator<Item = &Arc<Recorder>> {
        self.targets.iter().flat_map(|probed| &probed.recorders)
    }

    /// Tells every target on `node` that a reading of that host's profile, begun at `read_started`, has just ended
    /// with `profile`, or failed (`None`). Samples done before it began are stamped and published now.
    pub fn confirm(&self, node: &str, read_started: Instant, profile: Option<&str>) {
        for probed in self.targets.iter().filter(|p| p.target.node == node) {
            for recorder in &probed.recorders {
                recorder.confirm(read_started, profile);
            }
        }
    }

    /// Publishes everything.
    pub fn emit(&self, out: &mut Sink) {
        for probed in &self.targets {
            probed.emit(out);
        }
    }

    /// The workloads whose last query was not answered, for a page.
    pub fn failing(&self) -> Vec<Failing> {
        let failing = self.recorders().map(|recorder| recorder.failing());
        failing.flatten().collect()
    }

    /// What a page shows: one for each target, workload and position answered in the last ten minutes.
    pub fn snapshots(&self) -> Vec<Snapshot> {
        let snapshots = self.recorders().map(|recorder| recorder.snapshots());
        snapshots.flatten().collect()
    }

    /// Ends every lane and waits for it: at most for [`GRACE`]. What was recorded stays; stopping again changes nothing.
    pub fn stop(&self) {
        self.stop.stop();
        let lanes = std::mem::take(&mut *self.lanes.lock().unwrap_or_else(PoisonError::into_inner));
        let deadline = Instant::now() + GRACE;
        let mut hung = 0;
        for lane in lanes {
            while !lane.is_finished() && Instant::now() < deadline {
                std::thread::sleep(Duration::from_millis(5));
            }
            if !lane.is_finished() {
                hung += 1;
            } else if lane.join().is_err() {
                tracing::error!("a lane ended in a panic");
            }
        }
        if hung > 0 {
            tracing::warn!(
                lanes = hung,
                "the program ends while lanes wait for a database"
            );
        }
    }
}

impl Drop for Prober {
    fn drop(&mut self) {
        self.stop.stop();
    }
}

/// The golden ratio spreads any number of lanes evenly, in whatever order they come.
fn offset(lane: usize) -> Duration {
    SPREAD.mul_f64((lane as f64 * 0.618_033_988_75).fract())
}

#[cfg(test)]
mod tests {
    use super::*;
    use toolkit::metric::family;

    #[test]
    fn lanes_of_the_embedded_default_answer_and_stop() {
        let dir = tempfile::tempdir().unwrap();
        let prober = Prober::start(crate::config::embedded(dir.path())).unwrap();
        let node = prober.targets()[0].target().node.clone();
        let deadline = Instant::now() + Duration::from_secs(20);
        let begun = Instant::now();
        prober.confirm("another host", begun, Some("wrong"));
        prober.confirm(&node, begun, Some("test"));
        // Both positions of every preset.
        while prober.snapshots().len() < 6 {
            assert!(Instant::now() < deadline, "{:?}", prober.snapshots());
            std::thread::sleep(Duration::from_millis(20));
            prober.confirm(&node, Instant::now(), Some("test"));
        }
        assert!(prober.snapshots().iter().all(|s| s.profile != "wrong"));
        let mut sink = Sink::new();
        prober.emit(&mut sink);
        let families = sink.into_families();
        for desc in metrics::METRICS {
            assert!(family(&families, desc.name).is_some(), "{}", desc.name);
        }
        let up = family(&families, "wakelag_probe_up").unwrap();
        assert_eq!(up.samples().next().unwrap().value(), Some(1.0));
        let stopping = Instant::now();
        prober.stop();
        assert!(stopping.elapsed() < Duration::from_secs(2));
    }

    #[test]
    fn a_lane_that_hangs_does_not_hold_up_the_end_of_the_program() {
        // The system takes the connection, and nobody ever answers it.
        let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let text = format!(
            "targets: [{{name: a, engine: postgres, address: '{}', user: u, timeout: {{connect: 5m}}, workloads: [select1]}}]",
            silent.local_addr().unwrap()
        );
        let config = crate::config::parse("probe.yaml".as_ref(), &text).unwrap();
        let prober = Prober::start(config).unwrap();
        let _lane = silent.accept().unwrap();
        let stopping = Instant::now();
        prober.stop();
        assert!(stopping.elapsed() < GRACE * 2);
    }

    #[test]
    fn a_web_server_may_share_it_between_threads() {
        fn shared<T: Send + Sync>() {}
        shared::<Prober>();
    }

    #[test]
    fn a_lane_that_cannot_be_placed_names_its_target() {
        let dir = tempfile::tempdir().unwrap();
        let mut config = crate::config::embedded(dir.path());
        config.targets[0].placement.cpu = Some(1023);
        let error = Prober::start(config).err().unwrap().to_string();
        assert!(
            error.starts_with("target `embedded`, workload `select1`: cannot stay on CPU 1023"),
            "{error}"
        );
    }

    #[test]
    fn lanes_do_not_start_together() {
        let offsets: Vec<Duration> = (0..20).map(offset).collect();
        for (index, one) in offsets.iter().enumerate() {
            assert!(*one < SPREAD);
            for other in &offsets[..index] {
                assert!(one.abs_diff(*other) > Duration::from_millis(1));
            }
        }
    }
}
