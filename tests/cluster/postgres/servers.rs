//! A primary and its standby, under a manager that promotes the standby and makes another one in place of the old primary.

use std::mem;
use std::process::{Child, Command, Stdio};

use solocron::time::{BootInstant, Clock, SystemClock};

use crate::harness::DEADLINE;
use crate::postgres_server::Postgres;

/// The size of the files that are written ahead, in bytes.
pub(crate) const WAL_SEGMENT: u64 = 1 << 20;

/// The two servers. Replicas know the addresses of both, and use the one that takes writes.
pub(crate) struct Servers {
    pub(crate) primary: Postgres,
    /// Once it has taken over and no other one was made yet, the former primary.
    other: Postgres,
}

impl Servers {
    /// A primary with the tables, and its standby.
    pub(crate) fn start() -> Self {
        let primary = Postgres::start_with_tables();
        let other = primary.standby();
        Self { primary, other }
    }

    /// The address of both.
    pub(crate) fn url(&self) -> String {
        self.primary.url_with(&self.other)
    }

    /// Acknowledges no commit before the standby has it, from when this returns.
    pub(crate) fn commit_on_both(&self) {
        self.primary.sql("alter system set synchronous_standby_names = '*'");
        self.primary.sql("select pg_reload_conf()");
        let deadline = SystemClock.boot().plus(DEADLINE);
        let is_synchronous = "select count(*) from pg_stat_replication where sync_state = 'sync'";
        while self.primary.sql(is_synchronous) != "1" {
            self.pause(deadline, "the standby is not a synchronous one");
        }
    }

    /// From now on the standby receives nothing.
    pub(crate) fn cut_standby_off(&self) {
        self.other.sql("alter system set primary_conninfo = ''");
        self.other.sql("select pg_reload_conf()");
        let deadline = SystemClock.boot().plus(DEADLINE);
        while self.primary.sql("select count(*) from pg_stat_replication") != "0" {
            self.pause(deadline, "the standby still receives what is written");
        }
    }

    /// The standby takes over from the primary, which is stopped or frozen.
    pub(crate) fn promote_standby(&mut self) {
        self.other.sql("select pg_promote()");
        mem::swap(&mut self.primary, &mut self.other);
    }

    /// Lets a former primary that was frozen continue: it takes it that it still is the primary.
    pub(crate) fn thaw_former_primary(&self) {
        self.other.thaw();
    }

    /// Stops the server that is not the primary for good, and makes a standby in its place.
    pub(crate) fn replace_other(&mut self) {
        self.other.stop();
        self.other = self.primary.standby_instead_of(&self.other);
    }

    /// A client that holds the records locked in a mode for so many seconds, and does nothing meanwhile.
    pub(crate) fn lock_records(&self, mode: &str, seconds: i64) -> Child {
        let script = format!("begin; lock table solocron.cells in {mode} mode; select pg_sleep({seconds})");
        let mut psql = Command::new("psql");
        self.primary.equip(&mut psql).args(["-X", "-q", "-c", &script]);
        psql.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        psql.spawn().expect("it was found before")
    }

    /// Gives the history a table that is larger than the files that are written ahead, by rows of another cluster: four fill a page.
    pub(crate) fn make_tables_large(&self) {
        self.primary.sql(&format!(
            "insert into solocron.entries select 'filler', 'job', number, to_json( \
                 (select string_agg(md5(number || ' ' || part), '') from generate_series(1, 61) part)) \
             from generate_series(1, 1000) number where pg_relation_size('solocron.entries') < {WAL_SEGMENT}"
        ));
    }

    /// Ends the connections of all clients.
    pub(crate) fn drop_clients(&self) {
        self.primary.sql(
            "select pg_terminate_backend(pid) from pg_stat_activity \
             where backend_type = 'client backend' and pid <> pg_backend_pid()",
        );
    }

    fn pause(&self, deadline: BootInstant, what: &str) {
        assert!(SystemClock.boot() < deadline, "{what}");
        self.primary.sql("select pg_sleep(0.1)");
    }
}
