//! Rows that are here and not in files: the list of runs, and what recording cost.

use std::sync::Arc;

use arrow_array::{ArrayRef, BooleanArray, Float64Array, Int64Array, RecordBatch, StringArray};
use arrow_schema::{DataType, Field, Schema};
use fenxi_query::{QueryError, backend::Kind};
use fenxi_worker::Cell;

/// Rows of cells as a batch; a cell of another kind is NULL.
pub(crate) fn batch(columns: &[(&str, Kind)], rows: &[Vec<Cell>]) -> Result<RecordBatch, QueryError> {
    let (mut fields, mut arrays) = (Vec::new(), Vec::<ArrayRef>::new());
    for (place, (name, kind)) in columns.iter().enumerate() {
        let cells = rows.iter().map(|row| row.get(place).unwrap_or(&Cell::Null));
        let (ty, array): (DataType, ArrayRef) = match kind {
            Kind::Text => {
                let text = |cell: &Cell| if let Cell::Text(text) = cell { Some(text.clone()) } else { None };
                (DataType::Utf8, Arc::new(cells.map(text).collect::<StringArray>()))
            }
            Kind::I64 => {
                let whole = |cell: &Cell| if let Cell::Int(n) = cell { Some(*n) } else { None };
                (DataType::Int64, Arc::new(cells.map(whole).collect::<Int64Array>()))
            }
            Kind::F64 => {
                let number = |cell: &Cell| match cell {
                    Cell::Float(x) => Some(*x),
                    Cell::Int(n) => Some(*n as f64),
                    _ => None,
                };
                (DataType::Float64, Arc::new(cells.map(number).collect::<Float64Array>()))
            }
            Kind::Bool => {
                let truth = |cell: &Cell| if let Cell::Bool(truth) = cell { Some(*truth) } else { None };
                (DataType::Boolean, Arc::new(cells.map(truth).collect::<BooleanArray>()))
            }
        };
        fields.push(Field::new(*name, ty, true));
        arrays.push(array);
    }
    Ok(RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays)?)
}
