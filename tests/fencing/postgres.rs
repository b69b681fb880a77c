//! A PostgreSQL server of a test's own, on a unix socket in a folder of its own: ready when `start` returns, gone with its
//! folder when the value is dropped. It never runs as root.

use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::{Pid, Uid, User, chown};
use tempfile::TempDir;

/// A server that is not ready by then never will be, however busy the machine.
const START_DEADLINE: Duration = Duration::from_secs(60);

/// Where Debian keeps the programs, a folder per version.
const DEBIAN: &str = "/usr/lib/postgresql";

/// The superuser of the server, and the database that is always there.
const POSTGRES: &str = "postgres";

/// A running server.
pub(crate) struct Postgres {
    server: Child,
    folder: TempDir,
}

impl Postgres {
    /// Makes a server and starts it.
    pub(crate) fn start() -> Self {
        let folder = TempDir::new().expect("a folder for temporary files");
        let data = folder.path().join("data");
        let mut initdb = command("initdb", folder.path());
        initdb.arg("-D").arg(&data).args([
            "-U",
            POSTGRES,
            "-A",
            "trust",
            "-E",
            "UTF8",
            "--locale=C",
            "--no-sync",
        ]);
        let made = initdb.output().expect("it was found");
        assert!(made.status.success(), "initdb: {}", String::from_utf8_lossy(&made.stderr));
        let mut postgres = command("postgres", folder.path());
        postgres.arg("-D").arg(&data).arg("-k").arg(folder.path());
        postgres.args(["-c", "listen_addresses=", "-c", "fsync=off"]);
        let mut server = postgres
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("it was found");
        let log = BufReader::new(server.stderr.take().expect("it is piped"));
        // From here on it is stopped, whatever happens.
        let started = Self { server, folder };
        wait_until_ready(log);
        started
    }

    /// The folder of its socket, as `PGHOST` takes it.
    pub(crate) fn host(&self) -> &str {
        self.folder.path().to_str().expect("folders for temporary files have plain names")
    }

    /// What psql prints for the SQL.
    pub(crate) fn sql(&self, sql: &str) -> String {
        let mut psql = Command::new("psql");
        let output = self
            .equip(&mut psql)
            .args(["-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-c", sql])
            .output()
            .unwrap_or_else(|error| panic!("psql: {error}; try `apt-get install postgresql-client`"));
        assert!(output.status.success(), "{sql}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    }

    /// Lets a command's psql find the server.
    pub(crate) fn equip<'a>(&self, command: &'a mut Command) -> &'a mut Command {
        command.env("PGHOST", self.host()).env("PGUSER", POSTGRES).env("PGDATABASE", POSTGRES)
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        let id = i32::try_from(self.server.id()).expect("process ids are small");
        // At once, with all of its processes; an error says that it is gone already.
        let _ = kill(Pid::from_raw(id), Signal::SIGQUIT);
        let _ = self.server.wait();
    }
}

/// Its log is read on after that, so that it never fills the pipe; ends with the server.
fn wait_until_ready(log: impl BufRead + Send + 'static) {
    let (lines, heard) = mpsc::channel();
    std::thread::spawn(move || {
        for line in log.lines().map_while(Result::ok) {
            let _ = lines.send(line);
        }
    });
    let mut said = String::new();
    while let Ok(line) = heard.recv_timeout(START_DEADLINE) {
        if line.contains("ready to accept connections") {
            return;
        }
        said += &line;
        said.push('\n');
    }
    panic!("postgres did not start:\n{said}");
}

/// A program of the server, in a folder that it owns: it refuses to run as root.
fn command(name: &str, folder: &Path) -> Command {
    let mut command = Command::new(program(name));
    command.current_dir(folder);
    if Uid::effective().is_root() {
        let nobody = User::from_name("nobody").expect("a readable list of users").expect("a user `nobody`");
        chown(folder, Some(nobody.uid), Some(nobody.gid)).expect("root may");
        command.uid(nobody.uid.as_raw()).gid(nobody.gid.as_raw());
    }
    command
}

/// Debian keeps the server's programs off PATH.
fn program(name: &str) -> PathBuf {
    let versions = std::fs::read_dir(DEBIAN).into_iter().flatten().flatten();
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::env::split_paths(&path).chain(versions.map(|version| version.path().join("bin")));
    let found = folders.map(|folder| folder.join(name)).find(|program| program.is_file());
    found.unwrap_or_else(|| panic!("there is no {name}; try `apt-get install postgresql`"))
}
