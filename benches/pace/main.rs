//! What a user pays: how late jobs start, and what that costs Redis and the machine. solocron on Redis and on the embedded
//! store, beside two others on the same machine in the same run: the *floor*, one process that sleeps to each instant and
//! spawns the command, without any lock; and the *obvious program*, tokio-cron-scheduler with `SET NX PX` and
//! compare-and-delete. Prints a table with ratios; nothing is asserted, as machines are noisy.
//!
//! `make bench`, or `cargo bench --bench pace -- [--json] [--rounds 3] [--appendonly] [W1 W2 …] [floor redis embedded obvious]`;
//! W8 is W1 under a flood of HTTP requests. `make flood`, or `cargo bench --bench pace -- flood [SECONDS]`: every path, one
//! after the other.

#![expect(clippy::print_stdout, reason = "a table is all it makes")]

#[path = "../../tests/support/c_program.rs"]
mod c_program;
mod contender;
mod costs;
#[path = "../../tests/support/descendants.rs"]
mod descendants;
mod flood;
mod floor;
#[expect(dead_code, reason = "what the tests need besides")]
#[path = "../../tests/support/http_client.rs"]
mod http_client;
mod lateness;
mod load;
mod measure;
mod obvious;
#[expect(dead_code, reason = "what the tests need besides")]
#[path = "../../tests/support/redis_server.rs"]
mod redis_server;
mod table;
mod workload;

use contender::Contender;
use measure::measure;
use table::Table;
use workload::Workload;

/// How often everything is measured; the median counts.
const ROUNDS: usize = 3;

fn main() {
    let args: Vec<String> = std::env::args().skip(1).filter(|arg| arg != "--bench").collect();
    let words: Vec<&str> = args.iter().map(String::as_str).collect();
    match words[..] {
        ["be-floor", ref plan @ ..] => return floor::run(plan),
        ["be-obvious", store, ref plan @ ..] => return obvious::run(store, plan),
        ["be-crowd", address] => return load::crowd(address),
        ["flood", ref seconds @ ..] => return flood::run(seconds),
        _ => {}
    }
    let rounds =
        words.iter().position(|word| *word == "--rounds").and_then(|at| words.get(at + 1)?.parse().ok());
    let wanted = |workload: &&Workload| {
        let named: Vec<&&str> = words.iter().filter(|word| word.starts_with('W')).collect();
        let is_named = |name: &&&str| **name == workload.name || workload.base() == Some(**name);
        named.is_empty() || named.iter().any(is_named)
    };
    let asked_for = |contender: &&Contender| {
        let kinds: Vec<&&str> = words.iter().filter(|word| Contender::KINDS.contains(*word)).collect();
        kinds.is_empty() || kinds.contains(&&contender.kind())
    };
    // As it is recommended; without it the server has nothing to do with a disk.
    let server: &[&str] = if words.contains(&"--appendonly") { &["--appendonly", "yes"] } else { &[] };
    let mut table = Table::default();
    for round in 0..rounds.unwrap_or(ROUNDS) {
        for workload in Workload::all().iter().filter(wanted) {
            for &contender in workload.contenders.iter().filter(asked_for) {
                eprintln!("round {}: {} {contender}", round + 1, workload.name);
                table.add(workload, contender, measure(workload, contender, server));
            }
        }
    }
    println!("{}", if words.contains(&"--json") { table.json() } else { table.markdown() });
}
