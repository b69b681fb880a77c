//! Formats ids, hashes and fields of the log for people: short, and with times in local time.

use std::time::Duration;

use jiff::Timestamp;
use jiff::tz::TimeZone;

use crate::job::format_duration;
use crate::time::UtcMillis;

/// This many characters identify a run: the millisecond in which its id was made. Commands accept the beginning of an id.
const RUN_ID: usize = 13;

/// Returns the beginning of a run's id, by which commands find it.
pub(crate) fn short_id(id: &str) -> &str {
    id.get(..RUN_ID).unwrap_or(id)
}

/// This many characters identify a file's hash.
const HASH: usize = 8;

pub(crate) fn short_hash(hash: &str) -> &str {
    hash.get(..HASH).unwrap_or(hash)
}

/// Formats the time of day in the local zone, with the zone.
pub(crate) fn local(at: UtcMillis) -> String {
    match Timestamp::from_millisecond(at.0) {
        Ok(at) => at.to_zoned(TimeZone::system()).strftime("%H:%M:%S%.3f %Z").to_string(),
        Err(_) => at.to_string(),
    }
}

/// Whether a field is left out for people, because it has this value in every line, or in nearly every one.
pub(crate) fn goes_without_saying(name: &str, value: &str) -> bool {
    matches!(
        (name, value),
        ("node" | "fence", _) | ("cause", "schedule") | ("attempt", "1") | ("late_ms" | "exit_code", "0")
    )
}

/// Returns the name and the value of a field in fewer letters.
pub(crate) fn short(name: &str, value: &str, now: UtcMillis) -> (String, String) {
    match name {
        "run" => (name.to_owned(), short_id(value).to_owned()),
        "tick" => (name.to_owned(), tick(value, now).unwrap_or_else(|| value.to_owned())),
        _ => match (name.strip_suffix("_ms"), value.parse()) {
            (Some(what), Ok(ms)) => (what.to_owned(), format_duration(Duration::from_millis(ms))),
            _ => (name.to_owned(), value.to_owned()),
        },
    }
}

/// Formats the time of day of a tick, with its date if that is another day; `None` if it cannot be parsed.
fn tick(value: &str, now: UtcMillis) -> Option<String> {
    let zone = TimeZone::system();
    let now = Timestamp::from_millisecond(now.0).ok()?.to_zoned(zone.clone());
    let at = value.parse::<Timestamp>().ok()?.to_zoned(zone);
    let is_whole = at.subsec_nanosecond() == 0;
    let (date, fraction) =
        (if at.date() == now.date() { "" } else { "%F " }, if is_whole { "" } else { "%.3f" });
    Some(at.strftime(&format!("{date}%H:%M:%S{fraction}")).to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn short_text(name: &str, value: &str) -> String {
        let (name, value) = short(name, value, UtcMillis(1_800_000_000_000));
        format!("{name}={value}")
    }

    #[test]
    fn fields_are_short() {
        assert_eq!(short_text("run", "01a214b2-5d10-703c-9bbd-3cfb91f5daf8"), "run=01a214b2-5d10");
        assert_eq!(short_text("took_ms", "14990"), "took=14s990ms");
        assert_eq!(short_text("exit_code", "3"), "exit_code=3");
        assert_eq!(short_text("sent_boot_ms", "x"), "sent_boot_ms=x");
        assert!(short_text("tick", "2001-02-03T04:05:06.000Z").starts_with("tick=2001-02-0"));
        assert!(goes_without_saying("cause", "schedule") && !goes_without_saying("cause", "rerun"));
    }

    #[test]
    fn the_time_has_a_zone() {
        let text = local(UtcMillis(1_800_000_000_123));
        assert!(text.contains(".123 ") && text.len() > 13, "{text}");
    }
}
