//! Time zones by the abbreviations that tools print (`EDT`, `CET`, `+03`).

use fenxi_model::Micros;
use jiff::tz::{Offset, TimeZone};

use super::Out;

/// Abbreviations, the offset of each in hours, and a region that uses it. Of several
/// meanings the most usual one; those are noted as assumptions.
const NAMES: &[(&str, f64, &str)] = &[
    ("UTC", 0.0, ""),
    ("GMT", 0.0, ""),
    ("Z", 0.0, ""),
    ("UCT", 0.0, ""),
    ("WET", 0.0, "Europe/Lisbon"),
    ("WEST", 1.0, "Europe/Lisbon"),
    ("BST", 1.0, "Europe/London"),
    ("CET", 1.0, "Europe/Berlin"),
    ("CEST", 2.0, "Europe/Berlin"),
    ("MEZ", 1.0, "Europe/Berlin"),
    ("MESZ", 2.0, "Europe/Berlin"),
    ("EET", 2.0, "Europe/Helsinki"),
    ("EEST", 3.0, "Europe/Helsinki"),
    ("SAST", 2.0, ""),
    ("MSK", 3.0, ""),
    ("IST", 5.5, "Asia/Kolkata"),
    ("SGT", 8.0, ""),
    ("HKT", 8.0, ""),
    ("JST", 9.0, ""),
    ("KST", 9.0, ""),
    ("AWST", 8.0, ""),
    ("ACST", 9.5, "Australia/Adelaide"),
    ("ACDT", 10.5, "Australia/Adelaide"),
    ("AEST", 10.0, "Australia/Sydney"),
    ("AEDT", 11.0, "Australia/Sydney"),
    ("NZST", 12.0, "Pacific/Auckland"),
    ("NZDT", 13.0, "Pacific/Auckland"),
    ("EST", -5.0, "America/New_York"),
    ("EDT", -4.0, "America/New_York"),
    ("CST", -6.0, "America/Chicago"),
    ("CDT", -5.0, "America/Chicago"),
    ("MST", -7.0, "America/Denver"),
    ("MDT", -6.0, "America/Denver"),
    ("PST", -8.0, "America/Los_Angeles"),
    ("PDT", -7.0, "America/Los_Angeles"),
    ("AKST", -9.0, "America/Anchorage"),
    ("AKDT", -8.0, "America/Anchorage"),
    ("HST", -10.0, ""),
    ("BRT", -3.0, ""),
];

/// Abbreviations of more than one zone.
const AMBIGUOUS: &[&str] = &["CST", "IST", "BST"];

/// The zone of the abbreviation `name`.
///
/// The user's zone is taken when it uses that abbreviation; else a region that changes its clocks
/// by the name, so that a text that goes on past the change stays right. An unknown name gives
/// the user's zone, and an assumption.
pub fn zone_named(name: &str, out: &mut Out<'_>) -> TimeZone {
    let name = name.trim();
    let user = out.hints().zone.clone();
    if uses(&user, name) {
        return user;
    }
    if let Some(offset) = numeric(name) {
        return TimeZone::fixed(offset);
    }
    let Some((_, hours, region)) = NAMES.iter().find(|(n, _, _)| *n == name) else {
        out.assume(&format!("times of the unknown zone `{name}` are in the zone given, or UTC (give --zone)"));
        return user;
    };
    if AMBIGUOUS.contains(&name) {
        out.assume(&format!("the zone `{name}` is {region}'s (or give --zone)"));
    }
    let region = Some(region).filter(|r| !r.is_empty()).and_then(|r| TimeZone::get(r).ok());
    region.filter(|zone| uses(zone, name)).unwrap_or_else(|| fixed(*hours))
}

fn fixed(hours: f64) -> TimeZone {
    Offset::from_seconds((hours * 3600.0) as i32).map_or(TimeZone::UTC, TimeZone::fixed)
}

/// Whether `zone` calls itself so, in winter or in summer.
fn uses(zone: &TimeZone, name: &str) -> bool {
    // 2026-01-15 and 2026-07-15.
    let moments = [Micros(1_768_435_200_000_000), Micros(1_784_073_600_000_000)];
    moments.iter().any(|t| {
        let Ok(t) = jiff::Timestamp::from_microsecond(t.0) else { return false };
        zone.to_offset_info(t).abbreviation() == name
    })
}

/// `+03`, `-0330`, `+05:30`.
pub fn numeric(name: &str) -> Option<Offset> {
    let (sign, digits) = match name.as_bytes().first()? {
        b'+' => (1, &name[1..]),
        b'-' => (-1, &name[1..]),
        _ => return None,
    };
    let plain: String = digits.chars().filter(|c| *c != ':').collect();
    if !matches!(plain.len(), 2 | 4) || !plain.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let hours: i32 = plain[..2].parse().ok()?;
    let minutes: i32 = plain.get(2..4).map_or(Some(0), |m| m.parse().ok())?;
    Offset::from_seconds(sign * (hours * 3600 + minutes * 60)).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Hints;

    #[test]
    fn a_zone_is_known_by_its_abbreviation_or_assumed_to_be_the_users() {
        let mut out = Out::new("test", Hints::none("x"), |_, _| {});
        let at = |zone: &TimeZone| {
            let winter = jiff::Timestamp::from_microsecond(1_768_435_200_000_000).unwrap();
            zone.to_offset(winter).seconds()
        };
        assert_eq!(at(&zone_named("UTC", &mut out)), 0);
        assert_eq!(at(&zone_named("JST", &mut out)), 9 * 3600);
        assert_eq!(at(&zone_named("EST", &mut out)), -5 * 3600);
        assert_eq!(at(&zone_named("-0330", &mut out)), -(3 * 3600 + 1800));
        assert_eq!(at(&zone_named("+05:30", &mut out)), 5 * 3600 + 1800);
        assert_eq!(at(&zone_named("XYZ", &mut out)), 0);
        assert_eq!(out.finish().assumptions, 1);
    }
}
