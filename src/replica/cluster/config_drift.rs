//! Whether the live replicas have loaded the same jobs.toml, and when a difference is logged. Pure.

use std::time::Duration;

use crate::events::event::Event;
use crate::job::NodeName;
use crate::store::LIVE_FOR;
use crate::time::BootInstant;

/// Files may differ for this long while a new one is rolled out. Then the difference is logged, and again as often.
const SAY_EVERY: Duration = Duration::from_secs(60);

/// How long all files must have been the same. A replica that sends no heartbeats for this long is granted nothing:
/// by then its earlier grants are in the records, and the other replicas know what it runs.
const AGREED_FOR: Duration = Duration::from_secs(5);

/// What this replica has loaded, and what it knows of the others.
#[derive(Debug)]
pub(crate) struct ConfigDrift {
    mine: String,
    /// Since when, without a break, another replica's file has differed; or when that was last logged.
    differ_since: Option<BootInstant>,
    said: bool,
    /// Since when, without a break, all others have had this replica's file; and when their heartbeats were last
    /// received.
    agree_since: Option<BootInstant>,
    heard: BootInstant,
}

impl ConfigDrift {
    /// `mine` is the hash of the file that this replica has loaded.
    pub(super) fn of(mine: String) -> Self {
        let heard = BootInstant(Duration::ZERO);
        Self { mine, differ_since: None, said: false, agree_since: None, heard }
    }

    /// Records that this replica has loaded another file.
    pub(crate) fn load(&mut self, file: String) {
        self.mine = file;
        self.agree_since = None;
    }

    /// Whether for a while no other replica has been granted anything under another file, as far as is known.
    pub(crate) fn have_agreed(&self, now: BootInstant) -> bool {
        let has_renewed_lately = now.since(self.heard) <= LIVE_FOR;
        has_renewed_lately && self.agree_since.is_some_and(|since| now.since(since) >= AGREED_FOR)
    }

    /// Takes in the files of the other replicas that take ticks. Returns what to log.
    pub(super) fn learn<'p>(
        &mut self,
        others: impl Iterator<Item = (&'p NodeName, &'p str)>,
        now: BootInstant,
    ) -> Option<Event> {
        let different: Vec<String> = others
            .filter(|(_, file)| *file != self.mine)
            .map(|(node, file)| format!("{node} ({file})"))
            .collect();
        if now.since(self.heard) > LIVE_FOR {
            self.agree_since = None;
        }
        self.heard = now;
        if different.is_empty() {
            self.agree_since.get_or_insert(now);
            self.differ_since = None;
            return std::mem::take(&mut self.said).then(|| Event::FilesAgree { file: self.mine.clone() });
        }
        self.agree_since = None;
        let since = *self.differ_since.get_or_insert(now);
        if now.since(since) < SAY_EVERY {
            return None;
        }
        self.differ_since = Some(now);
        self.said = true;
        Some(Event::FilesDiffer { file: self.mine.clone(), others: different.join(", ") })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64) -> BootInstant {
        BootInstant(Duration::from_secs(seconds))
    }

    fn learn(files: &mut ConfigDrift, others: &[(&str, &str)], seconds: u64) -> Option<Event> {
        let others: Vec<(NodeName, &str)> =
            others.iter().map(|(node, file)| (NodeName::parse(node).expect("a name"), *file)).collect();
        files.learn(others.iter().map(|(node, file)| (node, *file)), at(seconds))
    }

    #[test]
    fn files_that_differ_for_a_minute_are_said_once_a_minute_and_once_that_they_agree() {
        let mut files = ConfigDrift::of("f1".into());
        let others = [("b", "f1"), ("c", "f2")];
        assert_eq!(learn(&mut files, &others, 0), None);
        assert_eq!(learn(&mut files, &others, 59), None);
        let said = Event::FilesDiffer { file: "f1".into(), others: "c (f2)".into() };
        assert_eq!(learn(&mut files, &others, 60), Some(said.clone()));
        assert_eq!(learn(&mut files, &others, 119), None);
        assert_eq!(learn(&mut files, &others, 120), Some(said));
        let agree = Event::FilesAgree { file: "f1".into() };
        assert_eq!(learn(&mut files, &[("b", "f1"), ("c", "f1")], 121), Some(agree));
        assert_eq!(learn(&mut files, &[("b", "f1")], 122), None);
    }

    #[test]
    fn files_have_agreed_once_all_replicas_that_are_heard_have_had_the_same_for_a_while() {
        let mut files = ConfigDrift::of("f1".into());
        (0..5).for_each(|second| drop(learn(&mut files, &[("b", "f1")], second)));
        assert!(!files.have_agreed(at(4)));
        learn(&mut files, &[("b", "f1")], 5);
        assert!(files.have_agreed(at(9)));
        assert!(!files.have_agreed(at(10)), "others may have started, and are not heard");
        learn(&mut files, &[("b", "f1")], 10);
        assert!(!files.have_agreed(at(10)));
        (11..=15).for_each(|second| drop(learn(&mut files, &[], second)));
        assert!(files.have_agreed(at(15)));
        files.load("f2".into());
        assert!(!files.have_agreed(at(15)), "another replica may not have it yet");
        (16..=21).for_each(|second| drop(learn(&mut files, &[], second)));
        assert!(files.have_agreed(at(21)));
        learn(&mut files, &[("b", "f1")], 22);
        assert!(!files.have_agreed(at(22)));
    }

    #[test]
    fn a_file_that_is_being_rolled_out_is_no_word_worth() {
        let mut files = ConfigDrift::of("f1".into());
        assert_eq!(learn(&mut files, &[("b", "f2")], 0), None);
        files.load("f2".into());
        assert_eq!(learn(&mut files, &[("b", "f2")], 30), None);
        assert_eq!(learn(&mut files, &[("b", "f3")], 61), None, "they agreed in between");
        assert_eq!(learn(&mut files, &[], 121), None);
    }
}
