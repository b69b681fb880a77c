//! Writes the pages of a made-up cluster into a folder, for people who look at them: `make screens`.

use std::path::Path;

use crate::http::acts::LastActs;
use crate::http::page::assets::ASSETS;
use crate::http::page::home::HomeAddress;
use crate::http::page::job::{
    AskedWhy, JobActs, JobFacts, OutputSight, RunFacts, RunOutput, job_parts, run_parts,
};
use crate::http::page::replicas::replicas_parts;
use crate::http::page::shell::{HtmlSentence, PageFrame, PagePart, PageTitle, StoreSight, page};
use crate::http::page::testing::{EVIL, MARIA, Scene, ago, frame, last_acts};
use crate::view::expected::Expected;
use crate::view::history::TickView;
use crate::view::job::{JobList, JobState};
use crate::view::testing::run_id;
use crate::view::text::output_line::OutputLine;
use crate::view::timeline::{LaneOrder, TimelineSpan};

/// Names the folder.
const FOLDER: &str = "SOLOCRON_SCREENS";

/// The frame of a page in a file: links lead to files beside it.
fn in_file() -> PageFrame<'static> {
    PageFrame { base: ".", ..frame(MARIA) }
}

fn write(folder: &Path, name: &str, parts: &[PagePart]) {
    // What must never be obeyed is for other tests.
    let evil = HtmlSentence(EVIL).to_string();
    let nav = match name.rsplit_once('-') {
        Some((_, "home" | "job")) => "/",
        Some((_, "replicas")) => "/replicas",
        _ => "",
    };
    let html = page(&in_file(), PageTitle { text: name, nav }, parts).replace(&evil, "");
    for theme in ["light", "dark"] {
        let html = html.replace("<html lang=\"en\">", &format!("<html lang=\"en\" data-theme=\"{theme}\">"));
        std::fs::write(folder.join(format!("{name}-{theme}.html")), html)
            .expect("the folder can be written to");
    }
}

fn job_screen(scene: &Scene, name: &str) -> Vec<PagePart> {
    let address =
        HomeAddress { span: TimelineSpan::Week, order: LaneOrder::ByReplica, ..HomeAddress::default() };
    let job = scene.snapshot.jobs.iter().find(|job| job.name.as_str() == name).expect("a job");
    let (problems, picture) = (scene.problems(), scene.picture(&address, Some(&job.name)));
    let answer = "`payout`, tick of Fri 2026-11-20 03:30:00 +01:00: its run on node-c failed with exit code 3 after 40s";
    // Of two jobs, one was asked about and acted on.
    let is_busy = name == "payout";
    let why = is_busy.then_some(AskedWhy { at: "03:30", answer: Ok(answer) });
    let (snapshot, store) = (&scene.snapshot, scene.store);
    let last = if is_busy { last_acts() } else { LastActs { is_read: true, ..LastActs::default() } };
    let acts = JobActs { last: &last, order: run_id(50) };
    let facts = JobFacts { job, snapshot, problems: &problems, why, picture: Some(&picture), acts, store };
    job_parts(&in_file(), &facts)
}

fn run_screen(scene: &Scene, name: &str) -> Vec<PagePart> {
    let job = scene.snapshot.jobs.iter().find(|job| job.name.as_str() == name).expect("a job");
    let past: Vec<TickView> = job.past().collect();
    let (tick, problems) = (past.last().expect("a run"), scene.problems());
    let lines: Vec<OutputLine> = [
        "2026-11-20T03:00:01.003Z out connecting to db.internal:5432",
        "2026-11-20T03:00:11.020Z out \u{1b}[33mwarning\u{1b}[0m: no answer, trying again in 10 s",
        "2026-11-20T03:00:37.100Z err Traceback (most recent call last):",
        "2026-11-20T03:00:37.100Z err   File \"/app/payout.py\", line 41, in <module>",
        "2026-11-20T03:00:37.200Z err \u{1b}[1;31mpsycopg.OperationalError\u{1b}[0m: connection refused",
    ]
    .map(|line| OutputLine::stored(line.as_bytes()))
    .into();
    let note = "From node-a, which is asked through the store.".to_owned();
    let sight = OutputSight { lines, note, older: Some(4_096), is_whole: true, ..OutputSight::default() };
    let output = RunOutput::Seen(&sight);
    let (snapshot, store) = (&scene.snapshot, scene.store);
    run_parts(&in_file(), &RunFacts { job, tick, snapshot, problems: &problems, output, store })
}

/// The cluster with its jobs in the order of the page: what is wrong first.
fn in_order(mut scene: Scene) -> Scene {
    let expected = Expected { replicas: None, file: None, flaw: None };
    let list = JobList::of(&scene.snapshot, expected);
    let place = |job: &JobState| list.jobs().iter().position(|listed| listed.name == job.name);
    scene.snapshot.jobs.sort_by_key(place);
    scene
}

#[test]
fn every_page_can_be_written_to_a_folder_for_people_who_look_at_them() {
    let temporary = tempfile::tempdir().expect("a folder");
    let named = std::env::var_os(FOLDER);
    let folder = named.as_ref().map_or(temporary.path(), Path::new);
    std::fs::create_dir_all(folder.join("assets")).expect("the folder can be written to");
    for (address, text) in ASSETS.texts() {
        std::fs::write(folder.join(&address[1..]), text).expect("the folder can be written to");
    }
    let by_job =
        HomeAddress { order: LaneOrder::ByJob, span: TimelineSpan::SixHours, ..HomeAddress::default() };
    for (scene, name) in [(Scene::healthy(), "healthy"), (Scene::at_three(), "three")] {
        let scene = in_order(scene);
        let replicas = replicas_parts(
            &in_file(),
            &scene.snapshot,
            &scene.problems(),
            Some("3f9c21ab55555555"),
            scene.store,
        );
        write(folder, &format!("{name}-home"), &scene.home_in(&in_file(), &HomeAddress::default()));
        write(folder, &format!("{name}-by-job"), &scene.home_in(&in_file(), &by_job));
        write(folder, &format!("{name}-replicas"), &replicas);
        write(folder, &format!("{name}-payout"), &job_screen(&scene, "payout"));
        write(folder, &format!("{name}-backup"), &job_screen(&scene, "nightly-backup"));
        write(folder, &format!("{name}-run"), &run_screen(&scene, "payout"));
    }
    let away = Scene { store: StoreSight::AwaySince(ago(15)), ..Scene::healthy() };
    write(folder, "away-home", &away.home_in(&in_file(), &HomeAddress::default()));
}
