//! Machines of a test's own that reach only the store: network namespaces, each with one wire to that of the store.

use std::process::Command;

use crate::process::{Program, Scene};
use crate::redis_server::RedisServer;

/// Tells a test that it runs within the namespace of the store.
const INSIDE: &str = "SOLOCRON_TEST_NAMESPACES";

/// Runs a test of this binary within a namespace that may have wires, and makes it pass if it passes there: its work is done by
/// the function.
pub(crate) fn within_namespaces(test: &str, work: impl FnOnce()) {
    if std::env::var_os(INSIDE).is_some() {
        tool("ip", &["link", "set", "lo", "up"]);
        return work();
    }
    let this = std::env::current_exe().expect("a path");
    let mut command = Command::new("unshare");
    // A user namespace gives those who are not root the right to the others.
    command.args(["-Urnm", "--kill-child", "--fork"]).arg(this).env(INSIDE, "1");
    let said = Program::start(command.args([test, "--exact", "--nocapture"])).wait().expect_code(0).log;
    assert!(said.contains("1 passed"), "{said}");
}

/// Starts a server that every machine reaches.
pub(crate) fn store_of_machines() -> RedisServer {
    RedisServer::start_with(&["--bind", "0.0.0.0", "--protected-mode", "no"])
}

/// A network namespace whose wire leads to the store.
pub(crate) struct Machine<'s> {
    number: u8,
    scene: &'s Scene,
    store: String,
    /// Keeps the namespace.
    keeper: Program,
}

impl<'s> Machine<'s> {
    /// Starts one; its own address is `10.77.NUMBER.2`, and the store's `10.77.NUMBER.1`.
    pub(crate) fn new(number: u8, scene: &'s Scene, redis: &RedisServer) -> Self {
        let mut keeper = Program::start(Command::new("unshare").args([
            "-n",
            "sh",
            "-c",
            "echo ready; exec sleep infinity",
        ]));
        keeper.wait_for("that it is there", |line| line == "ready");
        let store = format!("redis://10.77.{number}.1:{}/0", redis.port());
        let machine = Self { number, scene, store, keeper };
        let (near, far) = (format!("near{number}"), format!("far{number}"));
        let id = machine.keeper.pid().to_string();
        tool("ip", &["link", "add", &near, "type", "veth", "peer", "name", &far, "netns", &id]);
        tool("ip", &["addr", "add", &format!("10.77.{number}.1/24"), "dev", &near]);
        tool("ip", &["link", "set", &near, "up"]);
        machine.tool("ip", &["addr", "add", &format!("10.77.{number}.2/24"), "dev", &far]);
        machine.tool("ip", &["link", "set", &far, "up"]);
        machine.tool("ip", &["link", "set", "lo", "up"]);
        machine
    }

    /// A program of this machine, in the folder of the scene.
    pub(crate) fn command(&self, program: &str) -> Command {
        let mut command = Command::new("nsenter");
        self.scene.equip(&mut command).args(["-t", &self.keeper.pid().to_string(), "-n", "--", program]);
        command
    }

    fn tool(&self, program: &str, args: &[&str]) {
        succeed(self.command(program).args(args));
    }

    /// A command of this machine, which has a state folder of its own.
    pub(crate) fn solocron(&self, args: &[&str]) -> Program {
        let state = self.scene.path(&format!("state{}", self.number)).display().to_string();
        let mut command = self.command(env!("CARGO_BIN_EXE_solocron"));
        if args.contains(&"--listen") {
            command.env_remove("SOLOCRON_NO_HTTP");
        }
        Program::start(command.args(args).args(["--store", &self.store, "--state-dir", &state]))
    }

    /// Starts a replica of this machine.
    pub(crate) fn replica(&self, more: &[&str]) -> Program {
        let node = format!("n{}", self.number);
        let mut replica =
            self.solocron(&[&["run", "--log-format", "json", "--node", &node][..], more].concat());
        replica.wait_for_event("replica started");
        replica
    }
}

fn tool(program: &str, args: &[&str]) {
    succeed(Command::new(program).args(args));
}

fn succeed(command: &mut Command) {
    let ended = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    assert!(ended.status.success(), "{command:?}: {}", String::from_utf8_lossy(&ended.stderr));
}
