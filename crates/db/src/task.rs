//! Processes and threads of a server, and for which work they run.

/// A process (PostgreSQL) or thread (MySQL, MariaDB) of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Task {
    /// Its number on the server's host.
    pub id: u32,
    /// For which work it runs.
    pub whose: Whose,
}

/// For which work a task runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Whose {
    /// A client.
    Client,
    /// The server itself.
    Background,
    /// This poller.
    Own,
}
