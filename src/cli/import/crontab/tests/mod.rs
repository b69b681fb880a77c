//! Converts whole crontabs. For every crontab the resulting jobs.toml is accepted.

use proptest::prelude::*;

use crate::cli::print::escapes::escape_text;
use crate::config::{Config, Overrides, Problem, Source, load, render};
use crate::job::{Command, JobName, JobSpec};

use super::{Conversion, Crontab, Form};

const ZONE: &str = "Europe/Berlin";

fn convert(bytes: &[u8], form: Form) -> Conversion {
    Conversion::of(&Crontab { name: "crontab", bytes, form, zone: Some(ZONE) })
}

/// Returns the jobs.toml as `check` reads it.
fn loaded(toml: &str) -> (Config, Vec<Problem>) {
    let source = Source::new("jobs.toml", toml);
    load(&source, &Overrides::default(), &|_| None).unwrap_or_else(|problems| {
        panic!("{}\n{toml}", render(problems.as_slice(), &source, false));
    })
}

fn jobs(text: &str, form: Form) -> (Config, Conversion) {
    let conversion = convert(text.as_bytes(), form);
    (loaded(&conversion.to_toml()).0, conversion)
}

fn job<'c>(config: &'c Config, name: &str) -> &'c JobSpec {
    &config.jobs[&JobName::parse(name).expect("a name")]
}

#[test]
fn the_crontab_of_a_system_keeps_its_comments_variables_and_users() {
    let text = include_str!("system.crontab");
    insta::assert_snapshot!("system", convert(text.as_bytes(), Form::System).to_toml());
}

#[test]
fn the_crontab_of_a_user_says_what_is_not_carried_over() {
    let text = include_str!("user.crontab");
    insta::assert_snapshot!("user", convert(text.as_bytes(), Form::User).to_toml());
}

#[test]
fn commands_reach_the_shell_as_cron_hands_them_over() {
    for (command, line) in [
        (r#"echo "it's" 'a "b"' \\ $HOME ${X:-y} `date` # no comment"#, None),
        (r"date +\%F '\%'", Some("date +%F '%'")),
        ("a\tb  c", None),
        ("x %", Some("x")),
        ("\u{202e}\u{9b}2J\u{1b}[31m ünï", None),
        ("'''\"\"\"", None),
        (r"a\", None),
    ] {
        let (config, conversion) = jobs(&format!("0 5 * * * {command}\n"), Form::User);
        let spec = config.jobs.values().next().expect("one job");
        assert_eq!(spec.command, Command::Shell(line.unwrap_or(command).to_owned()));
        let toml = conversion.to_toml();
        assert_eq!(escape_text(&toml), toml, "a terminal shows it as it is");
    }
}

#[test]
fn variables_hold_for_the_lines_below_them() {
    let text =
        "A=${X} $${Y}\n0 1 * * * one\nA=2\nSHELL=/bin/bash\nHOME=/srv\nCRON_TZ=Asia/Tokyo\n0 2 * * * two\n";
    let (config, _) = jobs(text, Form::User);
    let (one, two) = (job(&config, "one"), job(&config, "two"));
    let resolved = crate::config::resolve_env(one, &|_| None, &|_| unreachable!("no file is named"));
    assert_eq!(resolved.expect("no references")["A"], "${X} $${Y}");
    assert_eq!((one.schedule.zone_name(), one.cwd.as_deref()), (ZONE, None));
    assert_eq!(one.command, Command::Shell("one".to_owned()));
    assert_eq!((two.env["A"].as_str(), two.env["HOME"].as_str()), ("2", "/srv"));
    assert_eq!(two.schedule.zone_name(), "Asia/Tokyo");
    assert_eq!(two.cwd.as_deref(), Some(std::path::Path::new("/srv")));
    assert_eq!(two.command, Command::Argv(["/bin/bash", "-c", "two"].map(str::to_owned).to_vec()));
}

#[test]
fn a_line_that_cannot_be_carried_over_is_listed_and_no_job() {
    for (line, why) in [
        ("MAILTO=ops@example.org", "no mail"),
        ("@reboot warm-cache", "systemd"),
        ("0 5 * * * mail -s x bob%hello%there", "standard input"),
        ("0 5 * * * %hello", "nothing stands before"),
        ("61 * * * * x", "out of range"),
        ("0 0 31 2 * x", "never matches"),
        ("* * * *", "4 of the five fields"),
        ("0 5 * * *", "the command is missing"),
        ("CRON_TZ=Mars/Base", "Mars/Base"),
        ("SOLOCRON_STORE=local", "about its run"),
    ] {
        let text = format!("0 4 * * * good\n{line}\n");
        let (config, conversion) = jobs(&text, Form::User);
        assert_eq!(config.jobs.len(), 1, "{line}");
        let [left_out] = conversion.left_out.as_slice() else { panic!("{:?}", conversion.left_out) };
        assert_eq!((left_out.line, left_out.text.as_str()), (2, line));
        assert!(left_out.why.contains(why), "{line}: {}", left_out.why);
        let toml = conversion.to_toml();
        assert!(toml.contains(&format!("#   line 2: {line}\n")), "{toml}");
        assert!(toml.contains(&format!("# not carried over: {line}\n")), "{toml}");
    }
    let conversion = convert(b"0 4 * * * caf\xe9\n# \xe9\n0 4 * * * x\n", Form::User);
    assert!(conversion.left_out[0].why.contains("UTF-8"), "{:?}", conversion.left_out);
    assert_eq!(conversion.count(), 1);
}

#[test]
fn a_crontab_in_the_other_form_is_noticed() {
    let (_, conversion) = jobs("0 5 * * * root a\n0 6 * * * root b\n", Form::User);
    assert!(conversion.notes[0].contains("--system"), "{:?}", conversion.notes);
    let conversion = convert(b"0 5 * * * /usr/bin/a b\n", Form::System);
    assert!(conversion.left_out[0].why.contains("not a user name"), "{:?}", conversion.left_out);
}

/// Returns pieces of lines, most of them odd.
fn piece() -> impl Strategy<Value = String> {
    prop_oneof![
        Just("0 5 * * * ".to_owned()),
        Just("*/5 0~7 1-31/2 jan,DEC mon-fri ".to_owned()),
        Just("@daily ".to_owned()),
        Just("root ".to_owned()),
        Just("SHELL=/bin/bash\n".to_owned()),
        Just("CRON_TZ=Asia/Tokyo\n".to_owned()),
        Just("HOME = '/srv/a b'\n".to_owned()),
        Just("env=${X}\n".to_owned()),
        Just("[jobs.x]\n".to_owned()),
        Just("# [jobs.\"x\n".to_owned()),
        Just("\n".to_owned()),
        "[A-Z_]{1,3}=[^\n]{0,9}\n",
        "[\"'][^\n]{0,5}[\"'] *= *[\"'][^\n]{0,5}[\"']\n",
        "#[^\n]{0,9}\n",
        "[a-z./ '\"\\\\%$&|;<>(){}]{0,20}\n",
        any::<String>(),
    ]
}

proptest! {
    #[test]
    fn any_crontab_with_a_job_becomes_a_file_that_is_accepted(
        pieces in prop::collection::vec(piece(), 1..12), is_system in any::<bool>(), bad in prop::collection::vec(any::<u8>(), 0..3)
    ) {
        let form = if is_system { Form::System } else { Form::User };
        let mut bytes = pieces.concat().into_bytes();
        bytes.extend(bad);
        bytes.extend(b"\n0 4 * * * root last\n");
        let conversion = convert(&bytes, form);
        let toml = conversion.to_toml();
        let (config, _) = loaded(&toml);
        prop_assert_eq!(config.jobs.len(), conversion.count());
        prop_assert!(!config.jobs.is_empty());
        prop_assert_eq!(escape_text(&toml), toml.as_str());
        let is_listed = conversion.left_out.iter().all(|left_out| toml.contains(&format!("#   line {}:", left_out.line)));
        prop_assert!(is_listed);
    }
}
