//! Whoever reads the log may stop reading: the replica goes on.

#[expect(dead_code, reason = "what the tests of `run` need besides")]
#[path = "support/process.rs"]
mod process;

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::process::Stdio;
use std::sync::mpsc;

use nix::fcntl::{FcntlArg, fcntl};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use process::{DEADLINE, Scene, make_fifo};

/// Many log lines a second, and jobs that tell the test by another way that they ran.
const JOBS: &str = r#"
cluster = { store = "local" }
defaults = { start_deadline = "1s" }
jobs.a = { schedule = "* * * * * *", shell = "echo a >ran" }
jobs.b = { schedule = "* * * * * *", shell = "echo b >ran" }
jobs.c = { schedule = "* * * * * *", shell = "echo c >ran" }
"#;

/// The pipe is full after a few lines of the log.
const PIPE_BYTES: i32 = 4_096;

/// By then the replica has logged several times what the pipe holds.
const RUNS: usize = 36;

#[test]
fn a_log_reader_that_stops_reading_does_not_hold_up_the_replica() {
    let scene = Scene::new(JOBS);
    make_fifo(&scene.path("ran"));
    let (read_end, write_end) = std::io::pipe().expect("a pipe");
    fcntl(&read_end, FcntlArg::F_SETPIPE_SZ(PIPE_BYTES)).expect("a smaller pipe");
    let mut command = scene.command(&["run", "--log-format", "json", "--log-level", "debug"]);
    let mut replica = command
        .stdin(Stdio::null())
        .stdout(write_end)
        .stderr(Stdio::null())
        .spawn()
        .expect("the program was built");
    drop(command);

    let (tell, told) = mpsc::channel();
    let fifo = scene.path("ran");
    std::thread::spawn(move || {
        loop {
            // Each job opens the FIFO, writes its line, and closes it.
            let lines = BufReader::new(File::open(&fifo)?).lines();
            for line in lines.map_while(Result::ok) {
                if tell.send(line).is_err() {
                    return std::io::Result::Ok(());
                }
            }
        }
    });
    for run in 1..=RUNS {
        told.recv_timeout(DEADLINE).unwrap_or_else(|_| panic!("run {run} of {RUNS} did not come"));
    }

    let pid = Pid::from_raw(i32::try_from(replica.id()).expect("process ids are small"));
    kill(pid, Signal::SIGTERM).expect("the replica is our child");
    let status = replica.wait().expect("the replica is our child");
    assert_eq!(status.code(), Some(0));
    drop(read_end);
}
