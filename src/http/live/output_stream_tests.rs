//! What a page is to show of an output, piece by piece.

use crate::http::live::StreamSlots;
use crate::job::{JobName, NodeName, RunId};
use crate::relay::{LocalOutput, OutputSource};

use super::*;

/// Follows a run of this machine, of which 4 bytes are shown.
fn following(folder: &tempfile::TempDir) -> Following {
    let source = OutputSource {
        node: NodeName::parse("n1").expect("a name"),
        job: JobName::parse("backup").expect("a name"),
        run: RunId::new(),
    };
    Following {
        output: FollowedOutput::here(LocalOutput::new(folder.path()), source, LogStart::Byte(4)),
        received: 4,
        partial: Vec::new(),
        jumped: None,
        said: "Live from n1, this replica.".to_owned(),
        is_over: Arc::default(),
        _slot: StreamSlots::default().take_output().expect("a slot"),
    }
}

fn piece(from: u64, text: &str, size: u64) -> Result<OutputNews, StoreError> {
    Ok(OutputNews::Piece(OutputPiece { from, missing: 0, bytes: text.into(), size }))
}

/// The texts of the lines, with the byte at which they end; and what is said.
fn shown(updates: Vec<OutputUpdate>) -> Vec<String> {
    let text = |line: &OutputLine| line.spans.iter().map(|span| span.text.as_str()).collect::<String>();
    let shown = |update| match update {
        OutputUpdate::Lines { lines, next } => {
            format!("{} @{next}", lines.iter().map(text).collect::<Vec<_>>().join("|"))
        }
        OutputUpdate::Note(note) => format!("note: {note}"),
        OutputUpdate::Over(why) => format!("over: {why}"),
    };
    updates.into_iter().map(shown).collect()
}

#[tokio::test]
async fn whole_lines_are_shown_in_order_gaps_are_told_and_the_end_is() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut following = following(&folder);
    for (news, expected) in [
        (piece(4, "one\ntw", 10), &["one @8"][..]),
        (piece(10, "", 10), &[]),
        (piece(10, "o\n", 12), &["two @12"]),
        (piece(112, "three\n", 118), &["… 100 bytes are not shown …|three @118"]),
        (Ok(OutputNews::Silent), &["note: n1 does not answer. Trying again."]),
        (Ok(OutputNews::Silent), &[]),
        (piece(118, "la", 120), &["note: Live from n1, this replica."]),
        (Ok(OutputNews::Over), &["la @120", "over: The run has ended. This is from n1."]),
    ] {
        let what = format!("{news:?}");
        assert_eq!(shown(following.updates(news).0), expected, "{what}");
    }
    following.is_over.store(true, Ordering::Relaxed);
    let given_up = shown(following.updates(Ok(OutputNews::Silent)).0);
    let words = "over: n1 does not answer. Load the page again for the end of it, as the store keeps it.";
    assert_eq!(given_up, [words]);
    let absent = shown(following.updates(Ok(OutputNews::Absent)).0);
    assert_eq!(absent, ["over: n1 has no log of this run."]);
}

#[tokio::test]
async fn a_page_that_is_far_behind_goes_on_with_the_end_now_and_then() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut following = following(&folder);
    let far = 10 << 20;
    let one = |from| OutputPiece { from, missing: 0, bytes: b"one\n".to_vec(), size: far };
    let now = Instant::now();
    following.lines_of(one(4), now);
    assert_eq!(following.jumped, Some(now));
    following.lines_of(one(far - 4), now);
    following.lines_of(one(4), now + Duration::from_secs(1));
    assert_eq!(following.jumped, Some(now), "each jump is a question");
    following.lines_of(one(4), now + JUMP_EVERY);
    assert_eq!(following.jumped, Some(now + JUMP_EVERY));
}

#[tokio::test]
async fn a_line_without_end_is_shown_in_pieces_and_takes_no_more_memory() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut following = following(&folder);
    let half = "x".repeat(LONGEST_LINE / 2);
    let first = following.updates(piece(4, &half, 1 << 20)).0;
    assert_eq!(first, []);
    let both = following.updates(piece(4 + half.len() as u64, &half, 1 << 20)).0;
    assert_eq!(both.len(), 1);
    assert_eq!(following.partial.len(), 0);
}

#[tokio::test]
async fn a_run_of_this_machine_is_followed_to_its_end() {
    let folder = tempfile::tempdir().expect("a folder");
    let following = following(&folder);
    let source = following.output.source().clone();
    let logs = folder.path().join("runs/backup");
    std::fs::create_dir_all(&logs).expect("a folder");
    let log = logs.join(format!("{}.log", source.run));
    std::fs::write(log, "one\n2026-11-20T12:00:00.123Z err two\n").expect("written");
    let slots = StreamSlots::default();
    let slot = slots.take_output().expect("a slot");
    let mut follower = OutputFollower::new(following.output, 4, slot);
    let mut updates = Vec::new();
    while let Some(update) = follower.next().await {
        updates.push(update);
    }
    let texts = ["note: Live from n1, this replica.", "two @37", "over: The run has ended. This is from n1."];
    assert_eq!(shown(updates), texts);
}
