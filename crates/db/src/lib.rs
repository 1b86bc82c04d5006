//! Database servers as sources: what PostgreSQL, MySQL and MariaDB say of themselves, as rows of the catalogue's tables.
//!
//! A server is asked over two connections, each with its own thread, so that a slow server holds up nothing else: a
//! *sampler* looks at its sessions several times a second, and a *poller* reads counters. What both gathered is taken at
//! each tick. Nothing is created, reset or locked in a server.
//!
//! One file per thing that is read: a [`reading::Reading`] is data, from which the statement is put together with the
//! columns that the server has.

pub mod activity;
pub mod auto;
pub mod check;
mod client;
mod finding;
mod gather;
pub mod known;
mod locks;
mod mark;
mod moment;
mod mysql;
mod number;
mod observed;
mod observer;
mod os;
mod own_amounts;
mod plans;
mod pooler;
mod postgres;
mod product;
mod reading;
mod sample;
mod schedule;
mod server;
mod servers;
pub mod snapshot;
mod source;
mod statements;
mod task;

pub use postgres::{activity as postgres_activity, memory as postgres_memory};
pub use server::{Server, ServerError};
pub use source::{Databases, MAX_RATE, Rate, SOURCE_NAME, TABLES};
