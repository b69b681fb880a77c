//! The embedded store while a process is stopped inside of a transaction: nobody else can write the file then.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use nix::sys::signal::{Signal, kill, raise};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::Pid;
use rusqlite::Connection;
use solocron::lease::{Answer, Request};
use solocron::store::StoreError;
use tempfile::TempDir;

use crate::world::{Replica, World, file, job};

/// Names the file to the process that stops itself in the middle of a write.
const FILE: &str = "SOLOCRON_TEST_STOPPED_FILE";

/// A process of this very test that is stopped, and holds SQLite's lock to write.
struct Stopped(Child);

impl Stopped {
    /// Starts `program`, a copy of this test, and waits until it is stopped.
    fn start(program: &Path, path: &Path) -> Self {
        let child = Command::new(program)
            .args(["local_blocked::a_replica_that_is_stopped_inside_of_a_write_is_continued", "--exact"])
            .env(FILE, path)
            .stdout(Stdio::null())
            .spawn()
            .expect("a process");
        let stopped = Self(child);
        let status = waitpid(stopped.pid(), Some(WaitPidFlag::WUNTRACED)).expect("our child");
        assert_eq!(status, WaitStatus::Stopped(stopped.pid(), Signal::SIGSTOP));
        stopped
    }

    fn pid(&self) -> Pid {
        Pid::from_raw(i32::try_from(self.0.id()).expect("process ids are small"))
    }

    /// Waits until it has ended well, which it does once it was continued.
    fn expect_end(mut self) {
        assert!(self.0.wait().expect("our child").success());
    }
}

impl Drop for Stopped {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Begins to write, and stops.
fn stop_inside_of_a_write(path: &Path) {
    let file = Connection::open(path).expect("a store");
    file.execute_batch("BEGIN IMMEDIATE").expect("a free file");
    raise(Signal::SIGSTOP).expect("a signal that nobody can catch");
    file.execute_batch("COMMIT").expect("our own transaction");
}

async fn opened() -> (TempDir, Replica) {
    let world = World::local();
    let replica = world.opened().await;
    let World::Local(folder) = world else { unreachable!("it was made local") };
    (folder, replica)
}

fn this_test() -> PathBuf {
    std::env::current_exe().expect("a test has a file")
}

#[tokio::test]
async fn a_replica_that_is_stopped_inside_of_a_write_is_continued() {
    // The test starts itself as the process that stops.
    if let Some(path) = std::env::var_os(FILE) {
        return stop_inside_of_a_write(Path::new(&path));
    }
    let (folder, replica) = opened().await;
    let claim = replica.claim(Duration::ZERO).await;
    let stopped = Stopped::start(&this_test(), &file(&folder));

    let answer = replica.store.submit(&job(), &Request::Claim(claim)).await.map(|reply| reply.answer);

    // The clock is read once the file is free: by then, the claim may have come later than it was expected.
    assert!(matches!(answer, Ok(Answer::Won { .. } | Answer::Unsynced)), "{answer:?}");
    stopped.expect_end();
}

#[tokio::test]
async fn another_program_stopped_in_a_write_is_named_and_left_alone_and_delays_no_read() {
    let (folder, replica) = opened().await;
    let claim = replica.claim(Duration::ZERO).await;
    let program = folder.path().join("another");
    std::fs::copy(this_test(), &program).expect("room for a copy");
    let stopped = Stopped::start(&program, &file(&folder));

    let error = replica.store.submit(&job(), &Request::Claim(claim)).await.expect_err("nobody can write");

    let pid = stopped.pid();
    let named = |why: &str| why.contains(&format!("process {pid} (another) is stopped (T)"));
    let says_the_way_out = |why: &str| why.contains(&format!("kill -CONT {pid}"));
    assert!(matches!(&error, StoreError::Refused(why) if named(why) && says_the_way_out(why)), "{error:?}");
    let another = World::Local(folder);
    let reader = another.replica().await;
    assert_eq!(reader.record().await, replica.record().await);
    assert!(reader.store.history(&[job()], 1).await.is_ok());
    let concerns = reader.store.inspect().await.expect("a look at the disk");
    assert!(concerns.iter().any(|concern| named(&concern.value)), "{concerns:?}");
    let blocked = reader.store.blocked().await.expect("a look at the locks").expect("somebody does");
    assert!(named(&blocked) && says_the_way_out(&blocked), "{blocked}");
    kill(pid, Signal::SIGCONT).expect("our child");
    stopped.expect_end();
    assert_eq!(reader.store.blocked().await, Ok(None));
    replica.win().await;
}
