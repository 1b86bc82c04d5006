//! Progress table in which loading records what is done, so that it can resume.

use std::collections::BTreeMap;

use fenxi_wire::client::{Client, ClientError};

/// Its name.
pub const BOOK: &str = "fenxi_load";

/// Its content when it was read.
#[derive(Debug, Default)]
pub struct Book(BTreeMap<String, String>);

impl Book {
    /// Reads the table, which is made when it is not there.
    pub fn open(client: &mut Client) -> Result<Book, ClientError> {
        client.run(&format!(
            "CREATE TABLE IF NOT EXISTS {BOOK} (item VARCHAR(190) NOT NULL PRIMARY KEY, value VARCHAR(500) NOT NULL)"
        ))?;
        let rows = client.rows(&format!("SELECT item, value FROM {BOOK}"))?;
        let pair = |mut row: Vec<Option<String>>| Some((row.first_mut()?.take()?, row.get_mut(1)?.take()?));
        Ok(Book(rows.into_iter().filter_map(pair).collect()))
    }

    /// Recorded state of a table.
    pub fn table(&self, name: &str) -> Option<&str> {
        self.0.get(&format!("{name}:table")).map(String::as_str)
    }

    /// Returns true if a part of a table is there.
    pub fn has_part(&self, name: &str, number: u64) -> bool {
        self.0.contains_key(&format!("{name}:part {number}"))
    }

    /// Returns true if a statement for a filled table was run.
    pub fn has_after(&self, name: &str, number: usize) -> bool {
        self.0.contains_key(&format!("{name}:after {number}"))
    }

    /// Writes about a table.
    pub fn note_table(client: &mut Client, name: &str, value: &str) -> Result<(), ClientError> {
        let item = literal(&format!("{name}:table"));
        client.run(&format!("DELETE FROM {BOOK} WHERE item = {item}"))?;
        note(client, &item, value)
    }

    /// Writes what is written about a table again. Where commits of loading did not wait for the disk, this one does, and
    /// all before it are there with it.
    pub fn settle(client: &mut Client, name: &str) -> Result<(), ClientError> {
        client.run(&format!("UPDATE {BOOK} SET value = value WHERE item = {}", literal(&format!("{name}:table"))))?;
        Ok(())
    }

    /// Writes that a part is there.
    pub fn note_part(client: &mut Client, name: &str, number: u64, rows: u64) -> Result<(), ClientError> {
        note(client, &literal(&format!("{name}:part {number}")), &rows.to_string())
    }

    /// Writes that a statement was run.
    pub fn note_after(client: &mut Client, name: &str, number: usize) -> Result<(), ClientError> {
        note(client, &literal(&format!("{name}:after {number}")), "done")
    }

    /// Removes what is written about tables, and the book when nothing is left in it.
    pub fn forget<'a>(client: &mut Client, names: impl Iterator<Item = &'a str>) -> Result<(), ClientError> {
        for name in names {
            // `_` in a name matches any character in LIKE, so it is only the beginning that is compared.
            let begin = literal(&format!("{name}:"));
            client.run(&format!("DELETE FROM {BOOK} WHERE LEFT(item, {}) = {begin}", name.chars().count() + 1))?;
        }
        if client.number(&format!("SELECT count(*) FROM {BOOK}"))? == Some(0) {
            client.run(&format!("DROP TABLE {BOOK}"))?;
        }
        Ok(())
    }
}

fn note(client: &mut Client, item: &str, value: &str) -> Result<(), ClientError> {
    client.run(&format!("INSERT INTO {BOOK} (item, value) VALUES ({item}, {})", literal(value)))?;
    Ok(())
}

/// Text as a literal. Names of tables and fingerprints have no backslashes.
pub(super) fn literal(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}
