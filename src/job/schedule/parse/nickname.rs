//! Nicknames of expressions, such as `@daily`: each stands for five fields and means exactly those. A nickname without
//! an instant that all replicas share, such as `@reboot`, is refused.

use crate::job::nearest;
use crate::job::schedule::error::ScheduleProblem;

use super::piece::Slice;

/// Each nickname with the fields that it stands for.
const NICKNAMES: [(&str, &str); 7] = [
    ("@yearly", "0 0 1 1 *"),
    ("@annually", "0 0 1 1 *"),
    ("@monthly", "0 0 1 * *"),
    ("@weekly", "0 0 * * 0"),
    ("@daily", "0 0 * * *"),
    ("@midnight", "0 0 * * *"),
    ("@hourly", "0 * * * *"),
];

/// The nickname that takes a duration.
pub(super) const EVERY: &str = "@every";

/// Returns the five fields that a nickname stands for, ignoring case.
pub(super) fn expand(nickname: Slice<'_>) -> Result<&'static str, ScheduleProblem> {
    let known = NICKNAMES.iter().find(|(name, _)| name.eq_ignore_ascii_case(nickname.text));
    known.map(|(_, fields)| *fields).ok_or_else(|| refuse(nickname))
}

fn refuse(nickname: Slice<'_>) -> ScheduleProblem {
    if nickname.text.eq_ignore_ascii_case("@reboot") {
        let message = format!("`{}` is not an instant that all replicas share", nickname.text);
        return nickname.problem(message, "write when it runs, e.g. `@daily`, or start it with the machine");
    }
    let message = format!("nickname `{}` is not known", nickname.text);
    let names = NICKNAMES.iter().map(|(name, _)| *name).chain([EVERY]);
    match nearest(nickname.text, names.clone()) {
        Some(name) => nickname.problem(message, format!("did you mean `{name}`?")),
        None => {
            nickname.problem(message, format!("the nicknames are {}", names.collect::<Vec<_>>().join(" ")))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nicknames_stand_for_the_fields_that_crontab_gives_them() {
        for (nickname, fields) in [
            ("@yearly", "0 0 1 1 *"),
            ("@Annually", "0 0 1 1 *"),
            ("@monthly", "0 0 1 * *"),
            ("@weekly", "0 0 * * 0"),
            ("@daily", "0 0 * * *"),
            ("@MIDNIGHT", "0 0 * * *"),
            ("@hourly", "0 * * * *"),
        ] {
            assert_eq!(expand(Slice::whole(nickname)), Ok(fields));
        }
    }
}
