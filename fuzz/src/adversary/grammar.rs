//! Makes statements: the engine's functions, over nasty values, nested, in every kind of statement.
//!
//! It knows neither servers nor files, so that whatever runs statements can be tried with it.

use fenxi_model::Random;

use super::{
    functions::{Function, Kind},
    values::{self, Paths},
};

/// Kinds of statements, and how often each comes among a hundred.
const KINDS: [(u32, Make); 16] = [
    (22, Grammar::scalars),
    (14, Grammar::table_function),
    (8, Grammar::aggregates),
    (6, Grammar::set_operation),
    (5, Grammar::with),
    (4, Grammar::pivot),
    (10, Grammar::other_statement),
    (6, Grammar::smuggled),
    (6, Grammar::reader),
    (5, Grammar::cast),
    (3, Grammar::lambda),
    (3, Grammar::deep),
    (2, Grammar::settings),
    (2, Grammar::hidden),
    (2, Grammar::heavy),
    (2, Grammar::shipped),
];

type Make = fn(&mut Grammar) -> String;

/// Tables that are there, and some that are the engine's own.
const TABLES: [&str; 14] = [
    "cpu",
    "text",
    "runs",
    "cost",
    "stats",
    "note",
    "event",
    "boot.cpu",
    "fenxi_runs",
    "information_schema.tables",
    "pg_catalog.pg_class",
    "sqlite_master",
    "duckdb_logs",
    "range(3)",
];

/// Makes one statement after the other; the same seed makes the same ones.
#[derive(Debug)]
pub struct Grammar {
    random: Random,
    functions: Vec<Function>,
    paths: Paths,
    /// Statements of shipped questions, to be changed.
    shipped: Vec<String>,
}

impl Grammar {
    /// A generator that begins with `seed`.
    pub fn new(seed: u64, functions: Vec<Function>, paths: Paths, shipped: Vec<String>) -> Grammar {
        Grammar { random: Random::new(seed), functions, paths, shipped }
    }

    /// A number below `n`.
    pub fn below(&mut self, n: usize) -> usize {
        self.random.below(n)
    }

    fn one<'t>(&mut self, of: &[&'t str]) -> &'t str {
        of[self.random.below(of.len())]
    }

    /// The next statement.
    pub fn statement(&mut self) -> String {
        let statement = self.plain();
        match self.random.below(12) {
            0 => format!("EXPLAIN {statement}"),
            1 => format!("EXPLAIN ANALYZE {statement}"),
            2 => format!("{} {statement}", self.one(&["SUMMARIZE", "DESCRIBE", "SHOW", "FROM", "("])),
            3 => self.with_noise(&statement),
            _ => statement,
        }
    }

    fn plain(&mut self) -> String {
        let mut at = self.random.below(KINDS.iter().map(|(n, _)| *n as usize).sum()) as u32;
        let made = KINDS.iter().find(|(n, _)| {
            let here = at < *n;
            at = at.saturating_sub(*n);
            here
        });
        made.map_or_else(|| "SELECT 1".to_owned(), |(_, make)| make(self))
    }

    fn value(&mut self, ty: &str) -> String {
        // Now and then of another type than what is wanted.
        let ty = if self.random.below(12) == 0 { "ANY" } else { ty };
        values::value(ty, &mut self.random, &self.paths)
    }

    fn function(&mut self, kind: Kind) -> Function {
        for _ in 0..10_000 {
            let function = &self.functions[self.random.below(self.functions.len())];
            if function.kind == kind {
                return function.clone();
            }
        }
        self.functions[0].clone()
    }

    fn arguments(&mut self, function: &Function, depth: u32) -> Vec<String> {
        let mut all = Vec::new();
        for (name, ty) in &function.params {
            if !function_takes_by_place(function, name) {
                if self.random.below(6) == 0 {
                    all.push(format!("{name} := {}", self.value(ty)));
                }
                continue;
            }
            all.push(if depth > 0 && self.random.below(4) == 0 { self.call(depth - 1) } else { self.value(ty) });
        }
        if self.random.below(15) == 0 {
            let more = self.value("ANY");
            all.push(more);
        }
        if self.random.below(20) == 0 {
            all.pop();
        }
        all
    }

    /// A call of a function in an expression.
    fn call(&mut self, depth: u32) -> String {
        let function = self.function(Kind::Scalar);
        let arguments = self.arguments(&function, depth);
        let name = function.name.as_str();
        let is_name = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
        match (is_name, arguments.as_slice()) {
            (true, _) => format!("{}({})", quoted_at_times(name, &mut self.random), arguments.join(", ")),
            (false, [a]) => format!("({name} {a})"),
            (false, [a, b, ..]) => format!("({a} {name} {b})"),
            (false, []) => format!("\"{name}\"()"),
        }
    }

    fn source(&mut self) -> String {
        match self.random.below(5) {
            0 => format!("range({})", self.one(&["1", "3", "100", "3000"])),
            1 => "(VALUES (1, 'a', NULL), (2, 'b', [1])) v(a, b, c)".to_owned(),
            2 => self.table_call(),
            _ => self.one(&TABLES).to_owned(),
        }
    }

    fn scalars(&mut self) -> String {
        let calls: Vec<String> = (0..1 + self.random.below(3)).map(|_| self.call(2)).collect();
        let mut text = format!("SELECT {}", calls.join(", "));
        if self.random.below(2) == 0 {
            text += &format!(" FROM {}", self.source());
        }
        match self.random.below(8) {
            0 => text += &format!(" WHERE {}", self.call(1)),
            1 => text += &format!(" ORDER BY {}", self.call(1)),
            2 => text += " LIMIT 3 OFFSET 1",
            3 => text += " USING SAMPLE 10%",
            _ => {}
        }
        text
    }

    fn table_call(&mut self) -> String {
        let function = self.function(Kind::Table);
        let arguments = self.arguments(&function, 1).join(", ");
        let schema = self.one(&["", "", "", "main.", "system.main.", "pg_catalog."]);
        format!("{schema}{}({arguments})", quoted_at_times(&function.name, &mut self.random))
    }

    fn table_function(&mut self) -> String {
        let call = self.table_call();
        match self.random.below(8) {
            0 => format!("FROM {call}"),
            1 => format!("SELECT count(*) FROM {call}, {}", self.source()),
            2 => format!("SELECT * FROM range(2) r, LATERAL (FROM {call})"),
            3 => format!("SELECT (FROM {call} LIMIT 1)"),
            4 => format!("CALL {call}"),
            5 => format!("SELECT * FROM {call} WITH ORDINALITY AS t"),
            _ => format!("SELECT * FROM {call}"),
        }
    }

    fn aggregates(&mut self) -> String {
        let function = self.function(Kind::Aggregate);
        let arguments = self.arguments(&function, 1).join(", ");
        let name = &function.name;
        let source = self.source();
        let inner = self.one(&["", "DISTINCT "]);
        let window = [
            "",
            " OVER ()",
            " OVER (ORDER BY 1 ROWS BETWEEN 1 PRECEDING AND UNBOUNDED FOLLOWING EXCLUDE TIES)",
            " FILTER (true)",
            " OVER (PARTITION BY 1 ORDER BY 1 RANGE BETWEEN INTERVAL 1 DAY PRECEDING AND CURRENT ROW)",
        ];
        let window = self.one(&window);
        format!("SELECT {name}({inner}{arguments}){window} FROM {source}")
    }

    fn set_operation(&mut self) -> String {
        let (a, b) = (self.scalars(), self.scalars());
        let operation = self.one(&["UNION", "UNION ALL", "UNION BY NAME", "INTERSECT ALL", "EXCEPT", "EXCEPT ALL"]);
        format!("({a}) {operation} ({b})")
    }

    fn with(&mut self) -> String {
        let inner = self.plain();
        match self.random.below(4) {
            0 => format!(
                "WITH RECURSIVE a(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM a WHERE x < {}) FROM a",
                self.value("INTEGER")
            ),
            1 => format!(
                "WITH RECURSIVE a USING KEY (x) AS (SELECT 1 AS x, 1 AS y UNION SELECT x, y FROM a) FROM a, ({inner})"
            ),
            2 => format!("WITH a AS MATERIALIZED ({inner}) SELECT * FROM a, a b"),
            _ => format!("WITH a AS ({inner}), b AS (FROM a) SELECT (SELECT count(*) FROM b)"),
        }
    }

    fn pivot(&mut self) -> String {
        let (source, function) = (self.source(), self.function(Kind::Aggregate).name);
        match self.random.below(5) {
            0 => format!("PIVOT {source} ON {} USING {function}(1)", self.call(1)),
            1 => format!("PIVOT (SELECT range % 5 AS a, range AS b FROM range(20)) ON a IN (1, 2) USING {function}(b)"),
            2 => format!("FROM {source} UNPIVOT (v FOR n IN (*))"),
            3 => format!("UNPIVOT {source} ON COLUMNS(*)"),
            _ => {
                format!("PIVOT (SELECT range % 5 AS a, range AS b FROM range(20)) ON a USING {function}(b) GROUP BY b")
            }
        }
    }

    fn other_statement(&mut self) -> String {
        if self.random.below(4) == 0 {
            let function = self.function(Kind::Pragma);
            let arguments = self.arguments(&function, 0).join(", ");
            return format!("PRAGMA {}({arguments})", function.name);
        }
        let (path, inner) = (self.paths.any(&mut self.random), self.scalars());
        let text = self.one(&values::STATEMENTS);
        text.replace("@path", &path).replace("@select", &inner)
    }

    /// One statement behind, before or within another, at places where readers of SQL disagree.
    fn smuggled(&mut self) -> String {
        let (a, b, end) = (self.other_statement(), self.scalars(), self.one(&values::ENDS));
        match self.random.below(10) {
            0 => format!("--{end}{a};\n{b}"),
            1 => format!("{b} --{end}; {a}"),
            2 => format!("{b};{end}{a}"),
            3 => format!("/* /* */ {end} */ {a}; {b}"),
            4 => format!("/*{end}/ {a}; {b} /**/"),
            5 => format!("SELECT $${end}$$; {a}; {b}"),
            6 => format!("SELECT E'\\'{end}; {a}; SELECT '"),
            7 => format!("SELECT $a${end}$b$'$a$; {a}; SELECT '"),
            8 => format!("{end}{a};{end}{b}"),
            _ => format!("SELECT \"{end}\"\"\"; {a}; {b}"),
        }
    }

    fn reader(&mut self) -> String {
        let path = self.paths.any(&mut self.random);
        let reader = self.one(&values::READERS);
        let path = match self.random.below(6) {
            0 => format!("['{path}', '{path}']"),
            1 => format!("'{}' || '{}'", &path[..path.len() / 2], &path[path.len() / 2..]),
            2 => format!("'{path}/../../{path}'"),
            _ => format!("'{path}'"),
        };
        format!("SELECT * FROM {}", reader.replace('@', &path))
    }

    fn cast(&mut self) -> String {
        let (from, to) = (self.one(&values::TYPES), self.one(&values::TYPES));
        let (value, cast) = (self.value(from), self.one(&["CAST", "TRY_CAST"]));
        let more = self.call(1);
        format!("SELECT {cast}({value} AS {to}), {more}::{from}")
    }

    fn lambda(&mut self) -> String {
        let (list, inner) = (self.value("ANY[]"), self.call(1));
        let function = self.one(&["list_transform", "list_filter", "list_reduce", "apply", "filter", "reduce"]);
        format!("SELECT {function}({list}, lambda x, y: {inner})")
    }

    /// Something that goes deep, or is long.
    fn deep(&mut self) -> String {
        let n = [10, 100, 900, 3_000, 20_000][self.random.below(5)];
        let (open, close) = values::NESTS[self.random.below(values::NESTS.len())];
        match self.random.below(3) {
            0 => format!("SELECT {}1{}", open.repeat(n), close.repeat(n)),
            1 => {
                let text = format!("repeat('[', {n}) || repeat(']', {n})");
                let function = self.function(Kind::Scalar).name;
                format!("SELECT \"{function}\"({text})")
            }
            _ => format!("SELECT 1{}", self.one(&values::CHAINS).repeat(n)),
        }
    }

    fn settings(&mut self) -> String {
        let name = self.one(&values::SETTINGS).to_owned();
        let (value, verb) = (self.value("ANY"), self.one(&["SET", "SET GLOBAL", "SET SESSION", "RESET", "PRAGMA"]));
        match self.random.below(4) {
            0 => format!("SELECT current_setting('{name}')"),
            1 => format!("SELECT set_config('{name}', {value}, false)"),
            2 => format!("{verb} {name}"),
            _ => format!("{verb} {name} = {value}"),
        }
    }

    /// A statement as a text for what runs texts.
    fn hidden(&mut self) -> String {
        let inner = self.plain().replace('\'', "''");
        match self.random.below(5) {
            0 => format!("FROM query('{inner}')"),
            1 => format!("FROM query('{inner}' || '')"),
            2 => format!("FROM json_execute_serialized_sql(json_serialize_sql('{inner}'))"),
            3 => format!("SELECT json_serialize_plan('{inner}')"),
            _ => format!("PRAGMA json_execute_serialized_sql(json_serialize_sql('{inner}'))"),
        }
    }

    fn heavy(&mut self) -> String {
        let n = self.one(&["1000", "100000", "10000000", "400000000", "2000000000"]);
        self.one(&values::HEAVY).replace('@', n)
    }

    fn shipped(&mut self) -> String {
        if self.shipped.is_empty() {
            return "SELECT 1".to_owned();
        }
        let text = self.shipped[self.random.below(self.shipped.len())].clone();
        let mut words: Vec<String> = text.split_inclusive([' ', '(', ')', ',', '\n']).map(str::to_owned).collect();
        for _ in 0..1 + self.random.below(4) {
            let at = self.random.below(words.len());
            match self.random.below(4) {
                0 => words[at] = format!("{} ", self.call(1)),
                1 => drop(words.remove(at)),
                2 => words.insert(at, format!(" {} ", self.source())),
                _ => words[at] = format!("{} ", self.value("ANY")),
            }
            if words.is_empty() {
                break;
            }
        }
        words.concat()
    }

    /// The same statement with characters put in that may mean something.
    fn with_noise(&mut self, statement: &str) -> String {
        let mut text = statement.to_owned();
        for _ in 0..1 + self.random.below(3) {
            let mut at = self.random.below(text.len() + 1);
            while !text.is_char_boundary(at) {
                at -= 1;
            }
            text.insert_str(at, self.one(&values::NOISE));
        }
        text
    }
}

/// Parameters of table functions that are called `col0` go by their place, all others by their names.
fn function_takes_by_place(function: &Function, name: &str) -> bool {
    function.kind != Kind::Table || name.is_empty() || name.starts_with("col")
}

fn quoted_at_times(name: &str, random: &mut Random) -> String {
    match random.below(20) {
        0 => format!("\"{name}\""),
        1 => name.to_uppercase(),
        _ => name.to_owned(),
    }
}
