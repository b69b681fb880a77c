use std::ffi::OsStr;
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;

use nix::sys::resource::{Resource, getrlimit, setrlimit};
use nix::unistd::{getpgrp, getpid};

use crate::time::{Clock, SystemClock};

use super::*;

#[test]
fn a_process_is_read_whatever_its_name() {
    let line = "42 (a) b (c)) S 7 40 40 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 1 0 9 1 1";
    let read = ProcessStat::read(line).expect("a line of the kernel's");
    let of = |pid| Pid::from_raw(pid);
    let (dead, stopped, forked) = (false, false, false);
    assert_eq!(read, ProcessStat { pid: of(42), parent: of(7), group: of(40), dead, stopped, forked });
    let dead = ProcessStat::read(&line.replace(" S ", " Z ")).expect("a line of the kernel's");
    assert!(dead.dead && !dead.stopped);
    for state in [" T ", " t "] {
        assert!(ProcessStat::read(&line.replace(" S ", state)).expect("a line of the kernel's").stopped);
    }
}

#[test]
fn a_process_that_was_forked_and_one_that_executed_a_program_are_told_apart() {
    let mut shell = std::process::Command::new("/bin/sh");
    shell.args(["-c", "(read line; :) & exec sleep 600"]).stdin(std::process::Stdio::piped());
    let mut shell = shell.spawn().expect("every machine has a shell");
    let pid = Pid::from_raw(shell.id().cast_signed());
    let deadline = SystemClock.boot().plus(std::time::Duration::from_secs(60));
    let fork = loop {
        assert!(SystemClock.boot() < deadline, "the shell forks");
        if let [fork] = children(pid).expect("/proc")[..] {
            break fork;
        }
    };
    assert_eq!((is_forked(fork), is_forked(pid)), (true, false));
    signal_each(&[fork], Signal::SIGKILL);
    shell.kill().expect("our child");
    shell.wait().expect("our child");
}

#[test]
fn this_process_descends_from_its_parent() {
    let (parent, own) = (nix::unistd::getppid(), getpid());
    assert!(descendants(parent, &[]).expect("/proc").contains(&own));
    assert!(!descendants(parent, &[own]).expect("/proc").contains(&own));
    assert!(reach(parent, &[], None).expect("/proc").contains(&own));
}

#[test]
fn processes_are_found_whatever_the_bytes_of_their_names() {
    let named = |name: &[u8]| {
        let folder = tempfile::TempDir::new().expect("a folder for temporary files");
        let path = folder.path().join(OsStr::from_bytes(name));
        std::os::unix::fs::symlink("/bin/sleep", &path).expect("a name of any bytes");
        let child = std::process::Command::new(&path).arg("600").spawn().expect("it can sleep");
        (folder, child)
    };
    let (_folder, mut child) = named(b"sleep-\xFF");
    let pid = Pid::from_raw(child.id().cast_signed());
    let found = (descendants(getpid(), &[]), reach(getpid(), &[], None));
    child.kill().expect("it sleeps");
    child.wait().expect("it was killed");
    assert!(found.0.expect("/proc").contains(&pid));
    assert!(found.1.expect("/proc").contains(&pid));
}

#[test]
fn who_cannot_look_does_not_say_that_nobody_is_there() {
    let (soft, hard) = getrlimit(Resource::RLIMIT_NOFILE).expect("a limit");
    // No further file can be opened: first not even the list of processes, then the list but no file of a process.
    let looks: Vec<_> = [0, 1]
        .map(|more| {
            let free = File::open("/proc").expect("the next free number").as_raw_fd();
            let limit = u64::try_from(free).expect("a number") + more;
            setrlimit(Resource::RLIMIT_NOFILE, limit, hard).expect("less is allowed");
            let looks = (
                descendants(getpid(), &[]),
                reach_by_variable("NOBODY=has-this", None),
                is_group_alive(getpgrp()),
            );
            setrlimit(Resource::RLIMIT_NOFILE, soft, hard).expect("what it was is allowed");
            looks
        })
        .into();
    for (descendants, of_run, group) in looks {
        assert!(descendants.is_err() && of_run.is_err() && group.is_err());
    }
}

#[test]
fn a_variable_is_found_whole_or_not_at_all() {
    let environment = b"A=1\0SOLOCRON_RUN=abc\0B=2\0";
    assert!(holds(environment, b"SOLOCRON_RUN=abc"));
    assert!(!holds(environment, b"SOLOCRON_RUN=ab"));
    assert!(!holds(b"XSOLOCRON_RUN=abc\0", b"SOLOCRON_RUN=abc"));
}
