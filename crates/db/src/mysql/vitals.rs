//! Whether the server was started again, and whether it may be written to: also when it was away in between.

use std::time::Instant;

use fenxi_model::Rows;
use fenxi_wire::client::ClientError;

use super::{MARK, memory::Up, status::Status};
use crate::{client::Client, reading::About, server::Server};

/// How far the server's whole seconds and ours may be apart.
const SLACK_S: f64 = 2.0;

impl Up {
    /// Whether a process that is up for `up_s`, and was asked some seconds behind this answer, is another one. A clock that
    /// was set back makes the time that it is up shorter, but does not move its beginning.
    fn is_followed(self, up_s: f64, started_s: f64, behind_s: f64) -> bool {
        up_s + SLACK_S < self.up_s + behind_s && started_s > self.started_s + SLACK_S
    }
}

/// Reports a restart and another role; true when the server was started again. `asked` is a moment before the status
/// was.
///
/// # Errors
/// When the connection is lost.
pub fn read(
    client: &mut Client,
    server: &Server,
    (status, asked): (&Status, Instant),
    about: &About<'_>,
    rows: &mut Rows,
) -> Result<bool, ClientError> {
    let answered = client.now();
    let (mut read_only, mut clock) = (None, None);
    let sql = format!("{MARK} SELECT @@global.read_only, UNIX_TIMESTAMP()");
    let answer = client.each(&sql, &mut |row| {
        // MariaDB 12 has more values than two.
        read_only = row.text(0).map(|value| !matches!(value, "0" | "OFF"));
        clock = row.f64(1);
    });
    match answer {
        Err(error) if !error.is_refusal() => return Err(error),
        _ => {}
    }
    let mut memory = server.memory();
    let now = status.value("Uptime").zip(clock);
    let now = now.map(|(up_s, clock)| Up { up_s, started_s: clock - up_s, answered });
    let was_started = memory.up.zip(now).is_some_and(|(last, now)| {
        let behind_s = asked.saturating_duration_since(last.answered).as_secs_f64();
        last.is_followed(now.up_s, now.started_s, behind_s)
    });
    if was_started {
        rows.event(about.interval.t, "restart", about.server, "the server was started again");
    }
    if let (Some(now), Some(last)) = (read_only, memory.read_only)
        && now != last
    {
        let role = if now { "read-only" } else { "writable" };
        rows.event(about.interval.t, "role changed", about.server, &format!("the server is now {role}"));
    }
    memory.up = now.or(memory.up);
    memory.read_only = read_only.or(memory.read_only);
    Ok(was_started)
}

/// When the server began, by its own clock.
///
/// # Errors
/// When the connection is lost.
pub fn started(client: &mut Client, up: f64) -> Result<Option<String>, ClientError> {
    let mut started = None;
    // Of a session's time zone only the server knows the offset.
    let sql = format!("{MARK} SELECT DATE_SUB(UTC_TIMESTAMP(), INTERVAL {up} SECOND)");
    match client.each(&sql, &mut |row| started = row.text(0).map(|time| format!("{time}Z"))) {
        Err(error) if !error.is_refusal() => Err(error),
        _ => Ok(started),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::Up;

    #[test]
    fn who_is_up_for_less_time_than_has_passed_was_started_again() {
        let last = Up { up_s: 100.0, started_s: 5000.0, answered: Instant::now() };
        assert!(!last.is_followed(101.0, 5000.0, 1.0));
        assert!(last.is_followed(1.0, 5103.0, 4.0));
        // It was down for long, and is up for longer than it was before.
        assert!(last.is_followed(300.0, 5200.0, 400.0));
        assert!(!last.is_followed(41.0, 5000.0, 1.0), "its clock was set back by a minute");
        assert!(!last.is_followed(101.0, 5004.0, 1.0), "the second answer took long");
    }
}
