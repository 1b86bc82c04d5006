//! Double caching: whether a database is cached both in its own buffer pool and in the page cache.

use std::fmt::Write;

use fenxi_model::{
    RowsOf,
    catalog::{file_cache, page_cache},
};

use super::{files, human, is_narrow, mb, parts::sum, share, wrap};
use crate::{Frame, View};

/// Shows the servers among `page_cache`, each with its files from `file_cache` and a verdict.
#[derive(Debug)]
pub struct Databases {
    top: usize,
    width: Option<usize>,
    begun: bool,
}

impl Databases {
    /// Shows the first `top` files of each server, on a terminal of `width` columns if it is one.
    pub fn new(top: usize, width: Option<usize>) -> Databases {
        Databases { top, width, begun: false }
    }
}

impl View for Databases {
    fn frame(&mut self, frame: &Frame<'_>, out: &mut String) {
        if self.begun {
            let _ = writeln!(out, "\n{}", frame.t.iso());
        }
        self.begun = true;
        let servers = frame.rows.of(&page_cache::TABLE);
        let mut first = true;
        for (rows, row) in servers.iter().flat_map(|rows| (0..rows.n_rows()).map(move |row| (*rows, row))) {
            let Some(server) = Server::of(rows, row) else { continue };
            if !std::mem::replace(&mut first, false) {
                out.push('\n');
            }
            server.show(frame.rows.of(&file_cache::TABLE), self, out);
        }
        if first {
            out.push_str("no database server\n");
        }
    }
}

/// One row of `page_cache` that is a server's.
#[derive(Clone, Debug, Default)]
struct Server<'a> {
    system: &'static str,
    dir: &'a str,
    pid: Option<i64>,
    files: f64,
    unread_files: f64,
    unread_processes: f64,
    cached: Option<f64>,
    pool: Option<f64>,
    pool_mapped: Option<f64>,
    pool_from: &'a str,
    direct: f64,
    buffered: f64,
    setting: Option<&'a str>,
}

impl<'a> Server<'a> {
    fn of(rows: RowsOf<'a, page_cache::Schema>, row: usize) -> Option<Server<'a>> {
        let system = match rows.str(row, page_cache::kind)? {
            "postgres" => "PostgreSQL",
            "mariadb" => "MariaDB",
            _ => return None,
        };
        let n = |place| rows.f64(row, place).unwrap_or(0.0);
        Some(Server {
            system,
            dir: rows.str(row, page_cache::place).unwrap_or("-"),
            pid: rows.i64(row, page_cache::pid),
            files: n(page_cache::files),
            unread_files: n(page_cache::unread_files),
            unread_processes: n(page_cache::unread_processes),
            cached: rows.f64(row, page_cache::cached_bytes),
            pool: rows.f64(row, page_cache::pool_bytes),
            pool_mapped: rows.f64(row, page_cache::pool_mapped_bytes),
            pool_from: rows.str(row, page_cache::pool_from).unwrap_or("-"),
            direct: n(page_cache::direct_files),
            buffered: n(page_cache::buffered_files),
            setting: rows.str(row, page_cache::open_setting),
        })
    }

    fn show(&self, rows: Option<RowsOf<'_, file_cache::Schema>>, as_told: &Databases, out: &mut String) {
        let Databases { top, width, .. } = *as_told;
        let process = self.pid.map_or_else(|| "not running".to_owned(), |pid| format!("process {pid}"));
        wrap(&format!("{} at {} ({process})", self.system, self.dir), 2, width, out);
        if let Some(rows) = rows {
            let own = |row: &usize| rows.str(*row, file_cache::place) == Some(self.dir);
            let own: Vec<usize> = (0..rows.n_rows()).filter(own).collect();
            classes(rows, &own, width, out);
            if top > 0 {
                let data = |row: &usize| rows.str(*row, file_cache::class) == Some("data");
                out.push('\n');
                files::Table { rows, top, width }.show(own.into_iter().filter(data).collect(), out);
            }
        }
        out.push('\n');
        wrap(&self.verdict(), 2, width, out);
        for remark in self.how_sure() {
            wrap(&format!("  {remark}"), 4, width, out);
        }
    }

    fn pool(&self) -> String {
        self.pool.map_or_else(|| "a buffer pool of unknown size".to_owned(), |b| format!("a buffer pool of {}", mb(b)))
    }

    /// The answer in one line.
    fn verdict(&self) -> String {
        let pool = self.pool();
        let Some(cached) = self.cached else {
            return "UNKNOWN whether cached twice: this user may not query the page cache residency of its data files"
                .to_owned();
        };
        let in_cache = format!("{} of the data files are in the page cache", mb(cached));
        if self.pid.is_none() {
            return format!("NOT RUNNING: {in_cache}; it would have {pool}");
        }
        let (direct, buffered) = (self.direct, self.buffered);
        match (direct > 0.0, self.opened_buffered()) {
            (_, None) => {
                format!("UNKNOWN whether cached twice: {in_cache} beside {pool}, but not how it opens them")
            }
            (_, Some(false)) if cached > 0.0 => format!(
                "NOT cached twice: opened with O_DIRECT beside {pool} ({in_cache} all the same: others read them, or \
                 the server did in another way before)"
            ),
            (_, Some(false)) => format!("NOT cached twice: opened with O_DIRECT beside {pool}"),
            (_, Some(true)) if cached == 0.0 => {
                "NOT cached twice now: opened without O_DIRECT, but nothing of the data files is in the page cache"
                    .to_owned()
            }
            (true, Some(true)) => format!(
                "CACHED TWICE in part: {in_cache} beside {pool} ({direct} opened with O_DIRECT, {buffered} without)"
            ),
            (false, Some(true)) => format!("CACHED TWICE: {in_cache} beside {pool} (opened without O_DIRECT)"),
        }
    }

    /// Whether it opens data files through the page cache; by its setting when none is open.
    fn opened_buffered(&self) -> Option<bool> {
        if self.direct + self.buffered > 0.0 {
            return Some(self.buffered > 0.0);
        }
        let setting = self.setting.and_then(|text| text.split_once('='));
        match (self.system, setting.map(|(name, value)| (name, value.to_ascii_lowercase()))) {
            // PostgreSQL opens files when it needs them, and only this setting (16 and later) makes it do so directly.
            ("PostgreSQL", setting) => Some(!setting.is_some_and(|(_, value)| value.contains("data"))),
            (_, Some(("innodb_data_file_buffering", value))) => Some(matches!(&*value, "on" | "1" | "true")),
            (_, Some((_, value))) => Some(!value.contains("direct")),
            // The default is not the same in all versions.
            (_, None) => None,
        }
    }

    /// Evidence for the answer.
    fn how_sure(&self) -> Vec<String> {
        let mut remarks = Vec::new();
        let (n, buffered) = (self.unread_processes, self.opened_buffered());
        let open = self.direct.max(self.buffered);
        let by = match (self.setting, self.system) {
            (Some(setting), _) => setting.to_owned(),
            (None, "PostgreSQL") => "debug_io_direct is not set".to_owned(),
            (None, _) => "innodb_flush_method is not set".to_owned(),
        };
        if self.pid.is_none() {
            remarks.push(format!("setting: {by}"));
        } else if open > 0.0 {
            let plural = if open == 1.0 { "" } else { "s" };
            remarks.push(format!("sure how they are opened: {open} data file{plural} open now were looked at ({by})"));
        } else if n > 0.0 && buffered.is_some() {
            remarks.push(format!("how they are opened is by its settings only: {by}"));
        } else if buffered.is_some() {
            remarks.push(format!("fairly sure how they are opened: none is open now, and {by}"));
        } else {
            remarks.push(format!("how they are opened: none is seen open, and {by}"));
        }
        if n > 0.0 {
            remarks.push(format!("less sure: {n} of its processes may not be looked into by this user"));
        }
        if self.unread_files > 0.0 {
            remarks.push(format!("less sure: {} of {} data files could not be asked", self.unread_files, self.files));
        }
        if let (Some(cached), Some(pool), Some(_), Some(true)) = (self.cached, self.pool, self.pid, buffered)
            && cached > 0.0
        {
            remarks.push(format!("at most {} are in memory twice: not every page is in both", mb(cached.min(pool))));
        }
        let mapped = match (self.pool, self.pool_mapped) {
            (Some(pool), Some(mapped)) if mapped < pool => {
                format!("; only {} are mapped, so it was another when the server began", mb(mapped))
            }
            (Some(pool), Some(mapped)) if mapped > pool * 1.5 + 64.0 * super::MB => {
                format!("; {} are mapped, so it may be larger", mb(mapped))
            }
            (_, Some(mapped)) => format!("; the mapping of {} that holds it agrees", mb(mapped)),
            _ => String::new(),
        };
        remarks.push(format!("buffer pool: {}{mapped}", self.pool_from));
        remarks
    }
}

/// Sums of data, log and other files.
fn classes(rows: RowsOf<'_, file_cache::Schema>, own: &[usize], width: Option<usize>, out: &mut String) {
    let mut line = |[name, files, size, cached, share, dirty]: [&str; 6]| {
        let _ = if is_narrow(width) {
            writeln!(out, "{name:<6} {size:>9} {cached:>9} {share:>6}")
        } else {
            writeln!(out, "{name:<8} {files:>8} {size:>9} {cached:>9} {share:>6} {dirty:>9}")
        };
    };
    line(["", "files", "size", "cached", "%", "dirty"]);
    for class in ["data", "log", "other"] {
        let of: Vec<usize> =
            own.iter().copied().filter(|row| rows.str(*row, file_cache::class) == Some(class)).collect();
        let all = |place| sum(&of.iter().map(|row| rows.f64(*row, place)).collect::<Vec<_>>());
        let (size, cached) = (all(file_cache::size_bytes), all(file_cache::cached_bytes));
        let dirty = human(all(file_cache::dirty_bytes));
        line([class, &of.len().to_string(), &human(size), &human(cached), &share(cached, size), &dirty]);
    }
}
