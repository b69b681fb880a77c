//! Both sides together, over an embedded store.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;

use crate::config::local_cluster;
use crate::job::{Cause, Fence, JobName, NodeName, Outcome, RunId, Tick, Verdict};
use crate::metrics::HttpTally;
use crate::run::{Birth, Ended, Identity, LogStart, RunLog, RunLogs, StopSignals};
use crate::store::{LocalStore, Store};
use crate::time::{SystemClock, UtcMillis};

use super::{FollowedOutput, LocalOutput, OutputNews, OutputResponder, OutputSource, RemoteOutput};

/// Nothing here takes longer, however busy the machine.
const DEADLINE: Duration = Duration::from_secs(60);

/// A replica `n2` that answers, and a run of it.
struct Scene {
    folder: tempfile::TempDir,
    store: Arc<dyn Store>,
    logs: RunLogs,
    log: Option<RunLog>,
    source: OutputSource,
    /// Ends with the scene.
    tasks: JoinSet<()>,
}

fn ended() -> Ended {
    Ended {
        was_stuck: false,
        stop_signals: StopSignals::default(),
        was_tried: true,
        ago: Duration::ZERO,
        verdict: Verdict::plain(Outcome::Succeeded),
        exit_code: Some(0),
        signal: None,
        error: None,
        tail: String::new(),
        started: UtcMillis(0),
        finished: UtcMillis(1),
        log_bytes: 0,
        birth: Birth::default(),
    }
}

impl Scene {
    async fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("store.sqlite3");
        let store = LocalStore::start(&path, local_cluster(), Box::new(SystemClock)).expect("a boot id");
        let store: Arc<dyn Store> = Arc::new(store);
        store.ready().await.expect("a file of its own");
        let (node, job) = (NodeName::parse("n2").expect("a name"), JobName::parse("backup").expect("a name"));
        let source = OutputSource { node: node.clone(), job: job.clone(), run: RunId::new() };
        let state = folder.path().join("state");
        let logs = RunLogs::new(&state, Arc::new(|| UtcMillis(0)));
        let identity = Identity {
            job,
            tick: Tick::at_millis(0),
            tick_local: String::new(),
            fence: Fence(1),
            run: source.run,
            attempt: 1,
            cause: Cause::Schedule,
            node: node.clone(),
        };
        let log = Some(logs.begin(&identity).await);
        let mut scene = Self { folder, store, logs, log, source, tasks: JoinSet::new() };
        scene.answer(node, &state);
        scene
    }

    fn answer(&mut self, node: NodeName, state: &Path) {
        let responder = OutputResponder::new(node, LocalOutput::new(state));
        let tally = Arc::new(HttpTally::of(&[]));
        self.tasks.spawn(responder.run(Arc::clone(&self.store), tally, CancellationToken::new()));
    }

    fn write(&self, text: &str) {
        let path = self.logs.log_path(&self.source.job, self.source.run);
        std::fs::write(path, text).expect("the folder is there");
    }

    /// Ends the run.
    async fn end(&mut self) {
        let log = self.log.take().expect("it runs");
        self.logs.finish(log, 1, &ended()).await;
    }

    fn ask(&self, start: LogStart) -> RemoteOutput {
        RemoteOutput::new(Arc::clone(&self.store), self.source.clone(), start)
    }
}

/// Collects pieces until so many bytes are there, or the output is over. Returns them, and what came last.
async fn collect(output: &mut RemoteOutput, bytes: usize) -> (String, OutputNews) {
    let mut all = Vec::new();
    let collecting = async {
        loop {
            let news = output.next().await.expect("the store answers");
            if let OutputNews::Piece(piece) = &news {
                all.extend_from_slice(&piece.bytes);
            }
            if all.len() >= bytes || !matches!(news, OutputNews::Piece(_)) {
                return news;
            }
        }
    };
    let last = timeout(DEADLINE, collecting).await.expect("in time");
    (String::from_utf8(all).expect("text"), last)
}

#[tokio::test]
async fn output_is_sent_as_it_is_printed_until_the_run_ends() {
    let mut scene = Scene::new().await;
    let mut output = scene.ask(LogStart::Byte(0));
    let mut written = String::new();
    for line in ["one\n", "two\n", "three\n"] {
        written += line;
        scene.write(&written);
        assert_eq!(collect(&mut output, line.len()).await.0, line);
    }
    scene.end().await;
    assert_eq!(collect(&mut output, 1).await, (String::new(), OutputNews::Over));
}

#[tokio::test]
async fn a_follower_goes_on_after_the_time_of_one_answer() {
    let mut scene = Scene::new().await;
    scene.write("one\n");
    let mut output = scene.ask(LogStart::Byte(0));
    assert_eq!(collect(&mut output, 4).await.0, "one\n");
    let (quiet, _) = tokio::join!(collect(&mut output, 4), async {
        sleep(Duration::from_secs(7)).await;
        scene.write("one\ntwo\n");
    });
    assert_eq!(quiet.0, "two\n");
    scene.end().await;
    assert_eq!(collect(&mut output, 1).await.1, OutputNews::Over);
}

#[tokio::test]
async fn a_long_log_arrives_whole_in_many_pieces_and_from_its_end_on() {
    let mut scene = Scene::new().await;
    let text: String = (0..20_000).map(|n| format!("{n:09}\n")).collect();
    scene.write(&text);
    scene.end().await;
    let (all, last) = collect(&mut scene.ask(LogStart::Byte(0)), usize::MAX).await;
    assert!(all == text && last == OutputNews::Over, "{} bytes, {last:?}", all.len());
    let (end, _) = collect(&mut scene.ask(LogStart::LastLines(2)), usize::MAX).await;
    assert_eq!(end, "000019998\n000019999\n");
    let (end, _) = collect(&mut scene.ask(LogStart::LastBytes(25)), usize::MAX).await;
    assert_eq!(end, "000019998\n000019999\n");
}

#[tokio::test]
async fn a_run_that_is_not_there_is_absent_and_so_is_one_that_printed_nothing() {
    let mut scene = Scene::new().await;
    scene.end().await;
    assert_eq!(collect(&mut scene.ask(LogStart::Byte(0)), 1).await, (String::new(), OutputNews::Absent));
    scene.source.run = RunId::new();
    assert_eq!(collect(&mut scene.ask(LogStart::Byte(0)), 1).await, (String::new(), OutputNews::Absent));
}

#[tokio::test]
async fn a_log_that_cannot_be_read_is_told_with_the_reason() {
    let mut scene = Scene::new().await;
    let path = scene.logs.log_path(&scene.source.job, scene.source.run);
    let secret = scene.folder.path().join("secret");
    std::fs::write(&secret, "secret\n").expect("written");
    std::os::unix::fs::symlink(&secret, path).expect("a link");
    let (text, last) = collect(&mut scene.ask(LogStart::Byte(0)), 1).await;
    assert_eq!(text, "");
    assert!(matches!(last, OutputNews::Unreadable(_)), "{last:?}");
    scene.end().await;
}

#[tokio::test]
async fn of_many_askers_eight_are_answered_at_once_and_the_others_in_their_turn() {
    let mut scene = Scene::new().await;
    scene.write("one\n");
    let mut askers = JoinSet::new();
    for _ in 0..12 {
        let mut output = scene.ask(LogStart::Byte(0));
        askers.spawn(async move { collect(&mut output, 4).await.0 });
    }
    while let Some(read) = askers.join_next().await {
        assert_eq!(read.expect("no panic"), "one\n");
    }
    scene.end().await;
}

#[tokio::test]
async fn here_and_elsewhere_the_same_is_read() {
    let mut scene = Scene::new().await;
    let local = LocalOutput::new(&scene.folder.path().join("state"));
    let here = FollowedOutput::here(local.clone(), scene.source.clone(), LogStart::Byte(0));
    let store = Arc::clone(&scene.store);
    let elsewhere = FollowedOutput::elsewhere(store, scene.source.clone(), LogStart::Byte(0));
    assert_eq!((here.is_here(), elsewhere.is_here()), (true, false));
    assert!(local.has(&scene.source.job, scene.source.run).await.expect("it is read"), "it runs");
    assert!(!local.has(&scene.source.job, RunId::new()).await.expect("it is read"));
    for mut output in [here, elsewhere] {
        scene.write("");
        let nothing = output.next().await.expect("the store answers");
        assert!(matches!(&nothing, OutputNews::Piece(piece) if piece.bytes.is_empty()), "{nothing:?}");
        scene.write("one\ntwo\nthree\n");
        let read = |news| match news {
            OutputNews::Piece(piece) => (piece.from, String::from_utf8_lossy(&piece.bytes).into_owned()),
            other => panic!("{other:?}"),
        };
        let next = timeout(DEADLINE, output.next()).await.expect("in time").expect("the store answers");
        assert_eq!(read(next), (0, "one\ntwo\nthree\n".to_owned()));
        output.go_on_from(LogStart::LastBytes(7));
        let next = timeout(DEADLINE, output.next()).await.expect("in time").expect("the store answers");
        assert_eq!(read(next), (8, "three\n".to_owned()));
    }
    scene.end().await;
    let mut ended = FollowedOutput::here(local, scene.source.clone(), LogStart::Byte(14));
    assert_eq!(ended.next().await, Ok(OutputNews::Over));
}
