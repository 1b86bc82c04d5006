//! Plans of statements: what a server's optimiser chose, as a tree of nodes.
//!
//! Its *shape* is what stays while costs, estimates and values move: kinds of nodes, relations, indexes and their order. A
//! plan has changed when its shape has. Partitions of one table are one relation, as they come and go by themselves.

mod parse;

use std::fmt::Write as _;

use crate::statement::{Quotes, digest, hidden};

/// The most nodes that are kept of a plan.
const MOST: usize = 400;
/// How many differences are named.
const NAMED: usize = 3;

/// One node.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Node {
    /// How far below the root.
    pub depth: usize,
    /// Operation in lower case: `sequential scan`, `hash join`.
    pub what: String,
    /// The table that it reads or changes.
    pub relation: String,
    /// By another name, where it has one.
    pub alias: String,
    /// The index that it uses.
    pub index: String,
    /// Cost estimated, in the server's units.
    pub cost: Option<f64>,
    /// Rows estimated.
    pub rows: Option<f64>,
    /// Rows that there were, where the plan was measured: the mean of its executions.
    pub actual_rows: Option<f64>,
    /// Conditions and keys, without values.
    pub details: Vec<String>,
}

impl Node {
    /// The node without what moves.
    fn shape(&self) -> String {
        let mut line = self.what.clone();
        if !self.index.is_empty() {
            let word = if self.relation.is_empty() { "on" } else { "using" };
            let _ = write!(line, " {word} {}", self.index);
        }
        if !self.relation.is_empty() {
            let _ = write!(line, " on {}", self.relation);
        }
        line
    }

    /// By how much the estimate of its rows was off: 10 for ten times too few or too many; None where nothing was measured.
    pub fn error(&self) -> Option<f64> {
        let (estimated, actual) = (self.rows?.max(1.0), self.actual_rows?.max(1.0));
        Some((estimated / actual).max(actual / estimated))
    }
}

/// A plan: its nodes from the root on, each before those below it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Plan {
    nodes: Vec<Node>,
}

impl Plan {
    /// Of nodes; None of none.
    fn of(mut nodes: Vec<Node>) -> Option<Plan> {
        nodes.truncate(MOST);
        (!nodes.is_empty()).then_some(Plan { nodes })
    }

    /// Of the text that PostgreSQL's EXPLAIN and auto_explain give; None when there is no node in it.
    pub fn of_postgres(text: &str) -> Option<Plan> {
        Plan::of(parse::postgres(text))
    }

    /// Of the table that EXPLAIN of MySQL and MariaDB gives: names of columns in the first line, then a row in each, with tabs
    /// between columns; `\N` or nothing is NULL. None when there is no row in it.
    pub fn of_table(text: &str) -> Option<Plan> {
        Plan::of(parse::table(text))
    }

    /// Its nodes.
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// Cost estimated of all of it.
    pub fn cost(&self) -> Option<f64> {
        self.nodes.first().and_then(|node| node.cost)
    }

    /// Sets the cost where a server reports it beside the plan.
    pub fn set_cost(&mut self, cost: Option<f64>) {
        if let Some(first) = self.nodes.first_mut() {
            first.cost = cost;
        }
    }

    /// Rows estimated of its result.
    pub fn rows(&self) -> Option<f64> {
        self.nodes.first().and_then(|node| node.rows)
    }

    /// By how much the worst estimate was off, where the plan was measured.
    pub fn error(&self) -> Option<f64> {
        self.nodes.iter().filter_map(Node::error).reduce(f64::max)
    }

    /// Its shape: a line for each node, two blanks for each level.
    pub fn shape(&self) -> String {
        let lines: Vec<_> =
            self.merged().iter().map(|(depth, line)| format!("{}{line}", "  ".repeat(*depth))).collect();
        lines.join("\n")
    }

    /// The digest of its shape.
    pub fn hash(&self) -> String {
        digest(&self.shape())
    }

    /// Lines of the shape with their depths: of partitions of one table only the costliest one, under the table's name.
    fn merged(&self) -> Vec<(usize, String)> {
        let mut lines = Vec::new();
        let mut at = 0;
        while at < self.nodes.len() {
            let node = &self.nodes[at];
            lines.push((node.depth, node.shape()));
            at += 1;
            if !matches!(node.what.trim_start_matches("parallel "), "append" | "merge append") {
                continue;
            }
            let parts = self.below(at, node.depth);
            let tables: Option<Vec<_>> =
                parts.iter().map(|(from, to)| partitions_of(&self.nodes[*from..*to])).collect();
            let Some(table) = tables.filter(|tables| tables.windows(2).all(|pair| pair[0] == pair[1])) else {
                continue;
            };
            let (Some(table), Some((_, end))) = (table.first(), parts.last()) else { continue };
            let by_cost = |(from, _): &&(usize, usize)| self.nodes[*from].cost.unwrap_or_default();
            let costliest = parts.iter().max_by(|a, b| by_cost(a).total_cmp(&by_cost(b)));
            let kept = costliest.map_or(&[][..], |(from, to)| &self.nodes[*from..*to]);
            lines.extend(kept.iter().map(|node| (node.depth, of_table(node, table))));
            at = *end;
        }
        lines
    }

    /// The parts right below a node, by their first and their last place.
    fn below(&self, first: usize, depth: usize) -> Vec<(usize, usize)> {
        let end = (first..self.nodes.len()).find(|at| self.nodes[*at].depth <= depth).unwrap_or(self.nodes.len());
        let begins: Vec<_> = (first..end).filter(|at| self.nodes[*at].depth == depth + 1).collect();
        let ends = begins.iter().skip(1).copied().chain([end]);
        begins.iter().copied().zip(ends).collect()
    }

    /// All of it as text: each node with its cost and rows, and what it does with them. Estimates that were off are marked.
    pub fn tree(&self) -> String {
        let mut text = String::new();
        for node in &self.nodes {
            let indent = "  ".repeat(node.depth);
            let _ = write!(text, "{indent}{}", node.shape());
            if !node.alias.is_empty() && node.alias != node.relation {
                let _ = write!(text, " {}", node.alias);
            }
            let mut figures = Vec::new();
            figures.extend(node.cost.map(|cost| format!("cost {}", brief(cost))));
            figures.extend(node.rows.map(|rows| format!("{} rows", brief(rows))));
            figures.extend(node.actual_rows.map(|rows| format!("were {}", brief(rows))));
            if let Some(error) = node.error().filter(|error| *error >= 10.0) {
                figures.push(format!("ESTIMATE OFF {}×", brief(error)));
            }
            if !figures.is_empty() {
                let _ = write!(text, "  ({})", figures.join(", "));
            }
            text.push('\n');
            for detail in &node.details {
                let _ = writeln!(text, "{indent}    {detail}");
            }
        }
        text.truncate(text.trim_end().len());
        text
    }
}

/// A number in a few characters.
fn brief(value: f64) -> String {
    if value.abs() >= 1e6 || value.fract() == 0.0 || value.abs() >= 100.0 {
        format!("{value:.0}")
    } else {
        format!("{value:.1}")
    }
}

/// The table of which the scans in some nodes read a partition each: PostgreSQL calls them `NAME_1`, `NAME_2`.
fn partitions_of(nodes: &[Node]) -> Option<&str> {
    let mut found = None;
    for node in nodes.iter().filter(|node| !node.relation.is_empty()) {
        let (table, number) = node.alias.rsplit_once('_')?;
        if number.is_empty()
            || !number.bytes().all(|byte| byte.is_ascii_digit())
            || found.is_some_and(|known| known != table)
        {
            return None;
        }
        found = Some(table);
    }
    found
}

/// A node of a partition as one of its table: names of partitions and of their indexes come and go.
fn of_table(node: &Node, table: &str) -> String {
    let mut shape = node.what.clone();
    if !node.relation.is_empty() {
        let _ = write!(shape, " on partitions of {table}");
    }
    let key = node.details.iter().find_map(|detail| detail.strip_prefix("Index Cond: "));
    if let Some(key) = key {
        let _ = write!(shape, " by {}", without_numbers(key, table));
    }
    shape
}

/// A condition without the numbers of partitions: `orders_12.id` is `orders.id`.
fn without_numbers(text: &str, table: &str) -> String {
    let with = format!("{table}_");
    let mut parts = text.split(with.as_str());
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let rest = part.trim_start_matches(|c: char| c.is_ascii_digit());
        out.push_str(table);
        if rest.len() == part.len() || !rest.starts_with('.') {
            out.push('_');
            out.push_str(part);
        } else {
            out.push_str(rest);
        }
    }
    out
}

/// How one shape became another, in words: `orders: index scan using orders_customer → sequential scan`. None when they
/// are the same.
pub fn difference(before: &str, after: &str) -> Option<String> {
    if before == after {
        return None;
    }
    let (old, new) = (lines(before), lines(after));
    let mut told = accesses(&old, &new);
    let operators = |lines: &[(String, String)]| {
        lines.iter().filter(|(_, of)| of.is_empty()).map(|(what, _)| what.clone()).collect::<Vec<_>>()
    };
    let (had, has) = (operators(&old), operators(&new));
    let joins = |all: &[String]| {
        let is_join = |what: &&String| ["join", "nested loop"].iter().any(|word| what.contains(word));
        all.iter().filter(is_join).cloned().collect::<Vec<_>>()
    };
    if let Some(change) = changed(&joins(&had), &joins(&has)) {
        told.push(change);
    }
    let order = |lines: &[(String, String)]| {
        lines.iter().filter(|(_, of)| !of.is_empty()).map(|(_, of)| of.clone()).collect::<Vec<_>>()
    };
    let (was, is) = (order(&old), order(&new));
    if told.is_empty() && was != is {
        told.push(format!("order {} → {}", was.join(", "), is.join(", ")));
    }
    if told.is_empty()
        && let Some(change) = changed(&had, &has)
    {
        told.push(change);
    }
    if told.is_empty() {
        told.push("the same nodes in another order".to_owned());
    }
    let more = told.len().saturating_sub(NAMED);
    told.truncate(NAMED);
    let more = if more > 0 { format!("; {more} more") } else { String::new() };
    Some(told.join("; ") + &more)
}

/// Lines of a shape: what is done, and the relation it is done to. An index below a bitmap scan belongs to it.
fn lines(shape: &str) -> Vec<(String, String)> {
    let mut all: Vec<(String, String)> = Vec::new();
    for line in shape.lines().map(str::trim) {
        let Some(at) = outside(line, " on ") else {
            all.push((line.to_owned(), String::new()));
            continue;
        };
        let (what, of) = (&line[..at], &line[at + 4..]);
        match all.iter_mut().rev().find(|(above, _)| above.starts_with("bitmap heap scan")) {
            Some((above, _)) if what == "bitmap index scan" => {
                let word = if above.contains(" using ") { "," } else { " using" };
                let _ = write!(above, "{word} {of}");
            }
            _ => all.push((what.to_owned(), of.to_owned())),
        }
    }
    all
}

/// Changes of the access methods of each relation.
fn accesses(old: &[(String, String)], new: &[(String, String)]) -> Vec<String> {
    let mut told = Vec::new();
    let mut seen: Vec<&str> = Vec::new();
    for (_, of) in old.iter().chain(new).filter(|(_, of)| !of.is_empty()) {
        if seen.contains(&of.as_str()) {
            continue;
        }
        seen.push(of);
        let ways = |lines: &[(String, String)]| {
            lines.iter().filter(|(_, other)| other == of).map(|(what, _)| what.clone()).collect::<Vec<_>>()
        };
        let (had, has) = (ways(old), ways(new));
        told.extend(changed(&had, &has).map(|change| format!("{of}: {change}")));
    }
    told
}

/// Items of only one of the lists; None where there are none.
fn changed(had: &[String], has: &[String]) -> Option<String> {
    let without = |all: &[String], others: &[String]| {
        let mut left = others.to_vec();
        let gone = |word: &&String| match left.iter().position(|other| other == *word) {
            Some(at) => {
                left.remove(at);
                false
            }
            None => true,
        };
        let words: Vec<_> = all.iter().filter(gone).cloned().collect();
        words.join(", ")
    };
    let (gone, new) = (without(had, has), without(has, had));
    let or_none = |text: String| if text.is_empty() { "none".to_owned() } else { text };
    (!gone.is_empty() || !new.is_empty()).then(|| format!("{} → {}", or_none(gone), or_none(new)))
}

/// The place of some words outside of quotes.
fn outside(text: &str, words: &str) -> Option<usize> {
    text.match_indices(words).map(|(at, _)| at).find(|at| text[..*at].matches(['"', '`']).count().is_multiple_of(2))
}

/// A condition without values.
fn without_values(text: &str) -> String {
    hidden(text, Quotes::Standard)
}

#[cfg(test)]
mod tests;
