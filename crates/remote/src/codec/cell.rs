//! One value, encoded as the difference from another: its encoding goes to `head`, the rest to `body`.

const NULL: u8 = 0;
/// As it was.
const SAME: u8 = 1;
/// A float's eight bytes.
const BITS: u8 = 2;
/// A whole number, as a difference.
const WHOLE: u8 = 3;
/// A whole number divided by a scale and by the interval, and how far that is off in its last bits; one for each scale.
const OVER_DT: u8 = 4;
/// A whole number divided by a scale.
const SCALED: u8 = 12;

/// Scales of counters: events, percent of hundredths of seconds and the like, nanoseconds. Exact, as powers of ten of
/// this size are floats.
const SCALES: [f64; 6] = [1.0, 1e2, 1e3, 1e6, 1e7, 1e9];
/// Numbers beyond are not shorter than the float itself.
const LARGEST: f64 = (1_u64 << 41) as f64;
/// A quotient may be off by so many of its last places.
const ULPS: i64 = 7;

/// Number type of a column.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Of {
    /// Integers, moments, codes.
    Integer,
    /// Floats.
    Float,
}

/// Where values go.
#[derive(Debug, Default)]
pub struct Out {
    pub head: Vec<u8>,
    pub body: Vec<u8>,
}

/// Where values come from.
#[derive(Debug)]
pub struct In<'a> {
    pub head: &'a [u8],
    pub body: &'a [u8],
}

pub fn put_number(into: &mut Vec<u8>, mut n: u64) {
    while n >= 0x80 {
        into.push(n as u8 | 0x80);
        n >>= 7;
    }
    into.push(n as u8);
}

pub fn number(from: &mut &[u8]) -> Option<u64> {
    let mut n = 0;
    for shift in (0..64).step_by(7) {
        let byte = take(from, 1)?[0];
        n |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Some(n);
        }
    }
    None
}

pub fn take<'a>(from: &mut &'a [u8], n: usize) -> Option<&'a [u8]> {
    let (taken, rest) = from.split_at_checked(n)?;
    *from = rest;
    Some(taken)
}

fn zigzag(n: i64) -> u64 {
    ((n << 1) ^ (n >> 63)) as u64
}

fn unzigzag(n: u64) -> i64 {
    (n >> 1) as i64 ^ -((n & 1) as i64)
}

/// Encodes `value`, which is expected to be `before`, in an interval of `dt` seconds.
pub fn put(of: Of, value: Option<u64>, before: Option<u64>, dt: Option<f64>, out: &mut Out) {
    let Some(bits) = value else { return out.head.push(NULL) };
    if before == value {
        return out.head.push(SAME);
    }
    if of == Of::Integer {
        out.head.push(WHOLE);
        return put_number(&mut out.body, zigzag((bits as i64).wrapping_sub(before.unwrap_or(0) as i64)));
    }
    let float = f64::from_bits(bits);
    if let Some(n) = whole(float) {
        out.head.push(WHOLE);
        return put_number(&mut out.body, zigzag(n.wrapping_sub(whole_before(before))));
    }
    for (number, scale) in SCALES.into_iter().enumerate() {
        for (kind, dt) in dt.map(|dt| (OVER_DT, dt)).into_iter().chain([(SCALED, 1.0)]) {
            let n = (float * scale * dt).round();
            let off = (bits as i64).wrapping_sub(quotient(n, scale, dt).to_bits() as i64);
            if n != 0.0 && n.abs() <= LARGEST && (-ULPS..=ULPS).contains(&off) {
                out.head.push(kind + number as u8);
                put_number(&mut out.body, zigzag(n as i64));
                return out.body.push((off + ULPS) as u8);
            }
        }
    }
    out.head.push(BITS);
    out.body.extend(bits.to_le_bytes());
}

/// The value that [`put`] encoded; None when the bytes are none.
pub fn get(of: Of, before: Option<u64>, dt: Option<f64>, from: &mut In<'_>) -> Option<Option<u64>> {
    let kind = take(&mut from.head, 1)?[0];
    Some(match (kind, of) {
        (NULL, _) => None,
        (SAME, _) => Some(before?),
        (WHOLE, Of::Integer) => {
            let by = unzigzag(number(&mut from.body)?);
            Some((before.unwrap_or(0) as i64).wrapping_add(by) as u64)
        }
        (WHOLE, Of::Float) => {
            let n = unzigzag(number(&mut from.body)?).wrapping_add(whole_before(before));
            Some((n as f64).to_bits())
        }
        (BITS, Of::Float) => Some(u64::from_le_bytes(*take(&mut from.body, 8)?.first_chunk()?)),
        (_, Of::Float) => {
            let (number_of_scale, dt) = if kind >= SCALED { (kind - SCALED, 1.0) } else { (kind - OVER_DT, dt?) };
            let scale = *SCALES.get(usize::from(number_of_scale))?;
            let n = unzigzag(number(&mut from.body)?) as f64;
            let off = i64::from(take(&mut from.body, 1)?[0]) - ULPS;
            Some((quotient(n, scale, dt).to_bits() as i64).wrapping_add(off) as u64)
        }
        _ => return None,
    })
}

fn quotient(n: f64, scale: f64, dt: f64) -> f64 {
    n / scale / dt
}

/// The integer that a float is, if it is one and not a negative zero.
fn whole(float: f64) -> Option<i64> {
    let n = float as i64;
    (float.abs() < (1_u64 << 53) as f64 && (n as f64).to_bits() == float.to_bits()).then_some(n)
}

fn whole_before(before: Option<u64>) -> i64 {
    before.and_then(|bits| whole(f64::from_bits(bits))).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_come_back_to_the_last_bit() {
        let dt = 1.000_057_912;
        let floats = [
            0.0,
            -0.0,
            1.0,
            -3.0,
            1e300,
            f64::MIN_POSITIVE,
            100.0 / dt,
            12.34,
            100.0 * 0.35 / dt,
            812_345_678.0 / 1e9 / dt,
            812_345_678.0 * 100.0 / 1e9 / dt,
            std::f64::consts::PI,
            4_503_599_627_370_497.5,
            -17.0 / dt,
            1e18,
        ];
        let mut out = Out::default();
        let pairs: Vec<(f64, f64)> = floats.iter().flat_map(|a| floats.iter().map(move |b| (*a, *b))).collect();
        for (value, before) in &pairs {
            put(Of::Float, Some(value.to_bits()), Some(before.to_bits()), Some(dt), &mut out);
        }
        let integers = [0, 1, i64::MAX, i64::MIN + 1, -5];
        for value in integers {
            put(Of::Integer, Some(value as u64), Some(7), None, &mut out);
            put(Of::Integer, None, None, None, &mut out);
        }
        let mut from = In { head: &out.head, body: &out.body };
        for (value, before) in &pairs {
            let back = get(Of::Float, Some(before.to_bits()), Some(dt), &mut from).unwrap().unwrap();
            assert_eq!(back, value.to_bits(), "{value} after {before}");
        }
        for value in integers {
            assert_eq!(get(Of::Integer, Some(7), None, &mut from), Some(Some(value as u64)));
            assert_eq!(get(Of::Integer, None, None, &mut from), Some(None));
        }
        assert_eq!(get(Of::Integer, None, None, &mut from), None, "nothing is left");
    }

    #[test]
    fn what_is_counted_is_short() {
        let dt = 1.000_057_912;
        let length = |value: f64| {
            let mut out = Out::default();
            put(Of::Float, Some(value.to_bits()), None, Some(dt), &mut out);
            out.body.len()
        };
        assert_eq!([length(100.0 / dt), length(35.0 / dt), length(12.5), length(1.0 / 3.0)], [3, 2, 3, 8]);
    }
}
