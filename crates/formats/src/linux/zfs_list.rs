//! `zfs list`: space of ZFS file systems and volumes at a moment, with any columns among `-o`'s, also `-p`.
//!
//! Without `-p` figures are rounded to three digits. A file system that is mounted is a row of `fs`; all are metrics by data set.

use fenxi_model::{Micros, catalog::fs};

use crate::{
    Family, Format, Head, Input, Out, Sure,
    generic::labels::Labels,
    procps::moments::{Moments, is_prompt},
    scaled,
};

/// Importer for zfs list of ZFS, also -o and -p.
pub static FORMAT: Format = Format {
    name: "zfs-list",
    summary: "zfs list of ZFS, also -o and -p",
    family: Family::Linux,
    tables: &[&fs::TABLE],
    example: "\
NAME       USED  AVAIL  REFER  MOUNTPOINT
demo      2.57M   231M  9.00K  /demo
demo/ccs  2.51M   231M  2.51M  /demo/ccs
",
    sniff,
    read,
};

/// Columns of space; others are left out.
const SPACE: &[&str] = &[
    "USED",
    "AVAIL",
    "REFER",
    "USEDSNAP",
    "USEDDS",
    "USEDREFRESERV",
    "USEDCHILD",
    "QUOTA",
    "VOLSIZE",
    "LUSED",
    "LREFER",
    "WRITTEN",
];

fn titles(line: &str) -> Option<Vec<&str>> {
    let titles: Vec<&str> = line.split_ascii_whitespace().collect();
    let has = |title: &str| titles.contains(&title);
    (titles.first() == Some(&"NAME")
        && has("USED")
        && has("AVAIL")
        && titles.iter().all(|t| t.chars().all(|c| c.is_ascii_uppercase())))
    .then_some(titles)
}

/// Space of a cell; None inside for `-` and `none`.
fn space(cell: &str) -> Option<Option<f64>> {
    if matches!(cell, "-" | "none") {
        return Some(None);
    }
    scaled(cell.trim_end_matches('B'), 1024.0).map(Some)
}

/// The cells of a line below `titles`; the mount point may have blanks.
fn cells<'l>(line: &'l str, titles: &[&str]) -> Option<Vec<&'l str>> {
    let mut words: Vec<&str> = line.split_ascii_whitespace().collect();
    let last = titles.last() == Some(&"MOUNTPOINT") && words.len() > titles.len();
    if last {
        let at = words[titles.len() - 1].as_ptr() as usize - line.as_ptr() as usize;
        words.truncate(titles.len() - 1);
        words.push(line.get(at..)?.trim_end());
    }
    let fits = words.len() == titles.len()
        && titles.iter().zip(&words).all(|(title, cell)| !SPACE.contains(title) || space(cell).is_some());
    fits.then_some(words)
}

fn sniff(head: &Head<'_>) -> Sure {
    let lines: Vec<&str> = head.lines().take(60).collect();
    let own = |pair: &[&str]| {
        titles(pair[0])
            .filter(|t| t.contains(&"REFER") || t.contains(&"USEDSNAP"))
            .is_some_and(|t| cells(pair[1], &t).is_some())
    };
    Sure::Certain.when(lines.windows(2).any(own))
}

fn read(input: &mut Input<'_>, out: &mut Out<'_>) {
    let mut moments = Moments::new(out);
    let mut now: Option<(Micros, Option<f64>)> = None;
    let mut header = String::new();
    input.each_line(|at, line| {
        let line = line.trim_end();
        if titles(line).is_some() {
            line.clone_into(&mut header);
            now = None;
            return;
        }
        let found = titles(&header).and_then(|titles| Some((cells(line, &titles)?, titles)));
        if let Some((cells, titles)) = found {
            let (t, dt) = *now.get_or_insert_with(|| moments.next(out));
            dataset((&titles, &cells), (t, dt), out);
        } else if !(line.trim().is_empty() || moments.take(line, out).is_some() || is_prompt(line.trim(), "zfs")) {
            out.unknown(at, line, "no data set under the titles of zfs list");
        }
    });
}

fn dataset((titles, cells): (&[&str], &[&str]), (t, dt): (Micros, Option<f64>), out: &mut Out<'_>) {
    let cell = |name: &str| titles.iter().position(|title| *title == name).and_then(|at| cells.get(at)).copied();
    let bytes = |name: &str| cell(name).and_then(space).flatten();
    let name = cells.first().copied().unwrap_or("");
    if let Some(mount) = cell("MOUNTPOINT").filter(|mount| mount.starts_with('/')) {
        let mut row = out.row(&fs::TABLE, t, dt);
        row.str(fs::mount, mount).str(fs::device, name).str(fs::fstype, "zfs");
        row.f64(fs::used_bytes, bytes("USED")).f64(fs::available_bytes, bytes("AVAIL"));
    }
    let labels = Labels::of("dataset", name);
    for title in titles.iter().filter(|title| SPACE.contains(title)) {
        if let Some(bytes) = bytes(title) {
            out.metric(t, dt, &format!("zfs.{}", title.to_ascii_lowercase()), labels.text(), bytes, "B");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{detect, fixtures::read};

    #[test]
    fn mounted_file_systems_have_a_row() {
        let read = read(&FORMAT, FORMAT.example.as_bytes());
        assert!(read.text.contains("/demo/ccs\tdemo/ccs\tzfs\t2631925.76\t242221056"), "{}", read.text);
        assert!(read.text.contains("zfs.refer\tdataset=demo\t9216\tB"), "{}", read.text);
        assert_eq!(read.tally.notes, 0);
    }

    #[test]
    fn lists_of_names_are_nobodys() {
        for text in [
            "NAME USED AVAIL\nAnna yes no\n",
            "NAME READY STATUS\nweb 1/1 Running\n",
            "NAME USED AVAIL REFER\nx y z w\n",
        ] {
            assert!(detect(&Head { text }).is_none_or(|f| f.name != "zfs-list"), "{text}");
        }
    }
}
