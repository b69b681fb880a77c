//! 10,000 jobs: pages stay small and are found, and the replica's memory is bounded, whoever looks.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::net::SocketAddr;
use std::time::Duration;

use solocron::time::{Clock, SystemClock};

use crate::http_client::{get, request};
use crate::process::{Program, Scene};
use crate::{eventually, start};

use super::clients::without_reading;

const JOBS: usize = 10_000;

/// A page has less than this, in bytes.
const LONGEST_PAGE: usize = 100_000;

/// So much more memory a replica may take while somebody looks, in KiB.
const MORE_MEMORY: u64 = 20 << 10;

/// The memory of large answers that clients do not read, in KiB: four of them, and what making one takes.
const MORE_FOR_ANSWERS: u64 = 48 << 10;

fn many_jobs() -> String {
    let mut text = "cluster.store = \"local\"\n".to_owned();
    for job in 0..JOBS {
        let _ = write!(
            text,
            "[jobs.job{job:05}]\nschedule = \"@yearly\"\nshell = \"true\"\ndescription = \"Does the work of customer {job}\"\n"
        );
    }
    text
}

/// The memory that is the replica's own, in KiB.
fn memory(replica: &Program) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", replica.pid())).expect("it runs");
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:")).expect("a line about it");
    line.split_whitespace().next().and_then(|kib| kib.parse().ok()).expect("a number")
}

/// The names of the jobs that a page lists.
fn listed(page: &str) -> BTreeSet<String> {
    let rows = page.split("<tr id=\"job-").skip(1);
    rows.filter_map(|row| row.split('"').next()).map(str::to_owned).collect()
}

/// Waits until the first page shows how all jobs stand, and returns how long it took from then on.
fn warm(address: SocketAddr) -> Duration {
    eventually("a page", || {
        let page = get(address, "/");
        let is_read = page.body.contains("Nothing is wrong");
        (page.status == 200 && is_read && listed(&page.body).len() == 50).then_some(())
    });
    let began = SystemClock.boot();
    assert_eq!(get(address, "/").status, 200);
    SystemClock.boot().since(began)
}

#[test]
fn with_ten_thousand_jobs_pages_are_small_and_every_job_is_found() {
    let scene = Scene::new(&many_jobs());
    let (replica, address) = start(&scene, &[]);
    // Metrics need some memory for each job, whether somebody looks or not.
    eventually("a sweep", || {
        let scrape = get(address, "/metrics?jobs=all").body;
        scrape.contains("solocron_jobs{state=\"enabled\"} 10000\n").then_some(())
    });
    let before = memory(&replica);
    let took = warm(address);
    // Of a debug build on a busy machine; a release build takes a few milliseconds.
    assert!(took < Duration::from_secs(5), "{took:?}");
    let paths =
        ["/", "/?by=job", "/?by=job&span=24h", "/jobs/job04711", "/replicas", "/jobs/job04711?at=02:30"];
    for path in paths {
        let page = get(address, path);
        assert_eq!(page.status, 200, "{path}");
        assert!(page.body.len() < LONGEST_PAGE, "{path}: {} bytes", page.body.len());
    }
    // The pager leads through all of them: here its beginning, a page in between, and its end.
    let mut seen = BTreeSet::new();
    for number in [1, 2, 100, 199, 200] {
        let page = get(address, &format!("/?page={number}")).body;
        let (jobs, first) = (listed(&page), (number - 1) * 50 + 1);
        assert_eq!(jobs.len(), 50, "page {number}");
        assert!(page.contains(&format!("{first}–{} of 10000", first + 49)), "{page}");
        assert_eq!(page.contains(&format!("page={}", number + 1)), number < 200, "{page}");
        assert!(page.len() < LONGEST_PAGE, "page {number}: {} bytes", page.len());
        assert!(seen.is_disjoint(&jobs), "page {number}");
        seen.extend(jobs);
    }
    assert_eq!(listed(&get(address, "/?page=999999").body).len(), 50, "beyond the end is the last page");
    // By name, and by description.
    assert_eq!(listed(&get(address, "/?q=job04711").body), BTreeSet::from(["job04711".to_owned()]));
    assert_eq!(listed(&get(address, "/?q=Customer+4711").body), BTreeSet::from(["job04711".to_owned()]));
    assert_eq!(listed(&get(address, "/?q=nothing-of-the-kind").body), BTreeSet::new());
    assert_eq!(listed(&get(address, "/?is=failing").body), BTreeSet::new());
    let grown = memory(&replica).saturating_sub(before);
    assert!(grown <= MORE_MEMORY, "{grown} KiB more than {before}");
}

#[test]
fn clients_that_read_no_large_answer_take_bounded_memory_and_lock_out_no_probe() {
    let scene = Scene::new(&many_jobs());
    let (replica, address) = start(&scene, &[]);
    warm(address);
    let status = get(address, "/api/v1/status");
    assert!(status.status == 200 && status.body.len() > 1 << 20, "{}", status.body.len());
    let before = memory(&replica);
    let stuck: Vec<_> =
        ["/api/v1/status", "/metrics?jobs=all"].map(|path| without_reading(address, path, 50)).into();
    let (began, mut most, mut refused) = (SystemClock.boot(), 0, 0);
    while SystemClock.boot().since(began) < Duration::from_secs(12) {
        assert_eq!(get(address, "/healthz").status, 200);
        most = most.max(memory(&replica));
        let page = get(address, "/replicas");
        assert!(matches!(page.status, 200 | 503), "{page:?}");
        refused += usize::from(page.status == 503 && page.header("retry-after") == Some("1"));
    }
    assert!(refused > 0, "every connection is taken");
    let grown = most.saturating_sub(before);
    assert!(grown <= MORE_FOR_ANSWERS, "{grown} KiB more than {before}");
    drop(stuck);
    // Whoever reads gets the whole answer.
    let metrics = eventually("a scrape", || {
        let open = [("Accept", "application/openmetrics-text")];
        Some(request(address, "GET /metrics?jobs=all", &open)).filter(|answer| answer.status == 200)
    });
    assert!(metrics.body.ends_with("# EOF\n") && metrics.body.contains("job_name=\"job09999\""));
}
