//! What an operator wants, read from the fields of a request.

use std::time::Duration;

use crate::job::{RunId, Tick, parse_duration};
use crate::operate::acts::pause::read_reason;
use crate::operate::audit::ActKind;
use crate::time::UtcMillis;
use crate::view::explanation::When;
use crate::view::job::KnownJob;

use super::{ActFields, FieldProblem};

/// An act with what it needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum WantedAct {
    /// Run the job by hand, by this order, for this tick; `None`: for now.
    Trigger { order: RunId, tick: Option<Tick> },
    /// Skip its ticks, for a time or until it is resumed, for this reason.
    Pause { lasts: Option<Duration>, why: Option<String> },
    /// End its pause.
    Resume,
    /// Stop its run; with an id only this one.
    Kill { run: Option<RunId> },
    /// Release its lock; with an id only the lock of this run.
    Unlock { run: Option<RunId> },
}

impl WantedAct {
    /// Reads the fields of an act on a job at this time. `order` is the id of an order to run it.
    ///
    /// # Errors
    /// What is wrong with one of them.
    pub(crate) fn read(
        act: ActKind,
        fields: &ActFields,
        job: &KnownJob,
        order: RunId,
        now: UtcMillis,
    ) -> Result<Self, FieldProblem> {
        fields.expect_only(fields_of(act))?;
        Ok(match act {
            ActKind::Trigger => Self::Trigger { order, tick: tick_of(fields, job, now)? },
            ActKind::Pause => Self::Pause { lasts: length_of(fields)?, why: reason_of(fields)? },
            ActKind::Resume => Self::Resume,
            ActKind::Kill => Self::Kill { run: run_of(fields)? },
            ActKind::Unlock | ActKind::UnlockMark => {
                confirmed(fields, job)?;
                Self::Unlock { run: run_of(fields)? }
            }
        })
    }

    /// Returns its kind.
    pub(crate) const fn kind(&self) -> ActKind {
        match self {
            Self::Trigger { .. } => ActKind::Trigger,
            Self::Pause { .. } => ActKind::Pause,
            Self::Resume => ActKind::Resume,
            Self::Kill { .. } => ActKind::Kill,
            Self::Unlock { .. } => ActKind::Unlock,
        }
    }

    /// Returns the operator's reason, if there is one.
    pub(super) fn why(&self) -> Option<&str> {
        match self {
            Self::Pause { why, .. } => why.as_deref(),
            _ => None,
        }
    }
}

/// Returns the names of the fields that an act may have.
const fn fields_of(act: ActKind) -> &'static [&'static str] {
    match act {
        ActKind::Trigger => &["tick"],
        ActKind::Pause => &["for", "reason"],
        ActKind::Resume => &[],
        ActKind::Kill => &["run"],
        ActKind::Unlock | ActKind::UnlockMark => &["confirm", "run"],
    }
}

fn bad(field: &'static str, what: impl Into<String>, help: impl Into<String>) -> FieldProblem {
    FieldProblem { field, what: what.into(), help: help.into() }
}

fn tick_of(fields: &ActFields, job: &KnownJob, now: UtcMillis) -> Result<Option<Tick>, FieldProblem> {
    const NAME: &str = "tick";
    let Some(text) = fields.text(NAME) else { return Ok(None) };
    let time = When::read(text).map_err(|error| bad(NAME, "`tick` is not a time", error.help))?;
    let schedule = job.definition.spec().map(|spec| &spec.schedule);
    // The message names the time as it was understood, and nothing else of the field.
    let at = time.instant(&job.name, schedule, now);
    at.map(|at| Some(Tick(at))).map_err(|error| bad(NAME, error.message, error.help))
}

fn length_of(fields: &ActFields) -> Result<Option<Duration>, FieldProblem> {
    const NAME: &str = "for";
    let Some(text) = fields.text(NAME) else { return Ok(None) };
    let help = "write for example `90m`, `2h` or `1d12h`, or leave it out: until it is resumed";
    match parse_duration(text) {
        Ok(Duration::ZERO) => Err(bad(NAME, "a pause of 0s does nothing", help)),
        Ok(lasts) => Ok(Some(lasts)),
        Err(_) => Err(bad(NAME, "`for` is no duration", help)),
    }
}

fn reason_of(fields: &ActFields) -> Result<Option<String>, FieldProblem> {
    const NAME: &str = "reason";
    let refused = |why: String| bad(NAME, format!("`reason`: {why}"), "write one short line of plain text");
    fields.text(NAME).map(read_reason).transpose().map_err(refused)
}

fn run_of(fields: &ActFields) -> Result<Option<RunId>, FieldProblem> {
    const NAME: &str = "run";
    let Some(text) = fields.text(NAME) else { return Ok(None) };
    let refused = |_| bad(NAME, "`run` is no id of a run", "write the whole id, or leave it out");
    text.parse().map(Some).map_err(refused)
}

/// Fails unless the operator wrote the job's name: the lock of another job is not released by accident.
fn confirmed(fields: &ActFields, job: &KnownJob) -> Result<(), FieldProblem> {
    const NAME: &str = "confirm";
    let name = &job.name;
    match fields.text(NAME) {
        Some(text) if text == name.as_str() => Ok(()),
        Some(_) => Err(bad(NAME, "`confirm` is not the job's name", format!("write `{name}`"))),
        None => Err(bad(NAME, "`confirm` is missing", format!("write the job's name, `{name}`"))),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use crate::config::testing::config;
    use crate::job::JobName;
    use crate::view::testing::{FILE, NOON, run_id};

    use super::*;

    fn backup() -> KnownJob {
        let config = config(FILE);
        Arc::clone(&config.jobs[&JobName::parse("backup").expect("a name")]).into()
    }

    fn read(act: ActKind, fields: &[(&str, &str)]) -> Result<WantedAct, FieldProblem> {
        WantedAct::read(act, &ActFields::of_test(fields), &backup(), run_id(50), UtcMillis(NOON))
    }

    #[test]
    fn each_act_has_its_fields_and_no_others() {
        let (order, run) = (run_id(50), run_id(1).to_string());
        let tick = Some(Tick::at_millis(1_795_141_800_000));
        for (act, fields, wanted) in [
            (ActKind::Trigger, &[][..], WantedAct::Trigger { order, tick: None }),
            (ActKind::Trigger, &[("tick", "2026-11-20T02:30:00Z")], WantedAct::Trigger { order, tick }),
            (ActKind::Trigger, &[("tick", "2026-11-20 03:30")], WantedAct::Trigger { order, tick }),
            (ActKind::Trigger, &[("tick", "03:30")], WantedAct::Trigger { order, tick }),
            (ActKind::Trigger, &[("tick", "02:30Z")], WantedAct::Trigger { order, tick }),
            (ActKind::Pause, &[], WantedAct::Pause { lasts: None, why: None }),
            (
                ActKind::Pause,
                &[("for", "2h"), ("reason", " month end ")],
                WantedAct::Pause { lasts: Some(Duration::from_secs(7_200)), why: Some("month end".into()) },
            ),
            (ActKind::Resume, &[], WantedAct::Resume),
            (ActKind::Kill, &[], WantedAct::Kill { run: None }),
            (ActKind::Kill, &[("run", run.as_str())], WantedAct::Kill { run: Some(run_id(1)) }),
            (ActKind::Unlock, &[("confirm", "backup")], WantedAct::Unlock { run: None }),
        ] {
            assert_eq!(read(act, fields), Ok(wanted.clone()), "{act} {fields:?}");
            assert_eq!(wanted.kind(), act);
        }
    }

    #[test]
    fn a_bad_field_is_refused_without_its_value() {
        let long = "script ".repeat(40);
        for (act, fields, field, words) in [
            (ActKind::Trigger, [("tick", "script")], "tick", "write `02:30` or `2026-11-23 02:30`"),
            (ActKind::Trigger, [("tick", "2026-03-29 02:30")], "tick", "does not exist in Europe/Berlin"),
            (ActKind::Pause, [("for", "script")], "for", "write for example `90m`"),
            (ActKind::Pause, [("for", "0s")], "for", "does nothing"),
            (ActKind::Pause, [("reason", long.as_str())], "reason", "at most 200"),
            (ActKind::Pause, [("reason", "script\n2")], "reason", "one line"),
            (ActKind::Kill, [("run", "script")], "run", "write the whole id"),
            (ActKind::Unlock, [("run", "script")], "confirm", "write the job's name, `backup`"),
            (ActKind::Unlock, [("confirm", "script")], "confirm", "write `backup`"),
            (ActKind::Pause, [("by", "script")], "", "this act has `for`, `reason`"),
            (ActKind::Resume, [("command", "script")], "", "this act has none"),
            (ActKind::Trigger, [("env", "script")], "", "this act has `tick`"),
        ] {
            let problem = read(act, &fields).expect_err("it is refused");
            let said = format!("{} {}", problem.what, problem.help);
            assert_eq!(problem.field, field, "{act} {fields:?}");
            assert!(said.contains(words) && !said.contains("script"), "{act}: {said}");
        }
    }
}
