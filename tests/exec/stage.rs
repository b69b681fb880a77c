//! A store, and a folder in which `exec` is called.

use std::path::PathBuf;
use std::process::Command;

use nix::sys::signal::{Signal, kill};
use serde_json::Value;

use crate::process::{Ended, Program, Scene, make_fifo, say_to};
use crate::redis_server::RedisServer;

/// Jobs that are never due by themselves within a test, but for `busy`.
const JOBS: &str = "[cluster]\nname = \"test\"\nstore = \"local\"\n\
    [jobs.rare]\nschedule = \"0 0 29 2 *\"\nshell = \"eval \\\"$INNER\\\"\"\n\
    [jobs.busy]\nschedule = \"*/10 * * * * *\"\nshell = \"sleep 600\"\n";

pub(crate) struct Stage {
    pub(crate) scene: Scene,
    pub(crate) server: Option<RedisServer>,
    pub(crate) store: String,
}

impl Stage {
    pub(crate) fn local() -> Self {
        let scene = Scene::new(JOBS);
        let store = format!("local:{}", scene.path("store.sqlite3").display());
        Self { scene, server: None, store }
    }

    pub(crate) fn redis() -> Self {
        let server = RedisServer::start();
        Self { scene: Scene::new(JOBS), store: server.url(), server: Some(server) }
    }

    /// Any command, on this store.
    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = self.scene.command(args);
        self.equip(&mut command);
        command
    }

    /// Makes what a command calls go to this store.
    pub(crate) fn equip<'a>(&self, command: &'a mut Command) -> &'a mut Command {
        let command = self.scene.equip(command);
        command.env("SOLOCRON_STORE", &self.store).env("SOLOCRON_CONFIG", self.scene.path("jobs.toml"));
        command.env("SOLOCRON_NODE", "here")
    }

    /// `exec --lock LOCK FLAGS -- sh -c LINE`, which may call the program as `$SOLOCRON`.
    pub(crate) fn exec(&self, lock: &str, flags: &[&str], line: &str) -> Command {
        let words = [&["exec", "--lock", lock], flags, &["--", "sh", "-c", line]].concat();
        let mut command = self.command(&words);
        command.env("SOLOCRON", env!("CARGO_BIN_EXE_solocron"));
        command
    }

    /// Calls it, and waits for its end.
    pub(crate) fn call(&self, lock: &str, flags: &[&str], line: &str) -> Ended {
        Program::start(&mut self.exec(lock, flags, line)).wait()
    }

    /// Somebody who holds a lock until it is let go: says `up` first, and what `line` says.
    pub(crate) fn hold(&self, lock: &str, flags: &[&str], line: &str) -> Holder {
        let fifo = self.scene.path(&format!("{lock}-{}", solocron::job::RunId::new()));
        make_fifo(&fifo);
        let line = format!("{line}; echo up $SOLOCRON_RUN $SOLOCRON_FENCE; read _ < '{}'", fifo.display());
        let mut program = Program::start(&mut self.exec(lock, flags, &line));
        let up = program.wait_for("that it is up", |line| line.starts_with("up "));
        let words: Vec<String> = up.split(' ').map(str::to_owned).collect();
        Holder { program, fifo, run: words[1].clone(), fence: words[2].clone() }
    }

    /// The newest entry of a job of the file.
    pub(crate) fn newest(&self, job: &str) -> Value {
        let said = self.asked(&["history", job, "-n", "1", "--format", "json"]);
        serde_json::from_str::<Value>(&said).expect("JSON")[0].clone()
    }

    /// What a command says that ends well.
    pub(crate) fn asked(&self, args: &[&str]) -> String {
        Program::start(&mut self.command(args)).wait().expect_code(0).log
    }

    /// Has a replica run a job, and follows it to its end.
    pub(crate) fn triggered(&self, job: &str) -> Ended {
        loop {
            let said = Program::start(&mut self.command(&["trigger", job, "--follow"])).wait();
            // Until the replica has opened it.
            let is_early = ["no replica has registered job", "no live replica"];
            if !is_early.iter().any(|early| said.log.contains(early)) {
                return said;
            }
        }
    }

    /// A replica of the file.
    pub(crate) fn replica(&self) -> Program {
        self.replica_with("true")
    }

    /// A replica whose job `rare` runs this line.
    pub(crate) fn replica_with(&self, inner: &str) -> Program {
        let log = ["run", "--log-format", "json", "--log-level", "debug"];
        let mut command = self.command(&[&log[..], &["--node", "n1"]].concat());
        command.env("SOLOCRON", env!("CARGO_BIN_EXE_solocron")).env("INNER", inner);
        Program::start(&mut command)
    }
}

/// Somebody who holds a lock.
pub(crate) struct Holder {
    pub(crate) program: Program,
    fifo: PathBuf,
    pub(crate) run: String,
    pub(crate) fence: String,
}

impl Holder {
    /// Has the command end by itself.
    pub(crate) fn let_go(self) -> Ended {
        say_to(&self.fifo, "\n");
        self.program.wait()
    }

    /// Kills the program, and not its command.
    pub(crate) fn kill(&self) {
        kill(self.program.pid(), Signal::SIGKILL).expect("the process is our child");
    }
}
