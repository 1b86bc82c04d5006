//! Settings of database servers from their command lines and configuration files, without asking the server.
//!
//! Changes in a file since the server began, or by a statement since, are not seen; a caller that
//! shows such a value shows its origin too.

use std::path::{Path, PathBuf};

use crate::reading::{self, LIMIT};

/// A setting's text and its origin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting {
    /// As it is written, without quotes.
    pub value: String,
    /// `the command line`, or a file.
    pub from: String,
}

/// [`Setting::from`] of the command line.
pub const COMMAND_LINE: &str = "the command line";

/// How deep configuration files may include each other.
const DEPTH: usize = 8;

/// Opens a path that a configuration names.
pub type Resolve<'a> = &'a dyn Fn(&Path) -> PathBuf;

/// Setting `name` on a server's command line: `--name=value`, `--name value`, `-c name=value`.
/// Dashes and underscores are the same in names; the last one holds.
pub fn of_command(command: &[String], name: &str) -> Option<Setting> {
    let mut found = None;
    for (i, word) in command.iter().enumerate() {
        let after_c = i > 0 && command[i - 1] == "-c";
        let Some(word) = word.strip_prefix("--").or_else(|| word.strip_prefix("-c")).or(after_c.then_some(word)) else {
            continue;
        };
        match word.split_once('=') {
            Some((key, value)) if same(key, name) => found = Some(value.to_owned()),
            None if same(word, name) => found = command.get(i + 1).cloned(),
            _ => {}
        }
    }
    found.map(|value| Setting { value, from: COMMAND_LINE.to_owned() })
}

fn same(a: &str, b: &str) -> bool {
    a.len() == b.len() && a.bytes().zip(b.bytes()).all(|(a, b)| plain(a) == plain(b))
}

fn plain(byte: u8) -> u8 {
    if byte == b'-' { b'_' } else { byte.to_ascii_lowercase() }
}

/// Setting `name` in a PostgreSQL configuration file and those that it includes; the last one holds.
pub fn of_postgres(file: &Path, name: &str, resolve: Resolve<'_>) -> Option<Setting> {
    let mut found = None;
    postgres_file(file, name, resolve, DEPTH, &mut found);
    found
}

fn postgres_file(file: &Path, name: &str, resolve: Resolve<'_>, depth: usize, found: &mut Option<Setting>) {
    let Some(text) = read(file, resolve).filter(|_| depth > 0) else { return };
    let folder = file.parent().unwrap_or(Path::new("/"));
    for line in text.lines() {
        let Some((key, value)) = postgres_line(line) else { continue };
        let included = || folder.join(&value);
        match key.to_ascii_lowercase().as_str() {
            "include" | "include_if_exists" => postgres_file(&included(), name, resolve, depth - 1, found),
            "include_dir" => {
                for file in files_of(&included(), resolve, &["conf"]) {
                    postgres_file(&file, name, resolve, depth - 1, found);
                }
            }
            key if same(key, name) => *found = Some(Setting { value, from: file.display().to_string() }),
            _ => {}
        }
    }
}

/// Name and value of `name = 'value' # remark`; the equals sign may be missing.
fn postgres_line(line: &str) -> Option<(&str, String)> {
    let line = line.trim_start();
    let end = line.find(|c: char| !(c.is_alphanumeric() || c == '_' || c == '.'))?;
    let (key, rest) = line.split_at(end);
    let rest = rest.trim_start();
    let rest = rest.strip_prefix('=').unwrap_or(rest).trim_start();
    let value = match rest.strip_prefix('\'') {
        Some(quoted) => quoted.split('\'').next()?,
        None => rest.split(|c: char| c == '#' || c.is_whitespace()).next()?,
    };
    (!key.is_empty()).then(|| (key, value.to_owned()))
}

/// Setting `name` in an option file of MariaDB or MySQL and those that it includes; the last one holds.
pub fn of_mariadb(file: &Path, name: &str, resolve: Resolve<'_>) -> Option<Setting> {
    let mut found = None;
    mariadb_file(file, name, resolve, DEPTH, &mut found);
    found
}

fn mariadb_file(file: &Path, name: &str, resolve: Resolve<'_>, depth: usize, found: &mut Option<Setting>) {
    let Some(text) = read(file, resolve).filter(|_| depth > 0) else { return };
    let mut for_server = false;
    for line in text.lines().map(str::trim) {
        if let Some(folder) = line.strip_prefix("!includedir") {
            for file in files_of(Path::new(folder.trim()), resolve, &["cnf", "ini"]) {
                mariadb_file(&file, name, resolve, depth - 1, found);
            }
        } else if let Some(file) = line.strip_prefix("!include") {
            mariadb_file(Path::new(file.trim()), name, resolve, depth - 1, found);
        } else if let Some(group) = line.strip_prefix('[') {
            for_server = is_server(group.trim_end_matches(']'));
        } else if for_server && let Some((key, value)) = line.split_once('=') {
            let key = key.trim();
            if same(key.strip_prefix("loose-").or(key.strip_prefix("loose_")).unwrap_or(key), name) {
                let value = value.split('#').next().unwrap_or("").trim().trim_matches(['"', '\'']).to_owned();
                *found = Some(Setting { value, from: file.display().to_string() });
            }
        }
    }
}

/// Whether a group of options is the server's: `mysqld`, `server`, `mariadb-10.11`, `galera` …
fn is_server(group: &str) -> bool {
    let name = group.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.' || c == '-');
    ["server", "mysqld", "mariadb", "mariadbd", "galera"].contains(&name)
}

fn read(file: &Path, resolve: Resolve<'_>) -> Option<String> {
    // The file may hold anything.
    let bytes = reading::read(&resolve(file), LIMIT).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// The files of a folder with one of these endings, in the order of their names.
fn files_of(folder: &Path, resolve: Resolve<'_>, endings: &[&str]) -> Vec<PathBuf> {
    let Ok(entries) = fs_err::read_dir(resolve(folder)) else { return Vec::new() };
    let names = entries.flatten().map(|entry| folder.join(entry.file_name()));
    let mut files: Vec<_> =
        names.filter(|f| f.extension().and_then(|e| e.to_str()).is_some_and(|e| endings.contains(&e))).collect();
    files.sort();
    files
}

/// Bytes of a setting: `128MB` and `16384` (in `unit` bytes) of PostgreSQL, `1G` of MariaDB.
pub fn bytes(value: &str, unit: u64) -> Option<u64> {
    let value = value.trim();
    let end = value.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(value.len());
    let (number, suffix) = value.split_at(end);
    let factor = match suffix.trim().to_ascii_lowercase().as_str() {
        "" => unit,
        "b" => 1,
        "k" | "kb" => 1 << 10,
        "m" | "mb" => 1 << 20,
        "g" | "gb" => 1 << 30,
        "t" | "tb" => 1 << 40,
        "p" => 1 << 50,
        _ => return None,
    };
    if let Ok(whole) = number.parse::<u64>() {
        return whole.checked_mul(factor);
    }
    // PostgreSQL takes `1.5GB`.
    number.parse::<f64>().ok().map(|n| (n * factor as f64) as u64)
}

#[cfg(test)]
mod tests {
    use fs_err as fs;

    use super::*;

    fn as_it_is(path: &Path) -> PathBuf {
        path.to_owned()
    }

    #[test]
    fn a_command_line_is_read_in_all_its_spellings() {
        let words = |text: &str| -> Vec<String> { text.split(' ').map(str::to_owned).collect() };
        let value = |text, name| of_command(&words(text), name).map(|s| s.value);
        assert_eq!(value("postgres -D d -c shared_buffers=1GB", "shared_buffers"), Some("1GB".to_owned()));
        assert_eq!(
            value("postgres --shared-buffers=2GB -cshared_buffers=3GB", "shared_buffers"),
            Some("3GB".to_owned())
        );
        assert_eq!(value("mariadbd --innodb-buffer-pool-size 1G", "innodb_buffer_pool_size"), Some("1G".to_owned()));
        assert_eq!(value("mariadbd --innodb-buffer-pool=1", "innodb_buffer_pool_size"), None);
    }

    #[test]
    fn the_last_word_of_postgresql_conf_holds_included_ones_too() {
        let dir = tempfile::tempdir().unwrap();
        let put = |name: &str, text: &str| fs::write(dir.path().join(name), text).unwrap();
        fs::create_dir(dir.path().join("conf.d")).unwrap();
        put(
            "postgresql.conf",
            "#shared_buffers = 9GB\nshared_buffers = 128MB\t# min 128kB\ninclude_dir 'conf.d'\nport=1\n",
        );
        put("conf.d/a.conf", "Shared_Buffers '1 GB'\n");
        put("conf.d/b.txt", "shared_buffers = 7GB\n");
        let found = of_postgres(&dir.path().join("postgresql.conf"), "shared_buffers", &as_it_is).unwrap();
        assert_eq!((found.value.as_str(), bytes(&found.value, 8192)), ("1 GB", Some(1 << 30)));
        assert!(found.from.ends_with("conf.d/a.conf"));
        put("circle.conf", "include 'circle.conf'\n");
        assert_eq!(of_postgres(&dir.path().join("circle.conf"), "shared_buffers", &as_it_is), None);
    }

    #[test]
    fn only_the_servers_groups_of_an_option_file_count() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("my.cnf");
        let text = "[client]\ninnodb_buffer_pool_size=1\n[mariadb-10.11]\ninnodb-buffer-pool-size = 2G # half\n[mysqldump]\ninnodb_buffer_pool_size=3\n";
        fs::write(&file, text).unwrap();
        let found = of_mariadb(&file, "innodb_buffer_pool_size", &as_it_is).unwrap();
        assert_eq!(bytes(&found.value, 1), Some(2 << 30));
    }

    #[test]
    fn sizes_have_the_units_of_both_servers() {
        assert_eq!(bytes("16384", 8192), Some(128 << 20));
        assert_eq!(bytes("1.5GB", 8192), Some(3 << 29));
        assert_eq!(bytes("128M", 1), Some(128 << 20));
        assert_eq!((bytes("lots", 1), bytes("", 1), bytes("99999999999999999999", 1)), (None, None, Some(u64::MAX)));
    }
}
