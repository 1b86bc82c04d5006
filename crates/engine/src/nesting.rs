//! How deep columns of an answer may be nested: what reads an answer follows each level by a call, and gives up on too many.

use arrow_schema::{DataType, Schema};
use fenxi_worker::Failure;

/// Levels of a column; the format of answers breaks off after 64.
const MOST: usize = 32;

/// Refuses columns that are nested too deep.
pub(crate) fn check(schema: &Schema) -> Result<(), Failure> {
    match schema.fields().iter().find(|field| !is_within(field.data_type(), MOST)) {
        None => Ok(()),
        Some(field) => Err(Failure::Engine(format!(
            "Invalid Input Error: the column \"{}\" is nested more than {MOST} deep; select the parts of it instead",
            field.name().chars().take(100).collect::<String>()
        ))),
    }
}

fn is_within(kind: &DataType, levels: usize) -> bool {
    let Some(below) = levels.checked_sub(1) else { return false };
    let field = |field: &arrow_schema::FieldRef| is_within(field.data_type(), below);
    match kind {
        DataType::List(inner)
        | DataType::LargeList(inner)
        | DataType::ListView(inner)
        | DataType::LargeListView(inner)
        | DataType::FixedSizeList(inner, _)
        | DataType::Map(inner, _)
        | DataType::RunEndEncoded(_, inner) => field(inner),
        DataType::Struct(fields) => fields.iter().all(field),
        DataType::Union(fields, _) => fields.iter().all(|(_, inner)| field(inner)),
        DataType::Dictionary(_, values) => is_within(values, below),
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use arrow_schema::Field;

    use super::*;

    #[test]
    fn a_column_may_be_nested_so_deep_and_no_deeper() {
        let nested = |levels: usize| {
            let list = |inner| DataType::new_list(inner, true);
            let kind = (1..levels).fold(DataType::Int32, |inner, _| list(inner));
            Schema::new(vec![Field::new("plain", DataType::Utf8, true), Field::new("a", kind, true)])
        };
        assert!(check(&nested(MOST)).is_ok());
        for levels in [MOST + 1, 120, 1000] {
            let Err(Failure::Engine(text)) = check(&nested(levels)) else { panic!("{levels}") };
            assert!(text.contains("\"a\" is nested more than 32 deep"), "{text}");
        }
    }
}
