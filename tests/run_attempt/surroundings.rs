//! What a command finds when it starts: variables, folder, account, signals, descriptors.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use nix::sys::signal::{SigSet, Signal};
use nix::unistd::{Gid, Group, User, dup, getegid, geteuid, setgroups};
use solocron::job::Cause;
use solocron::run::{Ended, Identity, Launch};

use crate::bench::{Bench, argv, shell};

/// The C library keeps signals 32 and 33 to itself.
const LIBC_SIGNALS: u64 = 0b11 << 31;

/// A group of nobody in particular.
const STRAY_GROUP: Gid = Gid::from_raw(424_242);

/// Two accounts that every system has: the first, or the second to those who are the first.
const OTHERS: [&str; 2] = ["nobody", "daemon"];

fn other() -> User {
    let accounts = OTHERS.map(|name| User::from_name(name).unwrap().expect("every system has it"));
    accounts.into_iter().find(|user| user.uid != geteuid()).expect("nobody is both")
}

/// Runs `line` and returns what it printed.
async fn printed(launch: &Launch) -> String {
    let ended = Bench::new().run(launch).await;
    assert_eq!(ended.exit_code, Some(0), "{}", ended.tail);
    ended.tail
}

#[tokio::test]
async fn a_job_sees_which_run_it_is_and_the_replicas_own_variables() {
    let base = shell("env | grep -E '^(SOLOCRON_|GREETING=|PATH=)'");
    let launch = Launch {
        env: [("GREETING".to_owned(), "two words".to_owned())].into(),
        identity: Identity { attempt: 3, cause: Cause::Manual, ..base.identity.clone() },
        ..base
    };
    let seen = printed(&launch).await;
    let path = format!("PATH={}", std::env::var("PATH").unwrap());
    let run = format!("SOLOCRON_RUN={}", launch.identity.run);
    for line in [
        path.as_str(),
        run.as_str(),
        "GREETING=two words",
        "SOLOCRON_JOB=backup",
        "SOLOCRON_TICK=2023-11-14T22:13:20.000Z",
        "SOLOCRON_TICK_MS=1700000000000",
        "SOLOCRON_TICK_LOCAL=2023-11-14T23:13:20.000+01:00",
        "SOLOCRON_FENCE=7",
        "SOLOCRON_ATTEMPT=3",
        "SOLOCRON_CAUSE=manual",
        "SOLOCRON_NODE=n1",
    ] {
        assert!(seen.lines().any(|seen| seen == line), "`{line}` is not in:\n{seen}");
    }
}

#[tokio::test]
async fn a_job_does_not_see_what_is_between_the_replica_and_its_supervisor() {
    // The environment of this process cannot be changed safely: the test starts itself as the supervised replica.
    if std::env::var("SOLOCRON_HTTP_TOKEN").is_ok() {
        let seen = printed(&shell("env | grep -E '^(NOTIFY_SOCKET|SOLOCRON_HTTP_TOKEN|PASSED_ON)='")).await;
        return assert_eq!(seen, "PASSED_ON=yes\n");
    }
    let replica = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "surroundings::a_job_does_not_see_what_is_between_the_replica_and_its_supervisor"])
        .envs([("NOTIFY_SOCKET", "/run/x"), ("SOLOCRON_HTTP_TOKEN", "secret"), ("PASSED_ON", "yes")])
        .output()
        .unwrap();
    let said = String::from_utf8(replica.stdout).unwrap();
    assert!(said.contains("1 passed"), "{said}");
}

#[tokio::test]
async fn words_of_argv_reach_the_program_as_they_are() {
    let seen = printed(&argv(&["printf", "%s|", "a b", "$HOME", "", "*"])).await;
    assert_eq!(seen, "a b|$HOME||*|");
}

#[tokio::test]
async fn the_command_starts_in_its_folder_and_is_found_there_and_in_its_own_path() {
    let bench = Bench::new();
    let script = bench.path("here");
    fs::write(&script, "#!/bin/sh\npwd -P\n").unwrap();
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
    let folder = bench.folder.path().canonicalize().unwrap();
    let in_folder = Launch { cwd: Some(folder.clone()), ..argv(&["./here"]) };
    let path = format!("{}:{}", folder.display(), std::env::var("PATH").unwrap());
    let in_path =
        Launch { env: [("PATH".to_owned(), path)].into(), cwd: Some("/".into()), ..argv(&["here"]) };
    for (launch, expected) in [(in_folder, format!("{}\n", folder.display())), (in_path, "/\n".to_owned())] {
        assert_eq!(printed(&launch).await, expected);
    }
}

#[tokio::test]
async fn stdin_is_empty_and_nothing_else_of_the_replica_is_open() {
    // A descriptor without close-on-exec, as a replica may have inherited from its own parent.
    let _leak = dup(std::io::stderr()).unwrap();
    let seen = printed(&shell("readlink /proc/$$/fd/0; ls /proc/$$/fd; cat")).await;
    assert_eq!(seen, "/dev/null\n0\n1\n2\n");
}

#[tokio::test]
async fn signals_are_neither_blocked_nor_ignored() {
    SigSet::from(Signal::SIGUSR1).thread_block().unwrap();
    let seen = printed(&argv(&["grep", "-E", "Sig(Blk|Ign)", "/proc/self/status"])).await;
    for line in seen.lines() {
        let set = line.split_whitespace().nth(1).expect("a set of signals");
        let set = u64::from_str_radix(set, 16).unwrap() & !LIBC_SIGNALS;
        assert_eq!(set, 0, "{line}");
    }
}

#[tokio::test]
async fn a_job_leads_a_session_and_a_process_group_of_its_own() {
    let seen = printed(&shell("echo $$ $$; cut -d' ' -f5,6 /proc/$$/stat")).await;
    let ids: Vec<_> = seen.lines().collect();
    assert_eq!(ids[0], ids[1]);
}

#[tokio::test]
async fn the_replicas_own_user_can_be_named_without_root() {
    let me = User::from_uid(geteuid()).unwrap().unwrap();
    let launch = Launch { user: Some(me.name.clone()), ..shell("id -un; echo $USER $LOGNAME $HOME") };
    let expected = format!("{0}\n{0} {0} {1}\n", me.name, me.dir.display());
    assert_eq!(printed(&launch).await, expected);
}

#[tokio::test]
async fn a_job_of_the_replicas_own_user_has_the_groups_of_its_account() {
    let me = User::from_uid(geteuid()).unwrap().unwrap();
    if !geteuid().is_root() {
        // Who is not root cannot change them.
        return assert_eq!(
            printed(&Launch { user: Some(me.name), ..shell("id -G") }).await,
            printed(&shell("id -G")).await
        );
    }
    setgroups(&[getegid(), STRAY_GROUP]).unwrap();
    let of_user = Launch { user: Some(me.name), ..shell("id -G") };
    let of_group = Launch { group: Some("bin".into()), ..shell("id -G") };
    for launch in [of_user, of_group] {
        let groups = printed(&launch).await;
        assert!(!groups.split_whitespace().any(|group| group == STRAY_GROUP.to_string()), "{groups}");
    }
}

#[tokio::test]
async fn a_job_of_another_user_gets_its_groups_and_variables_or_a_clear_error() {
    let other = other();
    let group = Group::from_gid(other.gid).unwrap().expect("its group has a name");
    let line = "id -un; id -gn; id -G; echo $USER $LOGNAME $HOME $SHELL";
    let launch = Launch { user: Some(other.name.clone()), ..shell(line) };
    if geteuid().is_root() {
        // A group that the job must not keep. The other tests of this process do not mind it.
        setgroups(&[getegid(), STRAY_GROUP]).unwrap();
    }
    let ended = Bench::new().run(&launch).await;
    if needs_root(&ended, &format!("user `{}`", other.name)) {
        return;
    }
    let (name, gid, home, shell) = (other.name, other.gid, other.dir.display(), other.shell.display());
    assert_eq!(ended.tail, format!("{name}\n{}\n{gid}\n{name} {name} {home} {shell}\n", group.name));
}

#[tokio::test]
async fn a_group_may_be_named_with_a_user_and_without() {
    let other = other().name;
    let both = Launch { user: Some(other.clone()), group: Some("bin".into()), ..shell("id -un; id -gn") };
    let ended = Bench::new().run(&both).await;
    if needs_root(&ended, &format!("user `{other}` and group `bin`")) {
        return;
    }
    assert_eq!(ended.tail, format!("{other}\nbin\n"));
    let alone = Launch { user: None, ..both };
    assert_eq!(printed(&alone).await, "root\nbin\n");
}

#[tokio::test]
async fn a_folder_is_entered_as_the_jobs_user() {
    let bench = Bench::new();
    fs::set_permissions(bench.folder.path(), fs::Permissions::from_mode(0o700)).unwrap();
    let other = other().name;
    let launch =
        Launch { user: Some(other.clone()), cwd: Some(bench.folder.path().into()), ..shell("echo in") };
    let ended = bench.run(&launch).await;
    if needs_root(&ended, &format!("user `{other}`")) {
        return;
    }
    let message = ended.error.expect("an error").to_string();
    assert!(message.contains("cannot enter cwd") && message.contains("Permission denied"), "{message}");
}

/// Whether this is not root, in which case the job must have failed with an error that says so.
fn needs_root(ended: &Ended, who: &str) -> bool {
    if geteuid().is_root() {
        return false;
    }
    assert_eq!(ended.verdict.to_string(), "failed (spawn_failed)");
    let message = ended.error.as_ref().expect("an error").to_string();
    assert!(message.contains(&format!("cannot run as {who}: Operation not permitted")), "{message}");
    assert!(message.contains("start the replica as root"), "{message}");
    true
}
