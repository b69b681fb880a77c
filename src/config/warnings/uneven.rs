//! Finds steps that do not divide their field: `*/7` in minutes is every seven minutes, except at the turn of the hour.

use crate::config::report::problem::Problem;
use crate::config::values::placed::Placed;

/// Fields that restart at 0, by their place in an expression with seconds: name, number of values, and unit of a
/// duration.
const FIELDS: [(&str, u32, char); 3] = [("seconds", 60, 's'), ("minutes", 60, 'm'), ("hours", 24, 'h')];

/// Returns warnings about the uneven steps of an expression.
pub(crate) fn of_expression(title: &str, expression: &Placed<String>) -> Vec<Problem> {
    let text = expression.value.as_str();
    let words: Vec<&str> = text.split_whitespace().collect();
    let fields = match words.len() {
        6 => &FIELDS[..],
        5 => &FIELDS[1..],
        _ => return Vec::new(),
    };
    let steps =
        words.iter().zip(fields).flat_map(|(word, field)| word.split(',').map(move |item| (item, field)));
    let uneven = steps.filter_map(|(item, (name, count, letter))| {
        let step: u32 = item.strip_prefix("*/")?.parse().ok()?;
        let last = (count - 1) / step.max(1) * step;
        (step > 1 && last > 0 && count % step != 0).then(|| {
            let start = item.as_ptr() as usize - text.as_ptr() as usize;
            let rest = count - last;
            let message = format!(
                "{title}: `{item}` in {name} is uneven: after {last} comes 0, {rest} {} later",
                if rest == 1 { name.trim_end_matches('s') } else { name }
            );
            let even = divisors(*count, step);
            Problem::warning(message).at(expression.part(&(start..start + item.len()))).help(format!(
                "write {even}, or `@every {step}{letter}`, which is the same time apart always"
            ))
        })
    });
    uneven.collect()
}

/// Returns the nearest steps below and above that divide the field.
fn divisors(count: u32, step: u32) -> String {
    let divides = |step: &u32| count.is_multiple_of(*step);
    let below = (2..step).rev().find(divides);
    let above = (step..count).find(divides);
    let steps: Vec<String> = below.into_iter().chain(above).map(|step| format!("`*/{step}`")).collect();
    steps.join(" or ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn warned(text: &str) -> Vec<String> {
        let expression = Placed { value: text.to_owned(), span: 0..text.len() + 2 };
        let said = of_expression("job `x`", &expression);
        said.into_iter().map(|problem| problem.message + "; " + &problem.help.unwrap_or_default()).collect()
    }

    #[test]
    fn a_step_that_does_not_divide_its_field_is_warned_of_with_those_that_do() {
        assert_eq!(
            warned("*/7 * * * *"),
            [
                "job `x`: `*/7` in minutes is uneven: after 56 comes 0, 4 minutes later; write `*/6` or `*/10`, or \
              `@every 7m`, which is the same time apart always"
            ]
        );
        assert_eq!(
            warned("0 5,*/7 * * *"),
            [
                "job `x`: `*/7` in hours is uneven: after 21 comes 0, 3 hours later; write `*/6` or `*/8`, or `@every 7h`, \
              which is the same time apart always"
            ]
        );
        assert_eq!(warned("*/40 * * * * *").len(), 1);
    }

    #[test]
    fn even_steps_and_those_of_days_are_not() {
        for text in
            ["*/5 */6 */2 */5 *", "*/1 * * * *", "5/7 * * * *", "*/60 * * * *", "@every 7m", "0 2 * * *"]
        {
            assert_eq!(warned(text), [""; 0], "{text}");
        }
    }
}
