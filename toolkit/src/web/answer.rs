//! Which request gets which answer.

use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::header::{
    ACCEPT, ACCEPT_ENCODING, ALLOW, CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE,
    HeaderMap, HeaderName, HeaderValue, X_CONTENT_TYPE_OPTIONS,
};
use hyper::{Method, Request, Response, StatusCode};
use tokio::sync::Semaphore;

use super::{Query, Refusal, Site, compress};
use crate::exposition::Format;
use crate::page;

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
    let answer = route(request, site, requests).await;
    let encodings = list(request.headers(), &ACCEPT_ENCODING);
    compress::apply(encodings.as_deref(), answer).map(|body| Full::new(Bytes::from(body)))
}

async fn route(
    request: &Request<Incoming>,
    site: &impl Site,
    requests: &Semaphore,
) -> Response<Vec<u8>> {
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

async fn metrics(request: &Request<Incoming>, site: &impl Site) -> Response<Vec<u8>> {
    let accept = list(request.headers(), &ACCEPT);
    let Some(format) = Format::negotiate(accept.as_deref()) else {
        let [text, protobuf] = Format::ALL.map(Format::media_type);
        let offer = format!("406: this is served as {text} or {protobuf}\n");
        return plain(StatusCode::NOT_ACCEPTABLE, &offer);
    };
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
    match format.encode(&families) {
        Ok(bytes) => answer(StatusCode::OK, format.media_type(), bytes),
        Err(error) => {
            tracing::error!(%error, "cannot answer a scrape");
            plain(
                StatusCode::INTERNAL_SERVER_ERROR,
                &format!("500: {error}\n"),
            )
        }
    }
}

/// The list header `name`, which a client may send in several parts.
fn list(headers: &HeaderMap, name: &HeaderName) -> Option<String> {
    let parts = headers.get_all(name).iter();
    let parts: Vec<&str> = parts.filter_map(|part| part.to_str().ok()).collect();
    (!parts.is_empty()).then(|| parts.join(","))
}

fn plain(status: StatusCode, text: &str) -> Response<Vec<u8>> {
    answer(status, PLAIN, text.to_owned().into_bytes())
}

fn html(page: String) -> Response<Vec<u8>> {
    let mut response = answer(StatusCode::OK, HTML, page.into_bytes());
    let policy = HeaderValue::from_static(page::CONTENT_SECURITY_POLICY);
    response
        .headers_mut()
        .insert(CONTENT_SECURITY_POLICY, policy);
    response
}

fn answer(status: StatusCode, media: &'static str, bytes: Vec<u8>) -> Response<Vec<u8>> {
    let mut response = Response::new(bytes);
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(media));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    let nosniff = HeaderValue::from_static("nosniff");
    headers.insert(X_CONTENT_TYPE_OPTIONS, nosniff);
    response
}
