//! Reads the values of a job's policies.

use crate::config::values;
use crate::config::values::{Checked, Raw, ValueError};
use crate::job::{CatchUp, Label, OnInterrupt, Overlap};

pub(crate) fn overlap(raw: &Raw<'_>) -> Checked<Overlap> {
    let words = [("skip", Overlap::Skip), ("wait", Overlap::Wait), ("replace", Overlap::Replace)];
    values::word(raw, &words)
}

pub(crate) fn catch_up(raw: &Raw<'_>) -> Checked<CatchUp> {
    values::word(raw, &[("none", CatchUp::None), ("last", CatchUp::Last)])
}

pub(crate) fn on_interrupt(raw: &Raw<'_>) -> Checked<OnInterrupt> {
    values::word(raw, &[("skip", OnInterrupt::Skip), ("rerun", OnInterrupt::Rerun)])
}

pub(crate) fn retries(raw: &Raw<'_>) -> Checked<u32> {
    values::small_number(raw, 0..=u32::MAX)
}

pub(crate) fn labels(raw: &Raw<'_>) -> Checked<Vec<Label>> {
    let Some(items) = raw.get_ref().as_array() else {
        let what = format!("is {}, expected a list of labels", values::kind(raw));
        return ValueError::new(what, "write `[\"…\"]`").alone();
    };
    values::each(items, |item| {
        let text = values::filled(item)?;
        Label::parse(&text).map_err(|_| {
            let help = "a label matches [A-Za-z0-9][A-Za-z0-9._-]{0,63}, such as `\"gpu\"`";
            vec![ValueError::new(format!("is `{}`, expected a label", text.escape_debug()), help)]
        })
    })
}

pub(crate) fn success_codes(raw: &Raw<'_>) -> Checked<Vec<u8>> {
    let Some(items) = raw.get_ref().as_array() else {
        let what = format!("is {}, expected a list of exit codes", values::kind(raw));
        return ValueError::new(what, "write `[0]`, or `[0, 3]`").alone();
    };
    if items.is_empty() {
        let help = "name at least one exit code that counts as success, or take out the line for `[0]`";
        return ValueError::new("is empty, so that no run could ever succeed", help).alone();
    }
    let code = |number| u8::try_from(number).expect("within bounds of 8 bits");
    values::each(items, |item| values::number(item, 0..=255).map(code))
}
