//! The stream of a page's changes: once a second, the parts that differ from what the browser has; and the output that it
//! follows, as it is printed.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::http::{HeaderName, Response};
use futures_util::stream;
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};

use crate::http::live::sse::{BYE, KEEP_ALIVE, event_text, streamed};
use crate::http::live::{OutputFollower, OutputUpdate, StreamClient, StreamSlot, Unopened};
use crate::http::page::shell::{PagePart, SentParts, piece_html};
use crate::http::route::problem::ProblemDetails;
use crate::http::route::table::AdmittedRequest;
use crate::http::state::HttpState;
use crate::job::Outcome;
use crate::replica::ReplicaFacts;
use crate::run::LogStart;
use crate::view::history::TickView;

use super::context::PageContext;
use super::output::open;
use super::screen::PageScreen;

/// The time between two updates of a browser.
const EVERY: Duration = Duration::from_secs(1);

/// The headers by which a browser says what it has: of the parts, and of the output that it follows, in bytes.
const HAS: [HeaderName; 2] = [HeaderName::from_static("x-parts"), HeaderName::from_static("x-output")];

/// A browser that shows a page.
struct PageReader {
    screen: PageScreen,
    context: PageContext,
    shared: Arc<HttpState>,
    /// What the browser says that it has; `None` after the first update.
    says_it_has: Option<String>,
    sent: SentParts,
    output: FollowedRun,
    next: Instant,
    facts: watch::Receiver<ReplicaFacts>,
    /// Whether the replica was draining when the stream began: such a stream ends with the server.
    began_draining: bool,
    /// Whether the store did not answer at the last update.
    was_store_away: bool,
    has_ended: bool,
    _slot: StreamSlot,
}

/// The output that a browser follows.
enum FollowedRun {
    /// None.
    None,
    /// That of the run of its page, of which it has so many bytes.
    Wanted(u64),
    /// This.
    Open(OutputFollower),
}

/// Answers with the changes of a page from now on.
pub(super) fn stream_of(
    screen: PageScreen,
    context: PageContext,
    shared: Arc<HttpState>,
    call: &AdmittedRequest,
) -> Response<Body> {
    let slot = match shared.streams.take(StreamClient::of(call), &shared.tally) {
        Ok(slot) => slot,
        Err(why) => return ProblemDetails::from(why).into_response(),
    };
    let [parts, output] = HAS;
    let shown = call.header(output).parse().ok().filter(|_| call.shows_output);
    let facts = shared.facts.clone();
    let (began_draining, was_store_away) = {
        let facts = facts.borrow();
        (facts.is_draining, facts.is_store_away)
    };
    let reader = PageReader {
        screen,
        context,
        shared,
        says_it_has: Some(call.header(parts).to_owned()),
        sent: SentParts::default(),
        output: shown.map_or(FollowedRun::None, FollowedRun::Wanted),
        next: Instant::now(),
        facts,
        began_draining,
        was_store_away,
        has_ended: false,
        _slot: slot,
    };
    streamed(stream::unfold(reader, PageReader::next))
}

impl PageReader {
    /// Waits for the next update; `None` once the stream has ended.
    async fn next(mut self) -> Option<(String, Self)> {
        if self.has_ended {
            return None;
        }
        tokio::select! {
            () = next_update(self.next, self.facts.clone(), self.was_store_away) => {}
            update = self.output.next() => {
                let piece = self.output.piece_of(update);
                return Some((piece, self));
            }
            () = drain(&mut self.facts, self.began_draining) => {
                self.has_ended = true;
                return Some((BYE.to_owned(), self));
            }
        }
        self.was_store_away = self.facts.borrow().is_store_away;
        let mut piece = match self.screen.parts(&self.shared, &self.context).await {
            Ok(parts) => self.update(&parts),
            // The browser has the page as it was; it says that it is old.
            Err(_) => event_text("wait", ""),
        };
        if let (FollowedRun::Open(follower), PageScreen::Run(screen)) = (&self.output, &self.screen)
            && screen.tick().is_some_and(|tick| tick.outcome != Outcome::Running)
        {
            follower.note_end();
        }
        if let (FollowedRun::Wanted(shown), PageScreen::Run(screen)) = (&self.output, &self.screen)
            && let Some(tick) = screen.tick()
        {
            match open_followed(&self.shared, tick, *shown).await {
                Ok(follower) => self.output = FollowedRun::Open(follower),
                Err(why) => {
                    piece.push_str(&event_text("note", &format!("{}. Trying again.", why.complaint())));
                }
            }
        }
        self.next = Instant::now() + EVERY;
        Some((piece, self))
    }

    /// Returns the time, and the parts that the browser does not have.
    fn update(&mut self, parts: &[PagePart]) -> String {
        let now = self.shared.store_now();
        let mut piece = event_text("now", &now.0.to_string());
        let all = SentParts::of(parts);
        if self.says_it_has.take().is_some_and(|digest| digest == all.digest()) {
            self.sent = all;
            return piece;
        }
        for part in self.sent.changes(parts) {
            piece.push_str(&event_text("part", &part.html));
        }
        piece
    }
}

/// Waits until the next update is due: at once when the store stops answering or answers again.
async fn next_update(at: Instant, mut facts: watch::Receiver<ReplicaFacts>, was_store_away: bool) {
    tokio::select! {
        () = sleep_until(at) => {}
        Ok(_) = facts.wait_for(|facts| facts.is_store_away != was_store_away) => {}
    }
}

impl FollowedRun {
    /// Waits for the next update; without end if no output is followed.
    async fn next(&mut self) -> Option<OutputUpdate> {
        match self {
            Self::Open(follower) => follower.next().await,
            Self::None | Self::Wanted(_) => std::future::pending().await,
        }
    }

    /// Returns what a browser is sent of an update.
    fn piece_of(&mut self, update: Option<OutputUpdate>) -> String {
        match update {
            Some(OutputUpdate::Lines { lines, next }) => event_text("output", &piece_html(&lines, next)),
            Some(OutputUpdate::Note(note)) => event_text("note", &note),
            Some(OutputUpdate::Over(why)) => {
                *self = Self::None;
                event_text("over", &why)
            }
            None => {
                *self = Self::None;
                KEEP_ALIVE.to_owned()
            }
        }
    }
}

/// Opens the output of a run for a browser that has so many bytes of it.
async fn open_followed(shared: &HttpState, tick: &TickView, shown: u64) -> Result<OutputFollower, Unopened> {
    let slot = shared.streams.take_output().ok_or(Unopened::TooMany(1))?;
    let (output, slot) = open(shared, tick, LogStart::Byte(shown), slot).await?;
    Ok(OutputFollower::new(output, shown, slot))
}

/// Waits until the replica begins to drain.
async fn drain(facts: &mut watch::Receiver<ReplicaFacts>, began_draining: bool) {
    let is_gone = facts.wait_for(|facts| facts.is_draining && !began_draining).await.is_err();
    if is_gone {
        std::future::pending::<()>().await;
    }
}
