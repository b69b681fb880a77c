use std::io::{Read, Write};
use std::time::Duration;

use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};

use crate::run::attempt::state::Tree;

use super::*;

/// Returns a process, and its guard's end of the socket.
fn guarded() -> (Process, std::os::unix::net::UnixStream) {
    let (socket, guard) = std::os::unix::net::UnixStream::pair().expect("sockets");
    for end in [&socket, &guard] {
        end.set_nonblocking(true).expect("a socket");
    }
    (Process::new(UnixStream::from_std(socket).expect("a runtime"), RunId::new(), false), guard)
}

#[tokio::test]
async fn an_order_reaches_the_guard_before_the_runtime_knows_of_the_line() {
    let (process, mut guard) = guarded();
    let order = GuardOrder::Stop(Duration::ZERO);
    process.tell(order);
    let mut heard = [0; LENGTH];
    guard.read_exact(&mut heard).expect("it is there at once");
    assert_eq!(GuardOrder::decode(&heard), Some(order));
}

#[tokio::test]
async fn what_the_replica_has_killed_itself_has_not_ended_by_itself() {
    let (mut process, mut guard) = guarded();
    process.strike(&Guards::of_this_program());
    guard.write_all(&GuardReport::Exited(9).encode()).expect("the other end is open");
    assert_eq!(process.next_report().await, RunReport::Stopped(ChildExit { code: None, signal: Some(9) }));
    // The guard has given up the rest: the replica notices that the guard is gone, and searches itself.
    drop(guard);
    assert_eq!(process.next_report().await, RunReport::Lost);
}

#[tokio::test]
async fn nothing_is_over_as_long_as_a_guard_may_come_up() {
    let (mut process, guard) = guarded();
    assert_eq!(process.strike(&Guards::of_this_program()), Tree::Alive);
    drop(guard);
    assert_eq!(process.next_report().await, RunReport::Lost);
    assert_eq!(process.strike(&Guards::of_this_program()), Tree::Empty);
}

#[tokio::test]
async fn an_end_that_was_told_to_a_frozen_replica_is_as_old_as_it_is() {
    let (mut process, mut guard) = guarded();
    let minute = Duration::from_secs(60);
    let then = BootInstant(Duration::from_secs(1_000));
    guard
        .write_all(&[GuardReport::At(then).encode(), GuardReport::Exited(0).encode()].concat())
        .expect("the other end is open");
    assert_eq!(process.next_report().await, RunReport::Exited(ChildExit { code: Some(0), signal: None }));
    assert_eq!(process.ago(then.plus(minute)), minute);

    let (mut process, mut guard) = guarded();
    let now = GuardReport::At(then).encode();
    guard.write_all(&[now, GuardReport::Empty.encode()].concat()).expect("the other end is open");
    assert_eq!(process.next_report().await, RunReport::Empty);
    assert_eq!(process.ago(then.plus(HEARING)), Duration::ZERO);
}

#[tokio::test]
async fn a_guard_that_its_job_stopped_before_it_could_say_that_the_run_began_is_woken() {
    let mut guard = std::process::Command::new("sh");
    let mut guard = guard.args(["-c", "kill -STOP $$; exit 5"]).spawn().expect("a shell");
    let pid = Pid::from_raw(guard.id().cast_signed());
    let stopped = waitpid(pid, Some(WaitPidFlag::WUNTRACED)).expect("it is our child");
    assert_eq!(stopped, WaitStatus::Stopped(pid, Signal::SIGSTOP));

    let (mut process, mut socket) = guarded();
    socket.write_all(&GuardReport::Made(pid).encode()).expect("the other end is open");
    assert_eq!(process.try_next_report(), None);
    process.wake_guard();
    assert_eq!(guard.wait().expect("it ends").code(), Some(5));
}
