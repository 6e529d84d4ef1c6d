//! Which request gets which answer.

use super::{Query, Refusal, Shared, Site, compress};
use crate::exposition::Format;
use crate::page;
use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::header::{
    ACCEPT, ACCEPT_ENCODING, ALLOW, AUTHORIZATION, CACHE_CONTROL, CONTENT_SECURITY_POLICY,
    CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, WWW_AUTHENTICATE, X_CONTENT_TYPE_OPTIONS,
};
use hyper::{Method, Request, Response, StatusCode};

/// An answer's body: whole in memory.
pub(super) type Body = Full<Bytes>;

const PLAIN: &str = "text/plain; charset=utf-8";
const HTML: &str = "text/html; charset=utf-8";

/// Answers one request.
pub(super) async fn to(request: &Request<Incoming>, shared: &Shared<impl Site>) -> Response<Body> {
    let settings = shared.config.current();
    let authorization = request.headers().get(AUTHORIZATION);
    let mut answer = match settings.users.admit(authorization).await {
        true => route(request, shared).await,
        false => unauthorized(),
    };
    for (name, value) in &settings.headers {
        answer.headers_mut().insert(name, value.clone());
    }
    let encodings = list(request.headers(), &ACCEPT_ENCODING);
    compress::apply(encodings.as_deref(), answer).map(|body| Full::new(Bytes::from(body)))
}

async fn route(request: &Request<Incoming>, shared: &Shared<impl Site>) -> Response<Vec<u8>> {
    let site = &*shared.site;
    // Health is answered whatever else is under way: a busy program is not a dead one.
    match request.uri().path() {
        "/-/reload" => return reload(request, shared),
        "/-/healthy" | "/-/ready" | "/" | "/metrics" => {}
        _ => return plain(StatusCode::NOT_FOUND, "404: there is no such page\n"),
    }
    if !matches!(*request.method(), Method::GET | Method::HEAD) {
        return wrong_method("405: GET and HEAD only\n", "GET, HEAD");
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
    let Ok(_permit) = shared.requests.try_acquire() else {
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

/// Reads the web configuration and the program's own files again.
fn reload(request: &Request<Incoming>, shared: &Shared<impl Site>) -> Response<Vec<u8>> {
    if !matches!(*request.method(), Method::POST | Method::PUT) {
        return wrong_method("405: POST and PUT only\n", "POST, PUT");
    }
    match shared.reload() {
        Ok(()) => plain(StatusCode::OK, "reloaded\n"),
        Err(error) => plain(
            StatusCode::INTERNAL_SERVER_ERROR,
            &format!("500: the settings in force stay: {error}\n"),
        ),
    }
}

fn wrong_method(text: &str, allowed: &'static str) -> Response<Vec<u8>> {
    let mut refused = plain(StatusCode::METHOD_NOT_ALLOWED, text);
    let allowed = HeaderValue::from_static(allowed);
    refused.headers_mut().insert(ALLOW, allowed);
    refused
}

fn unauthorized() -> Response<Vec<u8>> {
    let mut refused = plain(StatusCode::UNAUTHORIZED, "401: name and password needed\n");
    let challenge = HeaderValue::from_static("Basic realm=\"wakelag\", charset=\"UTF-8\"");
    refused.headers_mut().insert(WWW_AUTHENTICATE, challenge);
    refused
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
