//! `/api/v1/catalogue`: the tables of a run and what their columns mean.

use fenxi_compare::BetterWord;
use fenxi_model::{Column, Keys, Section, Shape, TABLES, Table, catalog::N_COMMON};
use schemars::JsonSchema;
use serde::Serialize;

use super::{ApiError, Context, Endpoint, Query, Reply, schema};

pub(super) const CATALOGUE: Endpoint = Endpoint {
    path: "/api/v1/catalogue",
    about: "The catalogue: tables of a run, with meaning, unit and better direction of each column.",
    params: &[],
    changes: false,
    answer,
    schema: schema::of::<Catalogue>,
};

/// The tables of a run.
#[derive(JsonSchema, Serialize)]
struct Catalogue {
    tables: Vec<Described>,
}

/// A table of the catalogue.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "CatalogueTable")]
struct Described {
    name: &'static str,
    about: &'static str,
    /// Its section of reports and comparisons.
    #[schemars(extend("enum" = Section::WORDS))]
    section: &'static str,
    /// The shape of its rows.
    #[schemars(extend("enum" = Shape::WORDS))]
    shape: &'static str,
    /// Whether another run has the same keys.
    #[schemars(extend("enum" = Keys::WORDS))]
    keys_are: &'static str,
    /// Columns that distinguish rows of one host and moment.
    keys: Vec<&'static str>,
    columns: Vec<DescribedColumn>,
}

/// A column of the catalogue.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "CatalogueColumn")]
struct DescribedColumn {
    name: &'static str,
    #[serde(rename = "type")]
    ty: String,
    unit: &'static str,
    kind: String,
    #[schemars(with = "BetterWord")]
    better: String,
    doc: &'static str,
}

fn answer(_: &Context<'_>, _: &Query) -> Result<Reply, ApiError> {
    Reply::json(&Catalogue { tables: TABLES.iter().map(|t| described(t)).collect() })
}

fn described(table: &Table) -> Described {
    let column = |c: &Column| DescribedColumn {
        name: c.name,
        ty: c.ty.to_string(),
        unit: c.unit.symbol(),
        kind: c.kind.to_string(),
        better: c.better.to_string(),
        doc: c.doc,
    };
    Described {
        name: table.name,
        about: table.doc,
        section: table.section.word(),
        shape: table.shape.word(),
        keys_are: table.keys_are.word(),
        keys: table.columns.iter().skip(N_COMMON).take(table.n_keys).map(|c| c.name).collect(),
        columns: table.columns.iter().map(column).collect(),
    }
}
