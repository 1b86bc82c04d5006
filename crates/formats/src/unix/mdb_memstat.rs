//! `::memstat` of mdb on Solaris: where the memory is, once.
//!
//! Free memory is in two lists: of pages that still hold what was read of files, and of others. Classes that Linux
//! does not have are metrics.

use fenxi_model::catalog::mem::{self, TABLE};

use crate::{Family, Format, Head, Input, Out, Sure, number};

/// Importer for ::memstat of mdb on Solaris.
pub static FORMAT: Format = Format {
    name: "mdb-memstat",
    summary: "::memstat of mdb on Solaris",
    family: Family::Unix,
    tables: &[&TABLE],
    example: "\
Page Summary                Pages                MB  %Tot
------------     ----------------  ----------------  ----
Kernel                     430030              3359    2%
Anon                       805572              6293    3%
Total                    28621106            223602
",
    sniff,
    read,
};

const MIB: f64 = 1024.0 * 1024.0;

fn is_header(line: &str) -> bool {
    let mut words = line.split_ascii_whitespace();
    words.next() == Some("Page") && words.next() == Some("Summary") && words.next() == Some("Pages")
}

fn sniff(head: &Head<'_>) -> Sure {
    Sure::Certain.when(head.any(is_header))
}

fn read(input: &mut Input<'_>, out: &mut Out<'_>) {
    let mut in_table = false;
    let mut classes: Vec<(String, f64)> = Vec::new();
    input.each_line(|at, line| {
        let line = line.trim();
        if is_header(line) {
            in_table = true;
            classes.clear();
            // Older ones have megabytes, newer ones bytes with a unit.
            if !line.split_ascii_whitespace().any(|word| word == "MB") {
                out.unknown(at, line, "no column of megabytes");
                in_table = false;
            }
            return;
        }
        // Lines that mdb prints before, and those typed there.
        if !in_table || line.is_empty() || line.starts_with("---") || line.starts_with('>') {
            return;
        }
        let Some((name, megabytes)) = class(line) else { return out.unknown(at, line, "no class of pages") };
        classes.push((name.to_owned(), megabytes * MIB));
        if name == "Total" {
            write(&classes, out);
        }
        // The number of all pages is below the total.
        in_table = name != "Physical";
    });
}

/// `Exec and libs    9429    73    0%`: the class and its megabytes.
fn class(line: &str) -> Option<(&str, f64)> {
    let begin = line
        .char_indices()
        .find(|(at, c)| c.is_ascii_digit() && line.get(..*at).is_some_and(|before| before.ends_with(' ')))?;
    let name = line.get(..begin.0)?.trim();
    let mut numbers = line.get(begin.0..)?.split_ascii_whitespace();
    let (_pages, megabytes) = (number(numbers.next()?)?, number(numbers.next()?)?);
    (!name.is_empty()).then_some((name, megabytes))
}

fn write(classes: &[(String, f64)], out: &mut Out<'_>) {
    let of = |name: &str| classes.iter().find(|(class, _)| class == name).map(|(_, bytes)| *bytes);
    let free: Vec<f64> = classes.iter().filter(|(name, _)| name.starts_with("Free")).map(|(_, bytes)| *bytes).collect();
    // It was printed when the file was written, as mdb prints no time.
    let t = out.modified();
    let mut row = out.row(&TABLE, t, None);
    row.f64(mem::total_bytes, of("Total")).f64(mem::anon_bytes, of("Anon")).f64(mem::cached_bytes, of("Page cache"));
    row.f64(mem::free_bytes, (!free.is_empty()).then(|| free.iter().sum()));
    for (name, bytes) in classes {
        if !["Total", "Physical", "Anon", "Page cache"].contains(&name.as_str()) {
            out.metric(t, None, "mdb-memstat.class", &format!("class={name}"), *bytes, "B");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_several_words() {
        assert_eq!(class("Exec and libs                9429                73    0%"), Some(("Exec and libs", 73.0)));
        assert_eq!(
            class("Free (cachelist)          2547680             19903    9%"),
            Some(("Free (cachelist)", 19903.0))
        );
        assert_eq!(class("Total                    28621106            223602"), Some(("Total", 223_602.0)));
        assert_eq!(class("loading modules"), None);
    }
}
