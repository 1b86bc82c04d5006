//! Functions and operators: what each of ours is called there.

use serde_json::Value as Json;

use super::{Written, expression::template, literal, refuse, select::no_equal, word};

/// Functions that make one value of many rows.
pub(super) const AGGREGATES: [&str; 25] = [
    "any_value",
    "approx_percentile",
    "arg_max",
    "arg_min",
    "avg",
    "bool_and",
    "bool_or",
    "corr",
    "count",
    "count_star",
    "list",
    "max",
    "max_by",
    "median",
    "min",
    "min_by",
    "mode",
    "quantile_cont",
    "stddev",
    "stddev_pop",
    "stddev_samp",
    "string_agg",
    "sum",
    "var_samp",
    "wmean",
];

/// Ours and theirs. `{0}` is the first argument, `{*}` all of them.
pub(super) const FUNCTIONS: &[(&str, &str)] = &[
    // Aggregates; those that need more than a name are in `expression.rs`.
    ("approx_percentile", "percentile_approx({0}, {1}, 10000)"),
    ("avg", "avg({0})"),
    ("bool_and", "bool_and({0})"),
    ("bool_or", "bool_or({0})"),
    // Its own one divides by zero, which is an error there, where either does not vary.
    (
        "corr",
        "(covar_pop({0}, {1}) / nullif(stddev_pop(CASE WHEN {1} IS NOT NULL THEN {0} END) * stddev_pop(CASE WHEN {0} IS NOT NULL THEN {1} END), 0))",
    ),
    ("count", "count({0})"),
    ("max", "max({0})"),
    ("median", "median({0})"),
    ("min", "min({0})"),
    ("quantile_cont", "percentile({0}, {1})"),
    ("stddev", "stddev_samp({0})"),
    ("stddev_pop", "stddev_pop({0})"),
    ("stddev_samp", "stddev_samp({0})"),
    ("sum", "sum({0})"),
    ("var_samp", "var_samp({0})"),
    // Macros of ours, as `crates/engine/src/database.rs` has them for the embedded engine.
    ("wmean", "(sum({0} * {1}) / nullif(sum(CASE WHEN {0} IS NOT NULL THEN {1} END), 0))"),
    ("steady", "(round({0} * 68719476736D) / 68719476736D)"),
    (
        "is_ping",
        r"regexp_like(trim({0}), '(?i)^(select\\s+(\\?|1|\'x\'|version\\s*\\(\\s*\\)|current_timestamp|now\\s*\\(\\s*\\)|@@[a-z_.@]+|current_schema(\\s*\\(\\s*\\))?|database\\s*\\(\\s*\\)|connection_id\\s*\\(\\s*\\)|last_insert_id\\s*\\(\\s*\\))(\\s+(as\\s+\\w+|from\\s+dual))?|/\\*\\s*ping\\s*\\*/.*|ping|set\\s.*|show\\s.*|do\\s+(\\?|1)|values\\s*\\((\\?|1)\\)|discard\\s.*|reset\\s.*)\\s*;?$')",
    ),
    // Numbers.
    ("abs", "abs({0})"),
    ("ceil", "ceil({0})"),
    ("floor", "floor({0})"),
    ("greatest", "greatest({*})"),
    ("least", "least({*})"),
    ("ln", "ln({0})"),
    ("nullif", "nullif({0}, {1})"),
    ("pow", "power({0}, {1})"),
    ("power", "power({0}, {1})"),
    ("round", "round({*})"),
    ("sqrt", "sqrt({0})"),
    // Texts. `concat` passes over NULL here.
    ("chr", "chr({0})"),
    ("concat", "concat_ws('', {*})"),
    ("concat_ws", "concat_ws({*})"),
    ("contains", "contains({0}, {1})"),
    ("ends_with", "endswith({0}, {1})"),
    ("left", "left({0}, {1})"),
    ("length", "char_length({0})"),
    ("lower", "lower({0})"),
    ("ltrim", "ltrim({0})"),
    ("replace", "replace({0}, {1}, {2})"),
    ("right", "right({0}, {1})"),
    ("split_part", "split_part({0}, {1}, {2})"),
    // The separator is an expression there, and not every server knows quotation in one.
    (
        "string_split",
        r"split({0}, CASE WHEN char_length({1}) = 1 AND {1} NOT IN ('^', ']', '\\') THEN concat('[', {1}, ']') ELSE concat('\\Q', {1}, '\\E') END)",
    ),
    ("starts_with", "startswith({0}, {1})"),
    ("strpos", "instr({0}, {1})"),
    ("substr", "substr({*})"),
    ("substring", "substr({*})"),
    ("upper", "upper({0})"),
    // Times.
    ("date_trunc", "date_trunc({0}, {1})"),
    ("epoch", "(unix_micros({0}) / 1000000D)"),
    ("epoch_ms", "unix_millis({0})"),
    ("epoch_us", "unix_micros({0})"),
    ("make_timestamptz", "timestamp_micros({0})"),
    ("time_bucket", "time_bucket({0}, {1})"),
    // Lists: what is not in one has no place here, and the place 0 there.
    ("list_position", "nullif(array_position({0}, {1}), 0)"),
    ("list_value", "array({*})"),
    ("isfinite", "(NOT isnan({0}) AND abs({0}) <> double('infinity'))"),
    ("unnest", "explode({0})"),
];

/// A call: the function's name and what it is called with.
pub(super) struct Call<'a> {
    pub name: &'a str,
    pub arguments: &'a [Json],
    pub written: Vec<String>,
}

impl Call<'_> {
    /// A function of one row.
    pub(super) fn scalar(&self) -> Written {
        match self.name {
            "regexp_matches" => self.matches(),
            "regexp_extract" => self.extracted(),
            "regexp_replace" => self.replaced(),
            // There a second argument stands first, and has words around it.
            "trim" | "rtrim" if self.written.len() == 2 => {
                let side = if self.name == "trim" { "BOTH" } else { "TRAILING" };
                Ok(format!("trim({side} {} FROM {})", self.argument(1), self.argument(0)))
            }
            "trim" | "rtrim" => Ok(format!("{}({})", self.name, self.argument(0))),
            "struct_pack" => {
                let named: Vec<String> = self
                    .arguments
                    .iter()
                    .zip(&self.written)
                    .map(|(argument, written)| format!("{}, {written}", literal(word(argument, "alias"))))
                    .collect();
                Ok(format!("named_struct({})", named.join(", ")))
            }
            name => {
                let template = template(name).ok_or_else(|| refuse(&format!("the function `{name}` has no equal")))?;
                Ok(self.filled(template))
            }
        }
    }

    /// An operator between, or before, its arguments.
    pub(super) fn operator(&self) -> Written {
        let [one, two] = match self.written.as_slice() {
            [one] if matches!(self.name, "-" | "+") => return Ok(format!("({}{one})", self.name)),
            [one, two] => [one, two],
            _ => return Err(no_equal(self.name)),
        };
        Ok(match self.name {
            "+" | "-" | "*" | "%" | "||" => format!("({one} {} {two})", self.name),
            // There it is an error to divide by zero; here it is nothing, or beyond all numbers.
            "/" if self.is_nonzero(1) => format!("({one} / {two})"),
            "/" => format!("({one} / nullif({two}, 0))"),
            "//" => format!("({one} div nullif({two}, 0))"),
            "^" | "**" => format!("power({one}, {two})"),
            "~~" => format!("({one} LIKE {two})"),
            "!~~" => format!("({one} NOT LIKE {two})"),
            "~~*" => format!("({one} ILIKE {two})"),
            "!~~*" => format!("({one} NOT ILIKE {two})"),
            other => return Err(no_equal(other)),
        })
    }

    /// A template with the arguments in their places.
    fn filled(&self, template: &str) -> String {
        let mut out = String::new();
        let mut rest = template;
        while let Some((before, after)) = rest.split_once('{') {
            out += before;
            let (place, after) = after.split_once('}').unwrap_or((after, ""));
            match place.parse() {
                Ok(place) => out += self.argument(place),
                Err(_) => out += &self.written.join(", "),
            }
            rest = after;
        }
        out + rest
    }

    fn argument(&self, place: usize) -> &str {
        self.written.get(place).map_or("NULL", String::as_str)
    }

    /// Whether an argument is a number that is not zero, or is made NULL where it is.
    fn is_nonzero(&self, place: usize) -> bool {
        let Some(argument) = self.arguments.get(place) else { return false };
        match word(argument, "class") {
            "CONSTANT" => argument["value"]["value"].as_f64().is_some_and(|value| value != 0.0),
            "FUNCTION" => word(argument, "function_name") == "nullif",
            _ => false,
        }
    }

    /// The text of an argument that must be a constant.
    fn text(&self, place: usize) -> Result<&str, super::Unportable> {
        let argument = self.arguments.get(place).filter(|argument| word(argument, "class") == "CONSTANT");
        let text = argument.and_then(|argument| argument["value"]["value"].as_str());
        text.ok_or_else(|| refuse(&format!("`{}` with a pattern that is no constant has no equal", self.name)))
    }

    /// A pattern with its options, as one text.
    fn pattern(&self, place: usize, options: Option<usize>) -> Result<String, super::Unportable> {
        let pattern = self.text(place)?;
        let options = match options.filter(|place| *place < self.written.len()) {
            Some(place) => self.text(place)?.replace('g', ""),
            None => String::new(),
        };
        Ok(literal(&if options.is_empty() { pattern.to_owned() } else { format!("(?{options}){pattern}") }))
    }

    fn matches(&self) -> Written {
        Ok(format!("regexp_like({}, {})", self.argument(0), self.pattern(1, Some(2))?))
    }

    fn extracted(&self) -> Written {
        let group = if self.written.len() > 2 { self.argument(2) } else { "0" };
        Ok(format!("regexp_extract({}, {}, {group})", self.argument(0), self.pattern(1, Some(3))?))
    }

    /// Here the first match is replaced unless `g` is said, there all of them: what can match once only is the same.
    fn replaced(&self) -> Written {
        let is_all = self.written.len() > 3 && self.text(3)?.contains('g');
        let pattern = self.text(1)?;
        if !is_all && !pattern.starts_with('^') && !pattern.ends_with('$') {
            return Err(refuse("`regexp_replace` of the first match only has no equal"));
        }
        let by = self.text(2)?.replace('\\', "$");
        Ok(format!("regexp_replace({}, {}, {})", self.argument(0), self.pattern(1, Some(3))?, literal(&by)))
    }
}
