//! What the HTTP side counts.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::catalogue;
use super::samples::{Counters, Samples, numbers};

/// Classes of HTTP answers.
const CODES: [&str; 4] = ["2xx", "3xx", "4xx", "5xx"];

/// What became of something that was asked for over HTTP.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HttpActResult {
    /// It was done, or nothing was to do.
    Done,
    /// It was refused: by rights, by a limit, or because the job does not allow it now.
    Refused,
    /// It may not have been done: the store did not answer.
    Failed,
}

/// What became of a question for the output of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OutputResult {
    /// It was answered.
    Answered,
    /// It was malformed or too much, and was dropped.
    Refused,
    /// The store did not take the answer.
    Unanswered,
}

/// Counts requests over HTTP and messages between replicas.
#[derive(Debug)]
pub struct HttpTally {
    requests: Counters,
    streams: Arc<AtomicU64>,
    refused: Counters,
    wrong_tokens: Counters,
    acts: Counters,
    output_questions: Counters,
    feed_lost: Counters,
}

impl HttpTally {
    /// Returns counters for these routes, as their templates: `/jobs/{job}`.
    pub fn of(routes: &[&'static str]) -> Self {
        let sets = routes.iter().flat_map(|route| CODES.map(|code| vec![*route, code])).collect();
        Self {
            requests: Counters::with_sets(&catalogue::HTTP_REQUESTS, sets),
            streams: Arc::default(),
            refused: Counters::of(&catalogue::HTTP_REFUSED),
            wrong_tokens: Counters::of(&catalogue::HTTP_WRONG_TOKENS),
            acts: Counters::of(&catalogue::HTTP_ACTS),
            output_questions: Counters::of(&catalogue::OUTPUT_QUESTIONS),
            feed_lost: Counters::of(&catalogue::FEED_LOST),
        }
    }

    /// Counts a request for one of the routes, answered with this status.
    pub fn count_request(&self, route: &str, status: u16) {
        let class = usize::from(status / 100).checked_sub(2).and_then(|class| CODES.get(class));
        if let Some(class) = class {
            self.requests.count(&[route, class]);
        }
    }

    /// Counts a connection or request that was refused because of a limit.
    pub fn count_refused(&self) {
        self.refused.count(&[]);
    }

    /// Counts a request with a wrong token.
    pub fn count_wrong_token(&self) {
        self.wrong_tokens.count(&[]);
    }

    /// Counts what someone asked for: `trigger`, `pause`, `resume`, `kill` or `unlock`.
    pub fn count_act(&self, act: &str, result: HttpActResult) {
        let result = match result {
            HttpActResult::Done => "done",
            HttpActResult::Refused => "refused",
            HttpActResult::Failed => "failed",
        };
        self.acts.count(&[act, result]);
    }

    /// Counts a question for the output of a run.
    pub fn count_output_question(&self, result: OutputResult) {
        let result = match result {
            OutputResult::Answered => "answered",
            OutputResult::Refused => "refused",
            OutputResult::Unanswered => "unanswered",
        };
        self.output_questions.count(&[result]);
    }

    /// Counts news of replicas that were lost on their way.
    pub fn count_feed_lost(&self, lost: u64) {
        self.feed_lost.add(&[], lost);
    }

    /// Counts an open stream, until the returned value is dropped.
    pub fn open_stream(&self) -> OpenStream {
        self.streams.fetch_add(1, Ordering::Relaxed);
        OpenStream(Arc::clone(&self.streams))
    }

    /// Returns what was counted so far.
    pub(crate) fn samples(&self) -> Vec<Samples> {
        vec![
            self.requests.samples(),
            numbers(&catalogue::HTTP_STREAMS, &[self.streams.load(Ordering::Relaxed) as f64]),
            self.refused.samples(),
            self.wrong_tokens.samples(),
            self.acts.samples(),
            self.output_questions.samples(),
            self.feed_lost.samples(),
        ]
    }
}

/// A stream that counts as open until this is dropped.
#[derive(Debug)]
pub struct OpenStream(Arc<AtomicU64>);

impl Drop for OpenStream {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use crate::metrics::catalogue::MetricFamily;
    use crate::metrics::samples::SampleValue;

    use super::*;

    /// Returns the samples of a metric that are not zero, with their labels.
    fn counted(tally: &HttpTally, family: &MetricFamily) -> Vec<(String, f64)> {
        let of_family = tally.samples().into_iter().filter(|(other, _)| other.name == family.name);
        let number = |sample: &SampleValue| match sample {
            SampleValue::Number(number) => *number,
            SampleValue::Histogram(_) => f64::NAN,
        };
        let samples = of_family.flat_map(|(_, samples)| samples);
        samples
            .map(|sample| (sample.labels.join(" "), number(&sample.value)))
            .filter(|(_, number)| *number != 0.0)
            .collect()
    }

    #[test]
    fn every_route_has_every_class_of_answers_from_the_start() {
        let tally = HttpTally::of(&["/", "/jobs/{job}"]);
        let (_, requests) = tally.samples().into_iter().next().expect("requests come first");
        assert_eq!(requests.len(), 8);
        assert_eq!(counted(&tally, &catalogue::HTTP_REQUESTS), []);
        for (route, status) in [("/", 200), ("/", 303), ("/jobs/{job}", 404), ("/jobs/x", 200), ("/", 101)] {
            tally.count_request(route, status);
        }
        let expected = [("/ 2xx", 1.0), ("/ 3xx", 1.0), ("/jobs/{job} 4xx", 1.0)];
        let expected = expected.map(|(labels, count)| (labels.to_owned(), count));
        assert_eq!(counted(&tally, &catalogue::HTTP_REQUESTS), expected);
    }

    #[test]
    fn a_stream_counts_while_it_is_open() {
        let tally = HttpTally::of(&[]);
        let (one, other) = (tally.open_stream(), tally.open_stream());
        assert_eq!(counted(&tally, &catalogue::HTTP_STREAMS), [(String::new(), 2.0)]);
        drop((one, other));
        assert_eq!(counted(&tally, &catalogue::HTTP_STREAMS), []);
    }

    #[test]
    fn every_result_is_in_the_list_of_its_metric() {
        let tally = HttpTally::of(&[]);
        for act in ["trigger", "pause", "resume", "kill", "unlock"] {
            for result in [HttpActResult::Done, HttpActResult::Refused, HttpActResult::Failed] {
                tally.count_act(act, result);
            }
        }
        for result in [OutputResult::Answered, OutputResult::Refused, OutputResult::Unanswered] {
            tally.count_output_question(result);
        }
        assert_eq!(counted(&tally, &catalogue::HTTP_ACTS).len(), 15);
        assert_eq!(counted(&tally, &catalogue::OUTPUT_QUESTIONS).len(), 3);
        tally.count_refused();
        tally.count_wrong_token();
        tally.count_feed_lost(1);
        for family in [&catalogue::HTTP_REFUSED, &catalogue::HTTP_WRONG_TOKENS, &catalogue::FEED_LOST] {
            assert_eq!(counted(&tally, family), [(String::new(), 1.0)], "{}", family.name);
        }
    }
}
