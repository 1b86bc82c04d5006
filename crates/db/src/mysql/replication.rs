//! Replicas of MySQL and MariaDB, as `SHOW REPLICA STATUS` and its older names say it: by the names of its columns.

use fenxi_model::{Micros, Rows, catalog::db_replication};
use fenxi_wire::client::ClientError;

use super::MARK;
use crate::client::Client;

/// Statements in order of preference; a server knows at least one, if we may ask.
const STATEMENTS: &[&str] =
    &["SHOW ALL REPLICAS STATUS", "SHOW ALL SLAVES STATUS", "SHOW REPLICA STATUS", "SHOW SLAVE STATUS"];

/// Columns by their old and new names.
const DELAY: &[&str] = &["Seconds_Behind_Source", "Seconds_Behind_Master"];
const NAME: &[&str] = &["Connection_name", "Channel_Name"];
const HOST: &[&str] = &["Source_Host", "Master_Host"];
const IO: &[&str] = &["Replica_IO_Running", "Slave_IO_Running"];
const SQL: &[&str] = &["Replica_SQL_Running", "Slave_SQL_Running"];

/// Replication at work.
#[derive(Debug, Default)]
pub struct Replication {
    statement: Option<&'static str>,
    is_refused: bool,
}

/// One channel, as texts.
#[derive(Default)]
struct Channel {
    values: Vec<Option<String>>,
}

impl Channel {
    fn get(&self, columns: &[String], names: &[&str]) -> Option<&str> {
        let place =
            names.iter().find_map(|name| columns.iter().position(|column| column.eq_ignore_ascii_case(name)))?;
        self.values.get(place)?.as_deref().filter(|value| !value.is_empty())
    }
}

impl Replication {
    /// Adds a row for each channel from a primary.
    ///
    /// # Errors
    /// When the connection is lost.
    pub fn read(
        &mut self,
        client: &mut Client,
        server: &str,
        t: Micros,
        dt: Option<f64>,
        rows: &mut Rows,
    ) -> Result<(), ClientError> {
        if self.is_refused {
            return Ok(());
        }
        let all = match self.statement {
            Some(statement) => vec![statement],
            None => STATEMENTS.to_vec(),
        };
        for statement in all {
            let mut channels: Vec<Channel> = Vec::new();
            let asked = client.each(&format!("{MARK} {statement}"), &mut |row| {
                let values = (0..row.len()).map(|place| row.text(place).map(str::to_owned)).collect();
                channels.push(Channel { values });
            });
            match asked {
                Err(error) if error.is_refusal() => continue,
                other => other?,
            };
            self.statement = Some(statement);
            let columns = client.columns().to_vec();
            let Some(dt) = dt.filter(|dt| *dt > 0.0) else { return Ok(()) };
            for channel in &channels {
                tell(channel, &columns, server, t, dt, rows);
            }
            return Ok(());
        }
        self.is_refused = true;
        rows.note(
            server,
            None,
            "replication is not seen: GRANT SLAVE MONITOR (MariaDB) or REPLICATION CLIENT (MySQL) helps",
        );
        Ok(())
    }
}

fn tell(channel: &Channel, columns: &[String], server: &str, t: Micros, dt: f64, rows: &mut Rows) {
    let get = |names| channel.get(columns, names);
    let running = get(IO) == Some("Yes") && get(SQL) == Some("Yes");
    rows.row(&db_replication::TABLE, t, dt)
        .str(db_replication::server, server)
        .str(db_replication::name, get(NAME).or_else(|| get(HOST)).unwrap_or("primary"))
        .str(db_replication::role, "receives")
        .str(db_replication::state, if running { "running" } else { "stopped" })
        .str(db_replication::active, if running { "yes" } else { "no" })
        // NULL while it is stopped: how far it is behind is not known then.
        .f64(db_replication::replay_lag_s, get(DELAY).and_then(|delay| delay.parse::<f64>().ok()));
}
