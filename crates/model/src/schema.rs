//! Arrow schemas from the catalogue: what an engine sees of a table.
#![allow(clippy::disallowed_types, reason = "Arrow's metadata is a map of this type")]

use std::{
    collections::HashMap,
    sync::{Arc, OnceLock},
};

use arrow_schema::{DataType, Field, FieldRef, Schema, TimeUnit};

use crate::{Column, TABLES, Table, Type, fnv::fnv1a};

/// The Arrow type of a column as it is stored in Parquet and streamed.
fn data_type(ty: Type) -> DataType {
    match ty {
        Type::F64 => DataType::Float64,
        Type::I64 => DataType::Int64,
        Type::Label => DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8)),
        Type::Text => DataType::Utf8,
        Type::Time => DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into())),
    }
}

fn field(column: &Column) -> Field {
    let metadata = [
        ("unit", column.unit.symbol().to_owned()),
        ("kind", column.kind.to_string()),
        ("better", column.better.to_string()),
        ("doc", column.doc.to_owned()),
    ];
    // arrow-schema asks for the standard map here; it is made once per column of the catalogue.
    let metadata: HashMap<String, String> = metadata.into_iter().map(|(k, v)| (k.to_owned(), v)).collect();
    Field::new(column.name, data_type(column.ty), true).with_metadata(metadata)
}

/// The fields of all columns of `table`: many short inputs have a schema each, and most of one is its words.
fn fields(table: &Table) -> Arc<[FieldRef]> {
    static MADE: OnceLock<Vec<OnceLock<Arc<[FieldRef]>>>> = OnceLock::new();
    let make = || table.columns.iter().map(|column| Arc::new(field(column))).collect();
    let all = MADE.get_or_init(|| TABLES.iter().map(|_| OnceLock::new()).collect());
    // A table that is not the catalogue's own, as tests make them, is no entry of it.
    match TABLES.get(table.id as usize).filter(|known| std::ptr::eq(**known, table)) {
        Some(_) => Arc::clone(all[table.id as usize].get_or_init(make)),
        None => make(),
    }
}

/// The Arrow schema of `table` with only the columns at `places` (all of them: `0..columns.len()`).
///
/// Field metadata: `unit`, `kind`, `better`, `doc`; schema metadata: `table`, `doc`.
pub fn schema_of(table: &Table, places: impl IntoIterator<Item = usize>) -> Arc<Schema> {
    let all = fields(table);
    let fields: Vec<FieldRef> = places.into_iter().map(|i| Arc::clone(&all[i])).collect();
    let metadata =
        HashMap::from([("table".to_owned(), table.name.to_owned()), ("doc".to_owned(), table.doc.to_owned())]);
    Arc::new(Schema::new_with_metadata(fields, metadata))
}

/// A short text that is the same for two schemas with the same columns and types in the same order.
///
/// Runs whose files carry the same fingerprint can be read as one table without opening each.
pub fn fingerprint(schema: &Schema) -> String {
    let fields = schema.fields().iter().flat_map(|field| {
        let ty = field.data_type().to_string();
        format!("{}:{ty};", field.name()).into_bytes()
    });
    let hash = fnv1a(fields);
    format!("{hash:016x}")
}
