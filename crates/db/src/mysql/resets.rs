//! The identity of a MySQL or MariaDB: whether two snapshots are of one server.

use std::collections::BTreeMap;

use fenxi_wire::client::ClientError;

use super::MARK;
use crate::client::Client;

/// The server's identity and start time; and its clock.
///
/// # Errors
/// When the connection is lost.
pub fn identity(client: &mut Client) -> Result<(BTreeMap<String, String>, Option<f64>), ClientError> {
    let mut known = BTreeMap::new();
    let sql = "SHOW GLOBAL VARIABLES WHERE Variable_name IN ('hostname', 'port', 'datadir', 'server_uuid')";
    client.each(&format!("{MARK} {sql}"), &mut |row| {
        if let (Some(name), Some(value)) = (row.text(0), row.text(1)) {
            known.insert(name.to_owned(), value.to_owned());
        }
    })?;
    let mut clock = None;
    client.each(&format!("{MARK} SELECT UNIX_TIMESTAMP(NOW(6))"), &mut |row| clock = row.f64(0))?;
    Ok((known, clock))
}
