//! The kinds of faults.

use crate::lease::Memory;

/// Every kind of fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    Rough,
    Cut,
    Crash,
    Freeze,
    GuardFrozen,
    GuardKilled,
    StoreStep,
    ReplicaStep,
    Emptied,
    Deleted,
    Failover,
    Restart,
    StoreFrozen,
    Suspend,
    /// A replica drains, and starts again.
    Drain,
    /// A replica loads another file.
    Reload,
    /// A client publishes hints that are not true.
    Lies,
    /// For a while, no signal reaches what jobs start: it is another user's, as `sudo` makes it.
    Unkillable,
    /// The store's clock is minutes, hours or years ahead for up to a minute.
    StoreAhead,
    /// The store's clock is as far behind.
    StoreBehind,
    /// A follower becomes the store; its clock is as far behind.
    FailoverBehind,
    /// The clock of one replica's machine is as far ahead.
    ReplicaAhead,
    /// The same, behind.
    ReplicaBehind,
    /// The clocks of the store and of a replica are as far ahead, by the same: they share a machine.
    BothAhead,
    /// The same, behind.
    BothBehind,
    /// Clocks are wrong when everything starts for the first time.
    WrongStart,
    /// The store's clocks are slewed by up to a tenth, for up to some minutes.
    StoreSlewed,
    /// The clocks of a replica's machine are slewed so.
    ReplicaSlewed,
    /// The record of a job is deleted, while replicas or guests may come that know nothing of it.
    RecordLost,
    /// The list of jobs is deleted.
    KnownLost,
    /// All heartbeats are deleted.
    NodesLost,
    /// The record of a job is deleted, together with the list of jobs.
    RecordAndKnownLost,
    /// The record of a job is deleted, together with all heartbeats.
    RecordAndNodesLost,
    /// The store goes back to an older state, in the same era.
    Rollback,
    /// A guest (`exec`) claims a lock, with a short lease.
    Guest,
    /// Replicas have a file with a long lease for a while.
    LongLease,
    /// The store refuses to write records, and takes heartbeats.
    WritesRefused,
}

impl Fault {
    /// The faults of a usual simulation: the first ones of all.
    pub(crate) const USUAL: &'static [Self] = Self::ALL.split_at(17).0;

    /// The same, and jobs that cannot be killed.
    pub(crate) const USUAL_AND_UNKILLABLE: &'static [Self] = Self::ALL.split_at(18).0;

    /// All faults, the usual ones first.
    pub(crate) const ALL: [Self; 37] = [
        Self::Rough,
        Self::Cut,
        Self::Crash,
        Self::Freeze,
        Self::GuardFrozen,
        Self::GuardKilled,
        Self::StoreStep,
        Self::ReplicaStep,
        Self::Emptied,
        Self::Deleted,
        Self::Failover,
        Self::Restart,
        Self::StoreFrozen,
        Self::Suspend,
        Self::Drain,
        Self::Reload,
        Self::Lies,
        Self::Unkillable,
        Self::StoreAhead,
        Self::StoreBehind,
        Self::FailoverBehind,
        Self::ReplicaAhead,
        Self::ReplicaBehind,
        Self::BothAhead,
        Self::BothBehind,
        Self::WrongStart,
        Self::StoreSlewed,
        Self::ReplicaSlewed,
        Self::RecordLost,
        Self::KnownLost,
        Self::NodesLost,
        Self::RecordAndKnownLost,
        Self::RecordAndNodesLost,
        Self::Rollback,
        Self::Guest,
        Self::LongLease,
        Self::WritesRefused,
    ];

    /// Its name in the tally.
    pub(crate) fn name(self) -> String {
        format!("fault {self:?}")
    }

    /// Whether single keys are deleted, and replicas or guests may come that know nothing of them.
    pub(crate) fn may_meet_newcomers(self) -> bool {
        let keys = [
            Self::RecordLost,
            Self::KnownLost,
            Self::NodesLost,
            Self::RecordAndKnownLost,
            Self::RecordAndNodesLost,
        ];
        keys.contains(&self)
    }

    /// Whether a store of this kind can suffer it.
    pub(crate) fn befalls(self, memory: Memory) -> bool {
        let needs_a_server = [
            Self::Cut,
            Self::StoreStep,
            Self::StoreAhead,
            Self::StoreBehind,
            Self::FailoverBehind,
            Self::StoreSlewed,
            Self::Failover,
            Self::StoreFrozen,
            Self::Lies,
        ];
        memory == Memory::Forgetful || !needs_a_server.contains(&self)
    }
}
