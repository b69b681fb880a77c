//! Sizes such as `1GiB`, `500MB` or `1048576`. Fractions, such as `1.5GiB`, are refused.

use toml::de::DeValue;

use crate::config::values;
use crate::config::values::{Checked, Raw, ValueError};

const UNITS: &[(&str, u64)] = &[
    ("B", 1),
    ("kB", 1_000),
    ("KB", 1_000),
    ("MB", 1_000_000),
    ("GB", 1_000_000_000),
    ("TB", 1_000_000_000_000),
    ("KiB", 1 << 10),
    ("MiB", 1 << 20),
    ("GiB", 1 << 30),
    ("TiB", 1 << 40),
    ("", 1),
];
const HELP: &str = "write `\"1GiB\"`, `\"500MB\"` or `1048576`";

/// Reads a number of bytes, at least one.
pub(crate) fn read(raw: &Raw<'_>) -> Checked<u64> {
    match raw.get_ref() {
        DeValue::Integer(_) => values::number(raw, 1..=u64::MAX),
        DeValue::String(text) => match parse(text) {
            Some(0) => ValueError::new(format!("is `{text}`, expected at least one byte"), HELP).alone(),
            Some(bytes) => Ok(bytes),
            None => ValueError::new(format!("is `{text}`, expected a size in bytes"), HELP).alone(),
        },
        _ => ValueError::new(format!("is {}, expected a size in bytes", values::kind(raw)), HELP).alone(),
    }
}

fn parse(text: &str) -> Option<u64> {
    let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let (number, unit) = text.split_at(digits);
    let unit = UNITS.iter().find(|(name, _)| *name == unit.trim_start())?.1;
    number.parse::<u64>().ok()?.checked_mul(unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_in_both_families_of_units() {
        for (text, bytes) in
            [("1GiB", 1 << 30), ("500MB", 500_000_000), ("1048576", 1 << 20), ("1 KiB", 1024), ("7B", 7)]
        {
            assert_eq!(parse(text), Some(bytes), "{text}");
        }
        for text in ["", "GiB", "1.5GiB", "1gib", "-1", "1 G", "99999999TiB"] {
            assert_eq!(parse(text), None, "{text}");
        }
    }
}
