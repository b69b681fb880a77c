//! `man`: one manual page with every command and its flags, on stdout.

use std::io;

use clap::{Arg, Command, CommandFactory};
use clap_mangen::Man;
use clap_mangen::roff::{Roff, bold, roman};

use crate::cli::exit::{Exit, Failure};
use crate::cli::print::output::Screen;
use crate::config::{Home, KEYS, Key};

use super::global::Cli;

/// A term and its explanation.
type ManItem<'a> = (&'a str, &'a str);

/// Variables that belong to no flag.
const VARIABLES: [ManItem<'_>; 6] = [
    (
        "STATE_DIRECTORY",
        "The state folder, as systemd passes it on. --state-dir and SOLOCRON_STATE_DIR beat it.",
    ),
    (
        "XDG_STATE_HOME, HOME",
        "Where the state folder of a user lies, if neither that nor a writable /var/lib/solocron names one.",
    ),
    ("NO_COLOR", "If it is set and not empty, nothing is coloured."),
    ("CLICOLOR_FORCE", "If it is set and not 0, colours go to pipes and files, too."),
    ("SSL_CERT_FILE, SSL_CERT_DIR", "The certificate authorities that a rediss:// store is verified with."),
    ("TZ", "The time zone that `import crontab` writes down [default: this machine's]."),
];

/// The variables that a job gets.
const OF_JOBS: &str = "A job sees SOLOCRON_JOB, SOLOCRON_TICK, SOLOCRON_TICK_MS, SOLOCRON_TICK_LOCAL, SOLOCRON_FENCE, \
    SOLOCRON_RUN, SOLOCRON_ATTEMPT, SOLOCRON_CAUSE and SOLOCRON_NODE, and no other variable whose name begins with SOLOCRON_.";

const FILES: [ManItem<'_>; 8] = [
    ("./jobs.toml", "The jobs file, unless --config or SOLOCRON_CONFIG names one."),
    ("/etc/solocron/jobs.toml", "The jobs file, if there is none in the working directory."),
    ("/var/lib/solocron", "The state folder STATE_DIR, if it is writable and no other is named."),
    ("~/.local/state/solocron", "The state folder of a user, otherwise."),
    ("STATE_DIR/runs/JOB/RUN.log", "The output of one run."),
    ("STATE_DIR/runs.jsonl", "One line for each finished run of this node."),
    ("STATE_DIR/store.sqlite3", "The embedded store (store = \"local\")."),
    (
        "STATE_DIR/leases",
        "What a replica has to know of its locks when it starts again. Keep it over restarts.",
    ),
];

const EXIT_STATUS: [ManItem<'_>; 7] = [
    ("0", "Done."),
    ("1", "Failed, or something is wrong (status --check, check --probe)."),
    ("2", "Wrong usage, or an unknown job."),
    ("69", "The store cannot be reached."),
    ("70", "The lock was lost (exec)."),
    ("75", "The lock is held by another (exec), or the run was skipped (trigger --follow)."),
    ("78", "jobs.toml is bad."),
];

/// The other exit codes of a command.
const AS_COMMAND: &str =
    "exec and trigger --follow otherwise exit as the command did, with 128+n if it died of signal n.";

const EXAMPLES: [ManItem<'_>; 9] = [
    ("solocron check --probe", "Validates the jobs file, and the settings of the store."),
    ("solocron run --replicas 3", "Runs three replicas on this machine."),
    ("solocron next nightly-backup -n 3", "Shows when a job runs next."),
    ("solocron status --check", "Shows what is wrong, and exits 1 when anything is: for monitoring."),
    ("solocron history --failed --since 2d", "Shows what failed in two days, over all replicas."),
    ("solocron acts nightly-backup", "Shows who triggered, paused or killed a job."),
    ("solocron trigger nightly-backup --follow", "Runs a job once on some replica, and waits for it."),
    ("solocron exec --job nightly-backup --dry-run", "Shows what a job would run on this machine."),
    ("crontab -l | solocron import crontab - > jobs.toml", "Makes a jobs file from a crontab."),
];

/// Prints the manual page.
pub(crate) fn run(screen: &mut Screen<'_>) -> Result<Exit, Failure> {
    let page = page().expect("a page can be written to memory");
    screen.print_bytes(&page)?;
    Ok(Exit::Done)
}

fn page() -> io::Result<Vec<u8>> {
    let mut command = Cli::command();
    command.build();
    let mut page = Vec::new();
    let man = Man::new(command.clone());
    man.render_title(&mut page)?;
    man.render_name_section(&mut page)?;
    man.render_synopsis_section(&mut page)?;
    man.render_description_section(&mut page)?;
    man.render_options_section(&mut page)?;
    for (name, command) in leaves(&command, "") {
        page.extend_from_slice(section(&name, command)?.as_bytes());
    }
    let mut roff = Roff::new();
    let (variables, others) =
        (variables(&command), VARIABLES.map(|(name, text)| (name.to_owned(), text.to_owned())));
    list(
        &mut roff,
        "ENVIRONMENT",
        variables.iter().chain(&others).map(|(name, text)| (name.as_str(), text.as_str())),
    );
    roff.control("PP", []).text([roman(OF_JOBS)]);
    jobs_file(&mut roff);
    list(&mut roff, "FILES", FILES.into_iter());
    list(&mut roff, "EXIT STATUS", EXIT_STATUS.into_iter());
    roff.control("PP", []).text([roman(AS_COMMAND)]);
    list(&mut roff, "EXAMPLES", EXAMPLES.into_iter());
    roff.to_writer(&mut page)?;
    Ok(page)
}

/// Returns the commands that can be called, each with its full name.
fn leaves<'a>(command: &'a Command, before: &str) -> Vec<(String, &'a Command)> {
    let shown = command.get_subcommands().filter(|below| !below.is_hide_set() && below.get_name() != "help");
    let of = |below: &'a Command| {
        let name = format!("{before}{}", below.get_name());
        if below.has_subcommands() { leaves(below, &format!("{name} ")) } else { vec![(name, below)] }
    };
    shown.flat_map(of).collect()
}

/// Returns a command as a section of the page. The flags of every command stand only once, at the top.
fn section(name: &str, command: &Command) -> io::Result<String> {
    let own = command.clone().mut_args(|arg| {
        let is_hidden = arg.is_hide_set() || arg.is_global_set();
        arg.hide(is_hidden)
    });
    let has_options = own.get_arguments().any(|arg| !arg.is_hide_set());
    let man = Man::new(own);
    let mut parts = Vec::new();
    man.render_synopsis_section(&mut parts)?;
    man.render_description_section(&mut parts)?;
    if has_options {
        man.render_options_section(&mut parts)?;
    }
    if command.get_after_help().is_some() {
        man.render_extra_section(&mut parts)?;
    }
    let parts = String::from_utf8_lossy(&parts).replace(".SH ", ".SS ").replace(" EXTRA", " NOTES");
    Ok(format!(".SH \"SOLOCRON {}\"\n{parts}", name.to_uppercase()))
}

/// Returns the variables that belong to flags, in the order of the flags.
fn variables(command: &Command) -> Vec<(String, String)> {
    let own = command.get_arguments().map(|arg| (String::new(), arg));
    let leaves = leaves(command, "");
    let of_leaves = leaves
        .iter()
        .flat_map(|(name, below)| below.get_arguments().map(move |arg| (format!("{name} "), arg)));
    let mut variables: Vec<(String, String)> = Vec::new();
    for (command, arg) in own.chain(of_leaves) {
        let Some((variable, text)) = variable(&command, arg) else { continue };
        if variables.iter().all(|(known, _)| *known != variable) {
            variables.push((variable, text));
        }
    }
    variables
}

/// Returns the variable of a flag, and its explanation.
fn variable(command: &str, arg: &Arg) -> Option<(String, String)> {
    let (variable, flag) = (arg.get_env()?.to_str()?, arg.get_long()?);
    let help = arg.get_help().map(ToString::to_string).unwrap_or_default();
    Some((variable.to_owned(), format!("{help}. The flag `{command}--{flag}` beats it.")))
}

fn list<'a>(roff: &mut Roff, title: &str, items: impl Iterator<Item = ManItem<'a>>) {
    roff.control("SH", [title]);
    terms(roff, items);
}

fn terms<'a>(roff: &mut Roff, items: impl Iterator<Item = ManItem<'a>>) {
    for (term, text) in items {
        roff.control("TP", []).text([bold(term)]).text([roman(text)]);
    }
}

/// The keys of jobs.toml, table by table.
fn jobs_file(roff: &mut Roff) {
    roff.control("SH", ["JOBS FILE"]);
    let homes = [Home::Cluster, Home::Job, Home::Shared, Home::Replica, Home::Http, Home::Token, Home::Logs];
    for home in homes {
        roff.control("SS", [home.title().replace('`', "").as_str()]);
        let keys = KEYS.iter().filter(|key| key.home == home && key.topic.is_some());
        let texts: Vec<(&str, String)> = keys.map(|key| (key.name, of_key(key))).collect();
        terms(roff, texts.iter().map(|(name, text)| (*name, text.as_str())));
    }
}

/// What a key does, and its default, without the marks of Markdown: `[text](place)` is `text`.
fn of_key(key: &Key) -> String {
    let markdown = format!("{} [default: {}].", key.meaning, key.default_text());
    let mut text = String::new();
    let mut rest = markdown.as_str();
    while let Some((before, after)) = rest.split_once("](") {
        let (linked, beyond) = (before.rfind('['), after.split_once(')'));
        let (Some(at), Some((_, beyond))) = (linked, beyond) else { break };
        text.push_str(&before[..at]);
        text.push_str(&before[at + 1..]);
        rest = beyond;
    }
    text.push_str(rest);
    let text = text.replace('`', "");
    let mut letters = text.chars();
    letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use crate::config::default_of;

    use super::*;

    #[test]
    fn the_page_has_every_command_with_its_own_flags_and_the_common_ones_once() {
        let page = String::from_utf8(page().expect("in memory")).expect("roff is text");
        let command = Cli::command();
        for (name, _) in leaves(&command, "") {
            let heading = format!(".SH \"SOLOCRON {}\"", name.to_uppercase());
            assert_eq!(page.matches(&heading).count(), 1, "{heading}");
        }
        assert!(page.contains("SOLOCRON IMPORT CRONTAB"), "{page}");
        assert!(page.contains("\\-\\-since"), "{page}");
        // Once in the synopsis, once among the options.
        assert_eq!(page.matches("\\fB\\-\\-config\\fR").count(), 2, "{page}");
        assert!(!page.contains("supervised"), "hidden flags stay hidden");
    }

    #[test]
    fn every_key_of_the_jobs_file_is_explained_in_plain_text() {
        let page = String::from_utf8(page().expect("in memory")).expect("roff is text");
        let (_, rest) = page.split_once(".SH \"JOBS FILE\"\n").expect("a section");
        let (keys, _) = rest.split_once(".SH FILES\n").expect("a section");
        for key in KEYS.iter().filter(|key| key.topic.is_some()) {
            assert!(keys.contains(&format!("\\fB{}\\fR", key.name)), "{}: {keys}", key.name);
        }
        assert!(keys.contains("Added to the environment; merged with that of [defaults]"), "{keys}");
        assert!(!keys.contains(['`', '#']), "{keys}");
    }

    #[test]
    fn flags_name_the_defaults_of_the_keys_that_they_stand_for() {
        let page = String::from_utf8(page().expect("in memory")).expect("roff is text");
        for (key, around) in
            [("drain", ("else ", "]")), ("lease", ("[default: ", "; with \\-\\-job, the job\\*(Aqs]"))]
        {
            let text = format!("{}{}{}", around.0, default_of(key).trim_matches('"'), around.1);
            assert!(page.contains(&text), "{text}");
        }
    }

    #[test]
    fn every_variable_file_and_exit_code_has_a_place_of_its_own() {
        let page = String::from_utf8(page().expect("in memory")).expect("roff is text");
        let (_, rest) = page.split_once(".SH ENVIRONMENT\n").expect("a section");
        let (environment, rest) = rest.split_once(".SH FILES\n").expect("a section");
        let (files, rest) = rest.split_once(".SH \"EXIT STATUS\"\n").expect("a section");
        let (codes, examples) = rest.split_once(".SH EXAMPLES\n").expect("a section");
        for variable in ["CONFIG", "STORE", "STATE_DIR", "NODE", "LOG_LEVEL", "CLUSTER", "REPLICAS"] {
            assert_eq!(
                environment.matches(&format!("\\fBSOLOCRON_{variable}\\fR\n")).count(),
                1,
                "{environment}"
            );
        }
        assert!(files.contains("/etc/solocron/jobs.toml"), "{files}");
        for code in ["0", "1", "2", "69", "70", "75", "78"] {
            assert!(codes.contains(&format!("\\fB{code}\\fR\n")), "{codes}");
        }
        let lines = EXAMPLES
            .map(|(line, _)| line.split(' ').skip_while(|word| *word != "solocron").collect::<Vec<_>>());
        for words in lines {
            let words = words.into_iter().take_while(|word| *word != ">");
            assert!(<Cli as clap::Parser>::try_parse_from(words).is_ok(), "{examples}");
        }
    }
}
