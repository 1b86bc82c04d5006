//! Values as text, as CSV and tables show them.

use std::fmt::{Debug, Display, Write as _};

use arrow_array::{Array, cast::AsArray, temporal_conversions::*, types::*};
use arrow_schema::{DataType, IntervalUnit, TimeUnit};
use fenxi_model::{text_at, value_of, whole_at};

use super::{
    parts::{Member, bytes_at, elements, entries, member},
    sink::{Sink, Written},
};

/// Writes a value: nothing for NULL, `[a, b]` for lists, `{key: value}` for structures and maps, `{name=value}` for
/// unions, ISO 8601 for times and hexadecimal digits for bytes.
pub(crate) fn text(sink: &mut Sink, array: &dyn Array, row: usize) -> Written {
    let Some((array, row)) = value_of(array, row) else { return Ok(()) };
    match array.data_type() {
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => sink.put(text_at(array, row).unwrap_or_default()),
        ty if ty.is_integer() => sink.whole(whole_at(array, row).unwrap_or_default()),
        DataType::Float64 => float(sink, array.as_primitive::<Float64Type>().value(row)),
        DataType::Float32 => float(sink, array.as_primitive::<Float32Type>().value(row)),
        DataType::Float16 => Ok(write!(sink, "{}", array.as_primitive::<Float16Type>().value(row))?),
        DataType::Boolean => sink.put(if array.as_boolean().value(row) { "true" } else { "false" }),
        ty if ty.is_decimal() => decimal(sink, array, row),
        ty if ty.is_temporal() => time(sink, array, row),
        _ => match bytes_at(array, row) {
            Some(bytes) => hexadecimal(sink, bytes),
            None => nested(sink, array, row),
        },
    }
}

/// A float with as many digits as distinguish it from all others, and at least one after the point unless it has an exponent.
pub(super) fn float(sink: &mut Sink, value: impl ryu::Float) -> Written {
    sink.put(ryu::Buffer::new().format(value))
}

/// A decimal with all of its digits.
pub(super) fn decimal(sink: &mut Sink, array: &dyn Array, row: usize) -> Written {
    sink.put(&match array.data_type() {
        DataType::Decimal32(p, s) => {
            Decimal32Type::format_decimal(array.as_primitive::<Decimal32Type>().value(row), *p, *s)
        }
        DataType::Decimal64(p, s) => {
            Decimal64Type::format_decimal(array.as_primitive::<Decimal64Type>().value(row), *p, *s)
        }
        DataType::Decimal256(p, s) => {
            Decimal256Type::format_decimal(array.as_primitive::<Decimal256Type>().value(row), *p, *s)
        }
        DataType::Decimal128(p, s) => {
            Decimal128Type::format_decimal(array.as_primitive::<Decimal128Type>().value(row), *p, *s)
        }
        _ => return Ok(()),
    })
}

/// Bytes as hexadecimal digits.
pub(super) fn hexadecimal(sink: &mut Sink, bytes: &[u8]) -> Written {
    const DIGITS: [char; 16] = ['0', '1', '2', '3', '4', '5', '6', '7', '8', '9', 'a', 'b', 'c', 'd', 'e', 'f'];
    let mut digits = String::with_capacity(128);
    for part in bytes.chunks(64) {
        digits.clear();
        digits.extend(part.iter().flat_map(|b| [DIGITS[usize::from(b >> 4)], DIGITS[usize::from(b & 15)]]));
        sink.put(&digits)?;
    }
    Ok(())
}

fn nested(sink: &mut Sink, array: &dyn Array, row: usize) -> Written {
    if let Some((values, places)) = elements(array, row) {
        sink.put("[")?;
        for (i, place) in places.enumerate() {
            sink.put(if i > 0 { ", " } else { "" })?;
            text(sink, values, place)?;
        }
        return sink.put("]");
    }
    if let Some((keys, values, places)) = entries(array, row) {
        sink.put("{")?;
        for (i, place) in places.enumerate() {
            sink.put(if i > 0 { ", " } else { "" })?;
            text(sink, keys, place)?;
            sink.put(": ")?;
            text(sink, values, place)?;
        }
        return sink.put("}");
    }
    if let Some(Member { name, values, place }) = member(array, row) {
        sink.put("{")?;
        sink.put(name)?;
        sink.put("=")?;
        text(sink, values, place)?;
        return sink.put("}");
    }
    let Some(structure) = array.as_struct_opt() else { return Ok(()) };
    sink.put("{")?;
    for (i, (field, values)) in structure.fields().iter().zip(structure.columns()).enumerate() {
        sink.put(if i > 0 { ", " } else { "" })?;
        sink.put(field.name())?;
        sink.put(": ")?;
        text(sink, values.as_ref(), row)?;
    }
    sink.put("}")
}

/// A day, a time of a day, a moment, a duration or an interval.
pub(super) fn time(sink: &mut Sink, array: &dyn Array, row: usize) -> Written {
    use TimeUnit::{Microsecond, Millisecond, Nanosecond, Second};
    if let DataType::Interval(unit) = array.data_type() {
        return interval(sink, *unit, array, row);
    }
    let count = i64::try_from(whole_at(array, row).unwrap_or_default()).unwrap_or(i64::MAX);
    match array.data_type() {
        DataType::Date32 => {
            let days = count as i32;
            let endless =
                if days.unsigned_abs() == i32::MAX as u32 { i64::MAX * i64::from(days.signum()) } else { count };
            moment(sink, date32_to_datetime(days).map(|at| at.date()), endless, "")
        }
        DataType::Date64 => moment(sink, date64_to_datetime(count), count, ""),
        DataType::Time32(Second) => time_of_day(sink, time32s_to_time(count as i32), count, 86_400),
        DataType::Time32(_) => time_of_day(sink, time32ms_to_time(count as i32), count, 86_400_000),
        DataType::Time64(Microsecond) => time_of_day(sink, time64us_to_time(count), count, 86_400_000_000),
        DataType::Time64(_) => time_of_day(sink, time64ns_to_time(count), count, 86_400_000_000_000),
        DataType::Timestamp(unit, zone) => {
            let utc = if zone.is_some() { "Z" } else { "" };
            let at = match unit {
                Second => timestamp_s_to_datetime(count),
                Millisecond => timestamp_ms_to_datetime(count),
                Microsecond => timestamp_us_to_datetime(count),
                Nanosecond => timestamp_ns_to_datetime(count),
            };
            moment(sink, at, count, utc)
        }
        DataType::Duration(Second) => duration(sink, try_duration_s_to_duration(count), count),
        DataType::Duration(Millisecond) => duration(sink, try_duration_ms_to_duration(count), count),
        DataType::Duration(Microsecond) => duration(sink, Some(duration_us_to_duration(count)), count),
        _ => duration(sink, Some(duration_ns_to_duration(count)), count),
    }
}

/// A day or a moment; the engine has a largest and a smallest that mean no end, and others that no calendar has.
fn moment(sink: &mut Sink, at: Option<impl Debug>, count: i64, zone: &str) -> Written {
    match at {
        Some(at) => Ok(write!(sink, "{at:?}{zone}")?),
        None if count == i64::MAX => sink.put("infinity"),
        None if count == -i64::MAX => sink.put("-infinity"),
        None => sink.whole(count.into()),
    }
}

/// A time of a day of so many parts; its end is a time, too.
fn time_of_day(sink: &mut Sink, at: Option<impl Debug>, count: i64, day: i64) -> Written {
    match at {
        Some(at) => Ok(write!(sink, "{at:?}")?),
        None if count == day => sink.put("24:00:00"),
        None => sink.whole(count.into()),
    }
}

fn duration(sink: &mut Sink, length: Option<impl Display>, count: i64) -> Written {
    match length {
        Some(length) => Ok(write!(sink, "{length}")?),
        None => sink.whole(count.into()),
    }
}

fn interval(sink: &mut Sink, unit: IntervalUnit, array: &dyn Array, row: usize) -> Written {
    let (months, days, parts, per_second) = match unit {
        IntervalUnit::YearMonth => {
            let months = array.as_primitive::<IntervalYearMonthType>().value(row);
            return Ok(write!(sink, "{} years {} mons", months.div_euclid(12), months.rem_euclid(12))?);
        }
        IntervalUnit::DayTime => {
            let value = array.as_primitive::<IntervalDayTimeType>().value(row);
            (0, value.days, value.milliseconds.into(), 1000)
        }
        IntervalUnit::MonthDayNano => {
            let value = array.as_primitive::<IntervalMonthDayNanoType>().value(row);
            (value.months, value.days, value.nanoseconds, 1_000_000_000)
        }
    };
    let seconds = parts / per_second;
    let of_whole =
        [(i64::from(months), "mons"), (days.into(), "days"), (seconds / 3600, "hours"), (seconds / 60 % 60, "mins")];
    let mut gap = "";
    for (n, word) in of_whole.into_iter().filter(|(n, _)| *n != 0) {
        write!(sink, "{gap}{n} {word}")?;
        gap = " ";
    }
    let (seconds, fraction) = (seconds % 60, parts % per_second);
    if seconds != 0 || fraction != 0 {
        let sign = if parts < 0 { "-" } else { "" };
        let width = if per_second == 1000 { 3 } else { 9 };
        write!(sink, "{gap}{sign}{}.{:0width$} secs", seconds.abs(), fraction.abs())?;
        gap = " ";
    }
    sink.put(if gap.is_empty() { "0 secs" } else { "" })
}
