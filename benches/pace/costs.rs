//! What a contender costs: Redis, and its own processes.

use std::collections::BTreeMap;
use std::fs;

use nix::time::{clock_getcpuclockid, clock_gettime};
use nix::unistd::Pid;

use crate::redis_server::RedisServer;

/// What a server has done so far.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Served {
    /// Commands that came from outside: script calls, and what else clients send.
    pub(crate) commands: i64,
    /// Processor time, in microseconds.
    pub(crate) cpu_us: i64,
}

/// Commands of clients; others are made by scripts.
const OF_CLIENTS: [&str; 2] = ["evalsha", "eval"];

impl Served {
    /// Asks the server. `besides` are further commands of clients.
    pub(crate) fn by(server: &RedisServer, besides: &[&str]) -> Self {
        let stats = info(server, "commandstats");
        let calls = |name: &str| {
            let stat = stats.get(&format!("cmdstat_{name}"))?;
            stat.strip_prefix("calls=")?.split(',').next()?.parse::<i64>().ok()
        };
        let commands = OF_CLIENTS.iter().chain(besides).filter_map(|name| calls(name)).sum();
        let cpu = info(server, "cpu");
        let seconds =
            |name: &str| cpu.get(name).and_then(|text| text.parse::<f64>().ok()).unwrap_or_default();
        let cpu_s = seconds("used_cpu_user") + seconds("used_cpu_sys");
        Self { commands, cpu_us: (cpu_s * 1e6) as i64 }
    }

    /// What it has done since.
    pub(crate) const fn since(self, before: Self) -> Self {
        Self { commands: self.commands - before.commands, cpu_us: self.cpu_us - before.cpu_us }
    }
}

fn info(server: &RedisServer, section: &str) -> BTreeMap<String, String> {
    let text = server.cli(&["INFO", section]);
    let pair =
        |line: &str| line.trim().split_once(':').map(|(name, value)| (name.to_owned(), value.to_owned()));
    text.lines().filter_map(pair).collect()
}

/// Processor time of a process, in microseconds.
pub(crate) fn cpu_us(pid: Pid) -> Option<i64> {
    let time = clock_getcpuclockid(pid).and_then(clock_gettime).ok()?;
    Some(time.tv_sec() * 1_000_000 + time.tv_nsec() / 1_000)
}

/// The proportional set size of a process, in KiB.
pub(crate) fn pss_kib(pid: Pid) -> Option<i64> {
    let rollup = fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).ok()?;
    rollup.lines().find(|line| line.starts_with("Pss:"))?.split_whitespace().nth(1)?.parse().ok()
}
