//! wakelag-exporter.

use std::net::SocketAddr;
use std::process::ExitCode;
use std::sync::Arc;

use exporter::args;
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

fn run(options: &args::Options) -> Result<(), Box<dyn std::error::Error>> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(async {
        let address = options.web.listen_address;
        let address = address.unwrap_or(SocketAddr::from(([127, 0, 0, 1], 9973)));
        let exporter = Arc::new(Exporter::new(&options.kernel, &options.collectors));
        let listener = web::bind(address).await?;
        let address = listener.local_addr()?;
        tracing::info!(node = %exporter.node.name, "serving http://{address}/ and http://{address}/metrics");
        let guard = Arc::clone(&exporter);
        let guard = tokio::spawn(async move { guard.guard().await });
        let shutdown = web::terminated()?;
        web::serve(listener, exporter, options.web.max_requests, shutdown).await;
        guard.abort();
        Ok(())
    })
}
