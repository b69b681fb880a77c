//! Two replicas on a store, and an operator who knows the store alone: the state folder of another machine.

use nix::sys::signal::Signal;
use serde_json::Value;
use solocron::time::{Clock, SystemClock};

use crate::process::{DEADLINE, Ended, Program, Scene};
use crate::redis_server::RedisServer;

/// A store.
pub(crate) enum Place {
    /// An embedded file.
    Local,
    /// A server.
    Redis(RedisServer),
}

impl Place {
    pub(crate) fn local() -> Self {
        Self::Local
    }

    pub(crate) fn redis() -> Self {
        Self::Redis(RedisServer::start())
    }
}

/// A file of these jobs.
pub(crate) fn file_of(jobs: &str) -> String {
    format!("[cluster]\nname = \"test\"\nstore = \"local\"\n{jobs}")
}

/// As much of a run's id as tables show.
pub(crate) fn shown(run: &str) -> &str {
    &run[..13]
}

/// Replicas n1 and n2.
pub(crate) struct Stage {
    pub(crate) place: Place,
    pub(crate) scene: Scene,
    store: String,
    replicas: Vec<Program>,
}

impl Stage {
    /// Starts two replicas of this file.
    pub(crate) fn start(place: Place, jobs: &str) -> Self {
        let scene = Scene::new(&file_of(jobs));
        let store = match &place {
            Place::Local => format!("local:{}", scene.path("store.sqlite3").display()),
            Place::Redis(server) => server.url(),
        };
        let replicas = Vec::new();
        let mut stage = Self { place, scene, store, replicas };
        stage.replicas = ["n1", "n2"].map(|node| stage.replica(node)).into();
        stage
    }

    fn replica(&self, node: &str) -> Program {
        let state = self.scene.path(node).display().to_string();
        let log = ["run", "--log-format", "json", "--log-level", "debug"];
        let place = ["--node", node, "--store", &self.store, "--state-dir", &state];
        Program::start(&mut self.scene.command(&[&log[..], &place].concat()))
    }

    /// Waits until the store has been told of the job, so that commands for it are taken.
    pub(crate) fn wait_until_known(&self, job: &str) {
        let deadline = SystemClock.boot().plus(DEADLINE);
        // Nothing is paused: it changes nothing.
        while !self.give(&["resume", job]).status.success() {
            assert!(SystemClock.boot() < deadline, "no replica tells the store of `{job}`");
        }
    }

    /// The first or second replica.
    pub(crate) fn n(&mut self, number: usize) -> &mut Program {
        &mut self.replicas[number - 1]
    }

    /// Gives a command, from a machine of its own.
    pub(crate) fn give(&self, args: &[&str]) -> Ended {
        self.begin(args).wait()
    }

    /// The same, and does not wait for its end.
    pub(crate) fn begin(&self, args: &[&str]) -> Program {
        let elsewhere = self.scene.path("elsewhere").display().to_string();
        let place = ["--store", &self.store, "--state-dir", &elsewhere];
        Program::start(&mut self.scene.command(&[args, &place].concat()))
    }

    /// The same in a folder without a file, by the cluster's name.
    pub(crate) fn give_without_file(&self, args: &[&str]) -> Ended {
        let place = ["--cluster", "test", "--store", &self.store];
        Program::start(self.scene.command(&[args, &place].concat()).current_dir("/")).wait()
    }

    /// Puts these jobs into the file, as an editor does.
    pub(crate) fn edit(&self, jobs: &str) {
        self.scene.edit(&file_of(jobs));
    }

    /// Takes the server away for as long as it takes the command to notice.
    pub(crate) fn outage(&self, command: &mut Program) {
        let Place::Redis(server) = &self.place else { panic!("an embedded store is never away") };
        server.freeze();
        command.wait_for("of the outage", |line| line.contains("the store does not answer"));
        server.thaw();
    }

    /// What a command prints as JSON.
    pub(crate) fn ask(&self, args: &[&str]) -> Value {
        let said = self.give(&[args, &["--format", "json"]].concat()).expect_code(0).log;
        serde_json::from_str(&said).unwrap_or_else(|error| panic!("{error}: {said}"))
    }

    /// Waits until a job runs; the number of the replica that runs it, and its run.
    pub(crate) fn first_run(&mut self) -> (usize, Value) {
        // Who wins the tick says that it runs; who loses it is told of the holder, or of the run.
        let log = |event: &Value| match event["message"].as_str() {
            Some("run started") => true,
            // Just after the start it waits for nobody, and then for itself if it holds it, with the next tick.
            Some("tick waits for the lock") => {
                event["holder"].is_string() && event["holder"] != event["node"]
            }
            // Who was granted one and held up gives it back: the next may be another's.
            Some("tick decided elsewhere" | "tick skipped") => true,
            _ => false,
        };
        for number in [1, 2].into_iter().cycle().take(40) {
            let line = self.n(number).wait_for("of a run", |line| {
                serde_json::from_str::<Value>(line).is_ok_and(|event| log(&event))
            });
            let event: Value = serde_json::from_str(&line).expect("it was parsed before");
            if event["message"] == "run started" {
                return (number, event["run"].clone());
            }
        }
        panic!("neither replica runs the job")
    }

    /// Drains the replicas, and finds that so many runs of the job have ended, each by hand.
    pub(crate) fn stop_after_runs(self, job: &str, runs: usize) {
        let (scene, store) = (&self.scene, self.store.clone());
        self.replicas.iter().for_each(|replica| replica.signal(Signal::SIGTERM));
        for replica in self.replicas {
            replica.wait().expect_code(0);
        }
        let history = ["history", job, "--format", "json", "--store", &store];
        let said = Program::start(&mut scene.command(&history)).wait().expect_code(0).log;
        let entries: Vec<Value> = serde_json::from_str(&said).expect("JSON");
        assert_eq!(entries.len(), runs, "{said}");
        assert!(entries.iter().all(|entry| entry["cause"] == "manual" && entry["exit_code"] == 3), "{said}");
    }

    /// Drains the replicas.
    pub(crate) fn stop(self) {
        self.replicas.iter().for_each(|replica| replica.signal(Signal::SIGTERM));
        for replica in self.replicas {
            replica.wait().expect_code(0);
        }
    }
}
