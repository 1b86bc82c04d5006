//! A product: what differs between kinds of servers where one is connected to.

use std::fmt;

use fenxi_wire::{Dialect, client::ClientError, target::Target};

use crate::{
    client::Client,
    observer::{Poller, Sampler},
    server::{Server, ServerError},
};

/// A kind of server; each is one line of the list in `servers.rs`.
pub(crate) trait Product: fmt::Debug + Send + Sync {
    /// Whose protocol it speaks.
    fn dialect(&self) -> Dialect;

    /// The database in which our statements are executed.
    fn home<'a>(&self, target: &'a Target) -> &'a str;

    /// The statement that lets `user` see sessions of others.
    fn grant(&self, user: &str) -> String;

    /// Sets up a new session; `connect` makes another one. Gives why the server cannot be observed, and the way out.
    ///
    /// # Errors
    /// When the server refuses, or the connection is lost.
    fn settle(
        &self,
        client: &mut Client,
        connect: &dyn Fn() -> Result<Client, ClientError>,
    ) -> Result<Option<&'static str>, ClientError>;

    /// Connects what looks at the sessions of a server.
    ///
    /// # Errors
    /// When it cannot be reached, or refuses.
    fn sampler(&self, server: &Server) -> Result<Box<dyn Sampler>, ServerError>;

    /// Connects what reads the counters of a server.
    ///
    /// # Errors
    /// When it cannot be reached, or refuses.
    fn poller(&self, server: &Server) -> Result<Box<dyn Poller>, ServerError>;
}
