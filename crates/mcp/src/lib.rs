//! Model Context Protocol server on standard input and output: a store as tools and resources for language models.
//!
//! A message is a line of JSON-RPC 2.0. Tools are the requests of pages (`fenxi_api`) under names, with input schemas
//! that derive from the endpoints' parameters; resources have the addresses of pages. Everything only reads, in one engine
//! with the limits of the web server. The protocol is few messages, so that they are written out here rather than taken from a
//! library with an asynchronous runtime.

mod chart;
mod draw;
mod glyphs;
mod message;
mod panel;
mod png;
mod resources;
mod server;
mod svg;
mod told;
mod tools;

pub use server::{Settings, serve};
