//! Derived views: what several questions and findings need of a table, written once as SQL.
//!
//! A statement that mentions one has it, with the views of the tables that it reads.

/// A view that is derived from tables of the catalogue.
#[derive(Debug, PartialEq, Eq)]
pub struct Derived {
    /// Its name.
    pub name: &'static str,
    /// SELECT statement of the view. It reads tables, and no other derived view.
    pub sql: &'static str,
}

macro_rules! derived {
    ($($name:literal,)+) => {
        /// All of them: each is one file in `derived/` and one line here.
        pub(crate) const DERIVED: &[Derived] =
            &[$(Derived { name: $name, sql: include_str!(concat!("derived/", $name, ".sql")) }),+];
    };
}

derived! {
    "cpu_demand",
    "cpu_mean",
    "cpu_use",
    "db_best_wait",
    "db_load",
    "db_server",
    "db_session_share",
    "db_statement_mean",
    "db_text",
    "disk_stall",
    "disk_use",
    "host_role",
    "host_span",
    "load_driver",
    "load_service",
    "lone_command",
    "measured_process",
    "measured_wait",
    "on_cpu",
    "resource_use",
    "subject_process",
    "tcp_space",
    "thread_wait_mean",
}

impl Derived {
    /// The statement that makes it a table; what it reads exists.
    pub(crate) fn table(&self) -> String {
        format!("CREATE TABLE {} AS {}\n;", self.name, self.sql)
    }

    /// The statement that makes it; the views that it reads exist.
    pub(crate) fn view(&self) -> String {
        format!("CREATE OR REPLACE VIEW {} AS {}\n;", self.name, self.sql)
    }
}
