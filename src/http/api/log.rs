//! `/api/v1/runs/RUN/log`: what a run printed, wherever it is: piece by piece as JSON, or whole as a file.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::{HeaderValue, Response, StatusCode, header};
use futures_util::{StreamExt, stream};
use serde::Serialize;
use tokio::time::{Instant, timeout_at};

use crate::http::live::{OutputSlot, RunPlace, StreamClient, StreamSlot, Unopened};
use crate::http::route::problem::ProblemDetails;
use crate::http::route::table::AdmittedRequest;
use crate::http::state::HttpState;
use crate::job::{JobName, NodeName, RunId};
use crate::relay::{FollowedOutput, OutputNews, OutputPiece};
use crate::run::LogStart;
use crate::store::Beat;
use crate::view::job::JobState;
use crate::view::text::output_text::{gap_line, plain_text, whole_lines};

use super::jobs::known;
use super::parameters::Parameters;
use super::reply::{ApiResult, json, of_store, settled};
use super::runs::{named_run, no_such_run, tick_of};

/// The longest time for which a client may wait for output, in seconds.
const LONGEST_WAIT: usize = 10;

/// Every request is answered within this time, also one that waits as long as it may: handlers have ten seconds in all.
const ANSWERED_WITHIN: Duration = Duration::from_millis(9_500);

/// A line of a file has at most this many bytes, or is sent in several pieces.
const LONGEST_LINE: usize = 64 << 10;

/// After so many seconds a client may try again to read output.
const TRY_AGAIN: u64 = 2;

/// A piece of what a run printed.
#[derive(Debug, Serialize)]
struct LogPiece<'a> {
    job: &'a JobName,
    run: RunId,
    node: &'a NodeName,
    /// The number of bytes that the run printed before this piece.
    from: u64,
    /// How many bytes just before it were not kept.
    missing: u64,
    text: String,
    /// The number of bytes up to its end: where to go on.
    next: u64,
    /// How many bytes the run has printed; null if that is not known.
    size: Option<u64>,
    /// Why no more follows; null while more may.
    end: Option<&'static str>,
    /// What is wrong, in words.
    why: Option<String>,
}

/// What is asked for.
#[derive(Debug, Clone, Copy)]
struct PieceRequest {
    start: LogStart,
    /// While the run prints nothing, the answer waits until then.
    waits_until: Instant,
    /// The answer is sent by then.
    until: Instant,
    /// Whether escapes stay.
    is_raw: bool,
}

/// A file that is sent.
struct LogDownload {
    output: FollowedOutput,
    /// What is to be sent next.
    piece: Option<OutputPiece>,
    /// The number of bytes that the run had printed when the sending began: what it prints later is not sent.
    up_to: u64,
    /// The beginning of a line whose end has not been received.
    partial: Vec<u8>,
    is_raw: bool,
    has_ended: bool,
    _slots: DownloadSlots,
}

/// What a file that is sent takes of the limits.
#[derive(Debug)]
struct DownloadSlots {
    _output: OutputSlot,
    _stream: StreamSlot,
}

/// Answers with what a run printed.
pub(crate) async fn log(shared: &HttpState, call: &AdmittedRequest) -> Response<Body> {
    settled(answered(shared, call).await)
}

async fn answered(shared: &HttpState, call: &AdmittedRequest) -> ApiResult {
    if !call.shows_output {
        let problem =
            ProblemDetails::new(StatusCode::FORBIDDEN, "what jobs print is shown only with a token");
        return Err(problem.help("add one under [http.tokens] in jobs.toml, and send it"));
    }
    let given = Parameters::of(call, &["job", "from", "wait", "raw", "download"])?;
    let start = given.read("from", "a number of bytes, or `-65536` for the last so many", start_of)?;
    let start = start.unwrap_or(LogStart::Byte(0));
    let wait = Duration::from_secs(given.number("wait", 0..=LONGEST_WAIT, 0)? as u64);
    let (is_raw, is_file) = (given.flag("raw")?, given.flag("download")?);
    let now = Instant::now();
    let request = PieceRequest { start, waits_until: now + wait, until: now + ANSWERED_WITHIN, is_raw };
    let slot = shared.streams.take_output().ok_or_else(|| of_unopened(&Unopened::TooMany(TRY_AGAIN)))?;
    let (job, run) = named_run(shared, call, &given).await?;
    let mut output = opened(shared, &job, run, start).await?;
    output.ask_up_to_now(is_file || wait.is_zero());
    if is_file {
        let stream = shared.streams.take(StreamClient::of(call), &shared.tally)?;
        let slots = DownloadSlots { _stream: stream, _output: slot };
        return file(output, slots, &request).await;
    }
    piece(shared, output, &request).await
}

/// Reads where the client goes on.
fn start_of(text: &str) -> Option<LogStart> {
    match text.strip_prefix('-') {
        Some(last) => last.parse().ok().map(LogStart::LastBytes),
        None => text.parse().ok().map(LogStart::Byte),
    }
}

/// Opens the output: the one that was kept for this client, or another one.
async fn opened(
    shared: &HttpState,
    job: &JobName,
    run: RunId,
    start: LogStart,
) -> Result<FollowedOutput, ProblemDetails> {
    if let LogStart::Byte(from) = start
        && let Some(kept) = shared.outputs.take_kept(job, run, from)
    {
        return Ok(kept);
    }
    let own = shared.events.node();
    let is_here = shared.outputs.has(job, run).await;
    let is_here = is_here.map_err(|error| of_unopened(&Unopened::Unreadable(error.to_string())))?;
    let node = if is_here { Some(own.clone()) } else { node_of(shared, job, run).await? };
    let place = RunPlace { job: job.clone(), run, node };
    let opened = shared.outputs.open(place, own, shared.board.store(), start).await;
    opened.map_err(|why| of_unopened(&why))
}

/// Returns the replica that runs or ran this run; `None` if that is not known.
async fn node_of(shared: &HttpState, job: &JobName, run: RunId) -> Result<Option<NodeName>, ProblemDetails> {
    let peers = Arc::clone(&shared.facts.borrow().peers);
    let is_listed = |beat: &Beat| beat.running.iter().any(|listed| listed.run == run && listed.job == *job);
    if let Some(peer) = peers.iter().find(|peer| is_listed(&peer.beat)) {
        return Ok(Some(peer.beat.node.clone()));
    }
    let view = shared.board.view_one(job).await?;
    let seen = view.snapshot.jobs.iter().flat_map(JobState::past).find(|tick| tick.run == Some(run));
    let tick = match seen {
        Some(tick) => tick,
        None => tick_of(shared, known(shared, job).await?, run).await?.ok_or_else(no_such_run)?,
    };
    Ok(tick.node)
}

/// Answers with the next piece, or with why there is none.
async fn piece(shared: &HttpState, mut output: FollowedOutput, request: &PieceRequest) -> ApiResult {
    let mut newest: Option<OutputPiece> = None;
    let news = loop {
        let news = match timeout_at(request.until, output.next()).await {
            Ok(news) => news.map_err(|error| of_store(&error))?,
            Err(_) => match newest.take() {
                Some(nothing) => OutputNews::Piece(nothing),
                None => return Err(no_answer(&output)),
            },
        };
        match news {
            OutputNews::Piece(piece)
                if is_nothing(&piece) && Instant::now() < request.waits_until.min(request.until) =>
            {
                newest = Some(piece);
            }
            news => break news,
        }
    };
    let source = output.source().clone();
    let asked = if let LogStart::Byte(from) = request.start { from } else { 0 };
    let at = newest.map_or(asked, |piece| piece.from);
    let (end, why) = (end_of(&news), news.complaint(&source.node));
    let mut answer = LogPiece {
        job: &source.job,
        run: source.run,
        node: &source.node,
        from: at,
        missing: 0,
        text: String::new(),
        next: at,
        size: None,
        end,
        why,
    };
    if let OutputNews::Piece(OutputPiece { from, missing, bytes, size }) = news {
        // A last line without its end is returned only where there is nothing else.
        let whole = Some(whole_lines(&bytes)).filter(|whole| *whole > 0);
        let shown = whole.and_then(|whole| bytes.get(..whole)).unwrap_or(&bytes);
        let next = from.saturating_add(shown.len() as u64);
        let text =
            if request.is_raw { String::from_utf8_lossy(shown).into_owned() } else { plain_text(shown) };
        answer = LogPiece { from, missing, text, next, size: Some(size), ..answer };
        if shown.len() < bytes.len() {
            output.go_on_from(LogStart::Byte(next));
        }
        shared.outputs.keep(output, next);
    }
    json(&answer)
}

/// Whether nothing was printed, and nothing lost.
fn is_nothing(piece: &OutputPiece) -> bool {
    piece.bytes.is_empty() && piece.missing == 0
}

/// Returns the word for why no more follows; `None` while more may.
fn end_of(news: &OutputNews) -> Option<&'static str> {
    match news {
        OutputNews::Piece(_) => None,
        OutputNews::Over => Some("over"),
        OutputNews::Absent => Some("absent"),
        OutputNews::Unreadable(_) => Some("unreadable"),
        OutputNews::Busy => Some("busy"),
        OutputNews::Silent => Some("silent"),
    }
}

/// Answers with the whole output as a file, up to what the run has printed now.
async fn file(mut output: FollowedOutput, slots: DownloadSlots, request: &PieceRequest) -> ApiResult {
    let news = timeout_at(request.until, output.next()).await.map_err(|_| no_answer(&output))?;
    let news = news.map_err(|error| of_store(&error))?;
    if let Some(why) = news.complaint(&output.source().node) {
        return Err(unavailable().detail(why));
    }
    let piece = match news {
        OutputNews::Piece(piece) => Some(piece),
        OutputNews::Absent => {
            let problem = ProblemDetails::new(StatusCode::NOT_FOUND, "no log of this run");
            let detail = format!("{} has no log of this run", output.source().node);
            return Err(problem.detail(detail).help(
                "it printed nothing, or its log was deleted (`[logs]` in jobs.toml); the store keeps the end: see `tail` of \
                 the run",
            ));
        }
        _ => None,
    };
    let name = format!("attachment; filename=\"{}-{}.log\"", output.source().job, output.source().run);
    let file = LogDownload {
        up_to: piece.as_ref().map_or(0, |piece| piece.size),
        has_ended: piece.is_none(),
        piece,
        output,
        partial: Vec::new(),
        is_raw: request.is_raw,
        _slots: slots,
    };
    let pieces = stream::unfold(file, LogDownload::next).map(|piece| Ok::<_, Infallible>(Bytes::from(piece)));
    let mut response = Response::new(Body::from_stream(pieces));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    if let Ok(name) = HeaderValue::from_str(&name) {
        headers.insert(header::CONTENT_DISPOSITION, name);
    }
    Ok(response)
}

impl LogDownload {
    /// Returns the next bytes of the file; `None` at its end.
    async fn next(mut self) -> Option<(Vec<u8>, Self)> {
        while !self.has_ended {
            let news = match self.piece.take() {
                Some(piece) => Ok(OutputNews::Piece(piece)),
                None => self.output.next().await,
            };
            let bytes = match news {
                Ok(OutputNews::Piece(piece)) => self.bytes_of(piece),
                Ok(news) => {
                    let complaint = news.complaint(&self.output.source().node);
                    self.rest(complaint)
                }
                Err(error) => self.rest(Some(error.to_string())),
            };
            if !bytes.is_empty() {
                return Some((bytes, self));
            }
        }
        None
    }

    fn bytes_of(&mut self, piece: OutputPiece) -> Vec<u8> {
        let next = piece.from.saturating_add(piece.bytes.len() as u64);
        let gap = if piece.missing > 0 { gap_line(piece.missing) } else { String::new() };
        self.partial.extend_from_slice(&piece.bytes);
        let whole = match whole_lines(&self.partial) {
            0 if self.partial.len() >= LONGEST_LINE => self.partial.len(),
            whole => whole,
        };
        let lines: Vec<u8> = self.partial.drain(..whole).collect();
        let mut bytes = [gap.into_bytes(), self.shown(&lines)].concat();
        if next >= self.up_to {
            bytes.extend(self.rest(None));
        }
        bytes
    }

    /// Ends the file: with a line that has no end, and with what is wrong.
    fn rest(&mut self, complaint: Option<String>) -> Vec<u8> {
        self.has_ended = true;
        let partial = std::mem::take(&mut self.partial);
        let complaint = complaint.map(|why| format!("solocron: the rest is missing: {why}\n"));
        [self.shown(&partial), complaint.unwrap_or_default().into_bytes()].concat()
    }

    fn shown(&self, lines: &[u8]) -> Vec<u8> {
        if self.is_raw { lines.to_vec() } else { plain_text(lines).into_bytes() }
    }
}

fn no_answer(output: &FollowedOutput) -> ProblemDetails {
    unavailable().detail(format!("{} did not answer in time", output.source().node))
}

fn unavailable() -> ProblemDetails {
    let problem = ProblemDetails::new(StatusCode::SERVICE_UNAVAILABLE, "the output cannot be read now");
    problem.help("the store keeps the end of it: see `tail` of the run").retry_after(TRY_AGAIN)
}

/// Returns the error for an output that is not opened.
fn of_unopened(why: &Unopened) -> ProblemDetails {
    match why {
        Unopened::TooMany(seconds) => {
            ProblemDetails::new(StatusCode::SERVICE_UNAVAILABLE, "too many read output")
                .help("close one of the pages and programs that read output from this replica")
                .retry_after(*seconds)
        }
        Unopened::Nowhere => {
            ProblemDetails::new(StatusCode::NOT_FOUND, "no log of this run").detail(why.complaint())
        }
        Unopened::NoStore | Unopened::Unreadable(_) => unavailable().detail(why.complaint()),
    }
}
