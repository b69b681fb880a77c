//! What pages show to whom, and without the store.

use std::time::Duration;

use axum::http::Request;
use axum::http::request::Builder;
use tokio::task::yield_now;
use tokio::time::sleep;

use crate::http::testing::{Served, ServedAnswer, TOKENS, tokens};
use crate::job::JobName;

/// A request of the visitor with this token.
fn with_token(request: Builder, token: &str) -> Builder {
    request.header("authorization", format!("Bearer {token}")).header("accept", "text/html")
}

/// The page at this path for somebody who may act.
async fn opened(served: &Served, path: &str) -> ServedAnswer {
    served.set_tokens(tokens());
    served.send(with_token(Request::get(path), TOKENS[1]), "").await
}

#[tokio::test]
async fn an_error_offers_the_login_only_to_those_who_have_not_logged_in() {
    let served = Served::new().await.with_tokens();
    served.report(false);
    let reader = TOKENS[0];
    for (request, status, offers_login) in [
        (with_token(Request::get("/jobs/nobody"), reader), 404, false),
        (with_token(Request::post("/jobs/backup/trigger"), reader), 403, false),
        (with_token(Request::get("/"), "wrong"), 401, true),
    ] {
        let answer = served.send(request, "").await;
        assert_eq!(answer.status, status, "{}", answer.body);
        assert_eq!(answer.body.contains("href=\"/login\""), offers_login, "{}", answer.body);
        assert!(answer.body.contains("<a href=\"/\">Jobs</a>"), "{}", answer.body);
    }
}

#[tokio::test]
async fn a_filter_that_does_not_exist_is_named_and_a_page_after_the_last_is_the_last() {
    let served = Served::new().await.with_tokens();
    served.report(false);
    for (query, named) in
        [("bogus", Some("bogus")), ("%3Cb%3E", Some("&#60;b&#62;")), ("failing", None), ("", None)]
    {
        let home = opened(&served, &format!("/?is={query}&page=99")).await.body;
        let sentence =
            named.map(|word| format!("There is no filter <code>{word}</code>: the list is not filtered"));
        assert_eq!(home.contains("There is no filter"), named.is_some(), "{query}: {home}");
        assert!(sentence.is_none_or(|sentence| home.contains(&sentence)), "{query}: {home}");
        assert!(home.contains("<tr id=\"job-backup\""), "{query}: {home}");
    }
}

#[tokio::test]
async fn a_page_opened_without_the_store_lists_the_jobs_and_makes_up_no_state() {
    let served = Served::new().await;
    served.report(true);
    let home = opened(&served, "/").await;
    assert_eq!(home.status, 200, "{}", home.body);
    for text in [
        "<tr id=\"job-backup\" class=\"unknown\">",
        "<tr id=\"job-payout\" class=\"unknown\">",
        "<tr id=\"job-retired\" class=\"off\">",
        "<h1 id=\"troubles-h\">The store does not answer</h1>",
        "<section id=\"timeline\" hidden>",
        ">disabled 1</a>",
    ] {
        assert!(home.body.contains(text), "{text}\n{}", home.body);
    }
    assert_eq!(home.body.matches("is not known").count(), 1, "{}", home.body);
    let again = "<noscript><meta http-equiv=\"refresh\" content=\"5\"></noscript>";
    assert!(home.body.contains(again), "{}", home.body);
    assert_eq!(home.body.matches("<time class=due").count(), 2, "the next tick of each job that is enabled");
    for text in ["failing 0", "running 0", "Nothing is wrong", "No job is like this", " replicas</span>"] {
        assert!(!home.body.contains(text), "{text}\n{}", home.body);
    }
    let searched = opened(&served, "/?q=pay&is=failing").await.body;
    assert!(searched.contains("job-payout") && !searched.contains("job-backup"), "{searched}");

    served.report(false);
    let home =
        served.send(Request::get("/").header("authorization", format!("Bearer {}", TOKENS[1])), "").await;
    assert!(home.body.contains("<tr id=\"job-backup\" class=\"failing\">"), "{}", home.body);
    assert!(!home.body.contains("is not known") && !home.body.contains(again), "{}", home.body);
}

#[tokio::test]
async fn the_first_page_of_many_jobs_shows_the_file_at_once_and_the_store_once_it_is_read() {
    let served = Served::new().await.with_tokens();
    served.define_more(1_000);
    let home = opened(&served, "/?q=a").await.body;
    for text in [
        "aria-labelledby=\"troubles-h\" class=\"well\">\n<h1 id=\"troubles-h\">The store is being read</h1>",
        "<span>store answers</span>",
        "<tr id=\"job-backup\" class=\"unknown\">",
        "<noscript><meta http-equiv=\"refresh\" content=\"5\"></noscript>",
    ] {
        assert!(home.contains(text), "{text}\n{home}");
    }
    served.report(false);
    served.shared.board.list().await.expect("it is read");
    let changes = served.beginning("/?q=a", "text/event-stream", true).await;
    for text in ["<tr id=\"job-backup\" class=\"failing\">", "1 of 1003 jobs needs you"] {
        assert!(changes.contains(text), "{text}\n{changes}");
    }
}

#[tokio::test]
async fn the_first_page_of_many_jobs_waits_for_the_store_where_the_file_cannot_tell() {
    let served = Served::new().await.with_tokens();
    served.define_more(1_000);
    let failing = opened(&served, "/?is=failing");
    let answers = async {
        yield_now().await;
        served.report(false);
    };
    // The page is asked for before the store answers.
    let (failing, ()) = tokio::join!(failing, answers);
    assert!(failing.body.contains("<tr id=\"job-backup\" class=\"failing\">"), "{}", failing.body);
    assert!(!failing.body.contains("is being read"), "{}", failing.body);
}

#[tokio::test]
async fn the_first_page_says_what_failed_though_nobody_looked_before() {
    let served = Served::new().await;
    served.report(false);
    let home = opened(&served, "/").await.body;
    assert!(home.contains("<code>backup</code>: failed with exit code 3 on n1, 1m "), "{home}");
    assert!(!home.contains("its last tick did not succeed"), "{home}");
}

#[tokio::test]
async fn while_the_store_is_away_ages_go_on_and_the_top_says_when_it_was_so() {
    let served = Served::new().await;
    served.report(false);
    let before = opened(&served, "/").await.body;
    assert!(before.contains("on n1, 1m ") && !before.contains("As of then"), "{before}");
    served.report_after(Duration::from_secs(600), true);
    for path in ["/", "/jobs/backup"] {
        let away = opened(&served, path).await.body;
        assert!(away.contains("failed with exit code 3 on n1, 11m "), "{away}");
        assert!(away.contains(">10m") && away.contains(" ago</time>. As of then: <span"), "{away}");
    }
}

#[tokio::test]
async fn the_page_of_a_job_opened_without_the_store_shows_what_the_file_says() {
    let served = Served::new().await;
    served.report(false);
    // Nobody has acted when the list of acts is read.
    let job = JobName::parse("backup").expect("a name");
    while !served.shared.seen_acts.of_job(&served.shared, &job, 1).await.is_read {
        sleep(Duration::from_millis(5)).await;
    }
    served.report(true);
    let job = opened(&served, "/jobs/backup?at=12%3A05").await;
    assert_eq!(job.status, 200, "{}", job.body);
    for text in [
        "<section id=\"about\" class=\"unknown\">",
        "is not known until the store answers.",
        "<dt>lock</dt><dd>not known while the store does not answer</dd>",
        "<section id=\"ticks\" hidden>",
        "class=\"bad\">the store does not answer</p>",
        "What was done lately is not known",
    ] {
        assert!(job.body.contains(text), "{text}\n{}", job.body);
    }
    assert_eq!(job.body.matches("<time class=due").count(), 5, "its coming ticks");
    for text in ["free: the job", "No tick has been decided", "Nobody has acted", "No replica has registered"]
    {
        assert!(!job.body.contains(text), "{text}\n{}", job.body);
    }
    // Whether the store has a job that the file does not name is not known.
    assert_eq!(opened(&served, "/jobs/nobody").await.status, 503);
}

#[tokio::test]
async fn while_the_store_is_away_acts_are_disabled_and_the_lock_is_not_known() {
    let served = Served::new().await;
    served.report(false);
    let before = opened(&served, "/jobs/backup").await.body;
    assert!(before.contains("free: the job does not run") && !before.contains(" disabled"), "{before}");
    assert!(before.contains("<button>Run it once</button>"), "{before}");
    served.report(true);
    let away = opened(&served, "/jobs/backup").await.body;
    for text in [
        "nothing can be done to the job until it does.",
        "<button disabled>Run it once</button>",
        "<button disabled>Pause</button>",
        "<button disabled>Run it for another tick…</button>",
        "<dt>lock</dt><dd>not known while the store does not answer</dd>",
    ] {
        assert!(away.contains(text), "{text}\n{away}");
    }
    assert!(!away.contains("free: the job") && !away.contains("href=\"/jobs/backup/trigger\""), "{away}");
    let form = opened(&served, "/jobs/backup/trigger").await;
    assert_eq!(form.status, 503, "{}", form.body);
    assert!(form.body.contains("the store does not answer") && !form.body.contains("<form"), "{}", form.body);
}

#[tokio::test]
async fn a_trouble_tells_the_last_act_and_leads_to_acts_those_who_may_act() {
    let served = Served::new().await.with_tokens();
    served.report(false);
    // Once something was read, the store is open.
    let home = opened(&served, "/").await.body;
    assert!(home.contains("exit code 3") && !home.contains("Last act"), "{home}");
    for (act, known) in [("pause", ". Last act"), ("resume", "Last act: resumed by maria <time")] {
        let request = with_token(Request::post(format!("/api/v1/jobs/backup/{act}")), TOKENS[1]);
        let request = request.header("content-type", "application/json");
        assert_eq!(served.send(request, "{}").await.status, 200, "{act}");
        let home = opened(&served, "/").await.body;
        assert_eq!(home.contains(known), act == "resume", "a pause tells by itself who paused: {home}");
        assert_eq!(home.contains("Paused by maria <time"), act == "pause", "{home}");
        assert_eq!(home.contains("/jobs/backup/resume\">resume…"), act == "pause", "{home}");
    }
    let home = opened(&served, "/").await.body;
    assert!(home.contains("Last act: resumed by maria <time"), "{home}");
    for link in ["/jobs/backup/trigger\">run once…", "/jobs/backup/pause\">pause…"] {
        assert!(home.contains(link), "{link}\n{home}");
    }
    let read = served.send(with_token(Request::get("/"), TOKENS[0]), "").await.body;
    assert!(read.contains("Last act: resumed by maria") && !read.contains("run once…"), "{read}");
}
