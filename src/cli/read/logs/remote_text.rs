//! The output of a run that is elsewhere, as it is printed.

use std::sync::Arc;

use crate::job::NodeName;
use crate::relay::{OutputNews, OutputSource, RemoteOutput};
use crate::run::LogStart;
use crate::store::{Store, StoreError};
use crate::view::text::output_text::gap_line;

use super::lines::OutputLines;

/// The output of a run on another replica, which is asked for it through the store.
#[derive(Debug)]
pub(in crate::cli) struct RemoteText {
    output: RemoteOutput,
    lines: OutputLines,
    /// Whether there was anything to print.
    pub(in crate::cli) has_text: bool,
}

/// What is known next of an output.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::cli) enum TextNews {
    /// This is to be printed; it may be empty.
    Text {
        /// What to print.
        text: Vec<u8>,
        /// Whether the run has printed nothing more so far.
        is_newest: bool,
    },
    /// The replica does not answer now, for this reason. It is asked again with the next call.
    Silent(String),
    /// No more follows.
    End(TextEnd),
}

/// Why no more of an output follows.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::cli) enum TextEnd {
    /// The run has ended, and all of it was returned.
    Over,
    /// The replica has no log of the run.
    Absent,
    /// The replica cannot read the rest, for this reason.
    Unreadable(String),
    /// The store passes no question on, for this reason.
    NotAsked(StoreError),
}

impl TextEnd {
    /// Returns for people why the rest of the output of a run on this replica is not known; `None` if it is.
    pub(in crate::cli) fn complaint(&self, node: &str) -> Option<String> {
        match self {
            Self::Over | Self::Absent => None,
            Self::Unreadable(why) => Some(why.clone()),
            Self::NotAsked(error) => Some(format!("{node} cannot be asked for its output: {error}")),
        }
    }
}

impl RemoteText {
    /// Returns the output of this run from `start` on; for people with `colour`.
    pub(in crate::cli) fn new(
        store: Arc<dyn Store>,
        source: OutputSource,
        start: LogStart,
        colour: bool,
    ) -> Self {
        let output = RemoteOutput::new(store, source, start);
        Self { output, lines: OutputLines::new(colour), has_text: false }
    }

    /// Asks for what is printed so far, and for no more.
    pub(in crate::cli) fn up_to_now(mut self) -> Self {
        self.output.ask_up_to_now(true);
        self
    }

    /// Returns the run and its replica.
    pub(in crate::cli) fn source(&self) -> &OutputSource {
        self.output.source()
    }

    /// Returns the replica.
    pub(in crate::cli) fn node(&self) -> &NodeName {
        &self.source().node
    }

    /// Whether the replica has answered.
    pub(in crate::cli) fn has_answered(&self) -> bool {
        self.output.has_answered()
    }

    /// Whether the store did not answer when it was asked last.
    pub(in crate::cli) fn is_store_away(&self) -> bool {
        self.output.is_store_away()
    }

    /// Waits for the next news: while the run prints nothing, an empty text every second.
    pub(in crate::cli) async fn next(&mut self) -> TextNews {
        let news = self.output.next().await;
        self.news_of(news)
    }

    /// Looks once and, if there is no news, waits for a moment.
    pub(in crate::cli) async fn look_for_a_moment(&mut self) -> Option<TextNews> {
        let news = self.output.look_for_a_moment().await.transpose()?;
        Some(self.news_of(news))
    }

    /// Looks once; `None` if there is no news yet.
    pub(in crate::cli) async fn look(&mut self) -> Option<TextNews> {
        let news = self.output.look().await.transpose()?;
        Some(self.news_of(news))
    }

    /// Returns a last line without its newline.
    pub(in crate::cli) fn rest(self) -> Vec<u8> {
        self.lines.rest()
    }

    fn news_of(&mut self, news: Result<OutputNews, StoreError>) -> TextNews {
        let news = match news {
            Ok(news) => news,
            Err(error) => return TextNews::End(TextEnd::NotAsked(error)),
        };
        if let Some(why) = news.complaint(self.node()) {
            return match news {
                OutputNews::Unreadable(_) => TextNews::End(TextEnd::Unreadable(why)),
                _ => TextNews::Silent(why),
            };
        }
        match news {
            OutputNews::Piece(piece) => {
                let is_newest = piece.is_newest();
                let missing = if piece.missing > 0 { gap_line(piece.missing) } else { String::new() };
                let bytes = [missing.into_bytes(), piece.bytes].concat();
                self.has_text |= !bytes.is_empty();
                TextNews::Text { text: self.lines.shown(bytes), is_newest }
            }
            OutputNews::Absent => TextNews::End(TextEnd::Absent),
            OutputNews::Over | OutputNews::Unreadable(_) | OutputNews::Busy | OutputNews::Silent => {
                TextNews::End(TextEnd::Over)
            }
        }
    }
}
