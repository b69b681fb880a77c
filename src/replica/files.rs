//! Whether the live replicas have loaded the same jobs.toml, and when it is worth a word that they have not. Pure.

use std::time::Duration;

use crate::job::NodeName;
use crate::lease::BootInstant;

use super::event::Event;

/// Files may differ for this long while a new one is rolled out; then it is said, and again as often.
const SAY_EVERY: Duration = Duration::from_secs(60);

/// What this replica has loaded, and what is known of the others.
#[derive(Debug)]
pub(super) struct Files {
    mine: String,
    /// Since when, without a break, another replica's file has differed; or when that was last said.
    differ_since: Option<BootInstant>,
    said: bool,
}

impl Files {
    /// This replica has loaded the file with this hash.
    pub(super) fn of(mine: String) -> Self {
        Self { mine, differ_since: None, said: false }
    }

    /// It has loaded another one.
    pub(super) fn load(&mut self, file: String) {
        self.mine = file;
    }

    /// The other replicas that take ticks have loaded these.
    pub(super) fn learn<'p>(
        &mut self,
        others: impl Iterator<Item = (&'p NodeName, &'p str)>,
        now: BootInstant,
    ) -> Option<Event> {
        let different: Vec<String> = others
            .filter(|(_, file)| *file != self.mine)
            .map(|(node, file)| format!("{node} ({file})"))
            .collect();
        if different.is_empty() {
            self.differ_since = None;
            return std::mem::take(&mut self.said).then(|| Event::FilesAgree { file: self.mine.clone() });
        }
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

    fn learn(files: &mut Files, others: &[(&str, &str)], seconds: u64) -> Option<Event> {
        let others: Vec<(NodeName, &str)> =
            others.iter().map(|(node, file)| (NodeName::parse(node).expect("a name"), *file)).collect();
        files.learn(others.iter().map(|(node, file)| (node, *file)), at(seconds))
    }

    #[test]
    fn files_that_differ_for_a_minute_are_said_once_a_minute_and_once_that_they_agree() {
        let mut files = Files::of("f1".into());
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
    fn a_file_that_is_being_rolled_out_is_no_word_worth() {
        let mut files = Files::of("f1".into());
        assert_eq!(learn(&mut files, &[("b", "f2")], 0), None);
        files.load("f2".into());
        assert_eq!(learn(&mut files, &[("b", "f2")], 30), None);
        assert_eq!(learn(&mut files, &[("b", "f3")], 61), None, "they agreed in between");
        assert_eq!(learn(&mut files, &[], 121), None);
    }
}
