//! `/api/v1/history`: past ticks, as `history --format json` prints them. A link in the head leads to older ones.

use axum::body::Body;
use axum::http::{HeaderValue, Response, StatusCode, header};

use crate::http::board::Unread;
use crate::http::route::problem::ProblemDetails;
use crate::http::route::table::AdmittedRequest;
use crate::http::state::HttpState;
use crate::job::{JobName, NodeName, Outcome};
use crate::view::history::{HistoryCursor, HistoryFilter, TickView};
use crate::view::job::KnownJob;
use crate::view::snapshot::Snapshot;
use crate::view::text::TimeBound;

use super::jobs::known;
use super::parameters::Parameters;
use super::reply::{ApiResult, json, of_store, settled, turn};

/// The most ticks of one answer, and how many there are if nothing is said.
const TICKS: (usize, usize) = (1_000, 20);

/// The past of more jobs is not read together.
const MOST_JOBS: usize = 500;

/// The past of this many jobs is read at once: with 4 KiB of output for each of 200 entries, some megabytes.
const READ_TOGETHER: usize = 10;

/// The parameters.
const PARAMETERS: [&str; 8] = ["job", "failed", "outcome", "node", "since", "until", "n", "cursor"];

/// Answers with past ticks.
pub(crate) async fn history(shared: &HttpState, call: &AdmittedRequest) -> Response<Body> {
    settled(past(shared, call).await)
}

async fn past(shared: &HttpState, call: &AdmittedRequest) -> ApiResult {
    let given = Parameters::of(call, &PARAMETERS)?;
    let filter = filter_of(&given)?;
    let jobs = match given.text("job") {
        Some(name) => {
            let name = JobName::parse(name).map_err(|_| Unread::NoSuchJob(None))?;
            vec![known(shared, &name).await?]
        }
        None => all_jobs(shared).await?,
    };
    let ticks = ticks_of(shared, jobs, &filter).await?;
    // An answer that is not full is the last one.
    let older = ticks.first().filter(|_| ticks.len() == filter.newest).map(HistoryCursor::of);
    let shown: Vec<TickView> = match call.shows_output {
        true => ticks,
        false => ticks.into_iter().map(TickView::without_output).collect(),
    };
    let mut response = json(&shown)?;
    let link = older.map(|cursor| format!("<{}>; rel=\"next\"", address_after(call, &cursor)));
    if let Some(link) = link.and_then(|link| HeaderValue::try_from(link).ok()) {
        response.headers_mut().insert(header::LINK, link);
    }
    Ok(response)
}

fn filter_of(given: &Parameters) -> Result<HistoryFilter, ProblemDetails> {
    let outcomes: Vec<&str> = Outcome::ALL.iter().map(|outcome| outcome.as_str()).collect();
    let outcome = format!("one of {}", outcomes.join(", "));
    let time = "a duration before now, such as `2h`, a date, or a time such as `2026-11-23T02:30:00Z`";
    Ok(HistoryFilter {
        failed: given.read("failed", "`true` or `false`", |text| text.parse().ok())?.unwrap_or(false),
        outcomes: given.words("outcome", &outcome, |word| word.parse().ok())?,
        node: given.read("node", "the name of a replica", |name| NodeName::parse(name).ok())?,
        since: given.read("since", time, |text| text.parse::<TimeBound>().ok())?,
        until: given.read("until", time, |text| text.parse::<TimeBound>().ok())?,
        before: given.read("cursor", "the cursor of a link to older ticks", |text| text.parse().ok())?,
        newest: given.number("n", 1..=TICKS.0, TICKS.1)?,
    })
}

/// Returns every job of the file and of the store.
async fn all_jobs(shared: &HttpState) -> Result<Vec<KnownJob>, ProblemDetails> {
    let names = shared.board.names().await?;
    if names.len() > MOST_JOBS {
        return Err(ProblemDetails::new(StatusCode::BAD_REQUEST, "too many jobs for one answer")
            .detail(format!(
                "there are {} jobs, and the past of at most {MOST_JOBS} is read together",
                names.len()
            ))
            .help("name one with `?job=`; `solocron history` has no such limit"));
    }
    let mut jobs = Vec::with_capacity(names.len());
    for name in &names {
        jobs.push(known(shared, name).await?);
    }
    Ok(jobs)
}

/// Reads the past of these jobs, a few at a time, so that what is not wanted is dropped early.
async fn ticks_of(
    shared: &HttpState,
    mut jobs: Vec<KnownJob>,
    filter: &HistoryFilter,
) -> Result<Vec<TickView>, ProblemDetails> {
    let mut ticks = Vec::new();
    while !jobs.is_empty() {
        let further = jobs.split_off(jobs.len().min(READ_TOGETHER));
        let some = std::mem::replace(&mut jobs, further);
        let store = turn(shared).await?;
        let snapshot = Snapshot::take(&*store, some, filter.entries_per_job()).await;
        drop(store);
        ticks.extend(filter.select(&snapshot.map_err(|error| of_store(&error))?));
        ticks = filter.newest_of(ticks);
    }
    Ok(ticks)
}

/// Returns the address of the ticks before this place, with the other parameters as they are. It consists of what was
/// understood, so that a link contains nothing else.
fn address_after(call: &AdmittedRequest, cursor: &HistoryCursor) -> String {
    let mut address = format!("{}?cursor={cursor}", call.route);
    for (name, value) in call.parameters().iter().filter(|(name, _)| name != "cursor") {
        let escaped: String = value.bytes().map(escaped).collect();
        address.push_str(&format!("&{name}={escaped}"));
    }
    address
}

/// Returns a byte as it stands in an address.
fn escaped(byte: u8) -> String {
    match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'.' | b'_' | b'-' => char::from(byte).to_string(),
        _ => format!("%{byte:02X}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(query: &str) -> AdmittedRequest {
        AdmittedRequest::of_test("/api/v1/history", &format!("/api/v1/history?{query}"))
    }

    fn filter(query: &str) -> Result<HistoryFilter, ProblemDetails> {
        filter_of(&Parameters::of(&call(query), &PARAMETERS)?)
    }

    #[test]
    fn the_address_selects_as_the_flags_of_the_command_do() {
        let usual = filter("").expect("nothing is wrong");
        assert!(!usual.leaves_out() && usual.newest == 20, "{usual:?}");
        let all = filter(
            "failed=true&outcome=failed,missed&outcome=unknown&node=n1&since=2h&until=2026-11-23&n=1000&cursor=1_2_3_a",
        );
        let all = all.expect("nothing is wrong");
        assert_eq!(all.outcomes, [Outcome::Failed, Outcome::Missed, Outcome::Unknown]);
        assert!(all.failed && all.node.is_some() && all.since.is_some() && all.until.is_some(), "{all:?}");
        assert!(all.before.is_some() && all.newest == 1_000, "{all:?}");
        for wrong in
            ["failed=yes", "outcome=bad", "node=/", "since=x", "until=2h!", "n=0", "cursor=1", "jobs=a"]
        {
            assert!(filter(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn the_link_to_older_ticks_has_the_other_parameters_escaped() {
        let cursor: HistoryCursor = "1_2_3_a".parse().expect("a cursor");
        assert_eq!(
            address_after(&call("since=2026-11-23+02%3A30&cursor=9_9_9_b&n=5"), &cursor),
            "/api/v1/history?cursor=1_2_3_a&since=2026-11-23%2002%3A30&n=5"
        );
    }
}
