//! What a server answers.

use std::time::Duration;

/// The body of a successful answer, or the status and body of another one.
///
/// # Errors
/// The server cannot be reached, or answers a status that is not 2xx; as a sentence.
pub fn get(url: &str) -> Result<String, String> {
    let agent: ureq::Agent = ureq::Agent::config_builder()
        .http_status_as_error(false)
        .timeout_global(Some(Duration::from_secs(10)))
        .build()
        .into();
    let mut answer = agent
        .get(url)
        .call()
        .map_err(|error| format!("{url}: {error}"))?;
    let status = answer.status();
    let body = answer
        .body_mut()
        .with_config()
        .limit(64 << 20)
        .read_to_string()
        .map_err(|error| format!("{url}: {error}"))?;
    if status.is_success() {
        Ok(body)
    } else {
        Err(format!("{url}: {status}: {body}"))
    }
}
