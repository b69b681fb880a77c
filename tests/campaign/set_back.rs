//! What operators do when `status` shows them marks in the future: they set them back, after a while.

use std::process::{Child, Command, Stdio};

use crate::fault::{Fault, Kind};
use crate::world::{World, now_ms};

/// So long `status` has to show it before somebody acts, and before somebody acts again.
const NOTICED_MS: i64 = 8_000;

/// The command, and since when it was due.
struct UnderWay {
    child: Child,
    since_ms: i64,
}

/// The operators.
#[derive(Default)]
pub(crate) struct SetBack {
    under_way: Option<UnderWay>,
    rest_until_ms: i64,
}

impl SetBack {
    /// Does what it is time for; what was done, once it is.
    pub(crate) fn work(&mut self, world: &mut World) -> Option<Fault> {
        let now = now_ms();
        if let Some(it) = &mut self.under_way {
            let status = it.child.try_wait().expect("it is a child of this process")?;
            let (begun_ms, ended_ms) = (it.since_ms, now);
            self.under_way = None;
            let done = Fault { kind: Kind::SetBack, target: "all jobs".into(), begun_ms, ended_ms };
            return status.success().then_some(done);
        }
        let since_ms = world.inspector.ahead_since().filter(|since_ms| since_ms + NOTICED_MS < now)?;
        if now >= self.rest_until_ms && world.server().is_up() {
            self.rest_until_ms = now + NOTICED_MS;
            self.under_way = Some(UnderWay { child: begin(world), since_ms });
        }
        None
    }
}

/// Sets all marks back.
pub(crate) fn begin(world: &mut World) -> Child {
    let mut command = Command::new(env!("CARGO_BIN_EXE_solocron"));
    command.args(["unlock", "--mark", "--all", "--force"]).arg("--config").arg(world.jobs_toml());
    command.args(["--store", &format!("redis://127.0.0.1:{}", world.server().port())]);
    let command = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.spawn().expect("the program was built")
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        // An error says that it has ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
