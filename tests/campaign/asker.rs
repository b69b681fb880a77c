//! Somebody who runs a job by hand under its lock, with a shorter lease than its own.

use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use crate::pause::pause;
use crate::processes::MARK;

/// Whoever asks for a lock has asked by then.
const ASKING: Duration = Duration::from_millis(500);

/// Where things are.
pub(crate) struct AskerPlan {
    pub(crate) folder: PathBuf,
    pub(crate) records: PathBuf,
    pub(crate) port: u16,
}

/// Waits for a lock, and then runs, until it has ended or the value does.
pub(crate) struct Asker(Child);

impl Asker {
    pub(crate) fn ask(plan: &AskerPlan, job: &str) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_solocron"));
        command.args(["exec", "--lock", job, "--lease", "5s", "--wait", "18s", "--node", "asker"]);
        // Without the file, which tells how long the job's own lease is.
        command.args(["--cluster", "campaign"]).arg("--state-dir").arg(plan.folder.join("asker"));
        command.args(["--store", &format!("redis://127.0.0.1:{}", plan.port), "--"]);
        command.arg(plan.folder.join("campaign_job")).arg(&plan.records).arg("1500");
        command.env(MARK, &plan.folder).stdin(Stdio::null()).stdout(Stdio::null());
        let errors = std::fs::File::create(plan.folder.join("asker.errors")).expect("a writable folder");
        let child = command.stderr(errors).spawn().expect("the program was built");
        pause(ASKING);
        Self(child)
    }
}

impl Drop for Asker {
    fn drop(&mut self) {
        // Errors say that it has ended.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
