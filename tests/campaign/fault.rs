//! The kinds of faults, and the history of those that were injected.

use std::fmt;

/// The longest that requests of a replica are held up.
pub(crate) const LONGEST_DELAY_MS: i64 = 400;

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
    /// The line of a replica has a latency, jitter and losses.
    Lag = "lag",
    /// The lines of all replicas do.
    LagAll = "lag-all",
    /// DEL of jobs' histories.
    DelRuns = "del-runs",
    /// DEL of the set of jobs.
    DelJobs = "del-jobs",
    /// DEL of the heartbeats.
    DelNodes = "del-nodes",
    /// DEL of the operators' notices.
    DelNotices = "del-notices",
    /// DEL of any two of these at once.
    DelPair = "del-pair",
    /// DEL of a held job's record, while somebody with a shorter lease asks for its lock.
    DelAsked = "del-asked",
    /// No room on the server, which evicts any key.
    AllkeysRandom = "maxmemory-allkeys-random",
    /// A key is of another type for a while.
    WrongType = "wrong-type",
    /// The heartbeats and the notices have a field that nobody can read.
    BadField = "bad-field",
    /// SWAPDB with a copy that was taken seconds earlier.
    SwapDb = "swapdb",
    /// Records are restored from a dump of seconds earlier.
    RestoreRecords = "restore-records",
    /// Somebody publishes what is no hint.
    HintNoise = "hint-noise",
    /// Somebody publishes false hints.
    HintForged = "hint-forged",
    /// The server's clock is an hour ahead for a while.
    ServerHour = "server-clock-hour-ahead",
    /// The server's clock is ten years ahead for a while.
    ServerDecade = "server-clock-decade-ahead",
    /// A replica's clock is an hour ahead for a while.
    ReplicaHour = "replica-clock-hour-ahead",
    /// A replica's clock is ten years ahead for a while.
    ReplicaDecade = "replica-clock-decade-ahead",
    /// The clocks of the server and of replicas are an hour ahead for a while.
    BothHour = "both-clocks-hour-ahead",
    /// The clocks of the server and of replicas are ten years ahead for a while.
    BothDecade = "both-clocks-decade-ahead",
    /// The server's clock runs up to a tenth faster for a while.
    ServerSlew = "server-clock-slewed",
    /// A replica's clock runs up to a tenth faster for a while.
    ReplicaSlew = "replica-clock-slewed",
    /// Redis loses power while its clock is an hour ahead, or just after.
    RestartAhead = "restart-hour-ahead",
    /// The follower takes over from a server whose clock is an hour ahead.
    FailoverAhead = "failover-hour-ahead",
    /// Marks lay in the future, until operators set them back: what comes of wrong clocks, and no fault by itself.
    SetBack = "marks-set-back",
}

impl Kind {
    /// Those that storms do; operators set marks back when they have to.
    pub(crate) fn menu() -> impl Iterator<Item = Self> {
        Self::ALL.iter().copied().filter(|kind| *kind != Self::SetBack)
    }

    /// Whether a clock of the store goes wrong with it: what it says of the past is then wrong for a minute more.
    pub(crate) const fn steps_the_store(self) -> bool {
        use Kind::*;
        let is_of_a_replica = matches!(self, ReplicaHour | ReplicaDecade);
        matches!(self, ServerAhead | ServerBehind | ServerSlew) || self.is_far_off() && !is_of_a_replica
    }

    /// Whether a clock goes wrong with it.
    pub(crate) const fn steps_a_clock(self) -> bool {
        use Kind::*;
        matches!(self, ReplicaAhead | ReplicaBehind | ReplicaSlew | ServerAhead | ServerBehind | ServerSlew)
            || self.is_far_off()
    }

    /// Whether clocks are wrong by more than a campaign lasts: what is decided or recorded meanwhile may be of another time.
    pub(crate) const fn is_far_off(self) -> bool {
        use Kind::*;
        matches!(
            self,
            ServerHour
                | ServerDecade
                | ReplicaHour
                | ReplicaDecade
                | BothHour
                | BothDecade
                | RestartAhead
                | FailoverAhead
                | SetBack
        )
    }

    /// Whether answers of the store get lost, or come too late to be of use.
    pub(crate) const fn loses_answers(self) -> bool {
        matches!(self, Self::DropReply | Self::Lag | Self::LagAll)
    }

    /// Whether the server lacks what it acknowledged, or may do so as far as anybody knows.
    pub(crate) const fn loses_memory(self) -> bool {
        use Kind::*;
        let forgets = matches!(
            self,
            RestartAlways
                | RestartEverysec
                | RestartNothing
                | RestartAhead
                | FlushAll
                | DelState
                | DelPair
                | DelAsked
                | AllkeysRandom
                | WrongType
                | Failover
                | FailoverAhead
        );
        forgets || self.goes_back()
    }

    /// Whether the store goes back to an older state when the fault ends, within one life.
    pub(crate) const fn goes_back(self) -> bool {
        matches!(self, Self::SwapDb | Self::RestoreRecords)
    }

    /// Whether a replica does not hear from the store meanwhile.
    pub(crate) const fn takes_away(self) -> bool {
        use Kind::*;
        matches!(self, Cut | KillReplica | StopReplica | KillBoth | StopBoth)
    }

    /// Whether it goes on beside all others.
    pub(crate) const fn is_aside(self) -> bool {
        use Kind::*;
        matches!(self, Starve | Lag | LagAll | HintNoise | HintForged | ServerSlew | ReplicaSlew)
    }

    /// Whether one that goes on beside all others does not do so beside that: one line has one lag, and a channel one forger.
    pub(crate) const fn excludes(self, other: Self) -> bool {
        use Kind::*;
        matches!(
            (self, other),
            (Lag | LagAll, Lag | LagAll) | (HintNoise | HintForged, HintNoise | HintForged)
        )
    }

    /// Whether it is done to the server.
    pub(crate) const fn is_of_server(self) -> bool {
        use Kind::*;
        let is_of_a_replica = matches!(
            self,
            Delay
                | Hold
                | DropReply
                | Reset
                | KillGuard
                | StopGuard
                | ReplicaAhead
                | ReplicaBehind
                | ReplicaHour
                | ReplicaDecade
        );
        !is_of_a_replica && !self.takes_away() && !self.is_aside()
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
    /// How long it may make an exchange with the store last, there and back, on a line where nothing is lost.
    pub(crate) fn exchange_ms(&self) -> i64 {
        match self.kind {
            // Its mean one way stands in its target; a piece takes up to half as much again.
            Kind::Lag | Kind::LagAll => {
                let mean = self.target.rsplit(' ').next().and_then(|mean| mean.strip_suffix("ms"));
                3 * mean.and_then(|mean| mean.parse::<i64>().ok()).unwrap_or_default()
            }
            Kind::Delay => LONGEST_DELAY_MS,
            _ => 0,
        }
    }

    /// Whether any of it was in this span of time.
    pub(crate) fn touches(&self, from_ms: i64, to_ms: i64) -> bool {
        self.begun_ms <= to_ms && from_ms <= self.ended_ms
    }
}
