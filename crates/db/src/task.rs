//! Processes and threads of a server, and whom they work for.

/// A process (PostgreSQL) or thread (MySQL, MariaDB) of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Task {
    /// Its number on the server's host.
    pub id: u32,
    /// Whom it works for.
    pub whose: Whose,
}

/// Whom a task works for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Whose {
    /// A client.
    Client,
    /// The server itself.
    Background,
    /// This poller.
    Own,
}
