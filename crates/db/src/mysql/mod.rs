//! MySQL and MariaDB.

use fenxi_wire::client::{Client, ClientError};

use crate::{
    gather,
    server::{Server, ServerError},
};

/// Sets up a session.
///
/// # Errors
/// When the server refuses, or the connection is lost.
pub fn settle(_client: &mut Client) -> Result<(), ClientError> {
    Ok(())
}

fn unfit(server: &Server) -> ServerError {
    ServerError::Unfit { server: server.name().to_owned(), why: "MySQL and MariaDB are not observed yet".to_owned() }
}

/// Connects a sampler.
///
/// # Errors
/// When the server cannot be reached or refuses.
pub fn sampler(server: &Server) -> Result<Box<dyn gather::Sampler>, ServerError> {
    Err(unfit(server))
}

/// Connects a poller.
///
/// # Errors
/// When the server cannot be reached or refuses.
pub fn poller(server: &Server) -> Result<Box<dyn gather::Poller>, ServerError> {
    Err(unfit(server))
}
