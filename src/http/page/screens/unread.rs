//! What pages show while nothing was read, as the store does not answer or is being read: the jobs of the file, and their
//! coming ticks.

use crate::http::acts::LastActs;
use crate::http::board::UnreadJobs;
use crate::http::page::home::{HomeAddress, HomeFacts, home_parts};
use crate::http::page::job::{AskedWhy, JobActs, JobFacts, SHOWN_ACTS, job_parts};
use crate::http::page::shell::{PageFrame, PagePart, StoreSight};
use crate::http::state::HttpState;
use crate::job::JobName;
use crate::view::job::{JOBS_PER_PAGE, JobCondition};

use super::context::PageContext;
use super::screen::no_store;

/// The only condition of a job that the file tells.
const KNOWN: JobCondition = JobCondition::Disabled;

/// Whether the file tells which jobs an address asks for.
pub(super) fn is_told_by_the_file(address: &HomeAddress) -> bool {
    address.job_condition().is_none_or(|condition| condition == KNOWN)
}

/// Returns the parts of the first page.
pub(super) fn unread_home(address: &HomeAddress, jobs: &UnreadJobs, frame: &PageFrame<'_>) -> Vec<PagePart> {
    let condition = address.job_condition().filter(|condition| *condition == KNOWN);
    let page = jobs.list.page(&address.query(condition));
    let listed = jobs.snapshot(&page.jobs);
    let facts = HomeFacts {
        address: &address.showing(condition, page.page),
        listed: &listed,
        troubled: &jobs.snapshot([]),
        problems: &[],
        counts: (jobs.list.count(None), &[(KNOWN.as_str(), jobs.list.count(Some(KNOWN)))]),
        matching: (page.wanted, JOBS_PER_PAGE),
        last_acts: &[],
        picture: None,
        store: if jobs.is_store_away { StoreSight::Unread(jobs.answered) } else { StoreSight::Reading },
    };
    home_parts(frame, &facts)
}

/// Returns the parts of a job's page; `None` if the file does not name it.
pub(super) async fn unread_job(
    job: &JobName,
    at: &str,
    jobs: &UnreadJobs,
    shared: &HttpState,
    context: &PageContext,
) -> Option<Vec<PagePart>> {
    let snapshot = jobs.snapshot([job]);
    let last = shared.seen_acts.of_job(shared, job, SHOWN_ACTS).await;
    // Some may have acted since those were read: that nobody did is not known.
    let last = if last.notes.is_empty() { LastActs::default() } else { last };
    let no_store = no_store();
    let facts = JobFacts {
        job: snapshot.jobs.first()?,
        snapshot: &snapshot,
        problems: &[],
        why: (!at.is_empty()).then_some(AskedWhy { at, answer: Err(&no_store) }),
        picture: None,
        acts: JobActs { last: &last, order: context.next_order(job, None) },
        store: StoreSight::Unread(jobs.answered),
    };
    Some(job_parts(&context.frame(shared.store_now(), None), &facts))
}
