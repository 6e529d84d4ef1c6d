mod secure;

use maud::html;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::sync::oneshot;

use super::*;
use crate::metric::{Metric, Sink};

static UP: Metric<0> = Metric::gauge("test_up", "Up.", &[]);

/// Metrics take as long as `gate` is closed.
struct Sample {
    gate: Semaphore,
}

impl Site for Sample {
    async fn page(&self) -> Markup {
        html! { h1 { "hello" } }
    }

    async fn metrics(&self, query: Query) -> Result<Vec<Family>, Refusal> {
        let _gate = self.gate.acquire().await;
        if let Some((key, _)) = query.first() {
            return Err(Refusal::BadRequest(format!("{key}: no such collector")));
        }
        let mut out = Sink::new();
        out.put(&UP, [], 1.0);
        Ok(out.into_families())
    }

    fn ready(&self) -> Result<(), String> {
        Err("no target answered yet".to_owned())
    }
}

struct Running {
    address: SocketAddr,
    site: Arc<Sample>,
    stop: oneshot::Sender<()>,
    task: tokio::task::JoinHandle<()>,
}

fn flags(max_requests: u16) -> flags::Web {
    flags::Web {
        listen_addresses: Vec::new(),
        systemd_socket: false,
        config_file: None,
        max_requests,
    }
}

async fn start(max_requests: u16) -> Running {
    start_with(&flags(max_requests)).await
}

async fn start_with(flags: &flags::Web) -> Running {
    let any_port = "127.0.0.1:0".parse().unwrap();
    let server = Server::open(flags, any_port).await.unwrap();
    let address = server.listeners.addresses()[0];
    let site = Arc::new(Sample {
        gate: Semaphore::new(1000),
    });
    let (stop, stopped) = oneshot::channel::<()>();
    let shutdown = async { drop(stopped.await) };
    let task = tokio::spawn(server.serve(Arc::clone(&site), shutdown));
    Running {
        address,
        site,
        stop,
        task,
    }
}

async fn ask(address: SocketAddr, request: &str) -> String {
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    // A server that hangs up on garbage may reset the connection.
    let _ = stream.read_to_end(&mut answer).await;
    String::from_utf8_lossy(&answer).into_owned()
}

async fn get(address: SocketAddr, path: &str) -> String {
    let request = format!("GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    ask(address, &request).await
}

#[tokio::test]
async fn each_path_has_its_answer() {
    let server = start(40).await;
    let metrics = get(server.address, "/metrics").await;
    assert!(metrics.starts_with("HTTP/1.1 200 "), "{metrics}");
    assert!(metrics.contains("content-type: text/plain; version=0.0.4; charset=utf-8"));
    assert!(metrics.ends_with("\r\n\r\n# HELP test_up Up.\n# TYPE test_up gauge\ntest_up 1\n"));
    let page = get(server.address, "/").await;
    assert!(page.contains("<h1>hello</h1>") && page.contains("content-security-policy: "));
    assert!(
        get(server.address, "/-/healthy")
            .await
            .ends_with("\r\n\r\nhealthy\n")
    );
    let ready = get(server.address, "/-/ready").await;
    assert!(ready.starts_with("HTTP/1.1 503 ") && ready.ends_with("no target answered yet\n"));
    assert!(
        get(server.address, "/other")
            .await
            .starts_with("HTTP/1.1 404 ")
    );
    let refused = get(server.address, "/metrics?collect%5B%5D=x").await;
    assert!(
        refused.starts_with("HTTP/1.1 400 ") && refused.ends_with("collect[]: no such collector\n")
    );
}

#[tokio::test]
async fn other_methods_and_other_formats_are_refused() {
    let server = start(40).await;
    let posted = ask(
        server.address,
        "POST /metrics HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
    )
    .await;
    assert!(
        posted.starts_with("HTTP/1.1 405 ") && posted.contains("allow: GET, HEAD"),
        "{posted}"
    );
    let json = ask(
        server.address,
        "GET /metrics HTTP/1.1\r\nHost: x\r\nAccept: application/json\r\nConnection: close\r\n\r\n",
    )
    .await;
    assert!(json.starts_with("HTTP/1.1 406 "), "{json}");
    let head = ask(
        server.address,
        "HEAD /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
    )
    .await;
    assert!(
        head.starts_with("HTTP/1.1 200 ") && head.ends_with("\r\n\r\n"),
        "{head}"
    );
}

#[tokio::test]
async fn a_huge_head_is_refused_and_the_server_lives() {
    let server = start(40).await;
    let huge = format!(
        "GET / HTTP/1.1\r\nHost: x\r\nX: {}\r\n\r\n",
        "a".repeat(1 << 20)
    );
    assert!(!ask(server.address, &huge).await.contains(" 200 "));
    assert!(get(server.address, "/-/healthy").await.contains(" 200 "));
}

#[tokio::test]
async fn one_request_too_many_is_answered_with_503_at_once() {
    let server = start(1).await;
    let closed = server.site.gate.acquire_many(1000).await.unwrap();
    let first = tokio::spawn(async move { get(server.address, "/metrics").await });
    // The first request is under way once a second one is refused.
    let refused = async {
        loop {
            let second = get(server.address, "/").await;
            if second.starts_with("HTTP/1.1 503 ") {
                break second;
            }
        }
    };
    let refused = tokio::time::timeout(Duration::from_secs(10), refused)
        .await
        .unwrap();
    assert!(refused.contains("--web.max-requests"));
    assert!(get(server.address, "/-/healthy").await.contains(" 200 "));
    drop(closed);
    assert!(first.await.unwrap().contains(" 200 "));
}

#[tokio::test]
async fn shutdown_lets_a_request_finish_and_ends() {
    let server = start(40).await;
    let closed = server.site.gate.acquire_many(1000).await.unwrap();
    let mut stream = TcpStream::connect(server.address).await.unwrap();
    stream
        .write_all(b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n")
        .await
        .unwrap();
    // The gate has a waiter once the request is under way; a second connection's answer proves the order.
    get(server.address, "/-/healthy").await;
    server.stop.send(()).unwrap();
    drop(closed);
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    assert!(answer.contains(" 200 "), "{answer}");
    server.task.await.unwrap();
}

#[tokio::test]
async fn a_port_in_use_is_said_with_the_way_out() {
    let server = start(40).await;
    let taken = flags::Web {
        listen_addresses: vec!["127.0.0.1:0".parse().unwrap(), server.address],
        ..flags(40)
    };
    let error = Server::open(&taken, server.address).await.unwrap_err();
    let error = error.to_string();
    assert!(error.contains(&server.address.to_string()), "{error}");
    assert!(error.contains("--web.listen-address"), "{error}");
}

#[tokio::test]
async fn every_address_is_served() {
    let any_port = "127.0.0.1:0".parse().unwrap();
    let several = flags::Web {
        listen_addresses: vec![any_port, any_port],
        ..flags(40)
    };
    let server = Server::open(&several, any_port).await.unwrap();
    let addresses = server.listeners.addresses();
    assert_ne!(addresses[0], addresses[1]);
    let gate = Semaphore::new(1000);
    let _task = tokio::spawn(server.serve(Arc::new(Sample { gate }), std::future::pending()));
    for address in addresses {
        assert!(get(address, "/-/healthy").await.contains(" 200 "));
    }
}
