//! `import`: prints a jobs.toml made from the file of another program. What it could not convert is listed on stderr as well.

mod crontab;

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use crontab::{Conversion, Crontab, Form};
use jiff::tz::TimeZone;

use super::exit::{Exit, Failure};
use super::print::output::{Screen, counted};

/// The most bytes that a crontab may have.
const LONGEST: u64 = 16 << 20;

/// The places of crontabs that name a user in each entry.
const OF_SYSTEM: [&str; 2] = ["/etc/crontab", "/etc/cron.d"];

/// What can be imported.
#[derive(Debug, Subcommand)]
pub enum Import {
    /// Print a jobs.toml for a crontab
    #[command(
        after_help = "Comments stay above their jobs. Names are made from the commands: change them before the first run. What \
        cannot be carried over, such as @reboot, MAILTO and input after a `%`, is listed on stderr and at the top of the file.\n\n\
        Exit codes: 0 printed, 1 no entry could be converted.\n\n\
        Examples:\n  \
        crontab -l | solocron import crontab - > jobs.toml\n  \
        solocron import crontab /etc/crontab"
    )]
    Crontab(CrontabArgs),
}

/// Flags of `import crontab`.
#[derive(Debug, Args)]
pub struct CrontabArgs {
    /// The crontab; `-` is standard input
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Expect a user between the times and the command, as always in /etc/crontab and /etc/cron.d
    #[arg(long)]
    pub system: bool,
}

/// Prints the jobs.toml.
pub(crate) fn run(args: &CrontabArgs, screen: &mut Screen<'_>) -> Result<Exit, Failure> {
    let is_stdin = args.file == Path::new("-");
    let name = if is_stdin { "standard input".to_owned() } else { args.file.display().to_string() };
    let bytes = if is_stdin { read(io::stdin()) } else { File::open(&args.file).and_then(read) };
    let bytes = bytes.map_err(|error| {
        Failure::failed(format!("{name} cannot be read ({error})\n  help: name a readable file, or pass it on: `crontab -l | solocron import crontab -`"),
        )
    })?;
    let zone = TimeZone::system();
    let form = if args.system || is_of_system(&args.file) { Form::System } else { Form::User };
    let crontab = Crontab { name: &name, bytes: &bytes, form, zone: zone.iana_name() };
    let conversion = Conversion::of(&crontab);
    for left_out in &conversion.left_out {
        let (line, text, why) = (left_out.line, &left_out.text, &left_out.why);
        screen.say(&format!("warning: {name}:{line}: not carried over: {text}\n  note: {why}\n"));
    }
    if conversion.count() == 0 {
        let message = format!(
            "{name} has no entry that could be converted\n  help: an entry is five fields and a command, such as `30 2 * * * /usr/local/bin/backup`"
        );
        return Err(Failure::failed(message));
    }
    screen.print(&conversion.to_toml())?;
    for note in &conversion.notes {
        screen.say(&format!("note: {note}\n"));
    }
    let lines = counted(conversion.left_out.len(), "line");
    screen.say(&format!(
        "{name}: {} converted, {lines} not carried over\n",
        counted(conversion.count(), "job")
    ));
    Ok(Exit::Done)
}

fn read(from: impl Read) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    from.take(LONGEST + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > LONGEST {
        return Err(io::Error::other(format!("it has more than {} MiB", LONGEST >> 20)));
    }
    Ok(bytes)
}

fn is_of_system(file: &Path) -> bool {
    let whole = std::path::absolute(file).unwrap_or_else(|_| file.to_owned());
    OF_SYSTEM.iter().any(|place| whole.starts_with(place))
}
