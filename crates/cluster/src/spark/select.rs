//! Queries: from SELECT to LIMIT, and the relations after FROM.

use serde_json::Value as Json;

use super::{Place, Unportable, Writer, Written, is, list, quoted, refuse, word};

/// The column that decides whether a row stays, where QUALIFY is no word.
const STAYS: &str = "fenxi_stays";
/// Prefix of the names of columns that only an order needs.
const ORDER: &str = "fenxi_order_";

/// A query around another one: where rows are chosen by QUALIFY, and where an order or HAVING looks at more than
/// columns. There names in these are taken for the answer's columns first, here for those of the tables.
struct Outer<'a> {
    is_needed: bool,
    /// The condition that decides whether a row stays.
    stays: Option<&'a Json>,
    /// Whether that is HAVING.
    takes_having: bool,
    /// Orders by what is no column of the answer.
    hidden: Vec<&'a Json>,
    /// The columns that it gives; None where one has no name.
    kept: Option<String>,
}

impl<'a> Outer<'a> {
    fn of(node: &'a Json, place: Place) -> Outer<'a> {
        let items = list(node, "select_list");
        let is_star = items.iter().any(|item| word(item, "class") == "STAR");
        let (qualify, having) = (&node["qualify"], &node["having"]);
        let kept = kept(items, &node["from_table"], place);
        let is_column = |order: &Json| matches!(word(&order["expression"], "class"), "COLUMN_REF" | "CONSTANT");
        let orders = || {
            let modifiers = list(node, "modifiers").iter().filter(|m| word(m, "type") == "ORDER_MODIFIER");
            modifiers.flat_map(|modifier| list(modifier, "orders"))
        };
        let can = kept.is_some() && !is_star;
        let takes_having = can && having.is_object() && !qualify.is_object() && mentions_alias(having, items);
        let is_needed = qualify.is_object() || takes_having || can && orders().any(|order| !is_column(order));
        let stays = if takes_having { Some(having) } else { Some(qualify).filter(|q| q.is_object()) };
        let hidden = if is_needed && !is_star {
            orders().filter(|order| !is_output(&order["expression"], items)).collect()
        } else {
            Vec::new()
        };
        Outer { is_needed, stays, takes_having, hidden, kept }
    }
}

/// Whether an expression is a column of the answer.
fn is_output(by: &Json, items: &[Json]) -> bool {
    match (word(by, "class"), list(by, "column_names")) {
        ("CONSTANT", _) => true,
        ("COLUMN_REF", [name]) => items.iter().any(|item| output_name(item) == name.as_str()),
        ("COLUMN_REF", names) => {
            items.iter().any(|item| word(item, "alias").is_empty() && list(item, "column_names") == names)
        }
        _ => false,
    }
}

/// Whether an expression has a column of the name of another expression in the answer.
fn mentions_alias(node: &Json, items: &[Json]) -> bool {
    match node {
        Json::Object(members) => {
            let named = list(node, "column_names").last();
            let is_one =
                named.is_some_and(|name| items.iter().any(|item| word(item, "alias") == name.as_str().unwrap_or("\0")));
            is_one || members.values().any(|member| mentions_alias(member, items))
        }
        Json::Array(all) => all.iter().any(|one| mentions_alias(one, items)),
        _ => false,
    }
}

/// The columns of `table.* EXCLUDE (…)` one by one, where the catalogue has the table: not every server of the
/// protocol has a word for it.
fn expanded(item: &Json, from: &Json) -> Option<Vec<String>> {
    if word(item, "class") != "STAR" || list(item, "exclude_list").is_empty() {
        return None;
    }
    let of = match word(item, "relation_name") {
        "" => String::new(),
        relation => quoted(relation) + ".",
    };
    Some(star_columns(item, from)?.map(|name| format!("{of}{}", quoted(name))).collect())
}

/// The names of the columns of `table.*`, or of `*` over one table, where the catalogue has it.
fn star_columns<'a>(item: &'a Json, from: &Json) -> Option<impl Iterator<Item = &'static str> + 'a> {
    let relation = match word(item, "relation_name") {
        "" if word(from, "type") == "BASE_TABLE" => called(from),
        relation => relation,
    };
    let table = fenxi_model::table(&base_table(from, relation)?)?;
    let names = std::iter::once("run").chain(table.columns.iter().map(|column| column.name));
    let without = list(item, "exclude_list");
    Some(names.filter(move |name| !without.iter().any(|excluded| excluded.as_str() == Some(*name))))
}

/// Name of a table behind FROM.
fn called(table: &Json) -> &str {
    match word(table, "alias") {
        "" => word(table, "table_name"),
        alias => alias,
    }
}

/// The table that is called `relation` behind FROM.
fn base_table(from: &Json, relation: &str) -> Option<String> {
    match word(from, "type") {
        "BASE_TABLE" => (called(from) == relation).then(|| word(from, "table_name").to_owned()),
        "JOIN" => base_table(&from["left"], relation).or_else(|| base_table(&from["right"], relation)),
        _ => None,
    }
}

/// An order. NULL comes last here in either direction, there in neither of the two by default.
fn ordered(order: &Json, by: &str) -> String {
    let direction = if word(order, "type") == "DESCENDING" { "DESC" } else { "ASC" };
    let nulls = if word(order, "null_order") == "NULLS_FIRST" { "FIRST" } else { "LAST" };
    format!("{by} {direction} NULLS {nulls}")
}

impl Writer<'_> {
    /// A query with what goes before and after it.
    pub(super) fn query(&self, node: &Json, place: Place) -> Written {
        let mut out = self.common(node)?;
        match word(node, "type") {
            "SELECT_NODE" => out += &self.select(node, place)?,
            "SET_OPERATION_NODE" => {
                out += &self.set_operation(node, place)?;
                out += &self.modifiers(node)?;
            }
            other => return Err(refuse(&format!("{} has no equal", readable(other)))),
        }
        Ok(out)
    }

    /// WITH and its queries.
    fn common(&self, node: &Json) -> Written {
        let mut parts = Vec::new();
        for entry in list(&node["cte_map"], "map") {
            let value = &entry["value"];
            let columns = names(list(value, "aliases"));
            let query = self.query(&value["query"]["node"], Place::Within)?;
            parts.push(format!("{}{columns} AS ({query})", quoted(word(entry, "key"))));
        }
        Ok(if parts.is_empty() { String::new() } else { format!("WITH {} ", parts.join(", ")) })
    }

    fn select(&self, node: &Json, place: Place) -> Written {
        if node["sample"].is_object() {
            return Err(refuse("a sample has no equal"));
        }
        let items = list(node, "select_list");
        let from = &node["from_table"];
        let mut written = Vec::with_capacity(items.len());
        for item in items {
            match expanded(item, from) {
                Some(columns) => written.extend(columns),
                None => written.push(self.item(item)?),
            }
        }
        let distinct = match list(node, "modifiers").iter().find(|m| word(m, "type") == "DISTINCT_MODIFIER") {
            None => "",
            Some(on) if !list(on, "distinct_on_targets").is_empty() => {
                return Err(refuse("DISTINCT ON has no equal"));
            }
            Some(_) => "DISTINCT ",
        };
        let outer = Outer::of(node, place);
        if outer.is_needed && !distinct.is_empty() {
            return Err(refuse("DISTINCT beside QUALIFY or an order of expressions has no equal"));
        }
        if let Some(condition) = outer.stays {
            written.push(format!("({}) AS {STAYS}", self.expression(condition)?));
        }
        for (i, order) in outer.hidden.iter().enumerate() {
            written.push(format!("{} AS {ORDER}{i}", self.expression(&order["expression"])?));
        }
        let mut out = format!("SELECT {distinct}{}", written.join(", "));
        if word(from, "type") != "EMPTY" {
            out += &format!(" FROM {}", self.from(from)?);
        }
        if node["where_clause"].is_object() {
            out += &format!(" WHERE {}", self.expression(&node["where_clause"])?);
        }
        out += &self.groups(node)?;
        if node["having"].is_object() && !outer.takes_having {
            out += &format!(" HAVING {}", self.expression(&node["having"])?);
        }
        if !outer.is_needed {
            return Ok(out + &self.modifiers(node)?);
        }
        let kept = outer.kept.as_ref().ok_or_else(|| refuse("QUALIFY beside a column without a name has no equal"))?;
        out = format!("SELECT {kept} FROM ({out}) AS fenxi_inner");
        if outer.stays.is_some() {
            out += &format!(" WHERE {STAYS}");
        }
        Ok(out + &self.outer_modifiers(node, &outer)?)
    }

    /// ORDER BY and LIMIT of a query around the one that they were written for.
    fn outer_modifiers(&self, node: &Json, outer: &Outer<'_>) -> Written {
        let mut out = String::new();
        for modifier in list(node, "modifiers") {
            if word(modifier, "type") != "ORDER_MODIFIER" {
                continue;
            }
            let mut parts = Vec::new();
            for order in list(modifier, "orders") {
                let hidden = outer.hidden.iter().position(|hidden| std::ptr::eq(*hidden, order));
                let by = match (hidden, list(&order["expression"], "column_names").last().and_then(Json::as_str)) {
                    (Some(place), _) => format!("{ORDER}{place}"),
                    (None, Some(name)) => quoted(name),
                    (None, None) => self.expression(&order["expression"])?,
                };
                parts.push(ordered(order, &by));
            }
            out += &format!(" ORDER BY {}", parts.join(", "));
        }
        Ok(out + &self.limits(node)?)
    }

    /// A column of a query with its name.
    fn item(&self, item: &Json) -> Written {
        let written = self.expression(item)?;
        let alias = word(item, "alias");
        Ok(if alias.is_empty() { written } else { format!("{written} AS {}", quoted(alias)) })
    }

    fn groups(&self, node: &Json) -> Written {
        let by = list(node, "group_expressions");
        match word(node, "aggregate_handling") {
            "STANDARD_HANDLING" | "" => {}
            // Not every server of the protocol has GROUP BY ALL: the columns that hold no aggregate are counted.
            "FORCE_AGGREGATES" => {
                let items = list(node, "select_list");
                let plain: Vec<String> = (1..)
                    .zip(items)
                    .filter(|(_, item)| !super::expression::aggregates(item))
                    .map(|(place, _): (usize, _)| place.to_string())
                    .collect();
                return Ok(if plain.is_empty() { String::new() } else { format!(" GROUP BY {}", plain.join(", ")) });
            }
            other => return Err(refuse(&format!("{} has no equal", readable(other)))),
        }
        if list(node, "group_sets").len() > 1 {
            return Err(refuse("several groupings at once have no equal"));
        }
        let by: Vec<String> = by.iter().map(|e| self.expression(e)).collect::<Result<_, _>>()?;
        Ok(if by.is_empty() { String::new() } else { format!(" GROUP BY {}", by.join(", ")) })
    }

    fn set_operation(&self, node: &Json, place: Place) -> Written {
        let kind = match word(node, "setop_type") {
            kind @ ("UNION" | "EXCEPT" | "INTERSECT") => kind,
            other => return Err(refuse(&format!("{} has no equal", readable(other)))),
        };
        let all = if is(node, "setop_all") { " ALL" } else { "" };
        let mut sides = Vec::new();
        for side in ["left", "right"] {
            let written = self.query(&node[side], place)?;
            let is_plain = word(&node[side], "type") == "SELECT_NODE"
                && list(&node[side], "modifiers").iter().all(|m| word(m, "type") == "DISTINCT_MODIFIER")
                && list(&node[side]["cte_map"], "map").is_empty();
            // From the left they are put together anyway.
            let is_same = side == "left"
                && node[side]["setop_type"] == node["setop_type"]
                && node[side]["setop_all"] == node["setop_all"]
                && list(&node[side], "modifiers").is_empty();
            sides.push(if is_plain || is_same { written } else { format!("({written})") });
        }
        Ok(sides.join(&format!(" {kind}{all} ")))
    }

    /// ORDER BY and LIMIT.
    fn modifiers(&self, node: &Json) -> Written {
        let mut out = String::new();
        for modifier in list(node, "modifiers") {
            match word(modifier, "type") {
                "ORDER_MODIFIER" => out += &format!(" ORDER BY {}", self.orders(list(modifier, "orders"))?),
                "LIMIT_MODIFIER" | "DISTINCT_MODIFIER" => {}
                other => return Err(no_equal(other)),
            }
        }
        Ok(out + &self.limits(node)?)
    }

    fn limits(&self, node: &Json) -> Written {
        let mut out = String::new();
        for modifier in list(node, "modifiers").iter().filter(|m| word(m, "type") == "LIMIT_MODIFIER") {
            for (member, name) in [("limit", "LIMIT"), ("offset", "OFFSET")] {
                if modifier[member].is_object() {
                    out += &format!(" {name} {}", self.expression(&modifier[member])?);
                }
            }
        }
        Ok(out)
    }

    /// Expressions that rows are ordered by.
    pub(super) fn orders(&self, orders: &[Json]) -> Written {
        let mut parts = Vec::with_capacity(orders.len());
        for order in orders {
            let by = &order["expression"];
            if word(by, "class") == "STAR" {
                return Err(refuse("ORDER BY ALL has no equal"));
            }
            parts.push(ordered(order, &self.expression(by)?));
        }
        Ok(parts.join(", "))
    }

    fn from(&self, node: &Json) -> Written {
        match word(node, "type") {
            "BASE_TABLE" => {
                let name = word(node, "table_name");
                // A name of two parts is none of a table that goes with a statement.
                let name = match word(node, "schema_name") {
                    "" => quoted(name),
                    schema => quoted(&apart(schema, name)),
                };
                Ok(format!("{name}{}", alias(node)))
            }
            "SUBQUERY" => {
                let query = self.query(&node["subquery"]["node"], Place::Within)?;
                Ok(format!("({query}){}", alias(node)))
            }
            "JOIN" => self.join(node),
            "TABLE_FUNCTION" => Err(refuse("a function behind FROM has no equal")),
            other => Err(refuse(&format!("{} behind FROM has no equal", readable(other)))),
        }
    }

    fn join(&self, node: &Json) -> Written {
        let (left, right) = (self.from(&node["left"])?, self.from(&node["right"])?);
        let right = if word(&node["right"], "type") == "JOIN" { format!("({right})") } else { right };
        let kind = match (word(node, "ref_type"), word(node, "join_type")) {
            ("CROSS", _) => return Ok(format!("{left} CROSS JOIN {right}")),
            ("REGULAR", "INNER") => "JOIN",
            ("REGULAR", "LEFT") => "LEFT JOIN",
            ("REGULAR", "RIGHT") => "RIGHT JOIN",
            ("REGULAR", "OUTER" | "FULL") => "FULL JOIN",
            ("REGULAR", "SEMI") => "LEFT SEMI JOIN",
            ("REGULAR", "ANTI") => "LEFT ANTI JOIN",
            (form, _) => return Err(refuse(&format!("a join of the form {} has no equal", readable(form)))),
        };
        let using = names(list(node, "using_columns"));
        let on = match (using.as_str(), node["condition"].is_object()) {
            ("", true) => format!(" ON {}", self.expression(&node["condition"])?),
            ("", false) => String::new(),
            (using, _) => format!(" USING {using}"),
        };
        Ok(format!("{left} {kind} {right}{on}"))
    }
}

/// The name of a table that is kept apart under `schema`, in one part.
pub(crate) fn apart(schema: &str, name: &str) -> String {
    format!("{schema}_{name}")
}

/// Columns that a query behind QUALIFY gives of the one within; None where a column has no name.
fn kept(items: &[Json], from: &Json, place: Place) -> Option<String> {
    let is_star = |item: &Json| word(item, "class") == "STAR";
    // Within a statement one column more does no harm; at its end it would be seen.
    if place == Place::Within && items.iter().any(is_star) {
        return Some("*".to_owned());
    }
    let mut names = Vec::with_capacity(items.len());
    for item in items {
        match (is_star(item), star_columns(item, from)) {
            (true, Some(columns)) => names.extend(columns.map(quoted)),
            // The catalogue has no such table.
            (true, None) => return Some(format!("* EXCEPT ({STAYS})")),
            (false, _) => names.push(quoted(output_name(item)?)),
        }
    }
    Some(names.join(", "))
}

/// The name of a column of a query, where it has its own.
fn output_name(item: &Json) -> Option<&str> {
    match (word(item, "alias"), word(item, "class")) {
        ("", "COLUMN_REF") => list(item, "column_names").last()?.as_str(),
        ("", _) => None,
        (alias, _) => Some(alias),
    }
}

/// AS and a name, where there is one, with names of columns.
fn alias(node: &Json) -> String {
    match word(node, "alias") {
        "" => String::new(),
        alias => format!(" AS {}{}", quoted(alias), names(list(node, "column_name_alias"))),
    }
}

/// Names between parentheses; empty where there are none.
fn names(of: &[Json]) -> String {
    let names: Vec<String> = of.iter().filter_map(Json::as_str).map(quoted).collect();
    if names.is_empty() { String::new() } else { format!("({})", names.join(", ")) }
}

/// A word of the tree for people.
pub(super) fn readable(word: &str) -> String {
    match word {
        "" => "an unnamed part".to_owned(),
        word => format!("`{}`", word.to_lowercase().replace('_', " ")),
    }
}

/// Why a part cannot be written.
pub(super) fn no_equal(what: &str) -> Unportable {
    refuse(&format!("{} has no equal", readable(what)))
}
