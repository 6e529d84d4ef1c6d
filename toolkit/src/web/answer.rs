//! Which request gets which answer.

use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::header::{
    ACCEPT, ALLOW, CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderValue,
    X_CONTENT_TYPE_OPTIONS,
};
use hyper::{Method, Request, Response, StatusCode};
use tokio::sync::Semaphore;

use super::{Query, Refusal, Site};
use crate::{exposition, page};

/// An answer's body: whole in memory.
pub type Body = Full<Bytes>;

const PLAIN: &str = "text/plain; charset=utf-8";
const HTML: &str = "text/html; charset=utf-8";

/// Answers one request.
pub(super) async fn to(
    request: &Request<Incoming>,
    site: &impl Site,
    requests: &Semaphore,
) -> Response<Body> {
    // Health is answered whatever else is under way: a busy program is not a dead one.
    match request.uri().path() {
        "/-/healthy" | "/-/ready" | "/" | "/metrics" => {}
        _ => return plain(StatusCode::NOT_FOUND, "404: there is no such page\n"),
    }
    if !matches!(*request.method(), Method::GET | Method::HEAD) {
        let mut refused = plain(StatusCode::METHOD_NOT_ALLOWED, "405: GET and HEAD only\n");
        let allow = HeaderValue::from_static("GET, HEAD");
        refused.headers_mut().insert(ALLOW, allow);
        return refused;
    }
    match request.uri().path() {
        "/-/healthy" => return plain(StatusCode::OK, "healthy\n"),
        "/-/ready" => {
            return match site.ready() {
                Ok(()) => plain(StatusCode::OK, "ready\n"),
                Err(why) => plain(StatusCode::SERVICE_UNAVAILABLE, &format!("{why}\n")),
            };
        }
        _ => {}
    }
    let Ok(_permit) = requests.try_acquire() else {
        let busy = "503: too many requests at the same time, see --web.max-requests\n";
        return plain(StatusCode::SERVICE_UNAVAILABLE, busy);
    };
    match request.uri().path() {
        "/" => html(site.page().await.into_string()),
        _ => metrics(request, site).await,
    }
}

async fn metrics(request: &Request<Incoming>, site: &impl Site) -> Response<Body> {
    let accept = request.headers().get(ACCEPT);
    if !exposition::accepts_text(accept.and_then(|accept| accept.to_str().ok())) {
        let offer = format!("406: this is served as {}\n", exposition::TEXT);
        return plain(StatusCode::NOT_ACCEPTABLE, &offer);
    }
    let query = request.uri().query().unwrap_or_default();
    let query: Query = form_urlencoded::parse(query.as_bytes())
        .into_owned()
        .collect();
    let families = match site.metrics(query).await {
        Ok(families) => families,
        Err(Refusal::BadRequest(why)) => {
            return plain(StatusCode::BAD_REQUEST, &format!("400: {why}\n"));
        }
        Err(Refusal::Unavailable(why)) => {
            return plain(StatusCode::SERVICE_UNAVAILABLE, &format!("503: {why}\n"));
        }
    };
    match exposition::text(&families) {
        Ok(text) => answer(StatusCode::OK, exposition::TEXT, text),
        Err(error) => {
            tracing::error!(%error, "cannot answer a scrape");
            plain(
                StatusCode::INTERNAL_SERVER_ERROR,
                &format!("500: {error}\n"),
            )
        }
    }
}

fn plain(status: StatusCode, text: &str) -> Response<Body> {
    answer(status, PLAIN, text.to_owned())
}

fn html(page: String) -> Response<Body> {
    let mut response = answer(StatusCode::OK, HTML, page);
    let policy = HeaderValue::from_static(page::CONTENT_SECURITY_POLICY);
    response
        .headers_mut()
        .insert(CONTENT_SECURITY_POLICY, policy);
    response
}

fn answer(status: StatusCode, media: &'static str, text: String) -> Response<Body> {
    let mut response = Response::new(Full::new(Bytes::from(text)));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(media));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    let nosniff = HeaderValue::from_static("nosniff");
    headers.insert(X_CONTENT_TYPE_OPTIONS, nosniff);
    response
}
