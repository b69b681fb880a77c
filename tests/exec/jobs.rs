//! Beside the jobs of replicas.

use nix::sys::signal::Signal;

use crate::stage::Stage;

pub(crate) fn a_job_and_the_lock_of_its_name_exclude_each_other(stage: &Stage) {
    let holder = stage.hold("busy", &["--lease", "30s"], ":");
    let mut replica = stage.replica();
    let skipped = replica.wait_for_event("tick skipped");
    assert_eq!((&skipped["job"], &skipped["reason"]), (&"busy".into(), &"overlap".into()));
    let status = stage.asked(&["status", "--format", "json"]);
    assert!(!status.contains("holder_lost"), "it is heard by its renewals: {status}");
    holder.let_go().expect_code(0);

    replica.wait_for_event_of("run started", |event| event["job"] == "busy");
    let said = stage.call("busy", &[], "echo it ran").expect_code(75).log;
    assert!(said.contains("lock `busy` is held by n1, since"), "{said}");
    replica.signal(Signal::SIGTERM);
    replica.signal(Signal::SIGTERM);
    replica.wait();
}

pub(crate) fn within_a_job_its_own_lock_is_lent(stage: &Stage) {
    let mut replica = stage.replica_with("\"$SOLOCRON\" exec --lock rare -- sh -c 'echo within; exit 3'");
    replica.wait_for_event("store reached");
    let said = stage.triggered("rare").expect_code(3).log;
    assert!(said.contains("within"), "{said}");
    replica.signal(Signal::SIGTERM);
    replica.signal(Signal::SIGTERM);
    replica.wait();
}

pub(crate) fn an_operator_kills_it_as_any_run(stage: &Stage) {
    let holder = stage.hold("rare", &["--lease", "5m"], ":");
    let said = stage.asked(&["kill", "rare"]);
    assert!(said.contains("killed (operator) on here"), "{said}");
    let said = holder.program.wait().expect_code(143).log;
    assert!(said.contains("stopped by an operator"), "{said}");
}
