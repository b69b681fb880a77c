//! `check`: prints everything that is wrong with jobs.toml; with `--probe` also with the store. It changes nothing, and starts
//! no job.

use std::io::ErrorKind;
use std::path::Path;

use serde::Serialize;

use crate::cli::args::global::{CheckArgs, Format, GlobalArgs};
use crate::cli::exit::{Exit, Failure};
use crate::cli::print::output::{Screen, counted};
use crate::cli::session::{Session, env};
use crate::config;
use crate::config::{Config, Machine, Overrides, Places, Problem, Purpose, Source};
use crate::run::{escapes, has_user};

use super::probe::Probe;

/// The result for programs.
#[derive(Debug, Serialize)]
struct Report {
    file: Option<String>,
    /// No errors, neither in the file nor in the findings of the probe.
    ok: bool,
    problems: Vec<Found>,
    /// The findings of the probe; absent without `--probe`.
    #[serde(skip_serializing_if = "Option::is_none")]
    probe: Option<Probe>,
}

impl Report {
    /// Returns the report of an invalid or missing file.
    fn refusal(file: Option<String>, problems: Vec<Found>) -> Self {
        Self { file, ok: false, problems, probe: None }
    }
}

/// One problem, for programs.
#[derive(Debug, Serialize)]
struct Found {
    severity: &'static str,
    message: String,
    line: Option<usize>,
    column: Option<usize>,
    help: Option<String>,
}

/// Checks the file; with `--probe` also the store.
pub(crate) async fn run(
    args: &CheckArgs,
    global: &GlobalArgs,
    screen: &mut Screen<'_>,
) -> Result<Exit, Failure> {
    let is_json = args.format.format == Format::Json;
    let source = match config::find(global.config.as_deref(), Purpose::Read) {
        Ok(source) => source,
        Err(error) if is_json => {
            let file = global.config.as_ref().map(|path| path.display().to_string());
            let problem = Problem::error(error.to_string());
            screen.print_json(&Report::refusal(file, vec![found(&problem, None)]))?;
            return Ok(Exit::BadConfig);
        }
        Err(error) => return Err(Failure::new(Exit::BadConfig, error.to_string())),
    };
    let overrides = Overrides {
        store: global.store.as_deref(),
        escapes: Some(escapes),
        machine: Some(Machine { has_user, has_folder }),
        ..Overrides::default()
    };
    let (config, warnings) = match config::load(&source, &overrides, &env) {
        Ok(loaded) => loaded,
        Err(problems) if is_json => {
            let places = Places::of(&source);
            let problems = problems.as_slice().iter().map(|problem| found(problem, Some(&places))).collect();
            screen.print_json(&Report::refusal(Some(source.path.display().to_string()), problems))?;
            return Ok(Exit::BadConfig);
        }
        Err(problems) => {
            return Err(Failure::drawn(config::render(problems.as_slice(), &source, screen.err_colour)));
        }
    };
    let session = Session::of(source, config, warnings, global);
    if is_json { report(args, session?, screen).await } else { show(args, session?, screen).await }
}

/// Prints the result for people: the file first, as the store may take a while.
async fn show(args: &CheckArgs, session: Session, screen: &mut Screen<'_>) -> Result<Exit, Failure> {
    let Session { source, config, warnings, .. } = &session;
    screen.say(&config::draw(warnings, source, screen.err_colour));
    screen.print(&summary(config, warnings, source))?;
    if !args.probe {
        return Ok(Exit::Done);
    }
    let probe = Probe::of(&session).await?;
    screen.say(&probe.drawn(screen.err_colour));
    screen.print(&probe.summary())?;
    Ok(probe.exit())
}

async fn report(args: &CheckArgs, session: Session, screen: &mut Screen<'_>) -> Result<Exit, Failure> {
    let probe = if args.probe { Some(Probe::of(&session).await?) } else { None };
    let exit = probe.as_ref().map_or(Exit::Done, Probe::exit);
    let Session { source, warnings, .. } = &session;
    let places = Places::of(source);
    screen.print_json(&Report {
        file: Some(source.path.display().to_string()),
        ok: exit == Exit::Done,
        problems: warnings.iter().map(|problem| found(problem, Some(&places))).collect(),
        probe,
    })?;
    Ok(exit)
}

fn found(problem: &Problem, places: Option<&Places<'_>>) -> Found {
    let place = places.and_then(|places| places.of_problem(problem));
    Found {
        severity: problem.severity.as_str(),
        message: problem.message.clone(),
        line: place.map(|(line, _)| line),
        column: place.map(|(_, column)| column),
        help: problem.help.clone(),
    }
}

/// Whether the folder exists. A path that this user may not access counts as a folder.
fn has_folder(path: &Path) -> bool {
    path.metadata().map_or_else(|error| error.kind() != ErrorKind::NotFound, |found| found.is_dir())
}

/// Returns `jobs.toml: 5 jobs (1 not enabled), no errors, 1 warning`.
fn summary(config: &Config, warnings: &[Problem], source: &Source) -> String {
    let disabled = config.jobs.values().filter(|job| !job.enabled).count();
    let jobs = match disabled {
        0 => counted(config.jobs.len(), "job"),
        _ => format!("{} ({disabled} not enabled)", counted(config.jobs.len(), "job")),
    };
    let warnings = counted(warnings.len(), "warning");
    format!("{}: {jobs}, no errors, {warnings}\n", source.path.display())
}
