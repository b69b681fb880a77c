//! What the pages of a job and of a run show.

use crate::http::acts::LastActs;
use crate::http::page::home::HomeAddress;
use crate::http::page::shell::{PageTitle, VisitorSight, page};
use crate::http::page::testing::{EVIL, MARIA, Scene, frame, last_acts};
use crate::view::history::TickView;
use crate::view::testing::run_id;
use crate::view::text::output_line::OutputLine;
use crate::view::timeline::{LaneOrder, TimelineSpan};

use super::*;

const WEEK: HomeAddress = HomeAddress {
    search: String::new(),
    condition: None,
    unknown: None,
    page: 1,
    order: LaneOrder::ByReplica,
    span: TimelineSpan::Week,
    refreshes: false,
};

fn job_html(scene: &Scene, name: &str, why: Option<AskedWhy<'_>>, visitor: VisitorSight<'static>) -> String {
    let job = scene.snapshot.jobs.iter().find(|job| job.name.as_str() == name).expect("a job");
    let (problems, picture) = (scene.problems(), scene.picture(&WEEK, Some(&job.name)));
    let facts = JobFacts {
        job,
        snapshot: &scene.snapshot,
        problems: &problems,
        why,
        picture: Some(&picture),
        acts: JobActs { last: &last_acts(), order: run_id(50) },
        store: scene.store,
    };
    page(&frame(visitor), PageTitle { text: name, nav: "" }, &job_parts(&frame(visitor), &facts))
}

fn run_html(scene: &Scene, name: &str, at: usize, output: RunOutput<'_>) -> String {
    let job = scene.snapshot.jobs.iter().find(|job| job.name.as_str() == name).expect("a job");
    let past: Vec<TickView> = job.past().collect();
    let (tick, problems) = (&past[past.len() - 1 - at], scene.problems());
    let facts =
        RunFacts { job, tick, snapshot: &scene.snapshot, problems: &problems, output, store: scene.store };
    page(&frame(MARIA), PageTitle { text: name, nav: "" }, &run_parts(&frame(MARIA), &facts))
}

#[test]
fn a_job_is_told_in_words_with_its_lock_and_what_became_of_its_ticks() {
    let html = job_html(&Scene::at_three(), "payout", None, MARIA);
    for text in [
        "Pays out what is due",
        "an attempt is stopped after 10m",
        "free: the job does not run",
        "4 ticks in a row",
        "failed, exit code 3",
        "Tick (Europe/Berlin)",
        "--since=yesterday",
    ] {
        assert!(html.contains(text), "{text}\n{html}");
    }
    let running = job_html(&Scene::healthy(), "nightly-backup", None, MARIA);
    assert!(running.contains("held by node-b for <time"), "{running}");
    assert!(running.contains("fence 1763863241124"), "{running}");
}

#[test]
fn a_command_is_shown_only_to_those_who_may_see_what_it_prints() {
    let nobody = VisitorSight { name: None, can_log_in: false, sees_output: false, read_only: None };
    assert!(!job_html(&Scene::at_three(), "payout", None, nobody).contains("--since=yesterday"));
}

#[test]
fn acts_that_could_not_be_read_are_not_told_as_none() {
    let none = |is_read| {
        let (scene, last) = (Scene::at_three(), LastActs { is_read, ..LastActs::default() });
        let job = scene.snapshot.jobs.first().expect("a job");
        let (problems, picture) = (scene.problems(), scene.picture(&WEEK, Some(&job.name)));
        let acts = JobActs { last: &last, order: run_id(50) };
        let (snapshot, store) = (&scene.snapshot, scene.store);
        let facts =
            JobFacts { job, snapshot, problems: &problems, why: None, picture: Some(&picture), acts, store };
        page(&frame(MARIA), PageTitle { text: "payout", nav: "" }, &job_parts(&frame(MARIA), &facts))
    };
    let (known, unknown) = ("Nobody has acted on this job lately.", "What was done lately is not known");
    assert!(none(true).contains(known) && !none(true).contains(unknown));
    assert!(none(false).contains(unknown) && !none(false).contains(known));
}

#[test]
fn ticks_that_share_an_entry_stay_one_line_with_their_number() {
    let html = job_html(&Scene::at_three(), "clean-sessions", None, MARIA);
    assert!(html.contains(" missed ×5<br>"), "{html}");
    assert!(html.contains("the store did not answer"), "{html}");
}

#[test]
fn where_older_ticks_may_exist_the_page_says_so_and_how_to_list_them() {
    let mut scene = Scene::at_three();
    let (command, stretch) =
        ("<code>solocron history payout -n 200</code>", "payout</code>: not shown before ");
    scene.job("payout").has_older = false;
    let html = job_html(&scene, "payout", None, MARIA);
    assert!(!html.contains(command) && !html.contains("class=\"band unread\""), "{html}");
    scene.job("payout").has_older = true;
    let html = job_html(&scene, "payout", None, MARIA);
    for text in
        [command, "<g class=\"band unread\"><title>`payout`: not shown before ", stretch, ">not read</text>"]
    {
        assert!(html.contains(text), "{text}\n{html}");
    }
    scene.job("payout").entries.clear();
    let html = job_html(&scene, "payout", None, MARIA);
    assert!(html.contains(command) && !html.contains("No tick has been decided"), "{html}");
}

#[test]
fn the_answer_why_is_shown_with_the_question_and_neither_is_obeyed() {
    let answer = AskedWhy { at: EVIL, answer: Ok("it was skipped") };
    let html = job_html(&Scene::at_three(), "payout", Some(answer), MARIA);
    assert!(html.contains("<p role=\"status\">it was skipped</p>"), "{html}");
    assert!(!html.contains("<script>") && html.contains("{{ 7 * 7 }}"), "{html}");
    let refused = AskedWhy { at: "soon", answer: Err("`soon` is not a time") };
    let html = job_html(&Scene::at_three(), "payout", Some(refused), MARIA);
    assert!(html.contains("class=\"bad\"><code>soon</code> is not a time</p>"), "{html}");
}

#[test]
fn a_run_tells_its_story_and_its_output_in_colours() {
    let lines: Vec<OutputLine> = [
        "2026-11-20T03:00:41.100Z out connecting",
        "2026-11-20T03:00:41.200Z err \u{1b}[1;31mrefused\u{1b}[0m <script>\u{7}",
    ]
    .map(|line| OutputLine::stored(line.as_bytes()))
    .into();
    let sight =
        OutputSight { lines, note: "From node-b.".to_owned(), is_whole: true, ..OutputSight::default() };
    let html = run_html(&Scene::at_three(), "payout", 0, RunOutput::Seen(&sight));
    for text in [
        "the lock was granted to node-",
        "with fence 1763863241123",
        "failed with exit code 3, in attempt 2",
        "role=\"status\">From node-b.</p>",
        "<span class=\"line err\"><i>03:00:41.200</i> <b class=\"c-red bold\">refused</b> &#60;script&#62;\u{fffd}",
        "/log?job=payout&#38;download\" download>download</a>",
        "/log?job=payout&#38;download&amp;raw\" download>raw</a>",
    ] {
        assert!(html.contains(text), "{text}\n{html}");
    }
    assert!(!html.contains("data-next") && !html.contains(">older<") && !html.contains(">newest<"), "{html}");
    let hidden = run_html(&Scene::at_three(), "payout", 0, RunOutput::Hidden);
    assert!(hidden.contains("shown only with a token"), "{hidden}");
    assert!(!hidden.contains("<pre") && !hidden.contains("download"), "{hidden}");
    let sight = OutputSight::default();
    let running = run_html(&Scene::healthy(), "nightly-backup", 0, RunOutput::Seen(&sight));
    assert!(running.contains("it goes on") && running.contains("the lock was last renewed"), "{running}");
}

#[test]
fn an_output_that_goes_on_says_where_and_a_piece_of_a_long_one_leads_to_the_others() {
    let note = "Live from node-b, which is asked through the store.".to_owned();
    let live = OutputSight {
        note,
        older: Some(4_096),
        next: Some(70_000),
        is_whole: true,
        ..OutputSight::default()
    };
    let html = run_html(&Scene::healthy(), "nightly-backup", 0, RunOutput::Seen(&live));
    for text in [
        "<p id=\"output-note\" role=\"status\">Live from node-b, which is asked through the store.</p>",
        "data-next=\"70000\"></pre>",
        "?before=4096#output\">older</a>",
        "<noscript><p>Load the page again for what is new.</p></noscript>",
    ] {
        assert!(html.contains(text), "{text}\n{html}");
    }
    let older = OutputSight { next: None, has_newer: true, ..live };
    let html = run_html(&Scene::healthy(), "nightly-backup", 0, RunOutput::Seen(&older));
    assert!(html.contains("#output\">newest</a>") && !html.contains("data-next"), "{html}");
}

#[test]
fn a_page_that_is_sent_changes_keeps_the_output_that_it_has() {
    let html = run_html(&Scene::at_three(), "payout", 0, RunOutput::Untouched);
    assert!(!html.contains("id=\"output\"") && html.contains("id=\"story\""), "{html}");
}
