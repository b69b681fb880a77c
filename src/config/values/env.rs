//! Reads `env`: the variables added to the environment of a job. Values stay as they are written. Only the syntax of
//! their references is checked here, so that commands that run no job work without its secrets.

use std::collections::BTreeMap;
use std::ops::Range;

use toml::de::DeValue;

use crate::config::report::findings::Findings;
use crate::config::report::problem::Problem;
use crate::config::sections::keys;
use crate::config::sections::section::Section;
use crate::config::values;
use crate::config::values::Raw;
use crate::job::RUN_VARIABLES;

use super::substitute::Template;

/// Reads `env` of a job or of `[defaults]`.
pub(crate) fn read(section: &Section<'_>, findings: &mut Findings) -> BTreeMap<String, String> {
    let Some(raw) = section.raw("env") else { return BTreeMap::new() };
    let Some(table) = raw.get_ref().as_table() else {
        let message = format!("{}: `env` is {}, expected a table", section.title, values::kind(raw));
        findings.add(
            Problem::error(message).at(raw.span()).help("write `env = { NAME = \"value\" }`".to_owned()),
        );
        return BTreeMap::new();
    };
    let table = Section::new(section.title.clone(), raw.span(), table);
    let mut env = BTreeMap::new();
    for (name, span, raw) in table.entries() {
        let named = check_name(&table.title, name, span, findings);
        if let Some(text) = value_of(&table.title, name, raw, findings)
            && named
        {
            env.insert(name.to_owned(), text);
        }
    }
    env
}

fn check_name(title: &str, name: &str, span: Range<usize>, findings: &mut Findings) -> bool {
    let (what, help) = if name.is_empty() {
        ("has an empty name", "give the variable a name")
    } else if name.contains('=') {
        ("has a `=` in its name", "take it out: it separates name and value in every environment")
    } else if name.contains('\0') {
        ("has a NUL character in its name", "take out the `\\u0000`: no environment could hold it")
    } else if RUN_VARIABLES.contains(&name) {
        ("has a reserved name", "choose another name: this one tells the job about its run")
    } else {
        if keys::of_job().contains(&name) {
            findings.add(misplaced(title, name, span));
        }
        return true;
    };
    let message = format!("{title}: variable `{}` in `env` {what}", name.escape_debug());
    findings.add(Problem::error(message).at(span).help(help.to_owned()));
    false
}

/// Warns about a variable with the name of a job's key: in TOML every line below `[jobs.x.env]` belongs to that table,
/// which is easily overlooked.
fn misplaced(title: &str, name: &str, span: Range<usize>) -> Problem {
    Problem::warning(format!("{title}: `{name}` is a variable for the command here, as it stands in `env`"))
        .at(span)
        .help(format!(
            "if the key `{name}` of the job is meant, write it above the header of the `env` table"
        ))
}

fn value_of(title: &str, name: &str, raw: &Raw<'_>, findings: &mut Findings) -> Option<String> {
    let title = format!("{title}: variable `{}` in `env`", name.escape_debug());
    let mut refuse =
        |what: String, help: String| findings.add(Problem::error(what).at(raw.span()).help(help));
    match raw.get_ref() {
        DeValue::String(text) if text.contains('\0') => {
            let help = "take out the `\\u0000`: no environment could hold it";
            refuse(format!("{title} has a NUL character in its value"), help.into());
        }
        DeValue::String(text) => match Template::parse(text) {
            Ok(_) => return Some(text.to_string()),
            Err(error) => refuse(format!("{title} {}", error.message), error.help),
        },
        DeValue::Integer(number) => {
            refuse(
                format!("{title} is an integer, expected a string"),
                format!("write it in quotes: `\"{number}\"`"),
            );
        }
        _ => refuse(
            format!("{title} is {}, expected a string", values::kind(raw)),
            "write it in quotes".into(),
        ),
    }
    None
}
