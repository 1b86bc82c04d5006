//! Tables that the rows of a statement come from: without rows in any of these it has no answer.

use std::collections::BTreeSet;

use crate::lex::{self, Token};

/// Keywords and functions that give rows without any table.
const MAKERS: [&str; 4] = ["values", "range", "generate_series", "unnest"];
/// Keywords that end the list of a FROM.
const ENDS: [&str; 12] = [
    "where",
    "group",
    "order",
    "having",
    "limit",
    "union",
    "window",
    "qualify",
    "select",
    "intersect",
    "except",
    "join",
];

/// Where the rows of a statement come from.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Sources {
    /// Names that a FROM begins with, or whose rows a join keeps or multiplies; those of parts of the statement among them.
    pub names: BTreeSet<String>,
    /// True if rows are made without a table.
    pub made: bool,
}

impl Sources {
    /// Finds them in `sql`; rather too many than too few. An inner or left join adds no row: what it reads is none of them.
    pub(crate) fn in_sql(sql: &str) -> Sources {
        let tokens: Vec<Token> = lex::tokens(sql).into_iter().map(|(_, token)| token).collect();
        let mut sources = Sources::default();
        for (at, token) in tokens.iter().enumerate() {
            match token {
                Token::Name(name) if name == "from" => sources.add_list(&tokens[at + 1..]),
                Token::Name(name) if name == "join" && keeps_its_rows(&tokens[..at]) => sources.add(&tokens[at + 1..]),
                _ => {}
            }
        }
        sources
    }

    /// The relation that `tokens` begin with.
    fn add(&mut self, tokens: &[Token]) {
        let mut rest = tokens.iter().skip_while(|token| **token == Token::Other('(')).peekable();
        while let Some(Token::Name(name)) = rest.next() {
            if rest.next_if(|token| **token == Token::Other('.')).is_none() {
                self.made |= MAKERS.contains(&name.as_str());
                self.names.insert(name.clone());
                return;
            }
        }
    }

    /// The relations between commas up to the end of a FROM.
    fn add_list(&mut self, tokens: &[Token]) {
        self.add(tokens);
        let mut depth = 0_usize;
        for (at, token) in tokens.iter().enumerate() {
            match token {
                Token::Other('(') => depth += 1,
                Token::Other(')') if depth == 0 => return,
                Token::Other(')') => depth -= 1,
                Token::Other(',') if depth == 0 => self.add(&tokens[at + 1..]),
                Token::Name(name) if depth == 0 && ENDS.contains(&name.as_str()) => return,
                _ => {}
            }
        }
    }
}

/// Whether the JOIN behind `before` may give rows where the relation before it has none, or one of an aggregate.
fn keeps_its_rows(before: &[Token]) -> bool {
    let kinds =
        before.iter().rev().map_while(|token| if let Token::Name(name) = token { Some(name.as_str()) } else { None });
    kinds.take(2).take_while(|name| ["outer", "right", "full", "cross"].contains(name)).any(|name| name != "outer")
}

#[cfg(test)]
mod tests {
    use super::Sources;

    fn names(sql: &str) -> Vec<String> {
        Sources::in_sql(sql).names.into_iter().collect()
    }

    #[test]
    fn rows_come_from_what_a_from_begins_with() {
        assert_eq!(
            names("SELECT cpu, sum(x) FROM process JOIN runs USING (run) LEFT JOIN disk USING (t)"),
            ["process"]
        );
        assert_eq!(names("SELECT 1 FROM boot.cpu b LEFT OUTER JOIN mem m ON m.t = b.t"), ["cpu"]);
        assert_eq!(
            names("WITH a AS (SELECT t FROM net) SELECT * FROM a WHERE t > (SELECT max(t) FROM tcp)"),
            ["a", "net", "tcp"]
        );
    }

    #[test]
    fn what_a_join_keeps_or_multiplies_counts_too() {
        assert_eq!(names("SELECT 1 FROM a FULL OUTER JOIN b USING (t) RIGHT JOIN c USING (t)"), ["a", "b", "c"]);
        assert_eq!(names("SELECT 1 FROM n CROSS JOIN disk"), ["disk", "n"]);
        assert_eq!(
            names("SELECT f(x, y) FROM n, (SELECT g, h FROM disk) d, mem WHERE a IN (b, c)"),
            ["disk", "mem", "n", "select"]
        );
        assert!(Sources::in_sql("SELECT * FROM (VALUES (1), (2)) v JOIN cpu ON true").made);
        assert!(!Sources::in_sql("SELECT usr AS values FROM cpu").made);
    }
}
