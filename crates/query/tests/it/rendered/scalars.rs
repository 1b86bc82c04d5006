//! Values that hold no others.

use std::sync::Arc;

use arrow_array::{
    Array, ArrayRef, ArrowPrimitiveType, BinaryArray, BinaryViewArray, BooleanArray, FixedSizeBinaryArray,
    LargeBinaryArray, LargeStringArray, NullArray, PrimitiveArray, StringArray, StringViewArray, types::*,
};
use arrow_buffer::{IntervalDayTime, IntervalMonthDayNano, i256};

use super::Case;

/// 2026-11-21 14:00:00 UTC, in seconds.
const MOMENT: i64 = 1_795_269_600;

pub const TEXTS: [&str; 18] = [
    "",
    "plain",
    "a,b",
    "quo\"te",
    "'",
    "line\nbreak",
    "carriage\rreturn",
    "tab\tback\u{8}form\u{c}",
    "\u{1b}[31mred\u{7f}",
    "back\\slash|bar",
    "größer 日本 🦀 e\u{301}",
    "\u{202e}backwards\u{2028}line",
    "nul\0",
    " padded ",
    "null",
    "12.5",
    "<b>&amp;</b>",
    "\"already, quoted\"",
];

fn of<T: ArrowPrimitiveType>(values: impl IntoIterator<Item = T::Native>) -> ArrayRef {
    let values: Vec<Option<T::Native>> = values.into_iter().map(Some).chain([None]).collect();
    Arc::new(PrimitiveArray::<T>::from_iter(values))
}

fn decimal(precision: u8, scale: i8, values: &[i128]) -> ArrayRef {
    let array = PrimitiveArray::<Decimal128Type>::from_iter(values.iter().map(|v| Some(*v)).chain([None]));
    Arc::new(array.with_precision_and_scale(precision, scale).unwrap())
}

fn moments<T: ArrowTimestampType>(values: &[i64], zone: Option<&str>) -> ArrayRef {
    let values = values.iter().map(|v| Some(*v)).chain([None]);
    Arc::new(PrimitiveArray::<T>::from_iter(values).with_timezone_opt(zone))
}

const FLOATS: [f64; 27] = [
    0.0,
    -0.0,
    1.0,
    -1.5,
    0.1,
    1.0 / 3.0,
    1e-4,
    1e-5,
    1.5e-5,
    9.9e-6,
    1e-6,
    1e-7,
    123_456_789.0,
    999_999_999.5,
    1e9,
    1_234_567_890.5,
    9_999_999_999.5,
    1e10,
    1.5e10,
    12_345_678_901.25,
    -98_765_432_101.0,
    1e15,
    123_456_789_012_345.67,
    1e16,
    9_007_199_254_740_993.0,
    1e21,
    -1.25e-300,
];

/// Columns that a table shows as numbers.
pub fn numbers() -> Vec<Case> {
    vec![
        ("int8", of::<Int8Type>([i8::MIN, 0, i8::MAX])),
        ("int16", of::<Int16Type>([i16::MIN, 0, i16::MAX])),
        ("int32", of::<Int32Type>([i32::MIN, -1, 0, i32::MAX])),
        ("int64", of::<Int64Type>([i64::MIN, -1, 0, 1, i64::MAX])),
        ("uint8", of::<UInt8Type>([0, u8::MAX])),
        ("uint16", of::<UInt16Type>([0, u16::MAX])),
        ("uint32", of::<UInt32Type>([0, u32::MAX])),
        ("uint64", of::<UInt64Type>([0, 1 << 53, u64::MAX])),
        ("float16", of::<Float16Type>([1.5, -0.0, 65504.0, f32::NAN].map(Half::from_f32))),
        ("float32", of::<Float32Type>([0.0, -0.0, 0.1, 1e-6, 1e9, 1.5e10, 1e13, 16_777_216.0, 1e38])),
        ("float64", of::<Float64Type>(FLOATS)),
        ("small floats", of::<Float64Type>([0.001_234, -0.000_004, 0.0, 12.5])),
        ("whole floats", of::<Float64Type>([3.0, -0.0, 4096.0, 1e6])),
        ("not finite", of::<Float64Type>([f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 2.5])),
        ("largest", of::<Float64Type>([f64::MAX, f64::MIN_POSITIVE, 5e-324])),
        ("not finite 32", of::<Float32Type>([f32::NAN, f32::INFINITY, f32::NEG_INFINITY, f32::MAX, 1e-45])),
        ("whole decimals", decimal(38, 0, &[0, -7, 45, i64::MAX.into()])),
        ("decimals too large", decimal(38, 0, &[1, i128::from(i64::MAX) + 1, 10_i128.pow(38) - 1])),
        ("decimals of 2", decimal(10, 2, &[0, 5, -5, -123, 1_234_567_890])),
        ("decimals of 10", decimal(38, 10, &[1, -98_765_432_101_234, 10_i128.pow(37)])),
        ("decimals of 38", decimal(38, 38, &[1, 10_i128.pow(37), -10_i128.pow(37)])),
        ("decimals of -3", decimal(5, -3, &[1, -12_345, 0])),
        ("decimals 32", {
            let array = PrimitiveArray::<Decimal32Type>::from(vec![Some(12_345), Some(-1), None]);
            Arc::new(array.with_precision_and_scale(9, 2).unwrap())
        }),
        ("decimals 64", {
            let array = PrimitiveArray::<Decimal64Type>::from(vec![Some(12_345), Some(-1), None]);
            Arc::new(array.with_precision_and_scale(18, 4).unwrap())
        }),
        ("decimals 256", {
            let values = [Some(i256::from_i128(12_345)), Some(i256::from_i128(-10_i128.pow(37))), None];
            let array = PrimitiveArray::<Decimal256Type>::from(values.to_vec());
            Arc::new(array.with_precision_and_scale(76, 10).unwrap())
        }),
    ]
}

type Half = <Float16Type as ArrowPrimitiveType>::Native;

fn texts() -> Vec<Case> {
    let texts = || TEXTS.into_iter().map(Some).chain([None]);
    let blobs: Vec<Option<&[u8]>> = vec![Some(b""), Some(b"ab\0"), Some(b"\xff\xfe"), None];
    let fixed: Vec<Option<&[u8]>> = vec![Some(b"abc"), Some(b"\0\x01\xff"), None];
    vec![
        ("truths", Arc::new(BooleanArray::from(vec![Some(true), Some(false), None]))),
        ("text", Arc::new(StringArray::from_iter(texts()))),
        ("large text", Arc::new(LargeStringArray::from_iter(texts()))),
        ("text views", Arc::new(StringViewArray::from_iter(texts()))),
        ("bytes", Arc::new(BinaryArray::from_iter(blobs.clone()))),
        ("large bytes", Arc::new(LargeBinaryArray::from_iter(blobs.clone()))),
        ("views of bytes", Arc::new(BinaryViewArray::from_iter(blobs))),
        (
            "bytes of one size",
            Arc::new(FixedSizeBinaryArray::try_from_sparse_iter_with_size(fixed.into_iter(), 3).unwrap()),
        ),
        ("nothing", Arc::new(NullArray::new(3))),
    ]
}

fn times() -> Vec<Case> {
    const DAY_S: i32 = 86_400;
    const DAY_US: i64 = 86_400_000_000;
    vec![
        ("days", of::<Date32Type>([0, -1, 20_778, -719_529, -800_000, 2_932_896, 2_932_897])),
        ("days without end", of::<Date32Type>([i32::MAX, -i32::MAX, i32::MIN, 500_000_000])),
        ("days in ms", of::<Date64Type>([0, -1, 1_795_269_600_000, 1_795_269_600_001])),
        ("days in ms without end", of::<Date64Type>([i64::MAX, i64::MIN])),
        ("time s", of::<Time32SecondType>([0, 1, DAY_S - 1])),
        ("time ms", of::<Time32MillisecondType>([0, 1, 1000, DAY_S * 1000 - 1])),
        ("time us", of::<Time64MicrosecondType>([0, 1, 1_500_000, DAY_US - 1])),
        ("time ns", of::<Time64NanosecondType>([0, 1, 1_500_000_000, DAY_US * 1000 - 1])),
        ("the end of a day", of::<Time64MicrosecondType>([DAY_US])),
        ("no time of a day", of::<Time64MicrosecondType>([-1, i64::MAX])),
        ("duration s", of::<DurationSecondType>([0, 1, -90, 86_400 * 3 + 5])),
        ("duration ms", of::<DurationMillisecondType>([0, 1, -1500, 86_400_000])),
        ("duration us", of::<DurationMicrosecondType>([0, 1, -1_500_000, i64::MAX])),
        ("duration ns", of::<DurationNanosecondType>([0, 1, -1_500_000_000, i64::MIN])),
        ("duration without end", of::<DurationSecondType>([i64::MAX, i64::MIN])),
        ("months", of::<IntervalYearMonthType>([0, 1, 12, 30, -1, -13])),
        (
            "days and ms",
            of::<IntervalDayTimeType>([
                IntervalDayTime::ZERO,
                IntervalDayTime::new(1, 0),
                IntervalDayTime::new(-2, 3_723_004),
                IntervalDayTime::new(0, -1500),
                IntervalDayTime::new(0, 60_000),
                IntervalDayTime::new(0, -1),
                IntervalDayTime::new(5, i32::MIN),
            ]),
        ),
        (
            "months, days and ns",
            of::<IntervalMonthDayNanoType>([
                IntervalMonthDayNano::ZERO,
                IntervalMonthDayNano::new(14, 3, 3_723_000_000_001),
                IntervalMonthDayNano::new(-1, 0, 0),
                IntervalMonthDayNano::new(0, -3, -1_500_000_000),
                IntervalMonthDayNano::new(0, 0, 7_200_000_000_000),
                IntervalMonthDayNano::new(0, 0, -1),
                IntervalMonthDayNano::new(0, 0, i64::MIN),
            ]),
        ),
    ]
}

fn all_moments() -> Vec<Case> {
    let seconds = [0, MOMENT, -1, -62_135_596_800, 253_402_300_800];
    let millis = [0, MOMENT * 1000, MOMENT * 1000 + 500, -1, 253_402_300_800_000];
    let micros =
        [0, MOMENT * 1_000_000, MOMENT * 1_000_000 + 1_500, MOMENT * 1_000_000 + 1, -1, -62_198_755_200_000_000];
    let nanos = [0, MOMENT * 1_000_000_000, MOMENT * 1_000_000_000 + 1, MOMENT * 1_000_000_000 + 1500, -1, i64::MAX];
    let whole = [0, MOMENT * 1_000_000];
    let endless = [i64::MAX, -i64::MAX, i64::MIN];
    vec![
        ("moment s", moments::<TimestampSecondType>(&seconds, None)),
        ("moment ms", moments::<TimestampMillisecondType>(&millis, None)),
        ("moment us", moments::<TimestampMicrosecondType>(&micros, None)),
        ("moment ns", moments::<TimestampNanosecondType>(&nanos, None)),
        ("whole seconds", moments::<TimestampMicrosecondType>(&whole, None)),
        ("moment s, UTC", moments::<TimestampSecondType>(&seconds, Some("UTC"))),
        ("moment ms, UTC", moments::<TimestampMillisecondType>(&millis, Some("+00:00"))),
        ("moment us, UTC", moments::<TimestampMicrosecondType>(&micros, Some("Etc/UTC"))),
        ("moment us, Berlin", moments::<TimestampMicrosecondType>(&micros, Some("Europe/Berlin"))),
        ("moment ns, offset", moments::<TimestampNanosecondType>(&nanos, Some("+02:00"))),
        ("s without end", moments::<TimestampSecondType>(&endless, None)),
        ("us without end", moments::<TimestampMicrosecondType>(&endless, None)),
        ("s without end, UTC", moments::<TimestampSecondType>(&endless, Some("UTC"))),
        ("us without end, UTC", moments::<TimestampMicrosecondType>(&endless, Some("UTC"))),
    ]
}

/// All of them.
pub fn cases() -> Vec<Case> {
    numbers().into_iter().chain(texts()).chain(times()).chain(all_moments()).collect()
}

#[test]
fn every_case_ends_with_null() {
    for (name, array) in cases() {
        assert!(array.is_empty() || array.logical_nulls().is_some_and(|n| n.is_null(array.len() - 1)), "{name}");
    }
}
