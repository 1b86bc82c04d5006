//! Settings of PostgreSQL, and what the server is, as settings of origin `server`.

use fenxi_model::{Micros, Rows, SECRET, catalog::db_setting, is_secret_name, text_without_secrets};
use fenxi_wire::client::ClientError;
use rustc_hash::FxHashMap;

use super::MARK;
use crate::client::Client;

/// Settings as they were last read.
#[derive(Debug, Default)]
pub struct Settings {
    known: FxHashMap<String, String>,
}

/// A setting.
struct Setting<'a> {
    name: &'a str,
    value: &'a str,
    unit: Option<&'a str>,
    origin: &'a str,
    built_in: Option<&'a str>,
    pending: Option<bool>,
}

/// Properties of the server besides its settings.
const SERVER: &str = "'version', version() UNION ALL SELECT 'vendor', 'PostgreSQL' \
    UNION ALL SELECT 'in_recovery', pg_is_in_recovery()::text UNION ALL SELECT 'started', pg_postmaster_start_time()::text \
    UNION ALL SELECT 'timeline', (pg_control_checkpoint()).timeline_id::text \
    UNION ALL SELECT 'system_identifier', (pg_control_system()).system_identifier::text";
/// As above, without what only members of pg_monitor may ask.
const SERVER_FOR_ALL: &str = "'version', version() UNION ALL SELECT 'vendor', 'PostgreSQL' \
    UNION ALL SELECT 'in_recovery', pg_is_in_recovery()::text UNION ALL SELECT 'started', pg_postmaster_start_time()::text";

impl Settings {
    /// Reads all settings and adds those that are new or changed.
    ///
    /// # Errors
    /// When the server refuses, or the connection is lost.
    pub fn read(&mut self, client: &mut Client, server: &str, t: Micros, rows: &mut Rows) -> Result<(), ClientError> {
        let known = &mut self.known;
        let mut tell = |setting: &Setting<'_>| {
            let value = without_secrets(setting.name, setting.value);
            if known.get(setting.name).is_some_and(|known| *known == value) {
                return;
            }
            rows.row(&db_setting::TABLE, t, None)
                .str(db_setting::server, server)
                .str(db_setting::name, setting.name)
                .text(db_setting::value, value.as_str())
                .str(db_setting::unit, setting.unit)
                .str(db_setting::origin, setting.origin)
                .text(
                    db_setting::built_in,
                    setting.built_in.map(|value| without_secrets(setting.name, value)).as_deref(),
                )
                .str(db_setting::pending_restart, setting.pending.filter(|p| *p).map(|_| "yes"));
            known.insert(setting.name.to_owned(), value);
        };
        let own = |row: fenxi_wire::Row<'_>, tell: &mut dyn FnMut(&Setting<'_>)| {
            if let (Some(name), Some(value)) = (row.text(0), row.text(1)) {
                tell(&Setting { name, value, unit: None, origin: "server", built_in: None, pending: None });
            }
        };
        match client.each(&format!("SELECT {MARK} {SERVER}"), &mut |row| own(row, &mut tell)) {
            Err(error) if error.is_refusal() => {
                client.each(&format!("SELECT {MARK} {SERVER_FOR_ALL}"), &mut |row| own(row, &mut tell))?;
            }
            other => {
                other?;
            }
        }
        let sql = format!(
            "SELECT {MARK} name, setting, unit, source, boot_val, pending_restart FROM pg_settings ORDER BY name"
        );
        client.each_hidden(&sql, &hide, &mut |row| {
            // Our own session's settings are no one else's.
            if let (Some(name), Some(value)) = (row.text(0), row.text(1))
                && row.text(3) != Some("session")
            {
                tell(&Setting {
                    name,
                    value,
                    unit: row.text(2),
                    origin: row.text(3).unwrap_or_default(),
                    built_in: row.text(4),
                    pending: row.is_yes(5),
                });
            }
        })?;
        Ok(())
    }
}

/// Leaves secrets out of a row of all settings: of the value, and of the one that is built in.
fn hide(values: &mut [Option<String>]) {
    let name = values.first().cloned().flatten().unwrap_or_default();
    for place in [1, 4] {
        if let Some(Some(value)) = values.get_mut(place) {
            *value = without_secrets(&name, value);
        }
    }
}

/// A value without secrets: connection strings and commands of a shell are settings too, and anybody can make settings.
fn without_secrets(name: &str, value: &str) -> String {
    // A name can be `password_encryption`; what holds a password ends with the word.
    if is_secret_name(name) && !matches!(value, "" | "on" | "off") {
        return SECRET.to_owned();
    }
    text_without_secrets(value).into_owned()
}

#[cfg(test)]
mod tests {
    use super::without_secrets;

    #[test]
    fn a_connection_string_keeps_no_password() {
        for (name, value, kept) in [
            ("primary_conninfo", "host=a user=b password=c sslmode=d", "host=a user=b password=*** sslmode=d"),
            ("primary_conninfo", "host=a PASSWORD = 'x y'", "host=a PASSWORD = ***"),
            ("archive_command", "PGPASSWORD=x copy %p", "PGPASSWORD=*** copy %p"),
            ("password_encryption", "scram-sha-256", "scram-sha-256"),
            ("ssl_passphrase_command", "echo x", "***"),
            ("app.api_token", "x", "***"),
            ("md5_password_warnings", "on", "on"),
        ] {
            assert_eq!(without_secrets(name, value), kept);
        }
    }
}
