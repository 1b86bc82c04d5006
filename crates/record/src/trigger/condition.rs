//! The language of conditions, checked against the catalogue before anything is armed.
//!
//! `disk.await_ms{device=sda} > 20 for 10s`: a column of a table, perhaps of some of its rows only, compared with a
//! number; it has to hold for a while. `reaches 10,20,30` looks at levels on the way up, `unusual` at the hour before,
//! `event kind='oom kill'` at events. CEL was looked at and left: it knows neither durations of a state nor levels, and a
//! misspelt column would be an error at its first evaluation, hours after it was armed.

use fenxi_model::parse_seconds;

use super::{
    lex::{Lexer, Token},
    metric::{Match, Metric, SESSIONS, event_matches},
};

/// When to act.
#[derive(Clone, Debug)]
pub struct Condition {
    /// As it was written.
    pub text: String,
    /// Its predicate.
    pub(super) what: What,
    /// For how many seconds.
    pub(super) hold_s: f64,
}

/// The predicate of a condition.
#[derive(Clone, Debug)]
pub(super) enum What {
    /// An event of such words.
    Event(Vec<Match>),
    /// All of these hold.
    Compare(Vec<(Metric, Comparison, f64)>),
    /// The value comes to one of these, from below.
    Reaches(Metric, Vec<f64>),
    /// The value is unlike those of the hour before.
    Unusual(Metric, Direction, f64),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Comparison {
    Above,
    AtLeast,
    Below,
    AtMost,
    Equal,
    Unequal,
}

impl Comparison {
    pub(super) fn holds(self, value: f64, than: f64) -> bool {
        match self {
            Comparison::Above => value > than,
            Comparison::AtLeast => value >= than,
            Comparison::Below => value < than,
            Comparison::AtMost => value <= than,
            Comparison::Equal => value == than,
            Comparison::Unequal => value != than,
        }
    }

    /// Whether small values are what is looked for.
    pub(super) fn is_downward(self) -> bool {
        matches!(self, Comparison::Below | Comparison::AtMost)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Direction {
    Either,
    High,
    Low,
}

/// How many robust standard deviations from the median are unusual by default.
const UNUSUAL: f64 = 6.0;
/// No condition has more levels or parts.
const MOST: usize = 100;

impl Condition {
    /// Reads a condition.
    ///
    /// # Errors
    /// In words: what was expected where, or which table, column or label there is not, with those of a similar name.
    pub fn parse(text: &str) -> Result<Condition, String> {
        let mut lexer = Lexer::new(text);
        let read = read(&mut lexer).map_err(|why| format!("`{text}`: {why}"));
        let (what, hold_s) = read?;
        Ok(Condition { text: text.trim().to_owned(), what, hold_s })
    }

    /// Names of the tables that it looks at.
    pub fn tables(&self) -> Vec<&'static str> {
        let metrics: Vec<&Metric> = match &self.what {
            What::Event(_) => return vec!["event"],
            What::Compare(parts) => parts.iter().map(|(metric, _, _)| metric).collect(),
            What::Reaches(metric, _) | What::Unusual(metric, _, _) => vec![metric],
        };
        metrics.into_iter().filter_map(Metric::table).map(|table| table.name).collect()
    }

    /// Whether it counts sessions by the processes of a server.
    pub(super) fn sessions(&self) -> Option<&Metric> {
        match &self.what {
            What::Compare(parts) => parts.iter().map(|(metric, _, _)| metric).find(|metric| metric.table().is_none()),
            What::Reaches(metric, _) | What::Unusual(metric, _, _) => Some(metric).filter(|m| m.table().is_none()),
            What::Event(_) => None,
        }
    }
}

fn read(lexer: &mut Lexer<'_>) -> Result<(What, f64), String> {
    if lexer.next_is_word("event") {
        lexer.next()?;
        let what = What::Event(event_matches(lexer)?);
        lexer.end()?;
        return Ok((what, 0.0));
    }
    let metric = Metric::read(lexer)?;
    let what = match lexer.next()? {
        Token::Operator(operator) => {
            let mut parts = vec![(metric, comparison(operator)?, lexer.number()?)];
            while lexer.accept_word("and") {
                let metric = Metric::read(lexer)?;
                let Token::Operator(operator) = lexer.next()? else { return Err(expected_operator()) };
                parts.push((metric, comparison(operator)?, lexer.number()?));
                if parts.len() > MOST {
                    return Err("it has too many parts".to_owned());
                }
            }
            What::Compare(parts)
        }
        Token::Word("reaches") => {
            let mut levels = vec![lexer.number()?];
            while lexer.accept(Token::Comma) {
                levels.push(lexer.number()?);
            }
            if levels.len() > MOST || levels.iter().any(|level| *level <= 0.0) {
                return Err(format!("`reaches` has 1 to {MOST} levels above 0"));
            }
            levels.sort_by(f64::total_cmp);
            levels.dedup();
            What::Reaches(metric, levels)
        }
        Token::Word("unusual") => What::Unusual(metric, Direction::Either, by(lexer)?),
        Token::Word("unusually") => {
            let direction = match lexer.next()? {
                Token::Word("high") => Direction::High,
                Token::Word("low") => Direction::Low,
                _ => return Err("`unusually` is followed by `high` or `low`".to_owned()),
            };
            What::Unusual(metric, direction, by(lexer)?)
        }
        _ => return Err(expected_operator()),
    };
    let is_held = !matches!(what, What::Reaches(..));
    let hold_s = if is_held && lexer.accept_word("for") { seconds(lexer)? } else { 0.0 };
    lexer.end()?;
    Ok((what, hold_s))
}

fn expected_operator() -> String {
    format!(
        "after `table.column` come `> NUMBER`, `reaches NUMBER,NUMBER` or `unusual` (as in `cpu.busy > 90 for 5s`, `{SESSIONS} reaches 10,20`)"
    )
}

fn by(lexer: &mut Lexer<'_>) -> Result<f64, String> {
    if !lexer.accept_word("by") {
        return Ok(UNUSUAL);
    }
    let by = lexer.number()?;
    if by > 0.0 { Ok(by) } else { Err("`by` is a number of standard deviations above 0".to_owned()) }
}

fn seconds(lexer: &mut Lexer<'_>) -> Result<f64, String> {
    let word = lexer.length();
    parse_seconds(word).ok_or_else(|| format!("`{word}` is no time; write 5s, 500ms or 2m"))
}

fn comparison(operator: &str) -> Result<Comparison, String> {
    Ok(match operator {
        ">" => Comparison::Above,
        ">=" => Comparison::AtLeast,
        "<" => Comparison::Below,
        "<=" => Comparison::AtMost,
        "=" | "==" => Comparison::Equal,
        "!=" => Comparison::Unequal,
        other => return Err(format!("`{other}` is no comparison")),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(text: &str) -> String {
        Condition::parse(text).err().unwrap_or_else(|| panic!("{text}"))
    }

    #[test]
    fn conditions_of_all_kinds_are_read() {
        let read = |text: &str| Condition::parse(text).unwrap_or_else(|why| panic!("{why}"));
        let busy = read("cpu.busy > 90 for 5s");
        assert_eq!((busy.tables(), busy.hold_s), (vec!["cpu"], 5.0));
        assert!(matches!(&busy.what, What::Compare(parts) if parts[0].1 == Comparison::Above && parts[0].2 == 90.0));
        let two = read("cpu.busy >= 90 and sched.runnable > 2k for 500ms");
        assert!(matches!(&two.what, What::Compare(parts) if parts.len() == 2 && parts[1].2 == 2000.0));
        assert_eq!(two.hold_s, 0.5);
        assert!(
            matches!(read("sessions{user=glennf} reaches 30,10,20").what, What::Reaches(_, l) if l == [10.0, 20.0, 30.0])
        );
        assert!(matches!(read("event kind='oom kill'").what, What::Event(m) if m.len() == 1));
        assert!(matches!(read("cpu.busy unusual").what, What::Unusual(_, Direction::Either, 6.0)));
        let low = read("load.latency_p99_ms unusually low by 4 for 10s");
        assert!(matches!(low.what, What::Unusual(_, Direction::Low, 4.0)));
        read("disk.await_ms[device=sda] > 20 for 10s");
        read("max(disk.await_ms) > 20");
        read("count(process{comm=bash}) reaches 5");
    }

    #[test]
    fn what_there_is_not_is_refused_with_near_names() {
        assert_eq!(refused("cpuu.usr > 1"), "`cpuu.usr > 1`: there is no table `cpuu`; is it `cpu`?");
        assert!(
            refused("cpu.user > 1").contains("the table `cpu` has no column `user`; is it `usr`"),
            "{}",
            refused("cpu.user > 1")
        );
        assert!(refused("disk.await_ms{devise=sda} > 1").contains("no label `devise`; is it `device`?"));
        assert!(refused("disk.device > 1").contains("`device` of `disk` is a label, not a number"));
        assert!(refused("event kynd=x").contains("no label `kynd`; is it `kind`?"));
    }

    #[test]
    fn what_is_no_condition_says_what_was_expected() {
        for text in [
            "",
            "cpu",
            "cpu.busy",
            "cpu.busy >",
            "cpu.busy > x",
            "cpu.busy > 1 for",
            "cpu.busy > 1 for x",
            "cpu.busy reaches",
            "cpu.busy reaches 0",
            "cpu.busy > 1 2",
            "cpu.busy unusually",
            "event",
            "disk.await_ms{device=sda > 1",
            "cpu.busy reaches 1 for 2s",
        ] {
            assert!(refused(text).len() > text.len() + 10, "{}", refused(text));
        }
    }
}
