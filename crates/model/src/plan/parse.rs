//! Plans as servers print them.

use super::{Node, outside, without_values};

/// Prefixes of the lines below a node that are kept.
const DETAILS: &[&str] = &[
    "Index Cond: ",
    "Filter: ",
    "Recheck Cond: ",
    "Hash Cond: ",
    "Merge Cond: ",
    "Join Filter: ",
    "Sort Key: ",
    "Group Key: ",
    "Cache Key: ",
    "Sort Method: ",
    "Rows Removed by Filter: ",
    "Workers Planned: ",
    "Heap Fetches: ",
    "Order By: ",
];
/// Of these, those without a condition.
const FIGURES: &[&str] = &["Sort Method: ", "Rows Removed by Filter: ", "Workers Planned: ", "Heap Fetches: "];
/// The most details of a node, and bytes of one.
const MOST: (usize, usize) = (6, 300);

/// Nodes of PostgreSQL's text form.
pub fn postgres(text: &str) -> Vec<Node> {
    let mut nodes: Vec<Node> = Vec::new();
    // Where the nodes above begin in their lines.
    let mut columns: Vec<usize> = Vec::new();
    for line in text.lines() {
        let column = line.len() - line.trim_start().len();
        let rest = line.trim_start();
        let name = rest.strip_prefix("->").map_or(rest, str::trim_start);
        let Some(end) = name.find("  (cost=").or_else(|| name.find(" (actual ")) else {
            detail(rest, &mut nodes);
            continue;
        };
        while columns.last().is_some_and(|above| *above >= column) {
            columns.pop();
        }
        let mut node = named(&name[..end]);
        node.depth = columns.len();
        columns.push(column);
        let figures = &name[end..];
        let (estimated, actual) = figures.split_once("(actual").unwrap_or((figures, ""));
        node.cost = behind(estimated, "..");
        node.rows = behind(estimated, " rows=");
        node.actual_rows = behind(actual, " rows=");
        if actual.is_empty() && figures.contains("never executed") {
            node.actual_rows = None;
        }
        nodes.push(node);
    }
    nodes
}

/// The number behind some words.
fn behind(text: &str, words: &str) -> Option<f64> {
    let rest = &text[text.find(words)? + words.len()..];
    let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
    rest[..end].parse().ok()
}

fn detail(line: &str, nodes: &mut [Node]) {
    let (Some(node), Some(key)) = (nodes.last_mut(), DETAILS.iter().find(|key| line.starts_with(**key))) else {
        return;
    };
    if node.details.len() < MOST.0 {
        let value = &line[key.len()..];
        let value = if FIGURES.contains(key) { value.to_owned() } else { without_values(value) };
        let value = &value[..value.floor_char_boundary(MOST.1)];
        node.details.push(format!("{key}{value}"));
    }
}

/// `Index Scan using orders_pkey on shop.orders o`.
fn named(name: &str) -> Node {
    let mut node = Node::default();
    let name = name.trim();
    let (what, of) = match outside(name, " on ") {
        Some(at) => (&name[..at], &name[at + 4..]),
        None => (name, ""),
    };
    let (what, index) = match outside(what, " using ") {
        Some(at) => (&what[..at], &what[at + 7..]),
        None => (what, ""),
    };
    node.what = what.to_lowercase().replace("seq scan", "sequential scan");
    index.clone_into(&mut node.index);
    let (relation, alias) = match outside(of, " ") {
        Some(at) => (&of[..at], &of[at + 1..]),
        None => (of, of),
    };
    if node.what == "bitmap index scan" {
        relation.clone_into(&mut node.index);
    } else {
        relation.clone_into(&mut node.relation);
        alias.clone_into(&mut node.alias);
    }
    node
}

/// Ways to a table, by MySQL's words for them.
const WAYS: &[(&str, &str)] = &[
    ("ALL", "full scan"),
    ("index", "full index scan"),
    ("range", "range scan"),
    ("ref", "index lookup"),
    ("ref_or_null", "index lookup"),
    ("eq_ref", "unique lookup"),
    ("const", "unique lookup"),
    ("system", "single row"),
    ("fulltext", "full-text lookup"),
    ("index_merge", "index merge"),
    ("unique_subquery", "unique lookup"),
    ("index_subquery", "index lookup"),
];

/// Parts of `Extra` that belong to a plan's shape, and their words here.
const EXTRAS: &[(&str, &str)] = &[
    ("Using temporary", "temporary table"),
    ("Using filesort", "filesort"),
    ("Using index for group-by", "index for group by"),
    ("Using index for skip scan", "skip scan"),
    ("Using join buffer (hash", "hash join"),
    ("Using join buffer (Block Nested Loop", "block nested loop"),
    ("Using join buffer (flat, BNL ", "block nested loop"),
    ("Using join buffer (incremental, BNL ", "block nested loop"),
    ("Using join buffer (flat, BNLH", "hash join"),
    ("Using join buffer (incremental, BNLH", "hash join"),
    ("Range checked for each record", "range checked for each record"),
    ("Using rowid filter", "rowid filter"),
    ("FirstMatch", "first match"),
    ("LooseScan", "loose scan"),
    ("Start temporary", "duplicates weeded out"),
];

/// Nodes of MySQL's table: what a plan does besides with the rows of all tables is above the table at which it is reported.
pub fn table(text: &str) -> Vec<Node> {
    let mut all = text.lines();
    let head: Vec<_> = all.next().unwrap_or_default().split('\t').collect();
    let place = |name: &str| head.iter().position(|column| column.eq_ignore_ascii_case(name));
    let [id, select, table, way, key, rows, extra] =
        ["id", "select_type", "table", "type", "key", "rows", "Extra"].map(place);
    let mut nodes: Vec<Node> = Vec::new();
    for line in all {
        let cells: Vec<_> = line.split('\t').collect();
        let cell = |at: Option<usize>| {
            at.and_then(|at| cells.get(at)).copied().filter(|cell| !matches!(*cell, "" | "\\N" | "NULL"))
        };
        let extra = cell(extra).unwrap_or_default();
        let select = cell(select).unwrap_or_default();
        let query: usize = cell(id).and_then(|id| id.parse().ok()).unwrap_or(1);
        // A row without a table: `Impossible WHERE`, `Select tables optimized away`.
        let Some(relation) = cell(table) else {
            let what = if extra.is_empty() { select } else { extra };
            nodes.push(Node { depth: query.saturating_sub(1).min(8), what: without_values(what), ..Node::default() });
            continue;
        };
        let way = cell(way).unwrap_or("ALL");
        let mut what = WAYS.iter().find(|(word, _)| *word == way).map_or(way, |(_, what)| what).to_owned();
        if extra.split("; ").any(|word| word == "Using index") && what != "full index scan" {
            what.push_str(" in the index alone");
        }
        for (_, more) in EXTRAS.iter().filter(|(begin, _)| extra.split("; ").any(|word| word.starts_with(begin))) {
            what.push_str(" + ");
            what.push_str(more);
        }
        let kind = if matches!(select, "SIMPLE" | "PRIMARY" | "INSERT" | "UPDATE" | "DELETE" | "") {
            String::new()
        } else {
            format!("{}: ", select.to_lowercase())
        };
        // Names of inner tables are numbers, as `<derived2>`.
        nodes.push(Node {
            depth: query.saturating_sub(1).min(8),
            what: kind + &what,
            relation: relation.to_owned(),
            alias: relation.to_owned(),
            index: cell(key).unwrap_or_default().to_owned(),
            rows: cell(rows).and_then(|rows| rows.parse().ok()),
            ..Node::default()
        });
    }
    nodes
}
