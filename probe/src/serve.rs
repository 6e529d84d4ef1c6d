//! Asks every target until told to end, and serves what it takes.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Instant;

use exporter::collector::Entry;
use exporter::node::Node;
use exporter::site::Exporter;
use maud::{Markup, html};
use toolkit::metric::{Family, Sink, merge};
use toolkit::web::{self, Query, Refusal, Site};

use crate::Error;
use crate::config::{self, Config};
use crate::page;
use crate::prober::Prober;
use crate::profile::{self, Source};

/// What `serve` was told on the command line.
#[derive(Debug)]
pub struct Options {
    /// `--web.*`.
    pub web: toolkit::flags::Web,
    /// `--path.*` and `--node.name`: where this host's settings are read.
    pub kernel: exporter::args::Kernel,
    /// The collectors to serve beside the probe's own metrics; without any, only the settings are read, to know the
    /// profile of this host.
    pub collectors: Option<Vec<&'static Entry>>,
}

/// Runs the lanes of `config` and serves until SIGINT or SIGTERM.
///
/// # Errors
/// The address cannot be listened on, or a lane cannot be started.
pub fn run(config: Config, options: &Options) -> Result<(), Error> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(Error::Runtime)?;
    let served = runtime.block_on(serve(config, options));
    // Dropping it would wait for a look-up of an exporter's name: half a minute where no name server answers.
    runtime.shutdown_background();
    served
}

async fn serve(mut config: Config, options: &Options) -> Result<(), Error> {
    let default = SocketAddr::from(([127, 0, 0, 1], 9974));
    let server = web::Server::open(&options.web, default).await?;
    let shutdown = web::terminated().map_err(Error::Runtime)?;
    let exporter = Arc::new(exporter(options));
    name_this_host(&mut config, &exporter.node);
    let sources = sources(&config, &exporter);
    let site = Arc::new(Probe {
        prober: Prober::start(config)?,
        with_exporter: options.collectors.is_some(),
        exporter,
    });
    let targets = site.prober.targets().len();
    for url in server.urls() {
        tracing::info!(targets, "serving {url}/ and {url}/metrics");
    }
    let mut tasks = tokio::task::JoinSet::new();
    for (node, source) in sources {
        let site = Arc::clone(&site);
        tasks.spawn(async move { follow(&site.prober, &node, &source).await });
    }
    if site.with_exporter {
        let exporter = Arc::clone(&site.exporter);
        tasks.spawn(async move { exporter.guard().await });
    }
    server.serve(Arc::clone(&site), shutdown).await;
    tasks.shutdown().await;
    site.prober.stop();
    Ok(())
}

/// The exporter in process: all its collectors where it is to be served, otherwise what the profile is made of.
fn exporter(options: &Options) -> Exporter {
    let only_settings = || {
        let all = exporter::collectors::COLLECTORS.iter();
        all.filter(|entry| entry.info.name == "settings").collect()
    };
    let entries: Vec<_> = options.collectors.clone().unwrap_or_else(only_settings);
    Exporter::new(&options.kernel, &entries)
}

/// Targets on this host are on the node that `--node.name` says.
fn name_this_host(config: &mut Config, node: &Node) {
    let this_host = config::this_host();
    for target in &mut config.targets {
        if target.node == this_host {
            target.node.clone_from(&node.name);
        }
    }
}

/// Who knows the profile of each node: the exporter that one of its targets names, else this process for this host.
fn sources(config: &Config, exporter: &Arc<Exporter>) -> BTreeMap<String, Source> {
    let mut sources = BTreeMap::new();
    for target in &config.targets {
        let here = target.node == exporter.node.name;
        sources
            .entry(target.node.clone())
            .or_insert_with(|| match here {
                true => Source::Here(Arc::clone(exporter)),
                false => Source::Nobody,
            });
        if let Some(url) = &target.profile_from {
            sources.insert(target.node.clone(), Source::There(url.clone()));
        }
    }
    sources
}

/// Reads the profile of `node` again and again and tells its lanes; never ends.
async fn follow(prober: &Prober, node: &str, source: &Source) {
    let mut known = None;
    loop {
        let started = Instant::now();
        let profile = source.read().await;
        let is_known = profile.is_ok();
        match &profile {
            Ok(profile) if known != Some(true) => tracing::info!(node, profile, "profile known"),
            Err(error) if known != Some(false) => {
                tracing::warn!(node, %error, "profile unknown: observations say so until it is known");
            }
            _ => {}
        }
        known = Some(is_known);
        prober.confirm(node, started, profile.ok().as_deref());
        tokio::time::sleep(profile::EVERY).await;
    }
}

/// What the probe serves.
struct Probe {
    prober: Prober,
    exporter: Arc<Exporter>,
    with_exporter: bool,
}

impl Site for Probe {
    async fn page(&self) -> Markup {
        let content = html! {
            (self.exporter.profile_part().await)
            (page::lanes(&self.prober.snapshots(), &self.prober.failing()))
            (self.exporter.collectors_part())
        };
        let purpose = "What CPU power management costs a query, and what it saves.";
        toolkit::page::frame("wakelag", purpose, &content)
    }

    async fn metrics(&self, query: Query) -> Result<Vec<Family>, Refusal> {
        let mut own = Sink::new();
        toolkit::build::emit(&mut own);
        self.prober.emit(&mut own);
        let mut sources = vec![own.into_families(), toolkit::process::families()];
        if self.with_exporter {
            sources.push(self.exporter.families(&query).await?);
        } else if let Some((key, _)) = query.first() {
            let why =
                format!("{key}: only with --with-exporter are there collectors to choose from");
            return Err(Refusal::BadRequest(why));
        }
        Ok(merge(sources))
    }

    fn ready(&self) -> Result<(), String> {
        Ok(())
    }
}
