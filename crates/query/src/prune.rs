//! Run pruning: detects from the SQL that a query concerns only one run, so that files of no other are opened.
//!
//! Only the plain case is recognised, `SELECT … FROM one_table WHERE … AND run = 'id' …`; whatever
//! is not certain reads all runs and lets the engine filter.

use fenxi_model::RunId;

use crate::lex::{Token, quoted, tokens};

/// Words with which a condition need not hold for every row that is read.
const UNCERTAIN: [&str; 10] =
    ["or", "not", "case", "between", "with", "join", "union", "intersect", "except", "recursive"];
/// Words that end the conditions of WHERE.
const AFTER_WHERE: [&str; 7] = ["group", "having", "window", "qualify", "order", "limit", "offset"];

/// The only run whose rows `sql` can use, if that is certain.
pub(crate) fn only_run(sql: &str) -> Option<RunId> {
    let tokens = tokens(sql);
    let name = |i: usize| match tokens.get(i) {
        Some((_, Token::Name(n))) => n.as_str(),
        _ => "",
    };
    let count = |word: &str| (0..tokens.len()).filter(|i| name(*i) == word).count();
    let plain = ["select", "from"].contains(&name(0)) && count("select") <= 1 && count("from") == 1;
    if !plain || (0..tokens.len()).any(|i| UNCERTAIN.contains(&name(i))) {
        return None;
    }
    // FROM table [[AS] alias] WHERE: nothing else is between, so there is one table.
    let from = (0..tokens.len()).find(|i| name(*i) == "from")?;
    let condition = (from + 2..=from + 4).find(|i| name(*i) == "where")? + 1;
    if (from + 1..condition).any(|i| name(i).is_empty()) {
        return None;
    }
    let mut depth = 0_i32;
    for i in condition..tokens.len() {
        match tokens[i].1 {
            Token::Other('(' | '[' | '{') => depth += 1,
            Token::Other(')' | ']' | '}') => depth -= 1,
            _ => {}
        }
        if depth != 0 {
            continue;
        }
        if AFTER_WHERE.contains(&name(i)) {
            return None;
        }
        if ["where", "and"].contains(&name(i - 1))
            && let Some(run) = equals_run(sql, &tokens, i)
        {
            return Some(run);
        }
    }
    None
}

/// The run in `[alias.]run = 'id'` when that is at token `i`, up to the end of the condition.
fn equals_run(sql: &str, tokens: &[(usize, Token)], i: usize) -> Option<RunId> {
    let is = |place: usize, wanted: char| matches!(tokens.get(place), Some((_, Token::Other(c))) if *c == wanted);
    let column = if is(i + 1, '.') { i + 2 } else { i };
    let is_run = matches!(tokens.get(column), Some((_, Token::Name(n))) if n == "run");
    if !is_run || !is(column + 1, '=') || !is(column + 2, '\'') {
        return None;
    }
    let ends = match tokens.get(column + 3) {
        None | Some((_, Token::Other(';'))) => true,
        Some((_, Token::Name(n))) => n == "and" || AFTER_WHERE.contains(&n.as_str()),
        Some(_) => false,
    };
    let (_, text) = quoted(&sql[tokens[column + 2].0..], '\'');
    if ends { RunId::parse(text) } else { None }
}

#[cfg(test)]
mod tests {
    use super::only_run;

    const ID: &str = "20261121T142233-a-k3f9";

    fn run_of(sql: &str) -> Option<String> {
        only_run(&sql.replace("ID", ID)).map(|r| r.to_string())
    }

    #[test]
    fn a_condition_that_holds_for_every_row_tells_the_run() {
        for sql in [
            "select avg(usr) from cpu where run = 'ID'",
            "SELECT * FROM cpu AS c WHERE c.run = 'ID' AND usr > 3 ORDER BY t;",
            "select count(*) filter (where usr > 3) from cpu where (usr > 1) and run='ID' group by host",
            "from cpu where run = 'ID'",
        ] {
            assert_eq!(run_of(sql).as_deref(), Some(ID), "{sql}");
        }
    }

    #[test]
    fn what_is_not_certain_reads_all_runs() {
        for sql in [
            "select * from cpu where run = 'ID' or usr > 3",
            "select * from cpu where not run = 'ID'",
            "select * from cpu, disk where run = 'ID'",
            "select * from cpu join disk using (run) where run = 'ID'",
            "select * from cpu where usr > (select avg(usr) from cpu) and run = 'ID'",
            "select * from cpu where (run = 'ID') is null",
            "select * from cpu where run = 'ID' || 'x'",
            "select * from cpu where run = 'nothing like an id'",
            "select * from cpu where run != 'ID'",
            "select run, rank() over (order by usr) as r from cpu qualify r = 1 and run = 'ID'",
            "select run = 'ID' from cpu",
            "with c as (select 1) from cpu where run = 'ID'",
            "select * from read_parquet('x') where run = 'ID'",
        ] {
            assert_eq!(run_of(sql), None, "{sql}");
        }
    }
}
