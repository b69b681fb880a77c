//! What a replica notes of a job's newest lock, and its form on disk: one JSON object on one line, with its own
//! schema number.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::job::{Outcome, Reason, Verdict};
use crate::lease::{Era, Finish, Lease};
use crate::run::Site;
use crate::time::{UtcMillis, millis};

/// The schema of a note. A note with another schema is not read.
const SCHEMA: u32 = 1;

/// What the replica knows of a job's newest lock.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum LeaseNote {
    /// A run is going under it.
    Running {
        /// The lock.
        lease: Lease,
        /// The era in which it was granted.
        era: Era,
        /// The time between SIGTERM and SIGKILL when the replica is gone.
        loss_grace: Duration,
        /// Where the run was started, if known.
        site: Option<Site>,
    },
    /// Its run has ended: the finish as it was last sent.
    Ended(Finish),
}

impl LeaseNote {
    /// The note of a run that is going here, under a lock granted in `era`.
    pub(crate) fn running(lease: &Lease, era: &Era, loss_grace: Duration, site: Option<&Site>) -> Self {
        let (lease, era, site) = (lease.clone(), era.clone(), site.cloned());
        Self::Running { lease, era, loss_grace, site }
    }

    pub(crate) fn lease(&self) -> &Lease {
        match self {
            Self::Running { lease, .. } => lease,
            Self::Ended(finish) => &finish.lease,
        }
    }

    /// Returns the stored form of the note. `store` is the label of this store.
    pub(crate) fn to_text(&self, store: &str) -> Vec<u8> {
        let (era, running, end) = match self {
            Self::Running { era, loss_grace, site, .. } => {
                (era, Some(Running { loss_grace: *loss_grace, site: site.clone() }), None)
            }
            Self::Ended(finish) => (&finish.era, None, Some(End::of(finish))),
        };
        let (lease, era) = (self.lease().clone(), era.clone());
        let stored = StoredNote { schema: SCHEMA, store: store.to_owned(), lease, era, running, end };
        serde_json::to_vec(&stored).expect("a note has string keys and no failing values")
    }

    /// Reads a stored note. `Err` if it belongs to a store other than `store`.
    pub(crate) fn from_text(text: &[u8], store: &str) -> Result<Self, NoteError> {
        let Shape { schema } = serde_json::from_slice(text)?;
        if schema != SCHEMA {
            return Err(NoteError::Schema(schema));
        }
        let stored: StoredNote = serde_json::from_slice(text)?;
        if stored.store != store {
            return Err(NoteError::OtherStore(stored.store));
        }
        Ok(stored.into_note())
    }
}

/// Why a stored note is not read.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NoteError {
    #[error("it cannot be read: {0}")]
    Io(#[from] std::io::Error),
    #[error("it is not a note: {0}")]
    Json(#[from] serde_json::Error),
    #[error("it has schema {0}, and this release knows {SCHEMA}")]
    Schema(u32),
    #[error("it is of another store, {0}")]
    OtherStore(String),
}

#[derive(Deserialize)]
struct Shape {
    schema: u32,
}

/// The stored form of a note.
#[derive(Serialize, Deserialize)]
struct StoredNote {
    schema: u32,
    store: String,
    #[serde(flatten)]
    lease: Lease,
    era: Era,
    running: Option<Running>,
    end: Option<End>,
}

/// What matters only while the run is going.
#[derive(Default, Serialize, Deserialize)]
struct Running {
    #[serde(rename = "loss_grace_ms", with = "millis")]
    loss_grace: Duration,
    /// Missing in notes of earlier releases.
    #[serde(default)]
    site: Option<Site>,
}

/// How the run ended; absent while it is going.
#[derive(Serialize, Deserialize)]
struct End {
    attempt: u32,
    outcome: Outcome,
    reason: Option<Reason>,
    ended: UtcMillis,
    exit_code: Option<i32>,
    signal: Option<i32>,
    tail: String,
}

impl StoredNote {
    fn into_note(self) -> LeaseNote {
        let Self { lease, era, running, end, .. } = self;
        match end {
            Some(end) => LeaseNote::Ended(end.into_finish(lease, era)),
            None => {
                let Running { loss_grace, site } = running.unwrap_or_default();
                LeaseNote::Running { lease, era, loss_grace, site }
            }
        }
    }
}

impl End {
    fn of(finish: &Finish) -> Self {
        Self {
            attempt: finish.attempt,
            outcome: finish.verdict.outcome,
            reason: finish.verdict.reason,
            ended: finish.ended,
            exit_code: finish.exit_code,
            signal: finish.signal,
            tail: finish.tail.clone(),
        }
    }

    fn into_finish(self, lease: Lease, era: Era) -> Finish {
        Finish {
            lease,
            era,
            attempt: self.attempt,
            verdict: Verdict { outcome: self.outcome, reason: self.reason },
            ended: self.ended,
            exit_code: self.exit_code,
            signal: self.signal,
            tail: self.tail,
            leapt: None,
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use crate::hold::lease_file::MAX_BYTES;
    use crate::job::{Cause, Fence, NodeName, RunId, Tick};
    use crate::lease::ScheduleHash;

    use super::*;

    const STORE: &str = "redis://127.0.0.1:6379/0";

    pub(crate) fn lease(fence: i64) -> Lease {
        Lease {
            run: RunId::new(),
            fence: Fence(fence),
            tick: Tick::at_millis(1_700_000_000_000),
            length: Duration::from_secs(30),
            node: NodeName::parse("a").expect("name"),
            cause: Cause::Rerun,
            tries: 2,
            started: UtcMillis(1_700_000_000_001),
            schedule_hash: ScheduleHash("00ff".into()),
            mark: UtcMillis(1_700_000_000_000),
            prev: Some(Tick::at_millis(1_699_999_940_000)),
        }
    }

    pub(crate) fn running(fence: i64) -> LeaseNote {
        let site = Site::of(&tempfile::tempfile().expect("a temporary file"));
        LeaseNote::running(&lease(fence), &Era("e1".into()), Duration::from_secs(5), site.as_ref())
    }

    pub(crate) fn ended(lease: Lease, tail: &str) -> LeaseNote {
        LeaseNote::Ended(Finish {
            lease,
            era: Era("e2".into()),
            attempt: 3,
            verdict: Verdict::because(Outcome::Killed, Reason::Operator),
            ended: UtcMillis(1_700_000_009_000),
            exit_code: None,
            signal: Some(9),
            tail: tail.into(),
            leapt: None,
        })
    }

    #[test]
    fn a_note_survives_its_stored_form() {
        for note in [running(7), ended(lease(8), "line\n\u{1}\n")] {
            let text = note.to_text(STORE);
            assert_eq!(LeaseNote::from_text(&text, STORE).expect("our own"), note);
        }
    }

    #[test]
    fn a_note_is_stored_as_earlier_releases_stored_it() {
        let note = ended(lease(8), "line\n");
        let expected = format!(
            r#"{{"schema":1,"store":"{STORE}","run":"{}","fence":8,"tick":1700000000000,"lease_ms":30000,"node":"a","#,
            note.lease().run
        ) + r#""cause":"rerun","tries":2,"started":1700000000001,"sched":"00ff","mark":1700000000000,"#
            + r#""prev":1699999940000,"era":"e2","running":null,"end":{"attempt":3,"outcome":"killed","#
            + r#""reason":"operator","ended":1700000009000,"exit_code":null,"signal":9,"tail":"line\n"}}"#;
        assert_eq!(String::from_utf8(note.to_text(STORE)).expect("JSON"), expected);
        let without_prev = expected.replace(r#""prev":1699999940000,"#, "");
        let read = LeaseNote::from_text(without_prev.as_bytes(), STORE).expect("an earlier release's");
        assert_eq!(*read.lease(), Lease { prev: None, ..note.lease().clone() });
    }

    #[test]
    fn the_longest_tail_makes_no_note_that_is_too_long_to_be_read() {
        // JSON writes a control character as six characters.
        let text = ended(lease(8), &"\u{1}".repeat(4_096)).to_text(STORE);
        assert!(text.len() < MAX_BYTES, "{}", text.len());
    }

    #[test]
    fn notes_of_another_schema_or_store_are_refused_and_so_is_what_is_no_note() {
        let text = running(7).to_text(STORE);
        let newer = String::from_utf8(text.clone()).expect("JSON").replace("\"schema\":1", "\"schema\":2");
        for (text, store, why) in [
            (newer.as_bytes(), STORE, "schema 2"),
            (text.as_slice(), "redis://other:6379/0", "another store"),
            (&text[..text.len() / 2], STORE, "not a note"),
            (b"{}".as_slice(), STORE, "not a note"),
        ] {
            let error = LeaseNote::from_text(text, store).expect_err(why).to_string();
            assert!(error.contains(why), "{error}");
        }
    }
}
