//! The engines, one file each, and the socket they share.

mod dial;
mod resolve;
mod sqlstate;
mod text;

pub mod mysql;
pub mod postgres;
pub mod sqlite;
pub(crate) mod tls;
pub mod wire;
