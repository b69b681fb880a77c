//! The kinds of faults, and the history of those that were injected.

use std::fmt;

macro_rules! kinds {
    ($($(#[$doc:meta])* $kind:ident = $name:literal),+ $(,)?) => {
        /// What can be done to a world.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
        pub(crate) enum Kind {
            $($(#[$doc])* $kind),+
        }

        impl Kind {
            /// All of them.
            pub(crate) const ALL: &[Self] = &[$(Self::$kind),+];

            /// Its name in summaries.
            pub(crate) const fn as_str(self) -> &'static str {
                match self { $(Self::$kind => $name),+ }
            }
        }
    };
}

kinds! {
    /// A replica has no connection to the store.
    Cut = "cut",
    /// A replica's requests take longer.
    Delay = "delay",
    /// A request is delivered after 40 s.
    Hold = "hold",
    /// Answers do not arrive.
    DropReply = "drop-reply",
    /// Connections are reset in the middle of an answer.
    Reset = "reset",
    /// SIGKILL of a replica, which is started again.
    KillReplica = "kill-replica",
    /// SIGSTOP of a replica for two leases, then SIGCONT.
    StopReplica = "stop-replica",
    /// SIGKILL of a replica's guards.
    KillGuard = "kill-guard",
    /// SIGSTOP of a replica's guards, then SIGCONT.
    StopGuard = "stop-guard",
    /// SIGKILL of a replica and its guards.
    KillBoth = "kill-both",
    /// SIGSTOP of both for less than a lease, then SIGCONT.
    StopBoth = "stop-both",
    /// SIGSTOP of Redis, then SIGCONT.
    StopRedis = "stop-redis",
    /// Redis loses power, and has everything: AOF always.
    RestartAlways = "restart-always",
    /// Redis loses power, and lacks about the last second: AOF everysec.
    RestartEverysec = "restart-everysec",
    /// Redis loses power, and everything.
    RestartNothing = "restart-nothing",
    /// FLUSHALL.
    FlushAll = "flushall",
    /// DEL of jobs' records.
    DelState = "del-state",
    /// DEL of jobs' locks.
    DelLock = "del-lock",
    /// The fence of jobs' records is raised, as if their locks had been given to others.
    RaiseFence = "raise-fence",
    /// No room on the server, which refuses writes.
    Noeviction = "maxmemory-noeviction",
    /// No room on the server, which evicts keys with a ttl.
    VolatileTtl = "maxmemory-volatile-ttl",
    /// The follower takes over, without the last seconds.
    Failover = "failover",
    /// The server's clock is a minute ahead for a while.
    ServerAhead = "server-clock-ahead",
    /// The server's clock is a minute behind for a while.
    ServerBehind = "server-clock-behind",
    /// A replica's clock is a minute ahead for a while.
    ReplicaAhead = "replica-clock-ahead",
    /// A replica's clock is a minute behind for a while.
    ReplicaBehind = "replica-clock-behind",
    /// Others take the processors.
    Starve = "starve",
}

impl Kind {
    /// Whether a clock of the store goes wrong with it: what it says of the past is then wrong for a minute more.
    pub(crate) const fn steps_the_store(self) -> bool {
        matches!(self, Self::ServerAhead | Self::ServerBehind)
    }

    /// Whether a clock goes wrong with it.
    pub(crate) const fn steps_a_clock(self) -> bool {
        self.steps_the_store() || matches!(self, Self::ReplicaAhead | Self::ReplicaBehind)
    }

    /// Whether the server lacks what it acknowledged, or may do so as far as anybody knows.
    pub(crate) const fn loses_memory(self) -> bool {
        matches!(
            self,
            Self::RestartAlways
                | Self::RestartEverysec
                | Self::RestartNothing
                | Self::FlushAll
                | Self::DelState
                | Self::Failover
        )
    }
}

/// A fault, from when to when on the machine's wall clock.
#[derive(Debug, Clone)]
pub(crate) struct Fault {
    pub(crate) kind: Kind,
    /// A replica, a job, a server.
    pub(crate) target: String,
    pub(crate) begun_ms: i64,
    pub(crate) ended_ms: i64,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kind, target, begun_ms, ended_ms } = self;
        write!(f, "{begun_ms} to {ended_ms} {} of {target}", kind.as_str())
    }
}

impl Fault {
    /// Whether any of it was in this span of time.
    pub(crate) fn touches(&self, from_ms: i64, to_ms: i64) -> bool {
        self.begun_ms <= to_ms && from_ms <= self.ended_ms
    }
}
