//! Runs of an earlier process of a simulated replica: in place of `recovery/sweep_orphans.rs`, which looks at processes.

use crate::hold::lease_file::entry::LeaseNote;
use crate::job::RunId;
use crate::replica::core::CoreInput;
use crate::replica::recovery::orphans::{Orphan, OrphanEnded, Seen, cut_short};
use crate::replica::simulation::world::clock::Reads;
use crate::replica::simulation::world::message::{Answered, Ask};

use super::errand::{Chore, Errand, record};
use super::node::{Deed, Node};

impl Node {
    /// Sets what an earlier process left behind; the first step reads it.
    pub(crate) fn set_orphans(&mut self, orphans: Vec<Orphan>) {
        self.orphans = orphans;
    }

    pub(super) fn check_orphan(&mut self, orphan: Box<Orphan>, is_first: bool) {
        self.deeds.push(Deed::CheckOrphan { orphan, is_first });
    }

    pub(super) fn check_orphan_later(&mut self, orphan: Box<Orphan>) {
        self.put_off(orphan.check_again_after(), Chore::CheckOrphan(orphan));
    }

    /// The look for what is left of an orphan is over. Reads the record: until now, the earlier process may have
    /// recorded that the run ended well.
    pub(crate) fn orphan_seen(&mut self, orphan: Box<Orphan>, seen: Seen, is_first: bool, reads: Reads) {
        self.reads = reads;
        let ask = Ask::Records(vec![self.number(&orphan.job)]);
        self.send(ask, Errand::Orphan { orphan, seen, is_first });
    }

    /// `orphans::end_orphan`.
    pub(super) fn end_orphan(&mut self, orphan: Orphan, seen: Seen, is_first: bool, answered: Answered) {
        let record = record(answered).ok().flatten();
        let (job, run) = (orphan.job.clone(), orphan.run);
        let Some(end) = orphan.conclude(seen, false, record.as_ref()) else {
            let left = Some(orphan);
            return self.tell_core(CoreInput::OrphanChecked(OrphanEnded { job, is_first, left }));
        };
        let number = self.number(&job);
        if let Some(LeaseNote::Running { lease, era, .. }) = orphan.note {
            if end.is_seen {
                let finish = cut_short(lease, era, 1, end.verdict, end.ended);
                self.jot(number, LeaseNote::Ended(finish));
            } else {
                self.forget_note_of(number, run);
            }
        }
        self.tell_core(CoreInput::OrphanChecked(OrphanEnded { job, is_first, left: None }));
    }

    /// `LeaseFile::forget_run`.
    pub(super) fn forget_note_of(&mut self, job: usize, run: RunId) {
        self.disk.retain(|of, note| *of != job || note.lease().run != run);
    }
}
