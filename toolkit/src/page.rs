//! The frame of the page at `/`: no script or style from elsewhere, and readable without any script.

use maud::{DOCTYPE, Markup, PreEscaped, html};

use crate::build;

/// Nothing is loaded from anywhere, and nothing but this server is talked to.
pub const CONTENT_SECURITY_POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; \
     script-src 'unsafe-inline'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

const STYLE: &str = include_str!("page/style.css");
const SCRIPT: &str = include_str!("page/live.js");

/// The page of `program`, which says what it is for in `purpose`, with `content` that is kept up to date while it is
/// looked at.
pub fn frame(program: &str, purpose: &str, content: &Markup) -> Markup {
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                title { (program) }
                noscript { meta http-equiv="refresh" content="5"; }
                style { (PreEscaped(STYLE)) }
            }
            body {
                header {
                    h1 { (program) }
                    p { (purpose) }
                }
                main id="live" { (content) }
                footer {
                    "Version " (build::VERSION) ", revision " (build::REVISION) ". "
                    a href="metrics" { "Metrics" } " · "
                    a href="-/healthy" { "Health" } " · "
                    a href="-/ready" { "Readiness" }
                }
                script { (PreEscaped(SCRIPT)) }
            }
        }
    }
}
