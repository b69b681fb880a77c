//! What the first page shows, and how large it is.

use std::fmt::Write;

use crate::http::page::shell::{PageTitle, SentParts, VisitorSight, page};
use crate::http::page::testing::{EVIL, MARIA, NOW, Scene, frame, ran};
use crate::job::{JobName, Outcome};
use crate::view::timeline::{LaneOrder, TimelineSpan};

use super::list::{HomeFacts, home_parts};
use super::*;

/// A visitor without a token, on loopback.
const NOBODY: VisitorSight<'static> = VisitorSight {
    name: None,
    can_log_in: false,
    sees_output: false,
    read_only: Some("This page is read-only: no tokens are set up."),
};

fn html(scene: &Scene, visitor: VisitorSight<'static>) -> String {
    let parts = scene.home(&HomeAddress::default(), visitor);
    page(&frame(visitor), PageTitle { text: "Jobs", nav: "/" }, &parts)
}

#[test]
fn a_healthy_cluster_says_so() {
    let html = html(&Scene::healthy(), MARIA);
    for text in [
        "<h1 id=\"troubles-h\">Nothing is wrong</h1>",
        "3 of 3 replicas",
        "files agree: 3f9c21ab",
        "store answers",
        "Log out maria",
        "<tr id=\"job-payout\" class=\"ok\">",
        "<tr id=\"job-nightly-backup\" class=\"running\">",
        "<tr id=\"job-old-report\" class=\"off\">",
        "<a href=\"/jobs/payout\" title=\"Pays out what is due\">payout</a>",
    ] {
        assert!(html.contains(text), "{text}\n{html}");
    }
}

#[test]
fn what_is_wrong_comes_first_with_its_last_output_for_those_who_may_see_it() {
    let scene = Scene::at_three();
    let shown = html(&scene, MARIA);
    for text in [
        "failed with exit code 3",
        "4 ticks in a row",
        "psycopg.OperationalError",
        "mailer moves",
        "2 of 3 replicas",
    ] {
        assert!(shown.contains(text), "{text}\n{shown}");
    }
    assert!(shown.contains("class=\"c-red\">psycopg"), "{shown}");
    let hidden = html(&scene, NOBODY);
    assert!(!hidden.contains("psycopg"), "{hidden}");
    assert!(hidden.contains("This page is read-only: no tokens are set up."));
}

#[test]
fn texts_that_look_like_html_or_templates_are_shown_as_they_are() {
    let mut scene = Scene::at_three();
    let evil = format!("description {EVIL}");
    let job = scene.job("payout");
    let mut spec = (**job.spec().expect("a definition")).clone();
    spec.description = Some(evil);
    job.definition = crate::view::job::Definition::Known(spec.into());
    scene.snapshot.peers[0].beat.version = EVIL.to_owned();
    let address = HomeAddress { search: EVIL.to_owned(), ..HomeAddress::default() };
    let parts = scene.home(&address, MARIA);
    let html = page(&frame(MARIA), PageTitle { text: "Jobs", nav: "/" }, &parts);
    assert!(!html.contains("<script>"), "{html}");
    assert!(!html.contains("alert('x')"), "{html}");
    assert_eq!(html.matches("<script ").count(), 1, "only the page's own");
    // Each of: search, description, output, reason.
    assert!(html.matches("{{ 7 * 7 }}").count() >= 4, "{html}");
    assert!(!html.contains(" style="), "{html}");
}

#[test]
fn a_page_of_ten_thousand_jobs_is_below_100_kb_and_has_50_rows() {
    let mut file = "[cluster]\nname = \"billing\"\nstore = \"local\"\n".to_owned();
    let long = format!("description = \"{}\"\n", "words ".repeat(20_000));
    for job in 0..10_000 {
        let _ = write!(
            file,
            "[jobs.job-with-a-name-{job:05}]\nschedule = \"{} * * * *\"\ncommand = [\"true\"]\n{}",
            job % 60,
            if job == 7 { &long } else { "" },
        );
    }
    let mut scene = Scene::of(&file);
    let names: Vec<JobName> = scene.snapshot.jobs.iter().take(200).map(|job| job.name.clone()).collect();
    for (at, name) in names.iter().enumerate() {
        let outcome = if at % 3 == 0 { Outcome::Failed } else { Outcome::Succeeded };
        let entries =
            (1..=60_i64).rev().map(|tick| ran("node-a", tick * 3_600 - at as i64, 20 * (tick % 7), outcome));
        scene.decide(name.as_str(), entries.collect());
    }
    let problems = scene.problems();
    for (order, span) in [
        (LaneOrder::ByReplica, TimelineSpan::Hour),
        (LaneOrder::ByJob, TimelineSpan::Day),
        (LaneOrder::ByJob, TimelineSpan::Week),
    ] {
        let address = HomeAddress { order, span, ..HomeAddress::default() };
        let picture = scene.picture(&address, None);
        let shown = crate::view::snapshot::Snapshot::of(
            NOW,
            scene.snapshot.peers.clone(),
            scene.snapshot.jobs.iter().take(50).cloned().collect(),
        );
        let facts = HomeFacts {
            address: &address,
            listed: &shown,
            troubled: &scene.snapshot,
            problems: &problems,
            counts: (10_000, &[("failing", 67)]),
            matching: (10_000, 50),
            last_acts: &[],
            picture: Some(&picture),
            store: scene.store,
        };
        let parts = home_parts(&frame(MARIA), &facts);
        let html = page(&frame(MARIA), PageTitle { text: "Jobs", nav: "/" }, &parts);
        assert!(html.len() < 100_000, "{} bytes: {:?}", html.len(), sizes(&parts));
        assert_eq!(html.matches("<tr id=").count(), 50);
        assert!(html.contains("1–50 of 10000"), "{html}");
    }
}

fn sizes(parts: &[crate::http::page::shell::PagePart]) -> Vec<(&str, usize)> {
    parts.iter().map(|part| (part.id.as_str(), part.html.len())).collect()
}

#[test]
fn a_failing_job_changes_its_row_and_the_troubles_once() {
    let address = HomeAddress::default();
    let mut scene = Scene::healthy();
    let mut sent = SentParts::of(&scene.home(&address, MARIA));
    assert_eq!(sent.changes(&scene.home(&address, MARIA)), Vec::<&_>::new());
    let mut entries = scene.job("reindex").entries.clone();
    entries.push(ran("node-a", 40, 30, Outcome::Failed));
    scene.decide("reindex", entries);
    let parts = scene.home(&address, MARIA);
    let changed: Vec<&str> = sent.changes(&parts).iter().map(|part| part.id.as_str()).collect();
    assert_eq!(changed, ["troubles", "timeline", "counts", "job-reindex"]);
}

#[test]
fn the_store_that_does_not_answer_is_said_at_the_top() {
    let mut scene = Scene::healthy();
    scene.store = crate::http::page::shell::StoreSight::AwaySince(crate::http::page::testing::ago(12));
    let html = html(&scene, MARIA);
    assert!(html.contains("the store does not answer</strong>, last answer <time"), "{html}");
    let then = ">12s ago</time>. As of then: <span>3 of 3 replicas</span>&nbsp;· <span>clocks agree</span>";
    assert!(html.contains(then), "{html}");
    assert!(html.contains(">The store does not answer. Before: Nothing is wrong</h1>"), "{html}");
    assert!(!html.contains("class=\"well\""), "{html}");
}
