//! Parquet files made here, whole and damaged.

use std::sync::Arc;

use arrow_array::{
    Float64Array, Int64Array, ListArray, RecordBatch, StringArray, TimestampMillisecondArray, UInt64Array,
    types::Int32Type,
};
use arrow_schema::{DataType, Field, Schema, TimeUnit};
use parquet::arrow::ArrowWriter;

use super::FORMAT;
use crate::fixtures::read;

fn field(name: &str, kind: DataType, about: &[(&str, &str)]) -> Field {
    let about = about.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned()));
    Field::new(name, kind, true).with_metadata(about.collect())
}

fn written(fields: Vec<Field>, columns: Vec<arrow_array::ArrayRef>) -> Vec<u8> {
    let schema = Arc::new(Schema::new(fields));
    let mut bytes = Vec::new();
    let mut writer = ArrowWriter::try_new(&mut bytes, Arc::clone(&schema), None).unwrap();
    writer.write(&RecordBatch::try_new(schema, columns).unwrap()).unwrap();
    writer.close().unwrap();
    bytes
}

const SECOND: u64 = 1_795_271_753_000_000_000;

/// As Rezolus writes it: a counter that is reset once, a gauge that is missing once, a histogram, and when each was read.
fn rezolus() -> Vec<u8> {
    let times = [0, 1, 2, 3].map(|s| SECOND + s * 1_000_000_000);
    let lists = ListArray::from_iter_primitive::<Int32Type, _, _>([0, 1, 2, 3].map(|n| Some([Some(n)])));
    written(
        vec![
            field("timestamp", DataType::UInt64, &[("metric_type", "timestamp")]),
            field("duration", DataType::UInt64, &[("metric_type", "duration")]),
            field(
                "cpu_usage/0",
                DataType::UInt64,
                &[
                    ("metric", "cpu_usage"),
                    ("metric_type", "counter"),
                    ("unit", "nanoseconds"),
                    ("state", "user"),
                    ("sampler", "cpu"),
                ],
            ),
            field(
                "memory_free",
                DataType::Int64,
                &[("metric", "memory_free"), ("metric_type", "gauge"), ("unit", "bytes")],
            ),
            field("latency:buckets", lists.value_type_list(), &[("metric_type", "histogram")]),
            field("cpu_usage/0:window_width", DataType::UInt64, &[]),
        ],
        vec![
            Arc::new(UInt64Array::from(times.to_vec())),
            Arc::new(UInt64Array::from(vec![1_000_000_000; 4])),
            Arc::new(UInt64Array::from(vec![5_000, 905_000, 100, 700])),
            Arc::new(Int64Array::from(vec![Some(10), None, Some(30), Some(40)])),
            Arc::new(lists),
            Arc::new(UInt64Array::from(vec![1; 4])),
        ],
    )
}

trait OfList {
    fn value_type_list(&self) -> DataType;
}

impl OfList for ListArray {
    fn value_type_list(&self) -> DataType {
        arrow_array::Array::data_type(self).clone()
    }
}

#[test]
fn counters_of_rezolus_are_rates_and_gauges_as_they_are() {
    let read = read(&FORMAT, &rezolus());
    let expected = "\
# metric
t	dt	host	name	labels	value	unit
2026-11-21T14:35:53.000000Z		fixture	memory_free		10	bytes
2026-11-21T14:35:54.000000Z	1	fixture	cpu_usage	state=user	900000	nanoseconds/s
2026-11-21T14:35:55.000000Z	1	fixture	memory_free		30	bytes
2026-11-21T14:35:56.000000Z	1	fixture	cpu_usage	state=user	600	nanoseconds/s
2026-11-21T14:35:56.000000Z	1	fixture	memory_free		40	bytes
";
    assert!(read.text.starts_with(expected), "{}", read.text);
    assert!(read.text.contains("are not read (1): latency:buckets"), "{}", read.text);
    assert_eq!(read.tally.notes, 1);
}

#[test]
fn a_counter_that_is_missing_once_grew_since_it_was_last_there() {
    let bytes = written(
        vec![field("timestamp", DataType::UInt64, &[]), field("n", DataType::UInt64, &[("metric_type", "counter")])],
        vec![
            Arc::new(UInt64Array::from([0, 1, 2].map(|s| SECOND + s * 1_000_000_000).to_vec())),
            Arc::new(UInt64Array::from(vec![Some(10), None, Some(30)])),
        ],
    );
    let read = read(&FORMAT, &bytes);
    assert!(read.text.contains("55.000000Z\t1\tfixture\tn\t10\t/s"), "{}", read.text);
    assert_eq!(read.tally.rows(), 1);
}

#[test]
fn texts_of_a_long_table_are_labels() {
    let bytes = written(
        vec![
            field("when", DataType::Timestamp(TimeUnit::Millisecond, Some("UTC".into())), &[]),
            field("host", DataType::Utf8, &[]),
            field("load", DataType::Float64, &[]),
        ],
        vec![
            Arc::new(
                TimestampMillisecondArray::from(vec![1_795_271_753_000, 1_795_271_753_000, 1_795_271_758_000])
                    .with_timezone("UTC"),
            ),
            Arc::new(StringArray::from(vec![Some("a,b"), None, Some("a,b")])),
            Arc::new(Float64Array::from(vec![0.5, 1.5, f64::NAN])),
        ],
    );
    let read = read(&FORMAT, &bytes);
    assert!(read.text.contains("load\thost=a;b\t0.5") && read.text.contains("load\t\t1.5"), "{}", read.text);
    assert_eq!((read.tally.rows(), read.tally.notes), (2, 0));
}

#[test]
fn without_times_or_cut_short_it_says_so() {
    let bytes = written(vec![field("a", DataType::Int64, &[])], vec![Arc::new(Int64Array::from(vec![1, 2]))]);
    let none = read(&FORMAT, &bytes);
    assert!(none.text.contains("it cannot be read: it has no column of times"), "{}", none.text);
    let whole = rezolus();
    for end in [4, 20, whole.len() / 2, whole.len() - 1] {
        let cut = read(&FORMAT, &whole[..end]);
        assert_eq!((cut.tally.rows(), cut.tally.notes), (0, 1), "{}", cut.text);
    }
    // A byte that is wrong is an error or another number, and no more.
    for at in (0..whole.len()).step_by(7) {
        let mut wrong = whole.clone();
        wrong[at] ^= 0x55;
        read(&FORMAT, &wrong);
    }
}
