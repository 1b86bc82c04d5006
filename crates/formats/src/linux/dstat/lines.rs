//! Lines of dstat as columns and cells.

use super::columns::{Cells, Plan};
use crate::Splitter;

/// A cell of a CSV header without its quotes.
pub(super) fn unquoted(cell: &str) -> &str {
    cell.trim().trim_matches('"')
}

/// The line without what it overwrote and what a terminal cuts off.
pub(super) fn plain(line: &str) -> &str {
    let line = line.rsplit('\r').find(|part| !part.trim().is_empty()).unwrap_or(line);
    line.split(" missed ").next().unwrap_or(line).trim_end().trim_end_matches('>')
}

/// Whether a line is the upper line of titles: `----system---- -dsk/total-`.
pub(super) fn is_titles(line: &str) -> bool {
    let dashed =
        |w: &str| w.len() > 3 && w.starts_with('-') && w.ends_with('-') && w.bytes().any(|b| b.is_ascii_alphabetic());
    !line.contains('|') && line.split_ascii_whitespace().any(dashed)
}

/// A title without the dashes that fill it up: `--total-cpu-usage--` is `total cpu usage`.
fn title(word: &str) -> String {
    let bare = word.trim_matches('-');
    // Dashes in the name of a device belong to it.
    if bare.contains('/') { bare.to_owned() } else { bare.replace('-', " ") }
}

/// Groups whose column holds a name and a figure.
pub(super) fn holds_words(group: &str) -> bool {
    ["most ", "highest ", "out of "].iter().any(|p| group.starts_with(p))
}

/// A column's group and name.
pub(super) type Named = (String, String);

/// The columns of two lines of titles, each with its group, and how many sub-groups each part
/// between bars has. Parts of one plug-in are divided by colons.
pub(super) fn text_columns(groups: &str, names: &str) -> Option<(Vec<Named>, Vec<usize>)> {
    let mut groups = groups.split_ascii_whitespace();
    let (mut columns, mut shape) = (Vec::new(), Vec::new());
    for part in names.split('|') {
        let subgroups = part.split(':').count();
        shape.push(subgroups);
        // Old versions put the titles of one plug-in together: `--dsk/sda-----dsk/sdb--`.
        let mut together = Vec::new();
        for names in part.split(':') {
            if together.is_empty() {
                together = groups.next()?.split("--").map(title).filter(|t| !t.is_empty()).collect();
                if together.len() != subgroups {
                    together = vec![together.join("-")];
                }
            }
            let group = together.remove(0);
            let words = names.trim();
            if holds_words(&group) || words == "date/time" {
                columns.push((group, words.to_owned()));
                continue;
            }
            columns.extend(words.split_ascii_whitespace().map(|name| (group.clone(), name.to_owned())));
        }
    }
    groups.next().is_none().then_some((columns, shape))
}

/// Cuts a line of figures of a CSV file.
pub(super) fn csv_cells(line: &str, splitter: &mut Splitter, cells: &mut Cells) {
    cells.clear();
    for cell in splitter.at(line, b',').iter() {
        cells.push(unquoted(cell));
    }
}

/// Cuts a line of figures of a terminal; false when it does not fit the titles.
pub(super) fn text_cells(line: &str, shape: &[usize], plan: &Plan, cells: &mut Cells) -> bool {
    cells.clear();
    let mut parts = line.split('|');
    for subgroups in shape {
        let Some(part) = parts.next() else { return false };
        if *subgroups == 1 {
            if !text_group(part, plan, cells) {
                return false;
            }
            continue;
        }
        let before = cells.len();
        let mut n = 0;
        for group in part.split(':') {
            n += 1;
            if n > *subgroups || !text_group(group, plan, cells) {
                return false;
            }
        }
        if n != *subgroups || cells.len() == before {
            return false;
        }
    }
    parts.next().is_none()
}

/// The cells of one group.
fn text_group(part: &str, plan: &Plan, cells: &mut Cells) -> bool {
    let columns = plan.group_len(cells.len());
    if columns == 1 {
        cells.push(part.trim());
        return true;
    }
    let words = part.split_ascii_whitespace().count();
    if words == 0 {
        (0..columns).for_each(|_| cells.push(""));
    } else if words == columns {
        part.split_ascii_whitespace().for_each(|word| cells.push(word));
    }
    words == 0 || words == columns
}
