//! The forms of acts: their fields, with what is wrong beside each.

use crate::http::acts::{ActFields, FieldProblem};
use crate::job::RunId;
use crate::operate::acts::pause::LONGEST_REASON;
use crate::operate::audit::ActKind;

/// A form of an act.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ActForm {
    /// The last part of its address.
    pub(crate) act: &'static str,
    pub(crate) button: &'static str,
    /// Fields that are not shown, with their values.
    pub(crate) hidden: Vec<(&'static str, String)>,
    pub(crate) fields: Vec<ActField>,
    /// Whether it cannot be used for now.
    pub(crate) is_disabled: bool,
}

/// A field of a form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ActField {
    pub(crate) name: &'static str,
    pub(crate) label: &'static str,
    /// What to write.
    pub(crate) hint: String,
    pub(crate) value: String,
    /// What is wrong with the value, and what to write instead; empty if nothing is.
    pub(crate) wrong: String,
    /// The most characters.
    pub(crate) longest: usize,
    pub(crate) is_required: bool,
}

/// What the forms of a job depend on.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FormGrounds<'a> {
    /// The zone of its schedule.
    pub(crate) zone: &'a str,
    /// The id of the next order: the form may be sent twice.
    pub(crate) order: RunId,
    /// The run that an act is about.
    pub(crate) run: Option<RunId>,
}

impl ActForm {
    /// Returns the form of an act, empty.
    pub(crate) fn of(act: ActKind, grounds: &FormGrounds<'_>) -> Self {
        let run = grounds.run.map(|run| ("run", run.to_string()));
        let (button, hidden, fields) = match act {
            ActKind::Trigger => ("Run it once", Some(("order", grounds.order.to_string())), vec![]),
            ActKind::Pause => ("Pause", None, vec![length(), reason()]),
            ActKind::Resume => ("Resume", None, vec![]),
            ActKind::Kill => ("Stop this run", run, vec![]),
            ActKind::Unlock | ActKind::UnlockMark => ("Release the lock", run, vec![confirm()]),
        };
        Self { act: act.as_str(), button, hidden: hidden.into_iter().collect(), fields, is_disabled: false }
    }

    /// Returns the form of an act on a page of its own, with every field that the act has.
    pub(crate) fn whole(act: ActKind, grounds: &FormGrounds<'_>) -> Self {
        let mut form = Self::of(act, grounds);
        if act == ActKind::Trigger {
            form.fields.push(tick(grounds.zone));
        }
        form
    }

    /// Returns the form as it was sent, with what is wrong with one of its fields.
    pub(crate) fn filled(mut self, sent: &ActFields, problem: Option<&FieldProblem>) -> Self {
        for field in &mut self.fields {
            field.value = sent.text(field.name).unwrap_or_default().chars().take(field.longest).collect();
            if let Some(problem) = problem.filter(|problem| problem.field == field.name) {
                field.wrong = format!("{}: {}", problem.what, problem.help);
            }
        }
        self
    }
}

fn field(name: &'static str, label: &'static str, hint: &str) -> ActField {
    ActField {
        name,
        label,
        hint: hint.to_owned(),
        value: String::new(),
        wrong: String::new(),
        longest: 64,
        is_required: false,
    }
}

fn tick(zone: &str) -> ActField {
    field("tick", "For the tick of", &format!("such as 2026-11-23 02:30, in {zone}; empty: now"))
}

fn length() -> ActField {
    field("for", "For how long", "such as 90m, 2h, 1d12h; empty: until it is resumed")
}

fn reason() -> ActField {
    ActField { longest: LONGEST_REASON, ..field("reason", "Why", "shown to everybody") }
}

fn confirm() -> ActField {
    ActField { is_required: true, ..field("confirm", "The job's name", "write it to confirm") }
}
