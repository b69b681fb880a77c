//! Prints the lines of several replicas on one stdout: for people with the replica's name before each, for programs as JSON.

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

/// One colour per replica; after the last the first again.
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
    /// With this prefix.
    Prefixed(Vec<u8>),
    /// Unchanged; a line that is not JSON becomes the message of a JSON line of this replica.
    Json(NodeName),
}

impl Style {
    /// Returns the style of the replica with this number, counted from 1.
    pub(super) fn of(format: LogFormat, name: &NodeName, number: usize) -> Self {
        match format {
            LogFormat::Pretty => Self::Prefixed(prefix(name, number)),
            LogFormat::Json => Self::Json(name.clone()),
        }
    }

    /// Returns the line to print for a line of the replica, given without its newline.
    fn line(&self, text: &[u8]) -> Vec<u8> {
        let mut line = match self {
            Self::Prefixed(prefix) => [prefix, text].concat(),
            Self::Json(_) if text.starts_with(b"{") => text.to_vec(),
            Self::Json(name) => json_line(name, "ERROR", &String::from_utf8_lossy(text)),
        };
        line.push(b'\n');
        line
    }

    /// Returns the line that reports the end of a replica, and when it is started again.
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

/// Returns a line in the format of the replica's own log.
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

/// Passes on everything that is read, line by line.
pub(super) async fn pass_lines(from: impl AsyncRead + Unpin, style: Style, to: mpsc::Sender<Vec<u8>>) {
    let mut lines = BufReader::new(from).split(b'\n');
    while let Ok(Some(line)) = lines.next_segment().await {
        if to.send(style.line(&line)).await.is_err() {
            return;
        }
    }
}

/// Prints lines until the channel is closed.
pub(super) fn print(mut lines: mpsc::Receiver<Vec<u8>>) {
    let mut readable = true;
    while let Some(line) = lines.blocking_recv() {
        // If stdout has no reader any more, the replicas continue.
        readable = readable && std::io::stdout().write_all(&line).is_ok();
    }
}
