//! Describes what a load of jobs.toml has changed. It also does so if the file was loaded when it was saved, before its author
//! requested that.

use std::time::Duration;

use tokio::time::Instant;

use crate::events::Changes;
use crate::view::text::short_text::short_hash;
use crate::view::text::time_format::span;

/// A file that was loaded this shortly before a request was most likely saved by the requester.
const JUST_SAVED: Duration = Duration::from_secs(60);

/// The loads of one replica.
#[derive(Debug, Default)]
pub(super) struct Loads {
    /// The last load that changed something without a request, until a request comes.
    unasked: Option<Load>,
}

#[derive(Debug)]
struct Load {
    at: Instant,
    /// Hash of the file.
    file: String,
    changes: String,
}

impl Loads {
    /// Describes a load of the file with this hash, `(26b0c1d2): 1 added (a)`. `is_asked`: whether it was requested.
    pub(super) fn told(&mut self, file: String, changes: &Changes, is_asked: bool) -> String {
        let (changes, hash) = (worded(changes), short_hash(&file).to_owned());
        let before = self.unasked.take().filter(|before| before.file == file);
        if !is_asked {
            // A second load of the same file does not undo what the first one changed.
            let now = |changes: &String| Load { at: Instant::now(), file, changes: changes.clone() };
            self.unasked = changes.as_ref().map(now).or(before);
        } else if let (None, Some(Load { at, changes, .. })) = (&changes, before)
            && at.elapsed() < JUST_SAVED
        {
            return format!("({hash}), {} ago when it was saved: {changes}", span(at.elapsed()));
        }
        format!("({hash}): {}", changes.unwrap_or_else(|| "no job has changed".to_owned()))
    }
}

/// Returns `1 added (a), 2 changed (b, c)`; `None` if no job has changed.
fn worded(changes: &Changes) -> Option<String> {
    let [added, changed, removed] = changes.listed();
    let counts = [changes.added.len(), changes.changed.len(), changes.removed.len()];
    let parts = [("added", added), ("changed", changed), ("removed", removed)];
    let parts = parts.into_iter().zip(counts);
    let parts: Vec<String> =
        parts.filter_map(|((how, names), count)| Some(format!("{count} {how} ({})", names?))).collect();
    (!parts.is_empty()).then(|| parts.join(", "))
}

#[cfg(test)]
mod tests {
    use crate::job::JobName;

    use super::*;

    const FILE: &str = "26b0c1d2e3f40516";

    fn adds(names: &[&str]) -> Changes {
        let added = names.iter().map(|name| JobName::parse(name).expect("a name")).collect();
        Changes { added, ..Changes::default() }
    }

    #[tokio::test(start_paused = true)]
    async fn who_asks_right_after_saving_is_told_what_the_load_at_once_has_changed() {
        let mut loads = Loads::default();
        let mut told = |changes: &[&str], is_asked| loads.told(FILE.to_owned(), &adds(changes), is_asked);
        assert_eq!(told(&["a"], true), "(26b0c1d2): 1 added (a)");
        assert_eq!(told(&[], true), "(26b0c1d2): no job has changed");
        told(&["b", "c"], false);
        told(&[], false);
        tokio::time::advance(Duration::from_millis(1_500)).await;
        assert_eq!(told(&[], true), "(26b0c1d2), 1.5s ago when it was saved: 2 added (b, c)");
        assert_eq!(told(&[], true), "(26b0c1d2): no job has changed", "once");
        told(&["d"], false);
        tokio::time::advance(JUST_SAVED).await;
        assert_eq!(told(&[], true), "(26b0c1d2): no job has changed", "that is long ago");
        told(&["d"], false);
        assert_eq!(loads.told("another".to_owned(), &adds(&[]), true), "(another): no job has changed");
    }
}
