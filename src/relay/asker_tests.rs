//! What an asker makes of answers that come, are lost, come twice, or do not come.

use crate::config::local_cluster;
use crate::store::LocalStore;
use crate::time::SystemClock;

use super::super::answer::PIECE_BYTES;
use super::*;

/// A store, and an asker whose replica is played by the test.
struct Scene {
    _folder: tempfile::TempDir,
    store: Arc<dyn Store>,
    output: RemoteOutput,
}

fn source() -> OutputSource {
    let (node, job) = (NodeName::parse("n2").expect("a name"), JobName::parse("backup").expect("a name"));
    OutputSource { node, job, run: RunId::new() }
}

impl Scene {
    async fn new(start: LogStart) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("store.sqlite3");
        let store = LocalStore::start(&path, local_cluster(), Box::new(SystemClock)).expect("a boot id");
        let store: Arc<dyn Store> = Arc::new(store);
        store.ready().await.expect("a file of its own");
        let output = RemoteOutput::new(Arc::clone(&store), source(), start);
        Self { _folder: folder, store, output }
    }

    /// Lets the asker look, and returns the question that it asks.
    async fn question(&mut self) -> OutputQuestion {
        assert_eq!(self.output.look().await, Ok(None));
        self.questions().await.pop().expect("a question")
    }

    async fn questions(&self) -> Vec<OutputQuestion> {
        let slip = Slip::Ask(NodeName::parse("n2").expect("a name"));
        let texts = self.store.collect(&slip).await.expect("answers");
        texts.iter().map(|text| OutputQuestion::parse(text).expect("a question")).collect()
    }

    async fn leave(&self, answers: &[OutputAnswer]) {
        for answer in answers {
            let slip = Slip::Tell(self.output.asker);
            self.store.leave(&slip, &answer.to_text(), TTL).await.expect("it is left");
        }
    }

    /// Looks until nothing is new; returns what was.
    async fn news(&mut self) -> Vec<OutputNews> {
        let mut all = Vec::new();
        while let Some(news) = self.output.look().await.expect("answers") {
            all.push(news);
        }
        all
    }
}

/// A part of an answer: the number of its question, its own, and the byte at which its text begins.
fn answer(number: u32, part: u32, from: u64, text: &str, end: Option<OutputEnd>) -> OutputAnswer {
    OutputAnswer { number, part, from, missing: 0, bytes: text.into(), size: from + text.len() as u64, end }
}

fn piece(from: u64, text: &str) -> OutputNews {
    OutputNews::Piece(OutputPiece { from, missing: 0, bytes: text.into(), size: from + text.len() as u64 })
}

#[tokio::test]
async fn pieces_are_returned_in_order_and_the_next_question_begins_after_them() {
    let mut scene = Scene::new(LogStart::LastLines(2)).await;
    let question = scene.question().await;
    assert_eq!((question.number, question.start), (1, LogStart::LastLines(2)));

    let parts = [
        answer(1, 0, 90, "one\n", None),
        answer(1, 1, 94, "", None),
        answer(1, 2, 94, "two\n", Some(OutputEnd::Pause)),
    ];
    scene.leave(&parts).await;

    assert_eq!(scene.news().await, [piece(90, "one\n"), piece(94, ""), piece(94, "two\n")]);
    let question = scene.questions().await.pop().expect("a question");
    assert_eq!((question.number, question.start), (2, LogStart::Byte(98)));
    scene.leave(&[answer(2, 0, 98, "", Some(OutputEnd::Over))]).await;
    assert_eq!(scene.output.look().await, Ok(Some(OutputNews::Over)));
}

#[tokio::test]
async fn a_part_that_was_lost_is_asked_for_again_and_one_that_came_twice_is_returned_once() {
    let mut scene = Scene::new(LogStart::Byte(0)).await;
    scene.question().await;
    let (one, three) = (answer(1, 0, 0, "one\n", None), answer(1, 2, 8, "three\n", None));

    scene.leave(&[one.clone(), one, three]).await;

    assert_eq!(scene.news().await, [piece(0, "one\n")]);
    let question = scene.question().await;
    assert_eq!((question.number, question.start), (2, LogStart::Byte(4)));
    // What belongs to an earlier question, or is no answer, changes nothing.
    scene.leave(&[answer(1, 0, 0, "one\n", None)]).await;
    scene.store.leave(&Slip::Tell(scene.output.asker), "{}", TTL).await.expect("it is left");
    scene.leave(&[answer(2, 0, 4, "two\n", None)]).await;
    assert_eq!(scene.news().await, [piece(4, "two\n")]);
}

#[tokio::test]
async fn the_last_bytes_and_the_end_may_come_together() {
    let mut scene = Scene::new(LogStart::Byte(0)).await;
    scene.question().await;
    scene.leave(&[answer(1, 0, 0, "one\n", Some(OutputEnd::Over))]).await;
    assert_eq!(scene.output.next().await, Ok(piece(0, "one\n")));
    assert_eq!(scene.output.next().await, Ok(OutputNews::Over));
}

#[tokio::test]
async fn a_replica_that_does_not_answer_is_asked_twice_and_given_up_after_two_seconds() {
    let mut scene = Scene::new(LogStart::Byte(0)).await;
    let began = Instant::now();
    assert_eq!(scene.output.next().await, Ok(OutputNews::Silent));
    let took = began.elapsed();
    assert!(took >= ANSWER_WITHIN && took < ANSWER_WITHIN * 5, "{took:?}");
    let questions = scene.questions().await;
    assert_eq!(questions.iter().map(|question| question.number).collect::<Vec<_>>(), [1, 2]);
}

#[tokio::test]
async fn a_silent_replica_is_asked_again_once_its_last_question_is_gone_and_heard_before() {
    let mut scene = Scene::new(LogStart::Byte(0)).await;
    assert_eq!(scene.output.next().await, Ok(OutputNews::Silent));
    assert_eq!(scene.output.next().await, Ok(OutputNews::Silent), "it is told again");
    assert_eq!(scene.questions().await.len(), 2, "no further one was left");
    let asked = scene.output.asked.expect("it was asked");
    assert!(!scene.output.is_question_due(asked + TTL - Duration::from_millis(1)));
    assert!(scene.output.is_question_due(asked + TTL));
    scene.leave(&[answer(2, 0, 0, "one\n", Some(OutputEnd::Pause))]).await;
    assert_eq!(scene.output.next().await, Ok(piece(0, "one\n")));
    assert!(scene.output.is_question_due(Instant::now()), "it is there again");
}

#[tokio::test]
async fn a_replica_that_is_busy_is_asked_again() {
    let mut scene = Scene::new(LogStart::Byte(0)).await;
    scene.question().await;
    scene.leave(&[answer(1, 0, 0, "", Some(OutputEnd::Busy))]).await;
    let began = Instant::now();
    while scene.output.number == 1 {
        assert_eq!(scene.output.look().await, Ok(None));
        sleep(PAUSES.0).await;
    }
    assert!(began.elapsed() >= ASK_AGAIN.0 / 2, "{:?}", began.elapsed());
    scene.leave(&[answer(2, 0, 0, "one\n", None)]).await;
    assert_eq!(scene.output.next().await, Ok(piece(0, "one\n")));
}

#[tokio::test]
async fn a_piece_of_the_largest_size_fits_beside_nothing_else_and_arrives_whole() {
    let mut scene = Scene::new(LogStart::Byte(0)).await;
    scene.question().await;
    let text = "x".repeat(PIECE_BYTES);
    scene.leave(&[answer(1, 0, 0, &text, None)]).await;
    assert_eq!(scene.news().await, [piece(0, &text)]);
}
