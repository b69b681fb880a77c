//! The log on stdout: coloured lines for people, or one JSON object per line for programs. One line per event.

use std::fmt;
use std::io::IsTerminal;

use anstyle::{AnsiColor, Style};
use tracing::field::{Field, Visit};
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::filter::Targets;
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields};
use tracing_subscriber::prelude::*;
use tracing_subscriber::registry::LookupSpan;

use crate::cli::args::global::LogFormat;
use crate::job::quoted_within;
use crate::time::{Clock, SystemClock};
use crate::view::text::short_text;

use super::escapes::escape_text;
use super::log_writer::LogWriter;

/// Returns the requested format, or the one that fits stdout.
pub(crate) fn format_or_default(asked: Option<LogFormat>) -> LogFormat {
    let fitting = if std::io::stdout().is_terminal() { LogFormat::Pretty } else { LogFormat::Json };
    asked.unwrap_or(fitting)
}

/// Whether stdout takes colours, as `NO_COLOR`, `CLICOLOR_FORCE` and a pipe decide.
pub(crate) fn coloured() -> bool {
    anstream::AutoStream::choice(&std::io::stdout()) != anstream::ColorChoice::Never
}

/// Starts the log. Call this once.
pub(crate) fn start(format: LogFormat, level: Level) {
    // The scheduler's own errors add nothing to what the replica notices by itself.
    let targets = Targets::new()
        .with_target("solocron", level)
        // `--job-output` alone decides whether the output of jobs is logged, not the level of the log.
        .with_target("solocron::output", Level::INFO)
        .with_target("tokio_cron_scheduler", Level::ERROR)
        .with_default(Level::WARN.min(level));
    let registry = tracing_subscriber::registry().with(targets);
    match format {
        LogFormat::Json => {
            let layer = tracing_subscriber::fmt::layer()
                .with_writer(LogWriter::start())
                .json()
                .flatten_event(true)
                .with_current_span(false);
            registry.with(layer.with_span_list(false).with_target(false)).init();
        }
        LogFormat::Pretty => {
            let layer =
                tracing_subscriber::fmt::layer().with_writer(LogWriter::start()).with_ansi(coloured());
            registry.with(layer.event_format(Pretty)).init();
        }
    }
}

/// Formats an event as `12:00:05.003 CET INFO  heartbeat: run ended: succeeded tick=12:00:05 run=01a214b2-5d10 took=3ms`: for
/// people at a terminal of this machine, whose clock shows local time. Fields that every line or most lines would have are left
/// out; JSON has them.
struct Pretty;

impl<S, N> FormatEvent<S, N> for Pretty
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
{
    fn format_event(&self, _: &FmtContext<'_, S, N>, mut to: Writer<'_>, event: &Event<'_>) -> fmt::Result {
        let mut fields = LogFields::default();
        event.record(&mut fields);
        let paint = Paint(to.has_ansi_escapes());
        let level = *event.metadata().level();
        let now = SystemClock.utc();
        write!(to, "{} {} ", paint.dim(&short_text::local(now)), paint.level(level))?;
        if let Some(job) = fields.take("job") {
            write!(to, "{}: ", paint.bold(&job))?;
        }
        if let Some(line) = fields.take("line") {
            return writeln!(to, "{}", escape_text(&line));
        }
        write!(to, "{}", shown(&fields.message))?;
        if let Some(outcome) = fields.take("outcome") {
            let reason = fields.take("reason").map(|reason| format!("({reason})"));
            let is_said = fields.message.ends_with(&outcome);
            let word = Some(outcome.clone()).filter(|_| !is_said);
            let verdict: Vec<String> = word.into_iter().chain(reason).collect();
            let colon = if is_said { "" } else { ":" };
            write!(to, "{colon} {}", paint.outcome(&outcome, &verdict.join(" ")))?;
        }
        for (name, value) in
            fields.others.iter().filter(|(name, value)| !short_text::goes_without_saying(name, value))
        {
            let (name, value) = short_text::short(name, value, now);
            write!(to, " {}{}", paint.dim(&format!("{name}=")), quoted_value(&shown(&value)))?;
        }
        writeln!(to)
    }
}

/// Returns the value so that it stays within its line, whatever it contains.
fn shown(value: &str) -> String {
    quoted_within(value, usize::MAX)
}

/// Puts a value of several words in quotes, so that its end is visible.
fn quoted_value(value: &str) -> String {
    if value.contains([' ', '"', '=']) {
        format!("\"{}\"", value.replace('"', "\\\""))
    } else {
        value.to_owned()
    }
}

#[derive(Default)]
struct LogFields {
    message: String,
    others: Vec<(&'static str, String)>,
}

impl LogFields {
    fn take(&mut self, name: &str) -> Option<String> {
        let at = self.others.iter().position(|(other, _)| *other == name)?;
        Some(self.others.remove(at).1)
    }

    fn add(&mut self, field: &Field, value: String) {
        match field.name() {
            "message" => self.message = value,
            name => self.others.push((name, value)),
        }
    }
}

impl Visit for LogFields {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.add(field, format!("{value:?}"));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.add(field, value.to_owned());
    }
}

/// Puts styles around texts, or not.
struct Paint(bool);

impl Paint {
    fn styled(&self, style: Style, text: &str) -> String {
        if self.0 { format!("{style}{text}{style:#}") } else { text.to_owned() }
    }

    fn dim(&self, text: &str) -> String {
        self.styled(Style::new().dimmed(), text)
    }

    fn bold(&self, text: &str) -> String {
        self.styled(Style::new().bold(), text)
    }

    fn level(&self, level: Level) -> String {
        let colour = match level {
            Level::ERROR => AnsiColor::Red,
            Level::WARN => AnsiColor::Yellow,
            Level::INFO => AnsiColor::Green,
            _ => AnsiColor::Blue,
        };
        self.styled(colour.on_default(), &format!("{level:5}"))
    }

    fn outcome(&self, outcome: &str, text: &str) -> String {
        let colour = match outcome {
            "succeeded" => AnsiColor::Green,
            "skipped" | "running" => AnsiColor::Cyan,
            _ => AnsiColor::Red,
        };
        self.styled(colour.on_default().bold(), text)
    }
}

#[cfg(test)]
mod tests {
    use super::{quoted_value, shown};

    #[test]
    fn a_value_forges_no_line() {
        assert_eq!(shown("ann\n12:00:00.000 INFO\u{1b}[2J"), "ann\\n12:00:00.000 INFO\\u{1b}[2J");
        assert_eq!(quoted_value("a \"b\""), "\"a \\\"b\\\"\"");
        assert_eq!(quoted_value("one"), "one");
        assert_eq!(shown("it's \"fine\": ünï"), "it's \"fine\": ünï");
    }
}
