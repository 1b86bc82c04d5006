//! Expressions.

use fenxi_query::Value;
use serde_json::Value as Json;

use super::{
    Place, Writer, Written,
    functions::{AGGREGATES, Call, FUNCTIONS},
    is, list, literal, quoted, refuse,
    select::no_equal,
    word,
};

impl Writer<'_> {
    pub(super) fn expression(&self, node: &Json) -> Written {
        match word(node, "class") {
            "COLUMN_REF" => {
                let names: Vec<String> =
                    list(node, "column_names").iter().filter_map(Json::as_str).map(quoted).collect();
                Ok(names.join("."))
            }
            "CONSTANT" => constant(&node["value"]),
            "PARAMETER" => self.parameter(word(node, "identifier")),
            "COMPARISON" => self.comparison(node),
            "CONJUNCTION" => {
                let joint = if word(node, "type") == "CONJUNCTION_AND" { " AND " } else { " OR " };
                Ok(format!("({})", self.all(node, "children")?.join(joint)))
            }
            "OPERATOR" => self.operator(node),
            "FUNCTION" => self.function(node),
            "WINDOW" => self.window(node),
            "CASE" => self.case(node),
            "CAST" => self.cast(node),
            "BETWEEN" => {
                let [input, lower, upper] =
                    [&node["input"], &node["lower"], &node["upper"]].map(|e| self.expression(e));
                Ok(format!("({} BETWEEN {} AND {})", input?, lower?, upper?))
            }
            "SUBQUERY" => self.subquery(node),
            "STAR" => self.star(node),
            other => Err(no_equal(other)),
        }
    }

    /// All of a list.
    pub(super) fn all(&self, node: &Json, member: &str) -> Result<Vec<String>, super::Unportable> {
        list(node, member).iter().map(|e| self.expression(e)).collect()
    }

    fn parameter(&self, name: &str) -> Written {
        match self.params.iter().find(|(known, _)| known.eq_ignore_ascii_case(name)) {
            Some((_, Value::Int(v))) => Ok(v.to_string()),
            Some((_, Value::Float(v))) => Ok(double(*v)),
            Some((_, Value::Text(v))) => Ok(literal(v)),
            None => Err(refuse(&format!("there is no value for `${name}`"))),
        }
    }

    fn comparison(&self, node: &Json) -> Written {
        let sign = match word(node, "type") {
            "COMPARE_EQUAL" => "=",
            "COMPARE_NOTEQUAL" => "<>",
            "COMPARE_LESSTHAN" => "<",
            "COMPARE_GREATERTHAN" => ">",
            "COMPARE_LESSTHANOREQUALTO" => "<=",
            "COMPARE_GREATERTHANOREQUALTO" => ">=",
            "COMPARE_DISTINCT_FROM" => "IS DISTINCT FROM",
            "COMPARE_NOT_DISTINCT_FROM" => "IS NOT DISTINCT FROM",
            other => return Err(no_equal(other)),
        };
        Ok(format!("({} {sign} {})", self.expression(&node["left"])?, self.expression(&node["right"])?))
    }

    fn operator(&self, node: &Json) -> Written {
        let children = self.all(node, "children")?;
        let one = children.first().cloned().unwrap_or_default();
        Ok(match word(node, "type") {
            "OPERATOR_COALESCE" => format!("coalesce({})", children.join(", ")),
            "OPERATOR_NULLIF" => format!("nullif({})", children.join(", ")),
            "OPERATOR_IS_NULL" => format!("({one} IS NULL)"),
            "OPERATOR_IS_NOT_NULL" => format!("({one} IS NOT NULL)"),
            "OPERATOR_NOT" => format!("(NOT {one})"),
            "COMPARE_IN" => format!("({one} IN ({}))", children[1..].join(", ")),
            "COMPARE_NOT_IN" => format!("({one} NOT IN ({}))", children[1..].join(", ")),
            // Counted from one in both, and NULL where there is none.
            "ARRAY_EXTRACT" => format!("try_element_at({})", children.join(", ")),
            other => return Err(no_equal(other)),
        })
    }

    fn case(&self, node: &Json) -> Written {
        let mut out = "CASE".to_owned();
        for check in list(node, "case_checks") {
            let (when, then) = (self.expression(&check["when_expr"])?, self.expression(&check["then_expr"])?);
            out += &format!(" WHEN {when} THEN {then}");
        }
        Ok(out + &format!(" ELSE {} END", self.expression(&node["else_expr"])?))
    }

    fn cast(&self, node: &Json) -> Written {
        let child = self.expression(&node["child"])?;
        let (ty, value) = match word(&node["cast_type"], "id") {
            "VARCHAR" => ("STRING", child),
            "BOOLEAN" => ("BOOLEAN", child),
            "DOUBLE" => ("DOUBLE", child),
            // A number is rounded here and cut there.
            "BIGINT" if !is(node, "try_cast") => ("BIGINT", format!("round({child})")),
            "BIGINT" => ("BIGINT", child),
            "TIMESTAMP WITH TIME ZONE" => ("TIMESTAMP", child),
            other => return Err(refuse(&format!("a cast to {other} has no equal"))),
        };
        Ok(format!("{}({value} AS {ty})", if is(node, "try_cast") { "try_cast" } else { "CAST" }))
    }

    fn subquery(&self, node: &Json) -> Written {
        let query = self.query(&node["subquery"]["node"], Place::Within)?;
        Ok(match word(node, "subquery_type") {
            "SCALAR" => format!("({query})"),
            "EXISTS" => format!("EXISTS ({query})"),
            "NOT_EXISTS" => format!("NOT EXISTS ({query})"),
            "ANY" if word(node, "comparison_type") == "COMPARE_EQUAL" => {
                format!("({} IN ({query}))", self.expression(&node["child"])?)
            }
            other => return Err(no_equal(other)),
        })
    }

    fn star(&self, node: &Json) -> Written {
        if is(node, "columns") || !list(node, "replace_list").is_empty() || !list(node, "rename_list").is_empty() {
            return Err(refuse("COLUMNS, REPLACE and RENAME have no equal"));
        }
        let of = match word(node, "relation_name") {
            "" => String::new(),
            relation => format!("{}.", quoted(relation)),
        };
        let without: Vec<String> = list(node, "exclude_list").iter().filter_map(Json::as_str).map(quoted).collect();
        Ok(if without.is_empty() { format!("{of}*") } else { format!("{of}* EXCEPT ({})", without.join(", ")) })
    }

    fn function(&self, node: &Json) -> Written {
        let name = word(node, "function_name");
        let arguments = list(node, "children");
        if !matches!(word(node, "schema"), "" | "main") {
            return Err(refuse(&format!("the function `{name}` has no equal")));
        }
        let call = Call { name, arguments, written: self.all(node, "children")? };
        if is(node, "is_operator") {
            return call.operator();
        }
        let condition = match &node["filter"] {
            filter if filter.is_object() => Some(self.expression(filter)?),
            _ => None,
        };
        let orders = list(&node["order_bys"], "orders");
        if AGGREGATES.contains(&name) {
            return self.aggregate(&call, is(node, "distinct"), condition, orders);
        }
        if condition.is_some() || !orders.is_empty() || is(node, "distinct") {
            return Err(refuse(&format!("the function `{name}` is no aggregate there")));
        }
        call.scalar()
    }

    fn aggregate(&self, call: &Call<'_>, distinct: bool, condition: Option<String>, orders: &[Json]) -> Written {
        let mut conditions: Vec<String> = condition.into_iter().collect();
        let of = call.written.join(", ");
        let distinct = if distinct { "DISTINCT " } else { "" };
        let mut out = match call.name {
            "list" => self.collected(&call.written, orders)?,
            "string_agg" => {
                let within = match orders {
                    [] => String::new(),
                    orders => format!(" WITHIN GROUP (ORDER BY {})", self.orders(orders)?),
                };
                format!("listagg({distinct}{of}){within}")
            }
            _ if !orders.is_empty() => return Err(refuse(&format!("ORDER BY within `{}` has no equal", call.name))),
            // Here they pass over rows without a value, there they do not.
            "max_by" | "arg_max" | "min_by" | "arg_min" => {
                conditions.push(format!("{} IS NOT NULL", call.written.first().map_or("", String::as_str)));
                format!("{}({of})", if call.name.contains("max") { "max_by" } else { "min_by" })
            }
            "any_value" => format!("any_value({of}, true)"),
            // Among values that are equally frequent the smallest one; otherwise any.
            "mode" => format!("mode({of}, true)"),
            "count_star" => "count(*)".to_owned(),
            "count" if call.written.is_empty() => "count(*)".to_owned(),
            _ if distinct.is_empty() => call.scalar()?,
            name => format!("{name}({distinct}{of})"),
        };
        if !conditions.is_empty() {
            // A list was wrapped already.
            let filter = format!(" FILTER (WHERE {})", conditions.join(" AND "));
            match call.name {
                "list" | "wmean" | "corr" | "approx_percentile" => {
                    return Err(refuse(&format!("FILTER beside `{}` has no equal", call.name)));
                }
                _ => out += &filter,
            }
        }
        Ok(out)
    }

    /// A list of all values, NULL ones too, in an order. Values are wrapped, for there NULL is left out of lists.
    fn collected(&self, written: &[String], orders: &[Json]) -> Written {
        let value = written.first().map_or("", String::as_str);
        if orders.is_empty() {
            return Ok(format!("transform(collect_list(named_struct('v', {value})), e -> e.v)"));
        }
        let (mut keys, mut less) = (String::new(), String::new());
        for (i, order) in orders.iter().enumerate() {
            keys += &format!("'k{i}', {}, ", self.expression(&order["expression"])?);
            let (first, second) = if word(order, "type") == "DESCENDING" { (1, -1) } else { (-1, 1) };
            less += &format!(
                " WHEN a.k{i} IS NULL AND b.k{i} IS NOT NULL THEN 1 WHEN a.k{i} IS NOT NULL AND b.k{i} IS NULL THEN -1 \
                 WHEN a.k{i} < b.k{i} THEN {first} WHEN a.k{i} > b.k{i} THEN {second}"
            );
        }
        Ok(format!(
            "transform(array_sort(collect_list(named_struct({keys}'v', {value})), (a, b) -> CASE{less} ELSE 0 END), e -> e.v)"
        ))
    }

    fn window(&self, node: &Json) -> Written {
        let arguments = self.all(node, "children")?;
        let condition = match &node["filter_expr"] {
            filter if filter.is_object() => Some(self.expression(filter)?),
            _ => None,
        };
        if word(node, "exclude_clause") != "NO_OTHER" || !list(node, "arg_orders").is_empty() {
            return Err(refuse("EXCLUDE and ORDER BY within a window's function have no equal"));
        }
        let of = arguments.join(", ");
        let called = match (word(node, "type"), word(node, "function_name")) {
            ("WINDOW_AGGREGATE", name) => windowed(name, of, is(node, "distinct"), condition)?,
            ("WINDOW_ROW_NUMBER", _) => "row_number()".to_owned(),
            ("WINDOW_RANK", _) => "rank()".to_owned(),
            ("WINDOW_RANK_DENSE", _) => "dense_rank()".to_owned(),
            ("WINDOW_LAG", _) => format!("lag({of})"),
            ("WINDOW_LEAD", _) => format!("lead({of})"),
            ("WINDOW_FIRST_VALUE", _) => format!("first_value({of})"),
            ("WINDOW_LAST_VALUE", _) => format!("last_value({of})"),
            (other, _) => return Err(no_equal(other)),
        };
        let mut over = Vec::new();
        let by = self.all(node, "partitions")?;
        if !by.is_empty() {
            over.push(format!("PARTITION BY {}", by.join(", ")));
        }
        if !list(node, "orders").is_empty() {
            over.push(format!("ORDER BY {}", self.orders(list(node, "orders"))?));
        }
        match (word(node, "start"), word(node, "end")) {
            // The default of both.
            ("UNBOUNDED_PRECEDING", "CURRENT_ROW_RANGE") => {}
            ("UNBOUNDED_PRECEDING", "CURRENT_ROW_ROWS") => {
                over.push("ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW".to_owned());
            }
            _ => return Err(refuse("this frame of a window has no equal")),
        }
        let over = format!(" OVER ({})", over.join(" "));
        // A count of different values there is the size of a set of them.
        Ok(if called.starts_with("collect_set") { format!("size({called}{over})") } else { called + &over })
    }
}

/// An aggregate over a window. Not every server of the protocol has FILTER there.
fn windowed(name: &str, of: String, distinct: bool, condition: Option<String>) -> Written {
    let chosen = |of: &str| match &condition {
        Some(condition) => format!("CASE WHEN {condition} THEN {of} END"),
        None => of.to_owned(),
    };
    match (name, distinct) {
        ("count_star" | "count", false) if of.is_empty() => Ok(match condition {
            Some(_) => format!("count({})", chosen("1")),
            None => "count(*)".to_owned(),
        }),
        ("count", true) => Ok(format!("collect_set({})", chosen(&of))),
        ("sum" | "min" | "max" | "avg" | "count" | "median", false) => Ok(format!("{name}({})", chosen(&of))),
        // Over windows there are no others of truths in every server; false is less than true.
        ("bool_or", false) => Ok(format!("max({})", chosen(&of))),
        ("bool_and", false) => Ok(format!("min({})", chosen(&of))),
        _ => Err(refuse(&format!("the function `{name}` over a window has no equal"))),
    }
}

/// Whether an expression holds an aggregate.
pub(super) fn aggregates(node: &Json) -> bool {
    match node {
        Json::Object(members) => {
            let is_one = word(node, "class") == "FUNCTION" && AGGREGATES.contains(&word(node, "function_name"));
            // Aggregates of a query within or of a window are its own.
            is_one || !matches!(word(node, "class"), "SUBQUERY" | "WINDOW") && members.values().any(aggregates)
        }
        Json::Array(all) => all.iter().any(aggregates),
        _ => false,
    }
}

fn constant(value: &Json) -> Written {
    let held = &value["value"];
    if is(value, "is_null") {
        return Ok("NULL".to_owned());
    }
    match word(&value["type"], "id") {
        "VARCHAR" => Ok(literal(held.as_str().unwrap_or_default())),
        "TINYINT" | "SMALLINT" | "INTEGER" => Ok(held.to_string()),
        "BIGINT" => Ok(format!("{held}L")),
        "BOOLEAN" => Ok(held.to_string()),
        "DOUBLE" | "FLOAT" => held.as_f64().map(double).ok_or_else(|| refuse("a number is too large")),
        // Results computed with them are doubles.
        "DECIMAL" => {
            let scale = value["type"]["type_info"]["scale"].as_u64().unwrap_or(0) as usize;
            let digits = whole(held).ok_or_else(|| refuse("a number has too many digits"))?;
            let text = format!("{:0>1$}", digits.unsigned_abs(), scale + 1);
            let (whole, rest) = text.split_at(text.len() - scale);
            let sign = if digits < 0 { "-" } else { "" };
            Ok(format!("{sign}{whole}.{}D", if rest.is_empty() { "0" } else { rest }))
        }
        other => Err(refuse(&format!("a constant of the type {other} has no equal"))),
    }
}

/// A whole number, which is in two halves where it has more than 64 bits.
fn whole(held: &Json) -> Option<i128> {
    let halves = || Some(i128::from(held["upper"].as_i64()?) << 64 | i128::from(held["lower"].as_u64()?));
    held.as_i64().map(i128::from).or_else(halves)
}

/// A number as Spark reads it.
pub(super) fn double(value: f64) -> String {
    if value.is_finite() { format!("{value:?}D") } else { format!("CAST('{value}' AS DOUBLE)") }
}

/// Template of the function of this name, where it is a plain one.
pub(super) fn template(name: &str) -> Option<&'static str> {
    FUNCTIONS.iter().find(|(known, _)| *known == name).map(|(_, template)| *template)
}
