//! `check`: everything that is wrong with jobs.toml, or that nothing is. No store is asked, and no job started.

use serde::Serialize;

use crate::config::{self, Config, Overrides, Problem, Severity, Source};

use super::args::{Format, FormatArgs, GlobalArgs};
use super::exit::{Exit, Failure};
use super::screen::Screen;
use super::session::env;

/// What programs get.
#[derive(Debug, Serialize)]
struct Report {
    file: Option<String>,
    ok: bool,
    problems: Vec<Found>,
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

/// Checks the file.
pub(crate) fn run(args: &FormatArgs, global: &GlobalArgs, screen: &mut Screen<'_>) -> Result<Exit, Failure> {
    let source = match config::find(global.config.as_deref()) {
        Ok(source) => source,
        Err(error) if args.format == Format::Json => {
            let file = global.config.as_ref().map(|path| path.display().to_string());
            let problem = Problem::error(error.to_string());
            screen.print_json(&Report { file, ok: false, problems: vec![found(&problem, None)] })?;
            return Ok(Exit::BadConfig);
        }
        Err(error) => return Err(Failure::new(Exit::BadConfig, error.to_string())),
    };
    let overrides = Overrides { store: global.store.as_deref(), drain: None };
    let loaded = config::load(&source, &overrides, &env);
    match args.format {
        Format::Json => {
            let problems = match &loaded {
                Ok((_, warnings)) => warnings.as_slice(),
                Err(problems) => problems.as_slice(),
            };
            let problems = problems.iter().map(|problem| found(problem, Some(&source))).collect();
            let file = Some(source.path.display().to_string());
            screen.print_json(&Report { file, ok: loaded.is_ok(), problems })?;
            Ok(if loaded.is_ok() { Exit::Done } else { Exit::BadConfig })
        }
        Format::Table => {
            let (config, warnings) = loaded.map_err(|problems| {
                Failure::drawn(config::render(problems.as_slice(), &source, screen.err_colour))
            })?;
            screen.say(&config::draw(&warnings, &source, screen.err_colour));
            screen.print(&summary(&config, &warnings, &source))?;
            Ok(Exit::Done)
        }
    }
}

fn found(problem: &Problem, source: Option<&Source>) -> Found {
    let place = source.and_then(|source| config::place(problem, source));
    let severity = match problem.severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
    };
    Found {
        severity,
        message: problem.message.clone(),
        line: place.map(|(line, _)| line),
        column: place.map(|(_, column)| column),
        help: problem.help.clone(),
    }
}

/// `jobs.toml: 5 jobs (1 of them not enabled), no errors, 1 warning`
fn summary(config: &Config, warnings: &[Problem], source: &Source) -> String {
    let disabled = config.jobs.values().filter(|job| !job.enabled).count();
    let jobs = match disabled {
        0 => counted(config.jobs.len(), "job"),
        _ => format!("{} ({disabled} not enabled)", counted(config.jobs.len(), "job")),
    };
    let warnings = counted(warnings.len(), "warning");
    format!("{}: {jobs}, no errors, {warnings}\n", source.path.display())
}

/// `no jobs`, `1 job`, `5 jobs`
fn counted(count: usize, noun: &str) -> String {
    match count {
        0 => format!("no {noun}s"),
        1 => format!("1 {noun}"),
        _ => format!("{count} {noun}s"),
    }
}
