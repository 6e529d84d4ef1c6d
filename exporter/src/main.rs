//! wakelag-exporter.

use std::error::Error;
use std::io::Write as _;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use exporter::args::{self, DoctorFormat, Options};
use exporter::doctor;
use exporter::site::Exporter;
use toolkit::{sandbox, web};

fn main() -> ExitCode {
    let options = args::parse();
    options.log.start();
    match run(&options) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => toolkit::log::fatal(&*error),
    }
}

fn run(options: &Options) -> Result<(), Box<dyn Error>> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let exporter = Exporter::new(&options.kernel, &options.collectors);
    runtime.block_on(async {
        match options.doctor {
            Some(format) => report(&exporter, format).await,
            None => serve(Arc::new(exporter), options).await,
        }
    })
}

async fn report(exporter: &Exporter, format: DoctorFormat) -> Result<(), Box<dyn Error>> {
    let report = doctor::examine(exporter).await?;
    let text = match format {
        DoctorFormat::Text => report.to_string(),
        DoctorFormat::Json => report.to_json()? + "\n",
    };
    Ok(std::io::stdout().lock().write_all(text.as_bytes())?)
}

async fn serve(exporter: Arc<Exporter>, options: &Options) -> Result<(), Box<dyn Error>> {
    let default = SocketAddr::from(([127, 0, 0, 1], 9973));
    let server = web::Server::open(&options.web, default).await?;
    let shutdown = web::terminated()?;
    if !options.no_sandbox {
        // Everything is open that is not below these, and no thread has been started yet.
        let (kernel, web) = (&options.kernel, server.directories());
        let device = kernel.devfs.join("cpu_dma_latency");
        let own = [
            &*kernel.procfs,
            &*kernel.sysfs,
            &*device,
            Path::new("/proc/self"),
        ];
        let tasks = kernel.collectors.tasks.directories();
        let others = web.iter().chain(&tasks).map(PathBuf::as_path);
        sandbox::enter(own.into_iter().chain(others));
    }
    for url in server.urls() {
        tracing::info!(node = %exporter.node.name, "serving {url}/ and {url}/metrics");
    }
    let guarded = Arc::clone(&exporter);
    let guard = tokio::spawn(async move { guarded.guard().await });
    server.serve(exporter, shutdown).await;
    guard.abort();
    Ok(())
}
