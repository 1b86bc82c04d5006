//! `df` of GNU, busybox, the BSDs, macOS and Solaris: how full file systems are at a moment.
//!
//! Without a unit in its titles (`-h`, `-H`) figures are rounded up to two or three digits; that is noted as an
//! assumption, as is which of the two it was. `used` is what df prints: used space as a share of used and available,
//! rounded up by GNU and to the nearest by busybox. A total (`--total`) is left out, as it follows from the others, and
//! so are further lines of one mount point (`-a`), where a file system covers another.

use std::collections::BTreeSet;

use fenxi_model::{Place, catalog::fs, place::F64};

use crate::{
    Family, Format, Head, Input, Out, Sure, number,
    procps::moments::{Moments, is_prompt},
    scaled, stamp,
};

/// Importer for df of GNU, busybox, BSD, macOS and Solaris.
pub static FORMAT: Format = Format {
    name: "df",
    summary: "df of GNU, busybox, BSD, macOS and Solaris: -k, -m, -B, -P, -h, -H, -T, -i, -a",
    family: Family::Linux,
    tables: &[&fs::TABLE],
    example: "\
Filesystem     Type     1K-blocks     Used Available Use% Mounted on
/dev/vda       ext4     264212084 16632188  78869076  18% /
tmpfs          tmpfs     24684084        0  24684084   0% /dev/shm
",
    sniff,
    read,
};

/// Content of a column.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Column {
    Type,
    /// Bytes of this table's column.
    Space(Place<fs::Schema, F64>),
    Used,
    Inodes(Place<fs::Schema, F64>),
    InodesInUse,
    InodesUsed,
    /// Of `--output`: the file that was asked for.
    Other,
}

/// The columns between the device and the mount point.
#[derive(Clone, Debug, PartialEq)]
struct Titles {
    columns: Vec<Column>,
    /// Bytes of one unit, where the titles say it.
    unit: Option<f64>,
}

/// Titles of the first and of the last column, in some languages.
const FIRST: &[&str] =
    &["Filesystem", "filesystem", "Dateisystem", "Sys. de fichiers", "S.ficheros", "Système de fichiers"];
const LAST: &[&str] = &["Mounted on", "mounted on", "Eingehängt auf", "Monté sur", "Montado en"];

/// Reads the titles of the columns.
fn titles(line: &str) -> Option<Titles> {
    let line = line.trim();
    let rest = FIRST.iter().find_map(|first| line.strip_prefix(first))?;
    let rest = LAST.iter().find_map(|last| rest.strip_suffix(last))?;
    let mut titles = Titles { columns: Vec::new(), unit: None };
    // Titles of several words.
    let joined = rest.replace("blocs de ", "blocs_de_").replace("bloques de ", "bloques_de_");
    for word in joined.split_ascii_whitespace() {
        let column = match word {
            "Type" | "Typ" | "Tipo" | "fstype" => Column::Type,
            "Size" | "size" | "Größe" | "Taille" | "Tamaño" => Column::Space(fs::total_bytes),
            "kbytes" => {
                titles.unit = Some(1024.0);
                Column::Space(fs::total_bytes)
            }
            "Used" | "used" | "Benutzt" | "Utilisé" | "Usados"
                if titles.has(fs::inodes_total) && titles.has_no_space() =>
            {
                Column::InodesInUse
            }
            "Used" | "used" | "Benutzt" | "Utilisé" | "Usados" => Column::Space(fs::used_bytes),
            "Available" if titles.has(fs::inodes_total) && titles.has_no_space() => Column::Inodes(fs::inodes_free),
            "Available" | "Avail" | "avail" | "Verfügbar" | "Verf." | "Disponible" | "Dispo" | "Disponibles"
            | "Disp" => Column::Space(fs::available_bytes),
            "Use%" if titles.has(fs::inodes_total) && titles.has_no_space() => Column::InodesUsed,
            "Use%" | "Capacity" | "capacity" | "Verw%" | "Kapazität" | "Uti%" | "Capacité" | "Uso%" | "Capacidad" => {
                Column::Used
            }
            "Inodes" | "Inœuds" | "Nodos-i" => Column::Inodes(fs::inodes_total),
            "IUsed" | "iused" | "IBenutzt" | "IUtil." | "NUsados" => Column::InodesInUse,
            "IFree" | "ifree" | "IFrei" | "ILibre" | "NLibres" => Column::Inodes(fs::inodes_free),
            "IUse%" | "%iused" | "IUti%" | "NUso%" => Column::InodesUsed,
            "File" | "Datei" | "Fichier" => Column::Other,
            word => {
                titles.unit = Some(unit(word)?);
                Column::Space(fs::total_bytes)
            }
        };
        titles.columns.push(column);
    }
    let known = titles.columns.iter().filter(|c| !matches!(c, Column::Type | Column::Other)).count();
    Some(titles).filter(|_| known >= 3)
}

/// Bytes of a unit: `1K-blocks`, `1024-blocks`, `512-Blöcke`, `1MB-blocks`, `blocs_de_1K`.
fn unit(title: &str) -> Option<f64> {
    let size = ["-blocks", "-Blöcke"].iter().find_map(|end| title.strip_suffix(end));
    let size = size.or_else(|| ["blocs_de_", "bloques_de_"].iter().find_map(|begin| title.strip_prefix(begin)))?;
    // Two letters are powers of 1000: `1MB`.
    let base = if size.len() > 2 && size.ends_with('B') { 1000.0 } else { 1024.0 };
    scaled(size, base).filter(|bytes| *bytes >= 1.0)
}

impl Titles {
    fn has(&self, place: Place<fs::Schema, F64>) -> bool {
        self.columns.iter().any(|c| matches!(c, Column::Inodes(p) if *p == place))
    }

    /// Whether busybox means inodes where it prints `Used` and `Available`.
    fn has_no_space(&self) -> bool {
        !self.columns.iter().any(|c| matches!(c, Column::Space(_)))
    }

    /// Cuts a line into the device, the cells and the mount point; the first and the last may have blanks.
    fn cut<'l>(&self, line: &'l str) -> Option<(&'l str, Vec<&'l str>, &'l str)> {
        let n = self.columns.len();
        let begin = |word: &str| word.as_ptr() as usize - line.as_ptr() as usize;
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        let fits = |at: usize| {
            let cells = words.get(at..at + n)?;
            let all = self.columns.iter().zip(cells).all(|(column, cell)| column.takes(cell));
            all.then_some(())
        };
        let at = (1..words.len().saturating_sub(n)).find(|at| fits(*at).is_some())?;
        let device = line.get(begin(words.first()?)..begin(words.get(at)?))?.trim_end();
        let mount = line.get(begin(words.get(at + n)?)..)?.trim_end();
        Some((device, words.get(at..at + n)?.to_vec(), mount))
    }
}

impl Column {
    fn takes(self, cell: &str) -> bool {
        match self {
            Column::Type | Column::Other => true,
            _ if cell == "-" => true,
            Column::Used | Column::InodesUsed => cell.strip_suffix('%').is_some_and(|n| number(n).is_some()),
            _ => scaled(cell, 1024.0).is_some(),
        }
    }
}

fn sniff(head: &Head<'_>) -> Sure {
    let mut found: Option<Titles> = None;
    for line in head.lines().take(60) {
        let rest = stamp(line).map_or(line, |stamp| stamp.rest);
        if let Some(titles) = titles(rest) {
            found = Some(titles);
        } else if let Some(titles) = &found {
            if titles.cut(rest).is_some() {
                return Sure::Certain;
            }
        } else if !rest.is_empty() && !is_prompt(line, "df") && !line.starts_with("df: ") {
            // A report of something else, in which file systems are listed, too.
            return Sure::No;
        }
    }
    Sure::No
}

/// State kept from line to line.
struct Reader {
    moments: Moments,
    titles: Option<Titles>,
    now: Option<(fenxi_model::Micros, Option<f64>)>,
    /// Mount points of this output.
    mounts: BTreeSet<String>,
    /// A device whose figures are on the next line.
    device: Option<(u64, String)>,
    /// Base of the powers `K` and so on, where the titles do not show it.
    base: f64,
}

fn read(input: &mut Input<'_>, out: &mut Out<'_>) {
    // Only `-H` prints a small k.
    let small = input.head().split_ascii_whitespace().any(|word| word.ends_with('k') && scaled(word, 1000.0).is_some());
    let base = if small { 1000.0 } else { 1024.0 };
    let mut reader =
        Reader { moments: Moments::new(out), titles: None, now: None, mounts: BTreeSet::new(), device: None, base };
    input.each_line(|number, line| {
        if line.trim().is_empty() || reader.line(number, line.trim_end(), out) {
            return;
        }
        match stamp(line).map(|stamp| stamp.rest.to_owned()) {
            Some(rest) => {
                reader.moments.take(line, out);
                if !rest.is_empty() && !reader.line(number, rest.trim_end(), out) {
                    out.unknown(number, line, "no file system under the titles of df");
                }
            }
            None if is_prompt(line.trim(), "df") || line.starts_with("df: ") => {}
            // A long name, and its figures on the next line.
            None if reader.titles.is_some() && line.split_ascii_whitespace().count() == 1 => {
                reader.device(out);
                reader.device = Some((number, line.trim().to_owned()));
            }
            None => out.unknown(number, line, "no file system under the titles of df"),
        }
    });
    reader.device(out);
}

impl Reader {
    /// A device whose figures did not come.
    fn device(&mut self, out: &mut Out<'_>) {
        if let Some((number, line)) = self.device.take() {
            out.unknown(number, &line, "no file system under the titles of df");
        }
    }

    fn line(&mut self, number: u64, line: &str, out: &mut Out<'_>) -> bool {
        if let Some(found) = titles(line) {
            self.device(out);
            if found.unit.is_none() && found.columns.contains(&Column::Space(fs::total_bytes)) {
                out.assume(if self.base == 1000.0 {
                    "sizes are rounded to the digits printed, in powers of 1000 (df -H)"
                } else {
                    "sizes are rounded to the digits printed, in powers of 1024 (df -h)"
                });
            }
            self.titles = Some(found);
            self.now = Some(self.moments.next(out));
            self.mounts.clear();
            return true;
        }
        let (Some(titles), Some((t, dt))) = (&self.titles, self.now) else { return false };
        let whole = self.device.as_ref().map(|(_, device)| format!("{device} {line}"));
        let text = whole.as_deref().unwrap_or(line);
        let Some((device, cells, mount)) = titles.cut(text) else { return false };
        self.device = None;
        if device == "total" && mount == "-" || !self.mounts.insert(mount.to_owned()) {
            return true;
        }
        let mut row = out.row(&fs::TABLE, t, dt);
        row.str(fs::mount, mount).str(fs::device, device);
        let mut in_use = None;
        let mut has_inodes = false;
        let mut bad = None;
        for (column, cell) in titles.columns.iter().zip(cells) {
            let bare = cell.strip_suffix('%').unwrap_or(cell);
            match column {
                Column::Type => {
                    row.str(fs::fstype, cell);
                }
                Column::Space(place) => {
                    let value = match titles.unit {
                        Some(unit) => crate::number(cell).map(|v| v * unit).or_else(|| scaled(cell, 1024.0)),
                        None => scaled(cell, self.base),
                    };
                    bad = bad.or((value.is_none() && cell != "-").then_some(cell));
                    row.f64(*place, value);
                }
                Column::Used => {
                    row.f64(fs::used, crate::number(bare));
                }
                Column::Inodes(place) => {
                    let value = scaled(cell, self.base);
                    has_inodes |= *place == fs::inodes_total;
                    row.f64(*place, value);
                    if *place == fs::inodes_free && !has_inodes {
                        // macOS prints used and free ones.
                        row.f64(fs::inodes_total, in_use.zip(value).map(|(used, free): (f64, f64)| used + free));
                    }
                }
                Column::InodesInUse => in_use = scaled(cell, self.base),
                Column::InodesUsed => {
                    row.f64(fs::inodes_used, crate::number(bare));
                }
                Column::Other => {}
            }
        }
        if let Some(cell) = bad {
            out.unknown(number, cell, "no size");
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::{FORMAT, titles};
    use crate::{Head, Sure, fixtures::read};

    #[test]
    fn units_are_those_of_the_titles() {
        for (title, bytes) in [
            ("1K-blocks", Some(1024.0)),
            ("1024-blocks", Some(1024.0)),
            ("512-blocks", Some(512.0)),
            ("1M-blocks", Some(1048576.0)),
            ("1MB-blocks", Some(1e6)),
            ("1kB-blocks", Some(1000.0)),
            ("1B-blocks", Some(1.0)),
            ("1K-Blöcke", Some(1024.0)),
            ("blocs de 1K", Some(1024.0)),
            ("Size", None),
        ] {
            let found = titles(&format!("Filesystem {title} Used Available Use% Mounted on"));
            assert_eq!(found.map(|t| t.unit), Some(bytes), "{title}");
        }
        assert_eq!(titles("Filesystem Size Mounted on"), None);
        assert_eq!(titles("Filesystem blocks Used Available Use% Mounted on"), None);
    }

    #[test]
    fn devices_and_mount_points_may_have_blanks_and_a_device_a_line_of_its_own() {
        let text = "Filesystem 1K-blocks Used Available Use% Mounted on\n//nas/my share 10 4 6 40% /mnt/my share\n/dev/mapper/a-very-long-name\n                  10 5 5 50% /x\n";
        let read = read(&FORMAT, text.as_bytes());
        assert_eq!(read.tally.notes, 0, "{}", read.text);
        assert!(read.text.contains("\t/mnt/my share\t//nas/my share\t10240\t4096\t6144\t40"), "{}", read.text);
        assert!(read.text.contains("\t/x\t/dev/mapper/a-very-long-name\t10240\t5120\t5120\t50"), "{}", read.text);
    }

    #[test]
    fn powers_of_1000_show_by_the_small_letter() {
        let text = "Filesystem Size Used Avail Use% Mounted on\na 4.1k 0 2.0M 0% /\n";
        assert!(read(&FORMAT, text.as_bytes()).text.contains("\t4100\t0\t2000000\t0"));
        let text = "Filesystem Size Used Avail Use% Mounted on\na 4.0K 0 2.0M 0% /\n";
        assert!(read(&FORMAT, text.as_bytes()).text.contains("\t4096\t0\t2097152\t0"));
    }

    #[test]
    fn titles_alone_are_nobodys() {
        let sure = |text: &str| (FORMAT.sniff)(&Head { text });
        assert_eq!(sure("Filesystem Size Used Avail Use% Mounted on\n"), Sure::No);
        let list = "Filesystem Size Used Avail Use% Mounted on\n/dev/sda 1G 1M 1G 1% /\n";
        assert_eq!(sure(list), Sure::Certain);
        assert_eq!(sure(&format!("Backup of the night\n{list}")), Sure::No);
        assert_eq!(sure("Filesystem Size Used Avail Use% Mounted on\nsome text that follows\n"), Sure::No);
    }
}
