//! Rights of our user to see sessions of others.

use fenxi_wire::client::ClientError;

use super::MARK;
use crate::client::Client;

/// Returns true if our user may see sessions of others.
pub fn sees_others(client: &mut Client) -> Result<bool, ClientError> {
    let mut all = false;
    let sql = format!("{MARK} SHOW GRANTS");
    client.each(&sql, &mut |row| {
        let grant = row.text(0).unwrap_or_default();
        let global = grant.split(" ON *.* ").next().filter(|_| grant.contains(" ON *.* ")).unwrap_or_default();
        all |= global.contains("ALL PRIVILEGES") || global.contains("PROCESS");
    })?;
    Ok(all)
}
