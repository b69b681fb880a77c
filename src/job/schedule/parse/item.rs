//! Parses the lists of a field and the items that every field accepts: values, ranges, steps and `H`. The result is a
//! set of values within the field's bounds.

use crate::job::parse_duration;
use crate::job::schedule::calendar::bits::Bits;
use crate::job::schedule::error::ScheduleProblem;

use super::field::Field;
use super::piece::Slice;
use super::slot::Slots;

/// Returns the items of a list; an empty item is a problem that points at its comma.
pub(crate) fn items<'a>(
    field: Field,
    list: Slice<'a>,
) -> impl Iterator<Item = Result<Slice<'a>, ScheduleProblem>> {
    list.split(',').map(move |item| {
        if !item.text.is_empty() {
            return Ok(item);
        }
        // Relative to the list: an empty item has no byte of its own to point at.
        let at = item.span().start - list.span().start;
        let comma = if at < list.text.len() { at } else { at - 1 };
        let message = format!("{} list `{}` has an empty item", field.name(), list.text);
        Err(list.slice(comma..comma + 1).problem(message, "remove the comma, or write the missing value"))
    })
}

/// Returns the values of a field that has no special forms, or all of its problems.
pub(crate) fn values(field: Field, list: Slice<'_>, slots: Slots<'_>) -> Result<Bits, Vec<ScheduleProblem>> {
    let mut bits = Bits::default();
    let mut problems = Vec::new();
    for item in items(field, list) {
        match item.and_then(|item| item_values(field, item, slots)) {
            Ok(more) => bits = bits.or(more),
            Err(problem) => problems.push(problem),
        }
    }
    if problems.is_empty() { Ok(bits) } else { Err(problems) }
}

/// Returns the values of one item. A Sunday is 0, however it was written.
pub(crate) fn item_values(field: Field, item: Slice<'_>, slots: Slots<'_>) -> Result<Bits, ScheduleProblem> {
    let (base, step) = match item.split_once('/') {
        Some((_, step)) if step.text.is_empty() => {
            let message = format!("{} step is missing in `{}`", field.name(), item.text);
            return Err(
                item.problem(message, format!("write a number from 1 to {} after the `/`", field.count()))
            );
        }
        Some((base, step)) => (base, Some(read_step(field, step)?)),
        None => (item, None),
    };
    let bits = match base.text {
        "*" => Bits::stepped(field.first(), field.last(), step.unwrap_or(1)),
        "" => return Err(field.not_understood(item)),
        "?" => return Err(misplaced_question_mark(field, base)),
        hashed if hashed.starts_with(['H', 'h']) => hashed_values(field, base, step, slots)?,
        _ => match base.split_once('-') {
            Some((from, to)) if !base.text.starts_with('-') => {
                let (first, last) = read_range(field, base, from, to, step)?;
                Bits::stepped(first, last, step.unwrap_or(1))
            }
            _ => single(field.value(base)?, field, step),
        },
    };
    Ok(if field == Field::DayOfWeek { fold_sunday(bits) } else { bits })
}

/// Returns one value for `5`; for `5/15` every 15th value from 5 to the field's end.
fn single(value: u8, field: Field, step: Option<u8>) -> Bits {
    match step {
        None => Bits::one(value),
        Some(step) => Bits::stepped(value, field.last().max(value), step),
    }
}

/// Moves 7 to 0: both are Sunday.
const fn fold_sunday(bits: Bits) -> Bits {
    Bits((bits.0 | bits.0 >> 7) & 0x7f)
}

fn misplaced_question_mark(field: Field, piece: Slice<'_>) -> ScheduleProblem {
    let message = format!("{} `?` is not understood", field.name());
    if field.is_day() {
        return piece.problem(message, "write `?` alone, without list or step, or `*`");
    }
    piece.problem(message, "write `*`: only the day fields have `?`")
}

fn read_step(field: Field, piece: Slice<'_>) -> Result<u8, ScheduleProblem> {
    let (name, count) = (field.name(), field.count());
    let step = piece.number().ok_or_else(|| {
        piece.problem(
            format!("{name} step `{}` is not a number", piece.text),
            format!("write a number from 1 to {count} after the `/`"),
        )
    })?;
    if step == 0 {
        let message = format!("{name} step `{}` never moves on", piece.text);
        return Err(piece.problem(message, format!("write a step from 1 to {count}")));
    }
    u8::try_from(step).ok().filter(|&step| step <= count).ok_or_else(|| {
        let message =
            format!("{name} step `{}` is larger than the field, which has {count} values", piece.text);
        piece.problem(message, larger_interval(field, piece))
    })
}

/// Returns the help for a step that is larger than its field.
fn larger_interval(field: Field, step: Slice<'_>) -> String {
    let smaller = format!("write a step from 1 to {}", field.count());
    let unit = match field {
        Field::Second => 's',
        Field::Minute => 'm',
        Field::Hour => 'h',
        Field::DayOfMonth => 'd',
        Field::Month | Field::DayOfWeek => return smaller,
    };
    let interval = format!("{}{unit}", step.text);
    if parse_duration(&interval).is_ok() { format!("{smaller}, or `@every {interval}`") } else { smaller }
}

/// Parses both ends of `a-b`, the first not above the last. `FRI-SUN` ends on day 7.
fn read_range(
    field: Field,
    whole: Slice<'_>,
    from: Slice<'_>,
    to: Slice<'_>,
    step: Option<u8>,
) -> Result<(u8, u8), ScheduleProblem> {
    if from.text.is_empty() || to.text.is_empty() {
        let message = format!("{} range `{}` is not complete", field.name(), whole.text);
        return Err(whole.problem(message, format!("write `a-b` with values {}", field.bounds())));
    }
    let (first, mut last) = (field.value(from)?, field.value(to)?);
    if field == Field::DayOfWeek && last == 0 && first > 0 && !to.is_number() {
        last = 7;
    }
    if first <= last {
        return Ok((first, last));
    }
    let message = format!("{} range `{}` runs backwards", field.name(), whole.text);
    let way_out = match step {
        None => unwrapped(field, from, to, first, last),
        Some(step) => enumerated(field, from, first, last, step),
    };
    Err(whole.problem(message, format!("write `{way_out}`")))
}

/// Writes a range that passes the field's end as two that do not: `22-2` is `22-23,0-2`.
fn unwrapped(field: Field, from: Slice<'_>, to: Slice<'_>, first: u8, last: u8) -> String {
    let (lowest, highest) = (field.write(field.first(), from), field.write(field.last(), from));
    if field == Field::DayOfWeek && last == 0 {
        return format!("{}-7", from.text);
    }
    let head = match first {
        // Only a day of week can be above its field's last value: 7 is Sunday, which is also its first value.
        7 if field == Field::DayOfWeek => return format!("0-{}", to.text),
        _ if first == field.last() => from.text.to_owned(),
        _ => format!("{}-{highest}", from.text),
    };
    let tail = if last == field.first() { to.text.to_owned() } else { format!("{lowest}-{}", to.text) };
    format!("{head},{tail}")
}

/// Lists the values of a stepped range that passes the field's end.
fn enumerated(field: Field, like: Slice<'_>, first: u8, last: u8, step: u8) -> String {
    let (lowest, count) = (field.first(), field.count());
    let length = (last + count - first % count) % count;
    let offsets = (0..=length).step_by(step.into());
    let values = offsets.map(|offset| field.write((first - lowest + offset) % count + lowest, like));
    values.collect::<Vec<_>>().join(",")
}

/// Returns the values of `H` or `H(0-29)`, with or without a step.
fn hashed_values(
    field: Field,
    base: Slice<'_>,
    step: Option<u8>,
    slots: Slots<'_>,
) -> Result<Bits, ScheduleProblem> {
    let (first, last) = hashed_range(field, base)?;
    let choices = last - first + 1;
    match step {
        None => Ok(Bits::one(first + slots.slot(field, choices))),
        Some(step) if step <= choices => Ok(Bits::stepped(first + slots.slot(field, step), last, step)),
        Some(step) => Err(base.problem(
            format!("{} step `{step}` is larger than the {choices} values of `{}`", field.name(), base.text),
            format!("write a step from 1 to {choices}"),
        )),
    }
}

fn hashed_range(field: Field, base: Slice<'_>) -> Result<(u8, u8), ScheduleProblem> {
    let inside = base.slice(1..base.text.len());
    if inside.text.is_empty() {
        return Ok(Slots::range(field));
    }
    let range = (inside.text.len() > 2 && inside.text.starts_with('(') && inside.text.ends_with(')'))
        .then(|| inside.slice(1..inside.text.len() - 1));
    match range.and_then(|range| Some((range, range.split_once('-')?))) {
        Some((range, (from, to))) => read_range(field, range, from, to, None),
        None => {
            let message = format!("{} `{}` is not understood", field.name(), base.text);
            let (first, last) = Slots::range(field);
            Err(base.problem(message, format!("write `H`, `H/n` or `H({first}-{last})`")))
        }
    }
}

#[cfg(test)]
#[path = "item_tests.rs"]
mod tests;
