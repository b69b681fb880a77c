//! What becomes of what a job prints.

use std::fs::{self, File, OpenOptions};
use std::io::{Read, Write};
use std::os::fd::AsFd;

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::stat::{Mode, SFlag, makedev, mknod};
use nix::unistd::{Pid, geteuid, mkfifo};
use solocron::run::{Identity, JobOutput, Launch, StopReason, attempt};
use tokio::sync::watch;

use crate::bench::{Bench, LONG, Stray, eventually, free, guards, is_alive, run, shell};
use crate::said;

/// The stamp of every line here.
const STAMP: &str = "2026-11-20T12:00:00.123Z";

/// A third of what the job prints; a run needs a hundredth of this, but other tests may share the process.
const MODEST_KIB: u64 = 80 * 1024;

#[tokio::test]
async fn lines_are_stamped_and_marked_with_their_stream() {
    let bench = Bench::new();
    let launch = shell("echo one; echo; printf 'no newline'");
    let ended = bench.run(&launch).await;
    let log = format!("{STAMP} out one\n{STAMP} out \n{STAMP} out no newline\n");
    assert_eq!(bench.log_of(&launch), log);
    assert_eq!(ended.log_bytes, log.len() as u64);
    let launch = shell("echo oops >&2");
    bench.run(&launch).await;
    assert_eq!(bench.log_of(&launch), format!("{STAMP} err oops\n"));
}

#[tokio::test]
async fn a_silent_run_has_no_log() {
    let bench = Bench::new();
    let launch = shell("true");
    let ended = bench.run(&launch).await;
    assert!(!bench.logs.log_path(&launch.identity.job, launch.identity.run).exists());
    assert_eq!((ended.tail.as_str(), ended.log_bytes), ("", 0));
}

#[tokio::test]
async fn a_line_can_be_read_while_the_job_runs_on() {
    let bench = Bench::new();
    let going = bench.start(&shell("echo now; exec sleep 600"));
    going.printed("now").await;
    going.stop(StopReason::Operator, LONG);
    going.end().await;
}

#[tokio::test]
async fn a_long_line_comes_in_marked_pieces_and_foreign_bytes_as_they_are() {
    let bench = Bench::new();
    let launch = shell("head -c 40000 /dev/zero; printf '\\n\\377\\r\\n'");
    bench.run(&launch).await;
    let log = fs::read(bench.logs.log_path(&launch.identity.job, launch.identity.run)).unwrap();
    let line =
        |word: &str, text: &[u8]| [STAMP.as_bytes(), b" ", word.as_bytes(), b" ", text, b"\n"].concat();
    let piece = line("out+", &[0; 16 * 1024]);
    let expected = [&piece, &piece, &line("out", &[0; 40_000 - 32 * 1024]), &line("out", b"\xFF\r")];
    assert!(log == expected.map(Vec::as_slice).concat());
}

#[tokio::test]
async fn attempts_of_a_run_share_its_log() {
    let bench = Bench::new();
    let first = shell("echo attempt $SOLOCRON_ATTEMPT");
    let second = Launch { identity: Identity { attempt: 2, ..first.identity.clone() }, ..first.clone() };
    let log = bench.logs.begin(&first.identity).await;
    for launch in [&first, &second] {
        let (_stops, orders) = watch::channel(None);
        attempt(&guards(), launch, &log, JobOutput::File, free(orders)).await;
    }
    assert_eq!(bench.log_of(&first), format!("{STAMP} out attempt 1\n{STAMP} out attempt 2\n"));
}

#[tokio::test]
async fn the_tail_holds_the_end_of_both_streams() {
    let line = "seq 10000; exec >&2; echo the end";
    let ended = Bench::new().run(&shell(line)).await;
    assert_eq!(ended.tail.len(), 4096);
    assert!(ended.tail.ends_with("9999\n10000\nthe end\n"), "{}", ended.tail);
}

#[tokio::test]
async fn no_byte_is_lost_that_was_printed_right_before_the_exit() {
    let bench = Bench::new();
    for _ in 0..100 {
        assert_eq!(bench.run(&shell("echo last; echo words >&2")).await.tail.len(), "last\nwords\n".len());
    }
}

#[tokio::test]
async fn a_background_process_with_the_pipe_outlives_its_job_and_does_not_delay_its_end() {
    let bench = Bench::new();
    let fifo = bench.path("go");
    mkfifo(&fifo, Mode::S_IRWXU).unwrap();
    let launch =
        in_folder(&bench, "(exec 3<>go; read line <&3; echo here >answer) & echo $! >pid; echo done");
    let ended = bench.run(&launch).await;
    let _stray = stray(&bench);
    assert_eq!((ended.verdict.to_string().as_str(), ended.tail.as_str()), ("succeeded", "done\n"));
    // It stays open: the process may not have opened it yet.
    let mut go = OpenOptions::new().read(true).write(true).open(&fifo).unwrap();
    go.write_all(b"go\n").unwrap();
    eventually("the answer", || fs::read_to_string(bench.path("answer")).ok().filter(|it| it == "here\n"))
        .await;
}

#[tokio::test]
async fn a_background_process_that_prints_without_end_does_not_hold_up_the_end() {
    let bench = Bench::new();
    said::listen();
    let launch = in_folder(&bench, "yes $(printf %01000d 1) & echo $! >pid");
    let ended = bench.run(&launch).await;
    let stray = stray(&bench);
    assert_eq!(ended.verdict.to_string(), "succeeded");
    assert_eq!(said::about(launch.identity.run), "", "it was not given up for being late");
    eventually("SIGPIPE, as nobody reads any more", || (!is_alive(stray.0)).then_some(())).await;
}

fn in_folder(bench: &Bench, line: &str) -> Launch {
    Launch { cwd: Some(bench.folder.path().into()), ..shell(line) }
}

/// The process whose id the job has left in `pid`.
fn stray(bench: &Bench) -> Stray {
    let pid = fs::read_to_string(bench.path("pid")).unwrap();
    Stray(Pid::from_raw(pid.trim().parse().unwrap()))
}

#[tokio::test]
async fn a_disk_that_hangs_holds_up_neither_a_stop_order_nor_the_end() {
    let bench = Bench::new();
    said::listen();
    let launch = shell("yes");
    let path = bench.logs.log_path(&launch.identity.job, launch.identity.run);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    // What is written here without a reader waits for ever, once the pipe is full.
    mkfifo(&path, Mode::S_IRWXU).unwrap();
    let mut disk = OpenOptions::new().read(true).write(true).open(&path).unwrap();
    let going = bench.start(&launch);
    eventually("a full pipe", || is_full(&disk).then_some(())).await;
    going.stop(StopReason::LockLost, LONG);
    assert_eq!(going.end().await.verdict.to_string(), "interrupted (lock_lost)");
    assert_eq!(said::about(launch.identity.run).matches("run log cannot be written").count(), 1);
    // Lets the write go on that the runtime would otherwise wait for.
    std::thread::spawn(move || while disk.read(&mut [0; 64 * 1024]).is_ok() {});
}

fn is_full(pipe: &File) -> bool {
    let mut writable = [PollFd::new(pipe.as_fd(), PollFlags::POLLOUT)];
    poll(&mut writable, PollTimeout::ZERO).unwrap() == 0
}

#[tokio::test]
async fn hundreds_of_megabytes_need_no_memory() {
    let bench = Bench::new();
    let words = "word ".repeat(200);
    let line = format!("yes '{words}' | head -c 120000000 & head -c 120000000 /dev/zero >&2; wait");
    // Makes the high-water mark start anew.
    fs::write("/proc/self/clear_refs", "5").unwrap();
    let before = memory_kib("VmRSS");
    let ended = bench.run(&shell(&line)).await;
    let growth = memory_kib("VmHWM") - before;
    assert_eq!(ended.verdict.to_string(), "succeeded");
    assert!(ended.log_bytes > 240_000_000, "{}", ended.log_bytes);
    assert!(growth < MODEST_KIB, "memory grew by {growth} KiB");
}

fn memory_kib(field: &str) -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with(field)).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

#[tokio::test]
async fn a_full_disk_is_said_once_and_the_job_runs_on() {
    let bench = Bench::new();
    let launch = shell("seq 100000; exit 5");
    let log = bench.logs.begin(&launch.identity).await;
    // A link to it would not be followed, and only root can make another one.
    if !geteuid().is_root() {
        return;
    }
    mknod(log.path(), SFlag::S_IFCHR, Mode::S_IRUSR | Mode::S_IWUSR, makedev(1, 7)).unwrap();
    said::listen();
    for _ in 0..2 {
        let (_stops, orders) = watch::channel(None);
        let ended = attempt(&guards(), &launch, &log, JobOutput::File, free(orders)).await;
        assert_eq!((ended.exit_code, ended.log_bytes), (Some(5), 0));
        assert!(ended.tail.ends_with("\n100000\n"));
    }
    let said = said::about(launch.identity.run);
    assert_eq!(said.matches("run log cannot be written").count(), 1, "{said}");
    for part in ["WARN", "backup", "No space left on device"] {
        assert!(said.contains(part), "`{part}` is not in {said}");
    }
}

#[tokio::test]
async fn a_state_directory_that_cannot_be_written_does_not_stop_a_job() {
    let bench = Bench::new();
    fs::write(bench.path("state"), "a file, where the folder should be").unwrap();
    said::listen();
    let launch = shell("echo fine");
    let ended = bench.run(&launch).await;
    assert_eq!((ended.verdict.to_string().as_str(), ended.tail.as_str()), ("succeeded", "fine\n"));
    let said = said::about(launch.identity.run);
    for part in ["run log cannot be written", "cannot write runs.jsonl"] {
        assert_eq!(said.matches(part).count(), 1, "{said}");
    }
}

#[tokio::test]
async fn output_goes_to_the_replicas_log_where_that_is_asked_for() {
    for (output, in_file) in [(JobOutput::Stdout, false), (JobOutput::Both, true)] {
        let (bench, launch) = (Bench::new(), shell("printf 'hello \\377\\n'"));
        said::listen();
        let (_stops, orders) = watch::channel(None);
        run(&bench.logs, &launch, output, orders).await;
        let said = said::about(launch.identity.run);
        for part in ["INFO solocron::output: output", "backup", "stream=\"out\"", "line=hello \u{FFFD}"] {
            assert!(said.contains(part), "`{part}` is not in {said}");
        }
        assert_eq!(bench.log_of(&launch).is_empty(), !in_file);
    }
}
