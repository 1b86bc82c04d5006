//! Sessions against a server that is made here, through connections that break.

mod failures;
mod proxy;
mod server;
#[allow(clippy::print_stderr, reason = "a test reports what it could not do")]
mod tls;

use crate::connect::{ConnectError, Plan, Session, Stop};

/// A session at a port of this machine.
fn open(port: u16) -> Result<Session, ConnectError> {
    Session::open(&format!("sc://127.0.0.1:{port}").parse().unwrap(), Stop::default())
}

/// The values of an answer; `each` is called with what has come so far.
fn ask(session: &mut Session, mut each: impl FnMut(&[i64])) -> Result<Vec<i64>, ConnectError> {
    let plan = Plan { sql: "SELECT a FROM t".to_owned(), tables: Vec::new() };
    let mut values = Vec::new();
    session.ask::<ConnectError>(&plan, None, &mut |batch| {
        let column = arrow_array::cast::as_primitive_array::<arrow_array::types::Int64Type>(batch.column(0));
        values.extend(column.iter().flatten());
        each(&values);
        Ok(())
    })?;
    Ok(values)
}

/// The server's answer, whole.
fn all() -> Vec<i64> {
    (0..(server::BATCHES * server::ROWS) as i64).collect()
}
