//! Reads `schedule` and `timezone`. Problems found by the schedule's parser get their place in the file; where escapes
//! have moved the places within a value, the whole value is underlined.

use crate::config::report::findings::Findings;
use crate::config::report::problem::Problem;
use crate::config::sections::keys;
use crate::config::sections::section::Section;
use crate::config::values;
use crate::config::values::{Checked, Raw, ValueError};
use crate::config::warnings::uneven;
use crate::job::{Schedule, ScheduleError};

use super::placed::Placed;

/// Any valid expression serves to check a zone: an unknown zone is refused with any of them.
const ANY_EXPRESSION: &str = "0 0 * * *";

/// Reads `timezone`.
pub(crate) fn timezone(raw: &Raw<'_>) -> Checked<String> {
    let zone = values::text(raw)?;
    let place = Placed { value: zone.clone(), span: raw.span() };
    let refusal =
        |error: ScheduleError| ValueError::quoted(&error.message, error.help, place.part(&error.span));
    match parse("any", &[ANY_EXPRESSION], &zone) {
        Ok(_) => Ok(zone),
        Err(errors) => Err(errors.into_iter().map(refusal).collect()),
    }
}

/// Reads `schedule` of a job, whose zone is already checked.
pub(crate) fn schedule(
    section: &Section<'_>,
    hash_key: &str,
    zone: &str,
    findings: &mut Findings,
) -> Option<Schedule> {
    if section.lacks("schedule", &keys::of_job()) {
        let help = "write for example `schedule = \"30 2 * * *\"`, every night at half past two";
        let message = format!("{}: `schedule` is missing", section.title);
        findings.missing(Problem::error(message).at(section.span.clone()).help(help.to_owned()));
    }
    let expressions = section.read("schedule", findings, expressions)?;
    let texts: Vec<&str> = expressions.value.iter().map(|expression| expression.value.as_str()).collect();
    match parse(hash_key, &texts, zone) {
        Ok(schedule) => {
            let uneven = expressions.value.iter().flat_map(|one| uneven::of_expression(&section.title, one));
            uneven.for_each(|warning| findings.add(warning));
            Some(schedule)
        }
        Err(errors) => {
            for error in errors {
                findings.add(problem(&section.title, error, &expressions));
            }
            None
        }
    }
}

/// The only call of the schedule's parser.
fn parse(hash_key: &str, expressions: &[&str], zone: &str) -> Result<Schedule, Vec<ScheduleError>> {
    Schedule::parse(hash_key, expressions, zone)
}

/// Reads one string, or a list of them.
fn expressions(raw: &Raw<'_>) -> Checked<Vec<Placed<String>>> {
    let help = "write one expression, such as `\"30 2 * * *\"`, or a list of them";
    match raw.get_ref().as_array() {
        Some(items) if items.is_empty() => ValueError::new("is an empty list", help).alone(),
        Some(_) => values::texts(raw),
        None if raw.get_ref().is_str() => Ok(vec![Placed { value: values::text(raw)?, span: raw.span() }]),
        None => ValueError::new(format!("is {}, expected a string", values::kind(raw)), help).alone(),
    }
}

/// Converts an error of one expression to a problem at its place in the text of the file.
fn problem(title: &str, error: ScheduleError, expressions: &Placed<Vec<Placed<String>>>) -> Problem {
    let expression = error.expression.and_then(|index| expressions.value.get(index));
    let span = expression.map_or(expressions.span.clone(), |expression| expression.part(&error.span));
    let which =
        expression.map_or("`schedule`".to_owned(), |expression| format!("schedule `{}`", expression.value));
    Problem::error(format!("{title}: {which}: {}", error.message)).at(span).help(error.help)
}

#[cfg(test)]
mod tests {
    use std::ops::Range;

    use super::*;

    const TEXT: &str = r#"["* * * * *", "99 2 * * *"]"#;

    fn drawn(expression: Option<usize>, span: Range<usize>) -> (String, &'static str) {
        let error = ScheduleError {
            expression,
            span,
            message: "minute `99` is out of range".into(),
            help: Some("write 0 to 59".into()),
        };
        let placed = |value: &str, span| Placed { value: value.to_owned(), span };
        let value = vec![placed("* * * * *", 1..12), placed("99 2 * * *", 14..26)];
        let problem = problem("job `x`", error, &Placed { value, span: 0..TEXT.len() });
        assert_eq!(problem.help.as_deref(), Some("write 0 to 59"));
        (problem.message, &TEXT[problem.span.expect("has a place")])
    }

    #[test]
    fn the_wrong_field_of_the_right_expression_is_underlined() {
        let message = "job `x`: schedule `99 2 * * *`: minute `99` is out of range".to_owned();
        assert_eq!(drawn(Some(1), 0..2), (message, "99"));
    }

    #[test]
    fn an_error_of_no_expression_underlines_them_all() {
        let message = "job `x`: `schedule`: minute `99` is out of range".to_owned();
        assert_eq!(drawn(None, 0..3), (message.clone(), TEXT));
        assert_eq!(drawn(Some(7), 0..1), (message, TEXT));
    }
}
