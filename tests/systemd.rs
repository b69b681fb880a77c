//! The systemd unit and what the program tells systemd.

#[path = "support/process.rs"]
#[expect(dead_code, reason = "other tests use more of it")]
mod process;

use std::os::unix::net::UnixDatagram;
use std::path::Path;
use std::process::Command;

use nix::sys::signal::Signal;
use process::{DEADLINE, Program, Scene};

const JOBS: &str = r#"
cluster = { name = "test", store = "local" }
[jobs.daily]
schedule = "@daily"
shell = "true"
"#;

fn unit() -> String {
    unit_of("solocron.service")
}

fn unit_of(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("systemd").join(name);
    std::fs::read_to_string(path).expect("the unit is part of the repository")
}

/// What `systemd-analyze` says of a unit that was put at this path.
fn analyze(words: &[&str], path: &Path) -> (bool, String) {
    let output = Command::new("systemd-analyze").args(words).arg(path).output();
    let output = output.expect("systemd-analyze; try `apt-get install systemd`");
    let said = [output.stdout, output.stderr].concat();
    (output.status.success(), String::from_utf8_lossy(&said).into_owned())
}

#[test]
fn systemd_finds_nothing_wrong_with_the_units() {
    let installed = "/usr/local/bin/solocron";
    for name in ["solocron.service", "solocron-hardened.service"] {
        let unit = unit_of(name);
        assert!(unit.contains(installed));
        let scene = Scene::new("");
        let path = scene.path(name);
        // The program must be there, and need not be installed.
        std::fs::write(&path, unit.replace(installed, env!("CARGO_BIN_EXE_solocron")))
            .expect("a writable folder");
        let (is_good, said) = analyze(&["verify"], &path);
        assert!(is_good && said.trim().is_empty(), "{name}: {said}");
    }
}

#[test]
fn the_hardened_unit_exposes_little() {
    let scene = Scene::new("");
    let path = scene.path("solocron-hardened.service");
    std::fs::write(&path, unit_of("solocron-hardened.service")).expect("a writable folder");
    // It fails above 2.0.
    let (is_good, said) = analyze(&["security", "--offline=true", "--threshold=20", "--no-pager"], &path);
    assert!(is_good, "{said}");
}

#[test]
fn the_hardened_unit_differs_from_the_other_by_its_sandbox_alone() {
    let of = |name| {
        let text = unit_of(name);
        let (service, sandbox) = text.split_once("\n# Who it is").unwrap_or((&text, ""));
        let keys = |text: &str| {
            text.lines()
                .filter(|line| line.contains('=') && !line.starts_with('#'))
                .map(str::to_owned)
                .collect::<Vec<_>>()
        };
        (keys(service), keys(sandbox))
    };
    let ((plain, none), (hardened, sandbox)) = (of("solocron.service"), of("solocron-hardened.service"));
    assert!(none.is_empty() && sandbox.len() > 20);
    let own = ["Description=", "Conflicts=", "TasksMax=", "LimitCORE="];
    let common = |keys: &[String]| {
        let is_own = |key: &&String| own.iter().any(|own| key.starts_with(own));
        keys.iter()
            .filter(|key| !is_own(key) && *key != "WantedBy=multi-user.target")
            .cloned()
            .collect::<Vec<_>>()
    };
    assert_eq!(common(&plain), common(&hardened));
}

#[test]
fn the_unit_gives_a_replica_the_time_that_the_defaults_ask_for() {
    let unit = unit();
    let of = |key: &str| unit.lines().find_map(|line| line.strip_prefix(key)).expect(key);
    let seconds: u64 = of("TimeoutStopSec=").parse().expect("seconds");
    // drain, kill_grace, and recording the ends of the runs.
    assert!(seconds >= 20 + 10 + 5, "{seconds}");
    assert_eq!(of("KillMode="), "mixed", "or systemd stops the jobs before the replica can");
    assert!(of("RestartPreventExitStatus=").split(' ').any(|code| code == "78"));
}

#[test]
fn systemctl_reload_loads_the_file_waits_and_fails_with_its_problems_when_it_is_bad() {
    let unit = unit();
    let order = unit.lines().find_map(|line| line.strip_prefix("ExecReload=")).expect("it can be reloaded");
    let arguments: Vec<&str> =
        order.strip_prefix("/usr/local/bin/solocron ").expect("the installed program").split(' ').collect();
    let scene = Scene::new(JOBS);
    // systemd tells both commands of the folder that it made for them.
    let command = |args: &[&str]| {
        let mut command = scene.command(args);
        command.env_remove("SOLOCRON_STATE_DIR").env("STATE_DIRECTORY", scene.path("state"));
        Program::start(&mut command)
    };
    let mut replica = command(&["run", "--log-format", "json"]);
    replica.wait_for_event("replica started");
    std::fs::write(scene.path("jobs.toml"), JOBS.replace("daily", "weekly")).expect("a writable folder");
    let said = command(&arguments).wait().expect_code(0).log;
    assert!(said.contains("jobs.toml loaded ("), "{said}");
    let loaded = replica.wait_for_event("jobs file loaded again");
    assert_eq!((&loaded["added"], &loaded["removed"]), (&"weekly".into(), &"daily".into()));
    std::fs::write(scene.path("jobs.toml"), "nonsense = 1\n").expect("a writable folder");
    let said = command(&arguments).wait().expect_code(78).log;
    assert!(said.contains("`nonsense`"), "{said}");
    replica.signal(Signal::SIGTERM);
    replica.wait().expect_code(0);
}

#[test]
fn systemd_is_told_when_the_replica_is_ready_that_it_lives_and_when_it_stops() {
    let scene = Scene::new(JOBS);
    let socket = UnixDatagram::bind(scene.path("notify.sock")).expect("a folder that holds sockets");
    socket.set_read_timeout(Some(DEADLINE)).expect("a timeout above zero");
    let mut command = scene.command(&["run", "--log-format", "json"]);
    command.env("NOTIFY_SOCKET", scene.path("notify.sock")).env("WATCHDOG_USEC", "300000");
    let replica = Program::start(&mut command);
    assert_eq!(next(&socket), "READY=1");
    assert_eq!([next(&socket), next(&socket)], ["WATCHDOG=1", "WATCHDOG=1"]);
    replica.signal(Signal::SIGTERM);
    let last = std::iter::repeat_with(|| next(&socket)).find(|said| said != "WATCHDOG=1");
    assert_eq!(last.as_deref(), Some("STOPPING=1"));
    replica.wait().expect_code(0);
}

#[test]
fn a_replica_with_a_bad_file_never_says_that_it_is_ready() {
    let scene = Scene::new("nonsense = 1\n");
    let socket = UnixDatagram::bind(scene.path("notify.sock")).expect("a folder that holds sockets");
    socket.set_nonblocking(true).expect("sockets can do that");
    let mut command = scene.command(&["run"]);
    Program::start(command.env("NOTIFY_SOCKET", scene.path("notify.sock"))).wait().expect_code(78);
    assert!(socket.recv(&mut [0; 64]).is_err());
}

/// What systemd is told next.
fn next(socket: &UnixDatagram) -> String {
    let mut buffer = [0; 256];
    let length = socket.recv(&mut buffer).expect("a message within the deadline");
    String::from_utf8_lossy(&buffer[..length]).trim().to_owned()
}
