//! A number that a condition looks at: a column of rows of a table, or what they add up to.
//!
//! Without a selection, a table that has a row for everything together (all CPUs) is that row; of any other table each
//! series (each disk) is looked at by itself.

use fenxi_model::{
    Column, Rows, TABLES, Table, TableRows, Type,
    catalog::{HOST, N_COMMON, cpu, event},
    near, table,
};

use super::lex::{Lexer, Token};

/// The name for the client sessions of database servers on this host, counted by their processes.
pub(super) const SESSIONS: &str = "sessions";
/// Labels by which sessions are chosen.
pub(super) const OF_SESSION: [&str; 2] = ["user", "database"];

/// The metric of a condition.
#[derive(Clone, Debug)]
pub(super) struct Metric {
    /// None: sessions, which no row has.
    table: Option<&'static Table>,
    value: Value,
    together: Option<Together>,
    pub(super) matches: Vec<Match>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Value {
    /// A column's number.
    Column(usize),
    /// `cpu.busy`: what is not idle, nor idle while a disk is awaited.
    Busy,
    /// That there is a row.
    Row,
}

/// Aggregation of the rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Together {
    Sum,
    Mean,
    Max,
    Min,
}

/// Which rows.
#[derive(Clone, Debug)]
pub(super) struct Match {
    /// The label's name.
    pub(super) label: &'static str,
    place: usize,
    how: How,
    pub(super) word: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum How {
    Is,
    IsNot,
    Contains,
    /// Any that is not NULL.
    Any,
}

impl Match {
    pub(super) fn holds(&self, value: Option<&str>) -> bool {
        match self.how {
            How::Is => value == Some(&self.word),
            How::IsNot => value != Some(&self.word),
            How::Contains => value.is_some_and(|value| value.contains(&self.word)),
            How::Any => value.is_some(),
        }
    }

    fn holds_in(&self, rows: &TableRows, row: usize) -> bool {
        match rows.table().columns[self.place].ty {
            Type::I64 => self.holds(rows.i64(row, self.place).map(|n| n.to_string()).as_deref()),
            _ => self.holds(rows.str(row, self.place)),
        }
    }
}

impl Metric {
    /// The table whose rows it is read from.
    pub(super) fn table(&self) -> Option<&'static Table> {
        self.table
    }

    /// Reads `table.column{label=value}`, perhaps in `max(…)` or its like, `count(table{…})` or `sessions{…}`.
    pub(super) fn read(lexer: &mut Lexer<'_>) -> Result<Metric, String> {
        let Token::Word(first) = lexer.next()? else {
            return Err("a condition begins with `table.column`, such as `cpu.busy > 90 for 5s`".to_owned());
        };
        if first == SESSIONS {
            let matches = selection(lexer, &mut of_session)?;
            return Ok(Metric { table: None, value: Value::Row, together: None, matches });
        }
        let together = match first {
            "sum" | "count" => Some(Together::Sum),
            "avg" | "mean" => Some(Together::Mean),
            "max" => Some(Together::Max),
            "min" => Some(Together::Min),
            _ => None,
        };
        let Some(together) = together.filter(|_| lexer.accept(Token::Open('('))) else {
            let table = known_table(first)?;
            let value = column(lexer, table)?;
            return Ok(Metric { table: Some(table), value, together: None, matches: selection_of(lexer, table)? });
        };
        let Token::Word(name) = lexer.next()? else { return Err(format!("`{first}(` is followed by a table")) };
        let table = known_table(name)?;
        let value = if first == "count" { Value::Row } else { column(lexer, table)? };
        let matches = selection_of(lexer, table)?;
        if !lexer.accept(Token::Close(')')) {
            return Err(format!("`{first}(` is not closed by `)`"));
        }
        Ok(Metric { table: Some(table), value, together: Some(together), matches })
    }

    /// The values that rows have, each under the name of its series; none where nothing is known of this moment.
    pub(super) fn values(&self, rows: &Rows) -> Vec<(String, Option<f64>)> {
        let Some(table) = self.table else { return Vec::new() };
        let Some(of_table) = rows.tables().find(|rows| rows.table().id == table.id) else { return Vec::new() };
        let chosen: Vec<usize> =
            (0..of_table.n_rows()).filter(|row| self.matches.iter().all(|m| m.holds_in(of_table, *row))).collect();
        let value = |row: usize| match self.value {
            Value::Column(place) => of_table.f64(row, place),
            Value::Busy => busy(of_table, row),
            Value::Row => Some(1.0),
        };
        if let Some(together) = self.together {
            return vec![(
                String::new(),
                together.of(chosen.iter().filter_map(|row| value(*row)), self.value == Value::Row),
            )];
        }
        let names_key = self.matches.iter().any(|m| (N_COMMON..N_COMMON + table.n_keys).contains(&m.place));
        let is_all = |row: usize| {
            table.n_keys > 0 && (N_COMMON..N_COMMON + table.n_keys).all(|place| is_null(of_table, row, place))
        };
        let only_all = !names_key && chosen.iter().any(|row| is_all(*row));
        let kept = chosen.into_iter().filter(|row| !only_all || is_all(*row));
        kept.map(|row| (series(of_table, row, rows.host()), value(row))).collect()
    }
}

impl Together {
    /// With `empty`, no row is 0 and not unknown.
    fn of(self, values: impl Iterator<Item = f64>, empty: bool) -> Option<f64> {
        let (mut n, mut sum, mut max, mut min) = (0_u32, 0.0, f64::NEG_INFINITY, f64::INFINITY);
        for value in values {
            (n, sum, max, min) = (n + 1, sum + value, f64::max(max, value), f64::min(min, value));
        }
        if n == 0 {
            return empty.then_some(0.0);
        }
        Some(match self {
            Together::Sum => sum,
            Together::Mean => sum / f64::from(n),
            Together::Max => max,
            Together::Min => min,
        })
    }
}

fn busy(rows: &TableRows, row: usize) -> Option<f64> {
    let rows = rows.typed(&cpu::TABLE)?;
    Some(100.0 - rows.f64(row, cpu::idle)? - rows.f64(row, cpu::iowait).unwrap_or(0.0))
}

fn is_null(rows: &TableRows, row: usize, place: usize) -> bool {
    rows.str(row, place).is_none() && rows.i64(row, place).is_none()
}

/// The keys of a row: `device=sda`, with its host where that is another one.
fn series(rows: &TableRows, row: usize, host: &str) -> String {
    let mut name = String::new();
    let mut add = |label: &str, value: &str| {
        name += if name.is_empty() { "" } else { "," };
        name += &format!("{label}={value}");
    };
    if let Some(other) = rows.str(row, HOST).filter(|other| *other != host) {
        add("host", other);
    }
    for (place, key) in rows.table().columns.iter().enumerate().skip(N_COMMON).take(rows.table().n_keys) {
        match (rows.str(row, place), rows.i64(row, place)) {
            (Some(value), _) => add(key.name, value),
            (None, Some(value)) => add(key.name, &value.to_string()),
            (None, None) => {}
        }
    }
    name
}

fn known_table(name: &str) -> Result<&'static Table, String> {
    table(name)
        .ok_or_else(|| format!("there is no table `{name}`{}", is_it(name, TABLES.iter().map(|table| table.name))))
}

fn column(lexer: &mut Lexer<'_>, table: &'static Table) -> Result<Value, String> {
    let Token::Dot = lexer.next()? else {
        return Err(format!("`{}` is followed by a dot and a column, as `{}`", table.name, example(table)));
    };
    let Token::Word(name) = lexer.next()? else { return Err(format!("a column of `{}` is missing", table.name)) };
    if table.id == cpu::TABLE.id && name == "busy" {
        return Ok(Value::Busy);
    }
    let Some(place) = table.index_of(name) else {
        let numbers = table.columns.iter().filter(|column| is_number(column)).map(|column| column.name);
        // The computed value is no column, and meant as often.
        let computed = (table.id == cpu::TABLE.id).then_some("busy");
        return Err(format!(
            "the table `{}` has no column `{name}`{}",
            table.name,
            is_it(name, numbers.chain(computed))
        ));
    };
    if !is_number(&table.columns[place]) {
        return Err(format!("`{name}` of `{}` is a label, not a number", table.name));
    }
    Ok(Value::Column(place))
}

fn is_number(column: &Column) -> bool {
    matches!(column.ty, Type::F64 | Type::I64)
}

fn example(table: &'static Table) -> String {
    let first = table.columns.iter().skip(N_COMMON).find(|column| column.ty == Type::F64);
    format!("{}.{}", table.name, first.map_or("column", |column| column.name))
}

/// `; is it `a` or `b`?`, or nothing.
fn is_it<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    let near: Vec<String> = near(name, known).into_iter().map(|name| format!("`{name}`")).collect();
    if near.is_empty() {
        return "; `fenxi list tables` lists what there is".to_owned();
    }
    format!("; is it {}?", near.join(" or "))
}

fn selection_of(lexer: &mut Lexer<'_>, table: &'static Table) -> Result<Vec<Match>, String> {
    selection(lexer, &mut |name| label_of(name, table))
}

/// The label of a name, or what to say when there is none.
fn label_of(name: &str, table: &'static Table) -> Result<(&'static str, usize), String> {
    let is_key = |place: usize| (N_COMMON..N_COMMON + table.n_keys).contains(&place) || place == HOST;
    let is_label = |place: usize| matches!(table.columns[place].ty, Type::Label | Type::Text) || is_key(place);
    match table.index_of(name).filter(|place| is_label(*place)) {
        Some(place) => Ok((table.columns[place].name, place)),
        None => {
            let labels =
                (0..table.columns.len()).filter(|place| is_label(*place)).map(|place| table.columns[place].name);
            Err(format!("the table `{}` has no label `{name}`{}", table.name, is_it(name, labels)))
        }
    }
}

fn of_session(name: &str) -> Result<(&'static str, usize), String> {
    let known = OF_SESSION.into_iter().enumerate().find(|(_, label)| *label == name);
    known
        .map(|(place, label)| (label, place))
        .ok_or_else(|| format!("sessions have no label `{name}`; there are `user` and `database`"))
}

type Labels<'l> = dyn FnMut(&str) -> Result<(&'static str, usize), String> + 'l;

/// `{label=value,label~part}`, or nothing.
fn selection(lexer: &mut Lexer<'_>, labels: &mut Labels<'_>) -> Result<Vec<Match>, String> {
    let close = if lexer.accept(Token::Open('{')) {
        '}'
    } else if lexer.accept(Token::Open('[')) {
        ']'
    } else {
        return Ok(Vec::new());
    };
    let mut matches = vec![one_match(lexer, labels)?];
    while lexer.accept(Token::Comma) {
        matches.push(one_match(lexer, labels)?);
    }
    if lexer.accept(Token::Close(close)) { Ok(matches) } else { Err(format!("`{close}` is missing")) }
}

fn one_match(lexer: &mut Lexer<'_>, labels: &mut Labels<'_>) -> Result<Match, String> {
    let Token::Word(name) = lexer.next()? else { return Err("a label is missing".to_owned()) };
    let (label, place) = labels(name)?;
    let how = match lexer.next()? {
        Token::Operator("=" | "==") => How::Is,
        Token::Operator("!=") => How::IsNot,
        Token::Operator("~" | "=~") => How::Contains,
        _ => return Err(format!("`{label}` is followed by `=`, `!=` or `~` (contains)")),
    };
    let word = lexer.value()?.to_owned();
    let how = if how == How::Is && word == "*" { How::Any } else { how };
    Ok(Match { label, place, how, word })
}

/// `kind='oom kill'`, and more with commas between: which events.
pub(super) fn event_matches(lexer: &mut Lexer<'_>) -> Result<Vec<Match>, String> {
    let table: &'static Table = &event::TABLE;
    let mut labels = |name: &str| label_of(name, table);
    let mut matches = vec![one_match(lexer, &mut labels)?];
    while lexer.accept(Token::Comma) || lexer.accept_word("and") {
        matches.push(one_match(lexer, &mut labels)?);
    }
    Ok(matches)
}

/// The events that `matches` hold for: the text of each.
pub(super) fn events(matches: &[Match], rows: &Rows) -> Vec<String> {
    let table: &'static Table = &event::TABLE;
    let Some(of_table) = rows.tables().find(|rows| rows.table().id == table.id) else { return Vec::new() };
    let Some(typed) = of_table.typed(&event::TABLE) else { return Vec::new() };
    let chosen = (0..of_table.n_rows()).filter(|row| matches.iter().all(|m| m.holds_in(of_table, *row)));
    chosen
        .map(|row| {
            [typed.str(row, event::subject), typed.str(row, event::message)]
                .into_iter()
                .flatten()
                .collect::<Vec<_>>()
                .join(": ")
        })
        .collect()
}
