//! The engines, one file each, and the socket they share.

mod resolve;
mod sqlstate;

pub mod postgres;
pub mod sqlite;
pub(crate) mod tls;
pub mod wire;
