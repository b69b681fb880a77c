//! The words of a job's policies. Those that a later release will know are told apart from those that
//! nobody knows, and neither is ignored.

use super::value::{self, Raw, Reading, Refusal};
use crate::job::{CatchUp, OnInterrupt, Overlap};

/// Refuses what the contract names but this release does not do.
pub(super) fn not_yet(meanwhile: &str) -> Refusal {
    Refusal::new("is not supported yet", format!("take out the line: {meanwhile}"))
}

/// `overlap`.
pub(super) fn overlap(raw: &Raw<'_>) -> Reading<Overlap> {
    let words = [("skip", Overlap::Skip), ("wait", Overlap::Wait), ("replace", Overlap::Replace)];
    only(raw, &words, "a tick is skipped while the previous run is still going")
}

/// `catch_up`.
pub(super) fn catch_up(raw: &Raw<'_>) -> Reading<CatchUp> {
    only(raw, &[("none", CatchUp::None), ("last", CatchUp::Last)], "missed ticks stay missed")
}

/// `on_interrupt`.
pub(super) fn on_interrupt(raw: &Raw<'_>) -> Reading<OnInterrupt> {
    let words = [("skip", OnInterrupt::Skip), ("rerun", OnInterrupt::Rerun)];
    only(raw, &words, "an interrupted run is not repeated")
}

/// The first word is the default, and the only one that this release does.
fn only<T: Copy + Default + PartialEq>(raw: &Raw<'_>, words: &[(&str, T)], meanwhile: &str) -> Reading<T> {
    let chosen = value::word(raw, words)?;
    if chosen == T::default() {
        return Ok(chosen);
    }
    let word = raw.get_ref().as_str().unwrap_or_default();
    let default = words[0].0;
    Refusal::new(
        format!("is `{word}`, which is not supported yet"),
        format!("write `{default}` or take out the line: {meanwhile}"),
    )
    .alone()
}

/// `retries`.
pub(super) fn retries(raw: &Raw<'_>) -> Reading<u32> {
    match value::small_number(raw, 0..=u32::MAX)? {
        0 => Ok(0),
        retries => Refusal::new(
            format!("is {retries}, which is not supported yet"),
            "write `0` or take out the line, and let the command try again by itself",
        )
        .alone(),
    }
}

/// `only_on`.
pub(super) fn only_on(raw: &Raw<'_>) -> Reading<Vec<String>> {
    let labels = labels(raw)?;
    if labels.is_empty() {
        return Ok(labels);
    }
    not_yet("every replica takes part in every job").alone()
}

/// A list of labels.
pub(super) fn labels(raw: &Raw<'_>) -> Reading<Vec<String>> {
    let Some(items) = raw.get_ref().as_array() else {
        let what = format!("is {}, expected a list of labels", value::kind(raw));
        return Refusal::new(what, "write `[\"…\"]`").alone();
    };
    value::each(items, value::filled)
}

/// `success_codes`.
pub(super) fn success_codes(raw: &Raw<'_>) -> Reading<Vec<u8>> {
    let Some(items) = raw.get_ref().as_array() else {
        let what = format!("is {}, expected a list of exit codes", value::kind(raw));
        return Refusal::new(what, "write `[0]`, or `[0, 3]`").alone();
    };
    if items.is_empty() {
        let help = "name at least one exit code that counts as success, or take out the line for `[0]`";
        return Refusal::new("is empty, so that no run could ever succeed", help).alone();
    }
    let code = |number| u8::try_from(number).expect("within bounds of 8 bits");
    value::each(items, |item| value::number(item, 0..=255).map(code))
}
