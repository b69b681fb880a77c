//! How attempts end that are stopped: in time, for the strongest reason, and with nobody left.

use std::fs;
use std::os::unix::fs::symlink;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use nix::sys::signal::{Signal, kill};
use nix::sys::stat::Mode;
use nix::unistd::{Pid, mkfifo};
use solocron::run::{JobOutput, Launch, RunControl, StopOrder, StopReason, attempt};
use solocron::time::{BootInstant, Clock, SystemClock, UtcMillis, Waiting};
use tokio::sync::watch;

use crate::bench::{Bench, LONG, PATIENCE, eventually, free, guards, is_alive, shell};

/// Long enough to be seen, short enough to be waited for.
const SHORT: Duration = Duration::from_millis(150);

/// By then the job ignores the signal, however busy the machine.
const TIME_TO_START: Duration = Duration::from_secs(4);

#[tokio::test]
async fn a_timeout_ends_the_attempt() {
    let launch = Launch { timeout: Some(SHORT), ..shell("sleep 600") };
    let ended = Bench::new().run(&launch).await;
    assert_eq!((ended.verdict.to_string().as_str(), ended.signal), ("timed_out", Some(15)));
}

#[tokio::test]
async fn a_timeout_that_is_ignored_ends_in_sigkill() {
    let launch =
        Launch { timeout: Some(TIME_TO_START), kill_grace: SHORT, ..shell("trap '' TERM; sleep 600") };
    let ended = Bench::new().run(&launch).await;
    assert_eq!((ended.verdict.to_string().as_str(), ended.signal), ("timed_out", Some(9)));
}

#[tokio::test]
async fn a_job_that_prints_without_end_into_nothing_hears_the_order() {
    let bench = Bench::new();
    let launch = Launch { timeout: Some(SHORT), ..shell("exec yes") };
    let path = bench.logs.log_path(&launch.identity.job, launch.identity.run);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    symlink("/dev/full", path).unwrap();
    assert_eq!(bench.run(&launch).await.verdict.to_string(), "timed_out");
}

#[tokio::test]
async fn every_order_has_its_verdict() {
    let bench = Bench::new();
    for (reason, words) in [
        (StopReason::Operator, "killed (operator)"),
        (StopReason::Replaced, "killed (replaced)"),
        (StopReason::Shutdown, "interrupted (shutdown)"),
        (StopReason::LockLost, "interrupted (lock_lost)"),
    ] {
        let going = bench.start(&shell("echo ready; exec sleep 600"));
        going.printed("ready").await;
        going.stop(reason, LONG);
        let ended = going.end().await;
        assert_eq!((ended.verdict.to_string().as_str(), ended.signal), (words, Some(15)));
    }
}

#[tokio::test]
async fn an_order_that_was_there_before_starts_nothing() {
    let bench = Bench::new();
    let launch = shell("echo started");
    let (_stops, orders) =
        watch::channel(Some(StopOrder { reason: StopReason::LockLost, grace: Duration::ZERO }));
    let ended = crate::bench::run(&bench.logs, &launch, JobOutput::File, orders).await;
    assert_eq!((ended.verdict.to_string().as_str(), ended.exit_code), ("interrupted (lock_lost)", None));
    assert_eq!(ended.tail, "");
    assert!(!ended.was_tried, "its tick may run elsewhere");
}

#[tokio::test]
async fn what_was_killed_before_it_began_does_not_run_elsewhere() {
    let bench = Bench::new();
    let grace = Duration::ZERO;
    for reason in [StopReason::Operator, StopReason::Replaced] {
        let (_stops, orders) = watch::channel(Some(StopOrder { reason, grace }));
        let ended = crate::bench::run(&bench.logs, &shell("echo started"), JobOutput::File, orders).await;
        assert!(ended.was_tried, "{:?}", ended.verdict);
        assert_eq!(ended.tail, "");
    }
}

#[tokio::test]
async fn a_job_may_clean_up_within_its_grace() {
    let bench = Bench::new();
    let going = bench.start(&shell("trap 'echo bye; exit 0' TERM; echo ready; while :; do sleep 0.01; done"));
    going.printed("ready").await;
    going.stop(StopReason::Operator, LONG);
    let ended = going.end().await;
    assert_eq!((ended.verdict.to_string().as_str(), ended.exit_code), ("killed (operator)", Some(0)));
    assert!(ended.tail.contains("bye\n"), "{}", ended.tail);
}

#[tokio::test]
async fn who_is_stopped_in_mid_sleep_hears_sigterm_all_the_same() {
    let bench = Bench::new();
    let going = bench.start(&shell("trap 'exit 7' TERM; echo pid $$; kill -STOP $$; sleep 600"));
    let pid = going.printed_pid("pid").await;
    let stat = format!("/proc/{pid}/stat");
    eventually("the stopped job", || fs::read_to_string(&stat).unwrap().contains(") T ").then_some(())).await;
    going.stop(StopReason::Operator, LONG);
    assert_eq!(going.end().await.exit_code, Some(7));
}

#[tokio::test]
async fn no_grace_means_sigkill_at_once() {
    let bench = Bench::new();
    let going = bench.start(&shell("trap '' TERM; echo ready; sleep 600"));
    going.printed("ready").await;
    going.stop(StopReason::LockLost, Duration::ZERO);
    assert_eq!(going.end().await.signal, Some(9));
}

#[tokio::test]
async fn a_stronger_order_takes_over_with_its_shorter_grace() {
    let bench = Bench::new();
    let going = bench.start(&shell("trap 'echo termed' TERM; echo ready; while :; do sleep 0.01; done"));
    going.printed("ready").await;
    going.stop(StopReason::Shutdown, LONG);
    going.printed("termed").await;
    going.stop(StopReason::Operator, LONG);
    going.stop(StopReason::LockLost, Duration::ZERO);
    let ended = going.end().await;
    assert_eq!((ended.verdict.to_string().as_str(), ended.signal), ("interrupted (lock_lost)", Some(9)));
}

#[tokio::test]
async fn a_stop_is_over_only_when_the_whole_tree_is_gone() {
    let bench = Bench::new();
    // The grandchild ignores SIGTERM and has let go of the output; its parent goes at once.
    let line = "(trap '' TERM; exec sleep 600) >/dev/null 2>&1 & echo grandchild $!; sleep 600";
    let going = bench.start(&shell(line));
    let grandchild = going.printed_pid("grandchild").await;
    eventually("the trap", || ignores_term(grandchild).then_some(())).await;
    going.stop(StopReason::Operator, SHORT);
    let ended = going.end().await;
    assert!(!is_alive(grandchild), "it must not outlive the attempt");
    assert_eq!((ended.verdict.to_string().as_str(), ended.signal), ("killed (operator)", Some(15)));
}

fn ignores_term(pid: Pid) -> bool {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:")).unwrap();
    let exec_done = status.starts_with("Name:\tsleep");
    exec_done && u64::from_str_radix(ignored.trim(), 16).unwrap() & (1 << (Signal::SIGTERM as u64 - 1)) != 0
}

#[tokio::test]
async fn who_has_left_the_group_is_asked_to_end_like_everybody_else() {
    let bench = Bench::new();
    // `sleep 600` left the group, and never asks after its child, which stays in it as a zombie.
    let line = "(sleep 599 & exec setsid sh -c 'echo parent $$; exec sleep 600') & wait; sleep 600";
    let going = bench.start(&shell(line));
    let stray = going.printed_pid("parent").await;
    going.stop(StopReason::Operator, LONG);
    assert_eq!(going.end().await.verdict.to_string(), "killed (operator)");
    assert!(!is_alive(stray));
}

#[tokio::test]
async fn a_dropped_attempt_leaves_nobody_behind() {
    let bench = Bench::new();
    let going = bench.start(&shell("trap '' TERM; sleep 600 & echo child $!; sleep 600"));
    let child = going.printed_pid("child").await;
    going.abort().await;
    eventually("the end of the child", || (!is_alive(child)).then_some(())).await;
}

#[tokio::test]
async fn who_had_ended_by_itself_before_the_order_keeps_its_own_verdict() {
    let bench = Bench::new();
    let fifo = bench.path("go");
    mkfifo(&fifo, Mode::S_IRWXU).unwrap();
    let line = "exec 3<>go; echo $$ >pid; read line <&3; echo last words; exit 3";
    let launch = Launch { cwd: Some(bench.folder.path().into()), ..shell(line) };
    let log = bench.logs.begin(&launch.identity).await;
    let (stops, orders) = watch::channel(None);
    let guards = guards();
    let mut running = Box::pin(attempt(&guards, &launch, &log, JobOutput::File, free(orders)));
    let pid = tokio::select! {
        _ = &mut running => panic!("it waits for the fifo"),
        pid = eventually("the job's id", || fs::read_to_string(bench.path("pid")).ok()?.trim().parse().ok()) => {
            Pid::from_raw(pid)
        }
    };
    // Until the order is given, neither the attempt nor the runtime can hear of the exit, nor of the last words.
    fs::write(&fifo, "go\n").unwrap();
    while is_alive(pid) {
        std::thread::yield_now();
    }
    StopOrder { reason: StopReason::Operator, grace: LONG }.give(&stops);
    let ended = running.await;
    assert_eq!((ended.verdict.to_string().as_str(), ended.exit_code), ("failed", Some(3)));
    assert_eq!(ended.tail, "last words\n");
    assert!(kill(pid, None).is_err(), "it was reaped");
}

#[tokio::test]
async fn a_run_ends_at_its_deadline_by_itself_and_a_later_one_lets_it_go_on() {
    let bench = Bench::new();
    let launch =
        Launch { loss_grace: SHORT, ..shell("trap '' TERM; echo ready; while :; do sleep 0.01; done") };
    let log = bench.logs.begin(&launch.identity).await;
    let (_stops, orders) = watch::channel(None);
    let first = SystemClock.boot().plus(2 * TIME_TO_START);
    let deadlines = watch::Sender::new(first);
    let reins = RunControl { deadlines: deadlines.subscribe(), ..free(orders) };
    let guards = guards();
    let mut running = Box::pin(attempt(&guards, &launch, &log, JobOutput::File, reins));
    let is_ready = || bench.log_of(&launch).contains("ready").then_some(());
    tokio::select! {
        ended = &mut running => panic!("before its deadline: {ended:?}"),
        () = eventually("the job", is_ready) => {}
    }
    let deadline = first.plus(SHORT);
    deadlines.send_replace(deadline);
    let ended = running.await;
    assert_eq!((ended.verdict.to_string().as_str(), ended.signal), ("interrupted (lock_lost)", Some(9)));
    assert!(SystemClock.boot() >= deadline.plus(SHORT), "it had until then, and its grace");
}

/// A boot clock other than the machine's, by which guards measure.
#[derive(Debug, Clone, Copy)]
struct OtherClock {
    /// How much more it shows.
    ahead: Duration,
    /// How many times as fast it runs.
    speed: u32,
}

const HOUR_AHEAD: OtherClock = OtherClock { ahead: Duration::from_secs(3_600), speed: 1 };

/// Ten minutes pass on it within a second.
const HURRIED: OtherClock = OtherClock { ahead: Duration::ZERO, speed: 600 };

impl Clock for OtherClock {
    fn utc(&self) -> UtcMillis {
        SystemClock.utc()
    }

    fn boot(&self) -> BootInstant {
        BootInstant(SystemClock.boot().0 * self.speed + self.ahead)
    }

    fn to_machine(&self, at: BootInstant) -> BootInstant {
        BootInstant(at.0.saturating_sub(self.ahead) / self.speed)
    }

    fn wait_until(&self, at: UtcMillis) -> Waiting<'_> {
        SystemClock.wait_until(at)
    }

    fn wait_until_boot(&self, at: BootInstant) -> BoxFuture<'_, ()> {
        Box::pin(async move { SystemClock.wait_until_boot(self.to_machine(at)).await })
    }
}

#[tokio::test]
async fn an_attempt_keeps_to_the_clock_of_its_caller() {
    let bench = Bench::new();
    let launch = Launch { loss_grace: SHORT, ..shell("trap '' TERM; while :; do sleep 0.01; done") };
    let log = bench.logs.begin(&launch.identity).await;
    let (_stops, orders) = watch::channel(None);
    let begun = HOUR_AHEAD.boot();
    let deadlines = watch::Sender::new(begun.plus(TIME_TO_START));
    let control =
        RunControl { deadlines: deadlines.subscribe(), clock: Arc::new(HOUR_AHEAD), ..free(orders) };
    let guards = guards();
    let running = attempt(&guards, &launch, &log, JobOutput::File, control);
    let ended = tokio::time::timeout(PATIENCE, running).await.expect("its guard has the same deadline");
    assert_eq!((ended.verdict.to_string().as_str(), ended.signal), ("interrupted (lock_lost)", Some(9)));
    assert!(ended.birth.asked >= Some(begun) && ended.birth.born >= ended.birth.asked, "{:?}", ended.birth);
    assert_eq!(ended.ago, Duration::ZERO, "it was reported at once");
}

#[tokio::test]
async fn a_timeout_counts_by_the_clock_of_the_attempts_caller() {
    let bench = Bench::new();
    let launch = Launch { timeout: Some(LONG), ..shell("exec sleep 600") };
    let log = bench.logs.begin(&launch.identity).await;
    let (_stops, orders) = watch::channel(None);
    let control = RunControl { clock: Arc::new(HURRIED), ..free(orders) };
    let begun = HURRIED.boot();
    let guards = guards();
    let running = attempt(&guards, &launch, &log, JobOutput::File, control);
    let ended = tokio::time::timeout(PATIENCE, running).await.expect("ten minutes have passed on that clock");
    assert_eq!((ended.verdict.to_string().as_str(), ended.signal), ("timed_out", Some(15)));
    assert!(HURRIED.boot() >= begun.plus(LONG), "not before");
}

#[tokio::test]
async fn nothing_is_started_whose_deadline_is_over() {
    let bench = Bench::new();
    let launch = shell("echo started");
    let log = bench.logs.begin(&launch.identity).await;
    let (_stops, orders) = watch::channel(None);
    let over = watch::Sender::new(SystemClock.boot());
    let reins = RunControl { deadlines: over.subscribe(), ..free(orders) };
    let ended = attempt(&guards(), &launch, &log, JobOutput::File, reins).await;
    assert_eq!((ended.verdict.to_string().as_str(), ended.was_tried), ("interrupted (lock_lost)", false));
    assert_eq!(ended.tail, "");
}
