//! Detection of pointwise questions, whose answer for a time range of a run is that range of the whole answer.
//!
//! Only the plain form is recognised, `SELECT … FROM table [WHERE …] [GROUP BY …, t, …] [ORDER BY …]`; what is not
//! certain is answered in the general way.

use fenxi_model::{TABLES, Table};

use crate::{
    Question,
    lex::{Token, tokens},
};

/// Words with which rows of one moment may depend on rows of another, or come from another source.
const UNCERTAIN: [&str; 19] = [
    "with",
    "join",
    "union",
    "intersect",
    "except",
    "over",
    "window",
    "distinct",
    "limit",
    "offset",
    "qualify",
    "sample",
    "tablesample",
    "lateral",
    "unnest",
    "pivot",
    "unpivot",
    "exists",
    "fetch",
];

/// A question of that form.
pub(super) struct Timewise<'a> {
    /// The table that it reads.
    pub table: &'static Table,
    /// Its SQL without its order.
    pub sql: &'a str,
}

impl Timewise<'_> {
    /// The column of events whose mean is in the column `y`, where the catalogue names one and the question gives it as it is.
    pub(super) fn weight(&self, y: &str) -> Option<&'static str> {
        let events = self.table.columns.iter().find(|column| column.name == y)?.mean_of?;
        let tokens = tokens(self.sql);
        let is = |i: usize, wanted: char| matches!(tokens.get(i), Some((_, Token::Other(c))) if *c == wanted);
        let name = |i: usize| matches!(tokens.get(i), Some((_, Token::Name(n))) if n == events);
        let is_word = |i: usize, word: &str| matches!(tokens.get(i), Some((_, Token::Name(n))) if n == word);
        let from = (0..tokens.len()).find(|i| is_word(*i, "from"))?;
        let is_given = |i: &usize| name(*i) && is(*i - 1, ',') && (is(*i + 1, ',') || is_word(*i + 1, "from"));
        // A group has the events of none of its rows.
        let is_grouped = (from..tokens.len()).any(|i| is_word(i, "group"));
        (!is_grouped && (1..from).any(|i| is_given(&i))).then_some(events)
    }
}

/// `question` as one of that form.
pub(super) fn timewise(question: &Question) -> Option<Timewise<'_>> {
    let sql = question.sql.as_str();
    let tokens = tokens(sql);
    let name = |i: usize| match tokens.get(i) {
        Some((_, Token::Name(n))) => n.as_str(),
        _ => "",
    };
    let is = |i: usize, wanted: char| matches!(tokens.get(i), Some((_, Token::Other(c))) if *c == wanted);
    let places = |word: &str| (0..tokens.len()).filter(|i| name(*i) == word).collect::<Vec<_>>();
    let plain = name(0) == "select" && places("select").len() == 1 && places("from").len() == 1;
    if !plain || (0..tokens.len()).any(|i| UNCERTAIN.contains(&name(i)) || is(i, ';')) {
        return None;
    }
    // The interval is the table's own: the length of a bin is made of it.
    let own_dt = |i: usize| (name(i - 1) == "select" || is(i - 1, ',')) && (is(i + 1, ',') || name(i + 1) == "from");
    let largest_dt = |i: usize| name(i - 1) == "as" && i > 4 && name(i - 5) == "max" && name(i - 3) == "dt";
    let from = *places("from").first()?;
    let reported = places("dt").into_iter().filter(|i| *i < from && (own_dt(*i) || largest_dt(*i))).count();
    let renamed = places("dt").into_iter().any(|i| i < from && name(i - 1) == "as" && !largest_dt(i));
    if reported == 0 || renamed {
        return None;
    }
    let table = TABLES.iter().find(|t| t.name == name(from + 1))?;
    let after = tokens.get(from + 2).map_or("order", |_| name(from + 2));
    if !["where", "group", "order"].contains(&after) {
        return None;
    }
    let order = places("order").last().copied();
    if let Some(group) = places("group").last() {
        let end = order.unwrap_or(tokens.len());
        if !(*group..end).any(|i| ["t", "all"].contains(&name(i))) {
            return None;
        }
    }
    let end = order.map_or(sql.len(), |i| tokens[i].0);
    Some(Timewise { table, sql: sql[..end].trim_end() })
}

#[cfg(test)]
mod tests {
    use super::timewise;
    use crate::{Question, SHIPPED};

    fn of(sql: &str) -> Option<String> {
        let question = Question::parse("q", &format!("-- title: Q\n{sql}")).unwrap();
        timewise(&question).map(|found| format!("{}: {}", found.table.name, found.sql.trim()))
    }

    #[test]
    fn each_moment_by_itself_is_recognised_and_loses_its_order() {
        let sql = "SELECT run, host, t, dt, cpu, usr FROM cpu WHERE cpu IS NOT NULL ORDER BY run, t";
        assert_eq!(of(sql).unwrap(), "cpu: SELECT run, host, t, dt, cpu, usr FROM cpu WHERE cpu IS NOT NULL");
        assert!(
            of("SELECT run, host, t, max(dt) AS dt, sum(intr_per_s) AS s FROM irq GROUP BY run, host, t").is_some()
        );
        assert!(of("SELECT t, run, host, dt FROM disk").is_some());
    }

    #[test]
    fn a_mean_of_events_is_weighted_by_them_where_the_question_gives_them() {
        let weight = |sql: &str| {
            let question = Question::parse("q", &format!("-- title: Q\n{sql}")).unwrap();
            timewise(&question).unwrap().weight("latency_mean_ms")
        };
        let events = Some("transactions_per_s");
        assert_eq!(weight("SELECT run, host, t, dt, latency_mean_ms, transactions_per_s FROM load"), events);
        assert_eq!(weight("SELECT run, host, t, dt, transactions_per_s, latency_mean_ms FROM load"), events);
        assert_eq!(weight("SELECT run, host, t, dt, latency_mean_ms FROM load WHERE transactions_per_s > 1"), None);
        assert_eq!(weight("SELECT run, host, t, dt, latency_mean_ms, 2 * transactions_per_s AS x FROM load"), None);
        let text = SHIPPED.iter().find(|(name, _)| *name == "load-latency-over-time").unwrap().1;
        assert_eq!(timewise(&Question::parse("q", text).unwrap()).unwrap().weight("latency_mean_ms"), events);
    }

    #[test]
    fn what_depends_on_other_moments_is_not() {
        for sql in [
            "SELECT run, host, t, dt, usr - avg(usr) OVER () AS d FROM cpu",
            "SELECT run, host, t, dt, usr FROM cpu LIMIT 5",
            "SELECT run, host, max(t) AS t, max(dt) AS dt FROM cpu GROUP BY run, host",
            "SELECT run, host, t, 60 * dt AS dt, usr FROM cpu",
            "SELECT run, host, t, 60 AS dt, usr FROM cpu",
            "SELECT c.run, c.host, c.t, c.dt FROM cpu c, disk d",
            "SELECT run, host, t, dt FROM (SELECT * FROM cpu)",
            "SELECT run, host, t, dt FROM runs",
            "SELECT run, host, t, dt, (SELECT max(usr) FROM cpu) AS usr FROM cpu",
            "WITH x AS (SELECT 1) SELECT run, host, t, dt FROM cpu",
        ] {
            assert_eq!(of(sql), None, "{sql}");
        }
    }

    #[test]
    fn the_heaviest_shipped_questions_are_of_this_form() {
        let of_form = |name: &&str| {
            let text = SHIPPED.iter().find(|(n, _)| n == name).unwrap().1;
            timewise(&Question::parse(name, text).unwrap()).is_some()
        };
        let not: Vec<&str> =
            ["cpu-heatmap", "cpu-time", "cpu-balance", "interrupts-heatmap", "softirqs", "disk-util", "run-queue"]
                .into_iter()
                .filter(|name| !of_form(name))
                .collect();
        assert_eq!(not, Vec::<&str>::new());
    }
}
