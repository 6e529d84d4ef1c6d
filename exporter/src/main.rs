//! wakelag-exporter.

use std::error::Error;
use std::io::Write as _;
use std::net::SocketAddr;
use std::process::ExitCode;
use std::sync::Arc;

use exporter::args::{self, DoctorFormat, Options};
use exporter::doctor;
use exporter::site::Exporter;
use toolkit::web;

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
            None => serve(Arc::new(exporter), &options.web).await,
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

async fn serve(exporter: Arc<Exporter>, flags: &toolkit::flags::Web) -> Result<(), Box<dyn Error>> {
    let default = SocketAddr::from(([127, 0, 0, 1], 9973));
    let listener = web::bind(flags.listen_address.unwrap_or(default)).await?;
    let url = format!("http://{}", listener.local_addr()?);
    let shutdown = web::terminated()?;
    tracing::info!(node = %exporter.node.name, "serving {url}/ and {url}/metrics");
    let guarded = Arc::clone(&exporter);
    let guard = tokio::spawn(async move { guarded.guard().await });
    web::serve(listener, exporter, flags.max_requests, shutdown).await;
    guard.abort();
    Ok(())
}
