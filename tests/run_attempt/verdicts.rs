//! How attempts end that nobody stops.

use std::fs;

use solocron::run::Launch;

use crate::bench::{Bench, argv, shell};

#[tokio::test]
async fn an_exit_code_is_success_or_failure_as_the_job_says() {
    let bench = Bench::new();
    let lenient = |line| Launch { success_codes: vec![0, 24], ..shell(line) };
    for (launch, words, code) in [
        (shell("exit 0"), "succeeded", 0),
        (shell("exit 1"), "failed", 1),
        (lenient("exit 24"), "succeeded", 24),
        (lenient("exit 1"), "failed", 1),
        (argv(&["true"]), "succeeded", 0),
        (argv(&["sh", "-c", "exit $1", "sh", "9"]), "failed", 9),
    ] {
        let ended = bench.run(&launch).await;
        assert_eq!((ended.verdict.to_string().as_str(), ended.exit_code), (words, Some(code)));
        assert_eq!(ended.signal, None);
    }
}

#[tokio::test]
async fn death_of_a_signal_that_nobody_of_us_sent_is_a_failure() {
    let ended = Bench::new().run(&shell("kill -SEGV $$")).await;
    assert_eq!((ended.verdict.to_string().as_str(), ended.signal), ("failed", Some(11)));
    assert_eq!(ended.exit_code, None);
    // Real-time signals have no names.
    let ended = Bench::new().run(&shell("kill -40 $$")).await;
    assert_eq!((ended.verdict.to_string().as_str(), ended.signal), ("failed", Some(40)));
}

#[tokio::test]
async fn what_cannot_be_started_says_why_and_the_way_out() {
    let bench = Bench::new();
    let plain_file = bench.path("notes.txt");
    fs::write(&plain_file, "no program").unwrap();
    let plain_file = plain_file.to_str().unwrap();
    let there = || shell("true");
    let with_path = |path: &str, words| Launch { env: [("PATH".into(), path.into())].into(), ..argv(words) };
    let folder = bench.folder.path().to_str().unwrap();
    for (launch, problem, way_out) in [
        (with_path("/bin", &["no-such-program"]), "cannot start `no-such-program`: No such file", "PATH"),
        (with_path(folder, &["notes.txt"]), "`notes.txt`: Permission denied", "give its full path"),
        (argv(&["/no/such/program"]), "cannot start `/no/such/program`: No such file", "check the path"),
        (argv(&[plain_file]), "Permission denied", "make it executable"),
        (argv(&["true", "nul\0"]), "cannot start `true`: nul byte", "check `command`"),
        (Launch { cwd: Some("/no/such".into()), ..there() }, "cwd `/no/such`: No such file", "create it"),
        (Launch { cwd: Some(plain_file.into()), ..there() }, "Not a directory", "change `cwd`"),
        (Launch { user: Some("no-one".into()), ..there() }, "user `no-one` does not exist", "create it"),
        (Launch { group: Some("no-ones".into()), ..there() }, "group `no-ones` does not exist", "create it"),
    ] {
        let ended = bench.run(&launch).await;
        assert_eq!(ended.verdict.to_string(), "failed (spawn_failed)");
        let message = ended.error.expect("an error").to_string();
        assert!(message.starts_with("job `backup`: "), "{message}");
        assert!(message.contains(problem) && message.contains(way_out), "{message}");
        assert_eq!(ended.tail, format!("solocron: {message}\n"));
        assert!(bench.log_of(&launch).contains(&message), "people look into the log");
    }
}
