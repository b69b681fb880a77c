//! Converts the times of an entry to an expression of jobs.toml, or reports why that is impossible.

use crate::job::Schedule;

/// The lowest and the highest value of each field.
const BOUNDS: [(&str, &str); 5] = [("0", "59"), ("0", "23"), ("1", "31"), ("1", "12"), ("0", "6")];

/// Returns the expression for these fields, or for this nickname.
pub(super) fn expression(times: &[&str]) -> Result<String, String> {
    if times[0].eq_ignore_ascii_case("@reboot") {
        return Err(
            "replicas share no such instant: have the machine start it, for example by systemd".to_owned()
        );
    }
    let expression = match times {
        [nickname] => (*nickname).to_owned(),
        fields => {
            let fields = fields
                .iter()
                .zip(BOUNDS)
                .map(|(field, (lowest, highest))| with_slots(field, lowest, highest));
            let fields = fields.collect::<Vec<_>>().join(" ");
            // In some crons, a `-` before the times keeps the entry out of the system's log.
            fields.strip_prefix('-').map_or(fields.clone(), str::to_owned)
        }
    };
    // The name of the job decides where a slot lies, and not whether one exists.
    match Schedule::parse("x", &[&expression], "UTC") {
        Ok(_) => Ok(expression),
        Err(problems) => {
            let texts: Vec<String> = problems.iter().map(ToString::to_string).collect();
            Err(texts.join("; "))
        }
    }
}

/// Converts `0~59`, a value that cron chooses at random when it starts, to `H(0-59)`, a value that the job's name chooses.
fn with_slots(field: &str, lowest: &str, highest: &str) -> String {
    let item = |item: &str| match item.split_once('~') {
        None => item.to_owned(),
        Some((from, to)) => {
            let (to, step) =
                to.split_once('/').map_or((to, String::new()), |(to, step)| (to, format!("/{step}")));
            let or = |value: &str, default: &str| if value.is_empty() { default } else { value }.to_owned();
            format!("H({}-{}){step}", or(from, lowest), or(to, highest))
        }
    };
    field.split(',').map(item).collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_and_nicknames_stay_and_random_times_become_slots() {
        for (times, expected) in [
            (vec!["*/5", "0-6", "1,15", "jan", "mon-fri"], "*/5 0-6 1,15 jan mon-fri"),
            (vec!["@daily"], "@daily"),
            (vec!["-*/2", "*", "*", "*", "*"], "*/2 * * * *"),
            (vec!["~", "1~5", "~15", "*", "2~"], "H(0-59) H(1-5) H(1-15) * H(2-6)"),
            (vec!["0~29/10,45", "*", "*", "*", "*"], "H(0-29)/10,45 * * * *"),
        ] {
            assert_eq!(expression(&times).as_deref(), Ok(expected));
        }
    }

    #[test]
    fn what_no_tick_can_be_computed_from_is_refused_with_the_way_out() {
        for (times, why) in [
            (vec!["61", "*", "*", "*", "*"], "minute `61` is out of range, expected 0-59"),
            (vec!["0", "0", "30", "2", "*"], "never matches any date"),
            (vec!["@reboot"], "systemd"),
            (vec!["@dialy"], "did you mean `@daily`?"),
            (vec!["0", "9", "*", "*", "5~2"], "backwards"),
        ] {
            let said = expression(&times).expect_err("refused");
            assert!(said.contains(why), "{said}");
        }
    }
}
