//! Descriptors that the replica was started with: none of its jobs has them, and none of the processes that outlive it.

use std::os::fd::AsFd;

use nix::fcntl::{FcntlArg, FdFlag, fcntl};
use nix::unistd::Pid;

use crate::process::{Scene, descendants};
use crate::{file, printed, start};

#[test]
fn neither_a_job_nor_its_guard_keeps_what_the_replica_inherited() {
    let job = "shell = 'ls /proc/$$/fd; echo over; sleep 100'";
    let scene = Scene::new(&file("", job));
    let lock = std::fs::File::create(scene.path("lock")).expect("a writable folder");
    fcntl(lock.as_fd(), FcntlArg::F_SETFD(FdFlag::empty())).expect("it is open");
    let mut replica = start(&scene, &[]);
    drop(lock);
    let seen = printed(&mut replica);
    assert_eq!(seen, ["0", "1", "2"]);
    let has_lock = |process: &Pid| {
        let files = std::fs::read_dir(format!("/proc/{process}/fd")).into_iter().flatten().flatten();
        let mut targets = files.filter_map(|file| std::fs::read_link(file.path()).ok());
        targets.any(|target| target == scene.path("lock").canonicalize().expect("it is there"))
    };
    assert!(has_lock(&replica.pid()), "the replica itself has what it was started with");
    let below = descendants(replica.pid());
    assert!(below.len() > 2, "makers of guards, guards and a job: {below:?}");
    let keeps: Vec<String> = below
        .iter()
        .filter(|process| has_lock(process))
        .map(|process| std::fs::read_to_string(format!("/proc/{process}/comm")).unwrap_or_default())
        .collect();
    assert!(keeps.is_empty(), "{keeps:?}");
}
