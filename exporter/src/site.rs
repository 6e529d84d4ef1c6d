//! What the exporter serves: its page, its metrics, its readiness.

mod guard;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use maud::{Markup, html};
use toolkit::metric::{Family, Sink, merge};
use toolkit::web::{Query, Refusal, Site};

use self::guard::Last;
use crate::advice::Host;
use crate::args::Kernel;
use crate::collector::{Collector as _, Entry};
use crate::collectors::settings::Settings;
use crate::node::Node;
use crate::page;
use crate::scrape::{Families, NoReader, Scraper, Selection, Standing};

/// The exporter, ready to be scraped.
pub struct Exporter {
    /// The host it speaks for.
    pub node: Node,
    scraper: Scraper,
    names: Vec<&'static str>,
    /// /proc and /sys are read as this process has them, and not where those of the host are mounted.
    sees_own_files: bool,
    last_scrape: Last,
    last_settings: Last,
    /// How long settings may go unread; 0 for however long.
    check_interval: Duration,
}

impl Exporter {
    /// An exporter of `entries` on the host that `kernel` says.
    pub fn new(kernel: &Kernel, entries: &[&'static Entry]) -> Self {
        let paths = kernel.paths();
        Exporter {
            node: Node::read(&paths, kernel.node_name.clone()),
            scraper: Scraper::new(&paths, entries, &kernel.collectors, kernel.timeout),
            sees_own_files: kernel.sysfs == Path::new("/sys"),
            names: entries.iter().map(|entry| entry.info.name).collect(),
            last_scrape: Last::now(),
            last_settings: Last::now(),
            check_interval: kernel.check_interval,
        }
    }

    /// Collects `selection` once.
    ///
    /// # Errors
    /// No thread can be started to read with.
    pub async fn scrape(&self, selection: Selection) -> Result<Families, NoReader> {
        if selection == Selection::All {
            self.last_scrape.renew();
        }
        if selection.takes(Settings::INFO.name) {
            self.last_settings.renew();
        }
        self.scraper.scrape(selection).await
    }

    /// How each collector ended its last run.
    pub fn standings(&self) -> Vec<Standing> {
        self.scraper.standings()
    }

    /// The families of one scrape with those of the host, as `query` selects.
    ///
    /// # Errors
    /// The query names a collector there is not, or nothing can be read.
    pub async fn families(&self, query: &Query) -> Result<Vec<Family>, Refusal> {
        let selection = self.select(query).map_err(Refusal::BadRequest)?;
        let families = self.scrape(selection).await;
        let families = families.map_err(|error| Refusal::Unavailable(error.to_string()))?;
        let mut own = Sink::new();
        self.node.emit(&mut own);
        Ok(merge([own.into_families(), Arc::unwrap_or_clone(families)]))
    }

    /// What `collect[]` and `exclude[]` ask for. They exclude each other, as in node_exporter.
    fn select(&self, query: &Query) -> Result<Selection, String> {
        let (mut collect, mut exclude) = (Vec::new(), Vec::new());
        for (key, name) in query {
            let list = match key.as_str() {
                "collect[]" => &mut collect,
                "exclude[]" => &mut exclude,
                _ => {
                    return Err(format!(
                        "{key}: unknown parameter; collect[] and exclude[] are known"
                    ));
                }
            };
            if !self.names.contains(&name.as_str()) {
                let known = self.names.join(", ");
                return Err(format!(
                    "{name}: no such collector is switched on; these are: {known}"
                ));
            }
            list.push(name.clone());
        }
        match (collect.is_empty(), exclude.is_empty()) {
            (true, true) => Ok(Selection::All),
            (false, true) => Ok(Selection::Only(collect)),
            (true, false) => {
                let rest = self.names.iter().map(|name| (*name).to_owned());
                Ok(Selection::Only(
                    rest.filter(|name| !exclude.contains(name)).collect(),
                ))
            }
            (false, false) => Err("collect[] and exclude[] cannot be used together".to_owned()),
        }
    }

    /// The profile in force, for a page.
    pub async fn profile_part(&self) -> Markup {
        let families = self.scrape(self.only(&[Settings::INFO.name])).await;
        page::profile(families.ok().as_deref())
    }

    /// What advice depends on.
    pub fn host(&self) -> Host {
        Host::this(&self.node, self.sees_own_files)
    }

    /// How each collector stands, for a page.
    pub fn collectors_part(&self) -> Markup {
        page::collectors(&self.standings(), &self.host())
    }
}

impl Site for Exporter {
    async fn page(&self) -> Markup {
        let purpose = format!("What power management does on {}.", self.node.name);
        let content = html! { (self.profile_part().await) (self.collectors_part()) };
        toolkit::page::frame("wakelag-exporter", &purpose, &content)
    }

    async fn metrics(&self, query: Query) -> Result<Vec<Family>, Refusal> {
        let mut own = Sink::new();
        toolkit::build::emit(&mut own);
        let families = self.families(&query).await?;
        Ok(merge([
            own.into_families(),
            toolkit::process::families(),
            families,
        ]))
    }

    fn ready(&self) -> Result<(), String> {
        Ok(())
    }
}
