//! A Redis server that loses power, forgets, follows another, and whose clock steps.

use std::fs::OpenOptions;
use std::path::{Path, PathBuf};
use std::time::Duration;

use redis::FromRedisValue;

use crate::redis_server::RedisServer;
use crate::shim::ShimClock;

/// A server that does not answer within this time is not answering.
const PATIENCE: Duration = Duration::from_secs(2);

/// And one that must answer, on a machine that stands still for a while, not within this.
const LONG_PATIENCE: Duration = Duration::from_secs(30);

/// What a server has of what it acknowledged, after it lost its power.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kept {
    /// Everything: `appendfsync always`.
    All,
    /// All but about the last second: `appendfsync everysec`.
    AllButASecond,
    /// Nothing: no persistence.
    Nothing,
}

/// One server, with a clock of its own.
pub(crate) struct Server {
    redis: RedisServer,
    clock: ShimClock,
    is_up: bool,
}

impl Server {
    /// Starts a server.
    pub(crate) fn start(clock: ShimClock) -> Self {
        let args = ["--appendonly", "yes", "--appendfsync", "everysec", "--repl-diskless-sync-delay", "0"];
        let redis = RedisServer::start_under(&args, &clock.env());
        Self { redis, clock, is_up: true }
    }

    pub(crate) fn port(&self) -> u16 {
        self.redis.port()
    }

    pub(crate) fn clock(&self) -> &ShimClock {
        &self.clock
    }

    /// Whether it can be asked.
    pub(crate) fn is_up(&self) -> bool {
        self.is_up
    }

    /// One connection, for several commands.
    pub(crate) fn connect(&self) -> redis::RedisResult<redis::Connection> {
        self.connect_for(PATIENCE)
    }

    fn connect_for(&self, patience: Duration) -> redis::RedisResult<redis::Connection> {
        let client = redis::Client::open(self.redis.url())?;
        let connection = client.get_connection_with_timeout(patience)?;
        connection.set_read_timeout(Some(patience))?;
        Ok(connection)
    }

    /// Asks a server that is expected to answer.
    pub(crate) fn ask<T: FromRedisValue>(&self, words: &[impl redis::ToRedisArgs + std::fmt::Debug]) -> T {
        let mut command = redis::Cmd::new();
        command.arg(words);
        let answer =
            self.connect_for(LONG_PATIENCE).and_then(|mut connection| command.query(&mut connection));
        answer.unwrap_or_else(|error| panic!("{words:?}: {error}"))
    }

    /// Makes a key what it was when it was dumped.
    pub(crate) fn put_back(&self, key: &str, dump: &[u8]) {
        let _: String = self.ask(&[b"RESTORE", key.as_bytes(), b"0", dump, b"REPLACE"]);
    }

    /// Stops answering until `thaw`.
    pub(crate) fn freeze(&mut self) {
        self.is_up = false;
        self.redis.freeze();
    }

    pub(crate) fn thaw(&mut self) {
        self.redis.thaw();
        self.is_up = true;
    }

    /// The power is gone; `restart` brings it back with what is kept. For all but a second, `forget_from` is what
    /// `written` said about a second ago.
    pub(crate) fn lose_power(&mut self, kept: Kept, forget_from: u64) {
        self.is_up = false;
        self.redis.stop();
        match kept {
            Kept::All => {}
            Kept::AllButASecond => {
                let log = self.log().expect("it has a log of commands");
                let file = OpenOptions::new().write(true).open(log).expect("the log can be opened");
                let len = file.metadata().expect("it has a length").len();
                file.set_len(len.min(forget_from)).expect("it can be cut");
            }
            Kept::Nothing => {
                std::fs::remove_dir_all(self.folder().join("appendonlydir")).expect("the log can be deleted")
            }
        }
        // What a former primary sent.
        let _ = std::fs::remove_file(self.folder().join("dump.rdb"));
    }

    pub(crate) fn restart(&mut self) {
        self.redis.start_again();
        self.is_up = true;
    }

    /// How much it has written to its log of commands.
    pub(crate) fn written(&self) -> u64 {
        self.log().and_then(|log| log.metadata().ok()).map_or(0, |log| log.len())
    }

    /// Where it keeps its files.
    fn folder(&self) -> PathBuf {
        self.redis.socket().parent().expect("it is in a folder").to_owned()
    }

    /// The newest log of commands.
    fn log(&self) -> Option<PathBuf> {
        let folder = std::fs::read_dir(self.folder().join("appendonlydir")).ok()?;
        let logs = folder.flatten().map(|entry| entry.path());
        logs.filter(|path| path.extension().is_some_and(|it| it == "aof") && name_has(path, ".incr."))
            .max_by_key(|path| path.metadata().and_then(|meta| meta.modified()).ok())
    }

    /// Copies everything from the server at this port, from now on.
    pub(crate) fn follow(&self, port: u16) {
        let _: String = self.ask(&["REPLICAOF", "127.0.0.1", &port.to_string()]);
    }

    /// Is a primary from now on, with what it has.
    pub(crate) fn lead(&self) {
        let _: String = self.ask(&["REPLICAOF", "NO", "ONE"]);
    }

    /// Whether it has copied everything from its primary, and goes on doing so.
    pub(crate) fn is_following(&self) -> bool {
        let said: String = self.ask(&["INFO", "replication"]);
        said.contains("role:slave") && said.contains("master_link_status:up")
    }

    /// Has no room for anything more, until it is given `0`.
    pub(crate) fn limit_memory(&self, policy: &str) {
        let said: String = self.ask(&["INFO", "memory"]);
        let used =
            said.lines().find_map(|line| line.strip_prefix("used_memory:")).and_then(|n| n.parse().ok());
        let used: u64 = used.expect("it tells what it uses");
        let below = (used - used / 20).to_string();
        let _: String = self.ask(&["CONFIG", "SET", "maxmemory-policy", policy, "maxmemory", &below]);
    }

    pub(crate) fn free_memory(&self) {
        let _: String = self.ask(&["CONFIG", "SET", "maxmemory", "0"]);
    }
}

fn name_has(path: &Path, part: &str) -> bool {
    path.file_name().is_some_and(|name| name.to_string_lossy().contains(part))
}
