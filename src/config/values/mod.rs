//! Reads single values of the file: each function takes one TOML value and returns it checked, or what is wrong with
//! it. Bounds of numbers and durations are checked here, so that no caller has to check them again.

pub(super) mod command;
pub(super) mod document;
pub(super) mod env;
pub(super) mod expressions;
pub(super) mod placed;
pub(super) mod policy;
pub(super) mod resolve;
pub(super) mod size;
pub(super) mod substitute;

use std::num::IntErrorKind;
use std::ops::{Range, RangeInclusive};
use std::time::Duration;

use placed::Placed;
use toml::Spanned;
use toml::de::DeValue;

use crate::job::parse_duration;

use super::report::suggest;

/// The longest duration, ten years: added to any instant of this century it stays far below the 2^53 ms that a store
/// can count.
const LONGEST: Duration = Duration::from_secs(3_650 * 24 * 60 * 60);

/// Why a value was refused.
#[derive(Debug)]
pub(super) struct ValueError {
    /// Follows the key in the message: `` is empty`` or `: duration …`.
    pub(super) what: String,
    pub(super) help: Option<String>,
    pub(super) note: Option<String>,
    /// The wrong part, if it is not the whole value.
    pub(super) span: Option<Range<usize>>,
}

/// A value, or everything that is wrong with it.
pub(super) type Checked<T> = Result<T, Vec<ValueError>>;

/// A TOML value with its place.
pub(super) type Raw<'d> = Spanned<DeValue<'d>>;

impl ValueError {
    /// Returns an error about the whole value. The text follows the key, as in "`timeout` is zero".
    pub(super) fn new(what: impl AsRef<str>, help: impl Into<String>) -> Self {
        Self { what: format!(" {}", what.as_ref()), help: Some(help.into()), note: None, span: None }
    }

    /// Returns an error in the words of the parser that refused the value.
    pub(super) fn quoted(message: &str, help: Option<String>, span: Range<usize>) -> Self {
        Self { what: format!(": {message}"), help, note: None, span: Some(span) }
    }

    /// Sets the wrong part of the value.
    pub(super) fn at(self, span: Range<usize>) -> Self {
        Self { span: Some(span), ..self }
    }

    /// Sets the reason for the rule.
    pub(super) fn because(self, note: impl Into<String>) -> Self {
        Self { note: Some(note.into()), ..self }
    }

    /// Returns it as the only error.
    pub(super) fn alone<T>(self) -> Checked<T> {
        Err(vec![self])
    }
}

/// Returns the kind of a value for messages: `an integer`.
pub(super) fn kind(raw: &Raw<'_>) -> &'static str {
    match raw.get_ref() {
        DeValue::String(_) => "a string",
        DeValue::Integer(_) => "an integer",
        DeValue::Float(_) => "a float",
        DeValue::Boolean(_) => "a boolean",
        DeValue::Datetime(_) => "a date or time",
        DeValue::Array(_) => "a list",
        DeValue::Table(_) => "a table",
    }
}

/// Reads a string without NUL, which no program, path or variable can hold.
pub(super) fn text(raw: &Raw<'_>) -> Checked<String> {
    match raw.get_ref() {
        DeValue::String(text) if text.contains('\0') => {
            ValueError::new("contains a NUL character", "take out the `\\u0000`: no program could receive it")
                .alone()
        }
        DeValue::String(text) => Ok(text.to_string()),
        DeValue::Integer(_) | DeValue::Float(_) | DeValue::Boolean(_) | DeValue::Datetime(_) => {
            ValueError::new(format!("is {}, expected a string", kind(raw)), "write it in quotes").alone()
        }
        _ => ValueError::new(format!("is {}, expected a string", kind(raw)), "write one string in quotes")
            .alone(),
    }
}

/// Reads a string that is not blank.
pub(super) fn filled(raw: &Raw<'_>) -> Checked<String> {
    let text = text(raw)?;
    if text.trim().is_empty() {
        return ValueError::new("is empty", "give it a value, or take out the line").alone();
    }
    Ok(text)
}

/// Reads a list of strings, each with its place.
pub(super) fn texts(raw: &Raw<'_>) -> Checked<Vec<Placed<String>>> {
    let Some(items) = raw.get_ref().as_array() else {
        let help = "write it as a list of strings: `[\"…\", \"…\"]`";
        return ValueError::new(format!("is {}, expected a list of strings", kind(raw)), help).alone();
    };
    each(items, |item| text(item).map(|value| Placed { value, span: item.span() }))
}

/// Reads every item of a list, or returns all errors, each at its item.
pub(super) fn each<'d, T>(items: &[Raw<'d>], read: impl Fn(&Raw<'d>) -> Checked<T>) -> Checked<Vec<T>> {
    let (mut good, mut bad) = (Vec::new(), Vec::new());
    for item in items {
        match read(item) {
            Ok(value) => good.push(value),
            Err(refusals) => bad.extend(refusals.into_iter().map(|refusal| {
                let what = format!(" has an entry that{}", refusal.what);
                let span = refusal.span.clone().unwrap_or(item.span());
                ValueError { what, span: Some(span), ..refusal }
            })),
        }
    }
    if bad.is_empty() { Ok(good) } else { Err(bad) }
}

/// Reads `true` or `false`.
pub(super) fn flag(raw: &Raw<'_>) -> Checked<bool> {
    let help = "write `true` or `false`, without quotes";
    raw.get_ref()
        .as_bool()
        .ok_or_else(|| vec![ValueError::new(format!("is {}, expected `true` or `false`", kind(raw)), help)])
}

/// Reads a whole number within bounds.
pub(super) fn number(raw: &Raw<'_>, within: RangeInclusive<u64>) -> Checked<u64> {
    let (least, most) = (*within.start(), *within.end());
    // A limit that is hardly ever reached is named only in the message for a number above it.
    let is_far = most >= u64::from(u32::MAX);
    let expected = match is_far {
        true => format!("a whole number of at least {least}"),
        false => format!("a whole number from {least} to {most}"),
    };
    let DeValue::Integer(integer) = raw.get_ref() else {
        let help = format!("write {expected}, without quotes");
        return ValueError::new(format!("is {}, expected {expected}", kind(raw)), help).alone();
    };
    let number = u64::from_str_radix(integer.as_str().trim_start_matches('+'), integer.radix());
    let is_above = match &number {
        Ok(number) if within.contains(number) => return Ok(*number),
        Ok(number) => *number > most,
        Err(error) => *error.kind() == IntErrorKind::PosOverflow,
    };
    let expected = if is_far && is_above { format!("a whole number of at most {most}") } else { expected };
    ValueError::new(format!("is {integer}, expected {expected}"), format!("write {expected}")).alone()
}

/// Reads a whole number within bounds, of 32 bits at most.
pub(super) fn small_number(raw: &Raw<'_>, within: RangeInclusive<u32>) -> Checked<u32> {
    let number = number(raw, u64::from(*within.start())..=u64::from(*within.end()))?;
    Ok(u32::try_from(number).expect("within bounds of 32 bits"))
}

/// Reads a duration such as `1h30m`.
pub(super) fn duration(raw: &Raw<'_>) -> Checked<Duration> {
    let text = match raw.get_ref() {
        DeValue::String(text) => text,
        DeValue::Integer(number) if number.radix() == 10 => {
            let what = format!("is {number}, expected a duration with a unit");
            return ValueError::new(what, format!("if seconds are meant, write `\"{number}s\"`")).alone();
        }
        _ => {
            let help = "write `\"500ms\"`, `\"90s\"`, `\"5m\"`, `\"1h30m\"` or `\"2d\"`";
            return ValueError::new(format!("is {}, expected a duration", kind(raw)), help).alone();
        }
    };
    match parse_duration(text) {
        Ok(duration) if duration <= LONGEST => Ok(duration),
        Ok(_) => ValueError::new(
            format!("is `{text}`, expected at most `3650d`"),
            "write ten years, `\"3650d\"`, or less",
        )
        .alone(),
        Err(error) => {
            let place = Placed { value: text.to_string(), span: raw.span() }.part(&error.span);
            ValueError::quoted(&error.message, Some(error.help), place).alone()
        }
    }
}

/// Reads a duration above zero.
pub(super) fn span_of_time(raw: &Raw<'_>, way_out: &str) -> Checked<Duration> {
    let duration = duration(raw)?;
    if duration.is_zero() {
        return ValueError::new("is zero", way_out).alone();
    }
    Ok(duration)
}

/// Reads one of a few words.
pub(super) fn word<T: Copy>(raw: &Raw<'_>, words: &[(&str, T)]) -> Checked<T> {
    let known: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
    let expected = suggest::one_of(&known);
    let Some(text) = raw.get_ref().as_str() else {
        return ValueError::new(
            format!("is {}, expected {expected}", kind(raw)),
            "write one of these words in quotes",
        )
        .alone();
    };
    if let Some((_, value)) = words.iter().find(|(word, _)| *word == text) {
        return Ok(*value);
    }
    let help = match suggest::nearest(text, &known) {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("write {expected}"),
    };
    ValueError::new(format!("is `{text}`, expected {expected}"), help).alone()
}
