//! The lines of several replicas on one stdout: for people each with its replica's name, for programs JSON as it is.

use std::io::Write;
use std::process::ExitStatus;
use std::time::Duration;

use anstyle::AnsiColor;
use tokio::io::{AsyncBufReadExt, AsyncRead, BufReader};
use tokio::sync::mpsc;

use crate::cli::args::global::LogFormat;
use crate::cli::print::logging;
use crate::job::{NodeName, format_duration};
use crate::time::{Clock, SystemClock};

/// One colour per replica, again from the first after the last.
const COLOURS: [AnsiColor; 6] = [
    AnsiColor::Cyan,
    AnsiColor::Magenta,
    AnsiColor::Yellow,
    AnsiColor::Blue,
    AnsiColor::Green,
    AnsiColor::BrightRed,
];

/// How the lines of a replica are passed on.
#[derive(Clone)]
pub(super) enum Style {
    /// With this before each.
    Prefixed(Vec<u8>),
    /// As they are; what is no JSON becomes the message of a line of this replica.
    Json(NodeName),
}

impl Style {
    /// That of the replica with this number, from one on.
    pub(super) fn of(format: LogFormat, name: &NodeName, number: usize) -> Self {
        match format {
            LogFormat::Pretty => Self::Prefixed(prefix(name, number)),
            LogFormat::Json => Self::Json(name.clone()),
        }
    }

    /// A line, without its end.
    fn line(&self, text: &[u8]) -> Vec<u8> {
        let mut line = match self {
            Self::Prefixed(prefix) => [prefix, text].concat(),
            Self::Json(_) if text.starts_with(b"{") => text.to_vec(),
            Self::Json(name) => json_line(name, "ERROR", &String::from_utf8_lossy(text)),
        };
        line.push(b'\n');
        line
    }

    /// The line that tells of its end, and when it is started again.
    pub(super) fn ended(
        &self,
        name: &NodeName,
        status: Option<ExitStatus>,
        again: Option<Duration>,
    ) -> Vec<u8> {
        let status = status.map_or_else(|| "lost".to_owned(), |status| status.to_string());
        let again = again
            .map_or(String::new(), |pause| format!("; it is started again in {}", format_duration(pause)));
        let text = format!("replica {name} ended: {status}{again}");
        match self {
            Self::Prefixed(_) => format!("{text}\n").into_bytes(),
            Self::Json(_) => [json_line(name, "ERROR", &text), b"\n".to_vec()].concat(),
        }
    }
}

/// A line as the replica's own log has them.
fn json_line(name: &NodeName, level: &str, message: &str) -> Vec<u8> {
    let timestamp = SystemClock.utc().to_string();
    let line = serde_json::json!({ "timestamp": timestamp, "level": level, "message": message, "node": name.as_str() });
    line.to_string().into_bytes()
}

fn prefix(name: &NodeName, number: usize) -> Vec<u8> {
    let style = if logging::coloured() {
        COLOURS[(number - 1) % COLOURS.len()].on_default()
    } else {
        anstyle::Style::new()
    };
    format!("{style}{name} |{style:#} ").into_bytes()
}

/// Passes on whatever is read, line by line.
pub(super) async fn pass_lines(from: impl AsyncRead + Unpin, style: Style, to: mpsc::Sender<Vec<u8>>) {
    let mut lines = BufReader::new(from).split(b'\n');
    while let Ok(Some(line)) = lines.next_segment().await {
        if to.send(style.line(&line)).await.is_err() {
            return;
        }
    }
}

/// Prints lines until there are no more.
pub(super) fn print(mut lines: mpsc::Receiver<Vec<u8>>) {
    let mut readable = true;
    while let Some(line) = lines.blocking_recv() {
        // When nobody reads any more, the replicas go on all the same.
        readable = readable && std::io::stdout().write_all(&line).is_ok();
    }
}
