//! HTTP server: pages and API of a store.
//!
//! Requests are answered by `fenxi_api`, in one of a few engines ([`pool`]); this crate is everything
//! around it: addresses, who may come in, limits, logs. It prints nothing and reads no clock of the calendar:
//! both are handed in with [`Settings`].

mod access;
mod app;
mod ask;
mod assets;
mod audit;
mod change;
mod client_timeout;
mod connections;
mod files;
mod guard;
mod listen;
mod live;
mod login;
mod metrics;
mod openapi;
mod pages;
mod peer;
mod pool;
mod queue;
mod reply;
mod response_budget;
mod rights;
mod sessions;
mod settings;
mod shared;
mod tls;
mod visit;
mod wire;

pub use access::{Access, Token, TokenError, Tokens, own_token, tokens_of};
pub use app::rights;
pub use listen::{ServeError, Server, could_listen};
pub use openapi::openapi;
pub use rights::{PROJECT, Role};
pub use settings::{Audit, Limits, Settings};
pub use tls::{Tls, TlsError};
