//! A PostgreSQL server of a test's own, on a unix socket in a folder of its own or on a port of the loopback: ready when `start`
//! returns, gone with its folder when the value is dropped. It never runs as root.

use std::fs::File;
use std::io::BufReader;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::sync::mpsc::Receiver;
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::{Pid, Uid, User, chown};
use tempfile::TempDir;

use super::process::descendants;
use super::redis_server::{free_port, wait_for_line};

/// A server that is not ready by then never will be, however busy the machine.
const START_DEADLINE: Duration = Duration::from_secs(60);

/// How long its processes have to end.
const STOP_DEADLINE: Duration = Duration::from_secs(3);

/// Where Debian keeps the programs, a folder per version.
const DEBIAN: &str = "/usr/lib/postgresql";

/// The superuser of the server, and the database that is always there.
const POSTGRES: &str = "postgres";

/// Another process may take a free port first; more often than this it is something else.
const PORT_ATTEMPTS: usize = 20;

/// A running server.
pub(crate) struct Postgres {
    server: Child,
    /// The rest of its log, which ends with the last of its processes.
    log: Mutex<Receiver<String>>,
    folder: TempDir,
    /// The port, unless it has a socket only.
    port: Option<u16>,
}

impl Postgres {
    /// Makes a server on a socket and starts it.
    pub(crate) fn start() -> Self {
        let folder = init();
        let (server, log) =
            serve(folder.path(), None).unwrap_or_else(|log| panic!("postgres did not start:\n{log}"));
        Self { server, log, folder, port: None }
    }

    /// Makes a server on a port and starts it.
    pub(crate) fn start_on_port() -> Self {
        Self::serve_on_port(init())
    }

    fn serve_on_port(folder: TempDir) -> Self {
        for _ in 0..PORT_ATTEMPTS {
            let port = Some(free_port());
            match serve(folder.path(), port) {
                Ok((server, log)) => return Self { server, log, folder, port },
                Err(log) if log.contains("could not bind") => {}
                Err(log) => panic!("postgres did not start:\n{log}"),
            }
        }
        panic!("postgres found no free port in {PORT_ATTEMPTS} attempts");
    }

    /// The port that it was started on.
    pub(crate) fn port(&self) -> u16 {
        self.port.expect("it was started on a port")
    }

    /// Its address as a store.
    pub(crate) fn url(&self) -> String {
        let port = self.port();
        format!("postgres://{POSTGRES}@127.0.0.1:{port}/{POSTGRES}")
    }

    /// Its address as a store together with another server: whichever takes writes is used.
    pub(crate) fn url_with(&self, other: &Self) -> String {
        let (first, second) = (self.port(), other.port());
        format!("postgres://{POSTGRES}@127.0.0.1:{first},127.0.0.1:{second}/{POSTGRES}")
    }

    /// Makes a server on a port with the tables of solocron, by its command, and starts it.
    pub(crate) fn start_with_tables() -> Self {
        let server = Self::start_on_port();
        server.make_tables();
        server
    }

    fn make_tables(&self) {
        let made = Command::new(env!("CARGO_BIN_EXE_solocron"))
            .args(["store", "init", "--store", &self.url()])
            .output()
            .expect("the program was built");
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    }

    /// Makes a user with the rights of docs/postgres.md, and returns the user's address of the store.
    pub(crate) fn make_user(&self, name: &str) -> String {
        self.sql(&format!(
            "create role {name} login; grant usage on schema solocron to {name}; \
             grant select, insert, update, delete on all tables in schema solocron to {name}"
        ));
        self.url().replace(&format!("{POSTGRES}@"), &format!("{name}@"))
    }

    /// A standby of this server, which receives what it writes a moment later.
    pub(crate) fn standby(&self) -> Self {
        Self::serve_on_port(self.base_backup())
    }

    /// A standby of this server on the port of one that is stopped.
    pub(crate) fn standby_instead_of(&self, stopped: &Self) -> Self {
        let (folder, port) = (self.base_backup(), stopped.port);
        let (server, log) =
            serve(folder.path(), port).unwrap_or_else(|log| panic!("postgres did not start:\n{log}"));
        Self { server, log, folder, port }
    }

    fn base_backup(&self) -> TempDir {
        let folder = TempDir::new().expect("a folder for temporary files");
        let mut backup = command("pg_basebackup", folder.path());
        backup.arg("-D").arg(folder.path().join("data")).args([
            "-R",
            "-X",
            "stream",
            "-c",
            "fast",
            "--no-sync",
        ]);
        let made = self.equip(&mut backup).output().expect("it was found");
        assert!(made.status.success(), "pg_basebackup: {}", String::from_utf8_lossy(&made.stderr));
        folder
    }

    /// Stops all of its processes, until `thaw`: connections stay open, and nothing is answered.
    pub(crate) fn freeze(&self) {
        self.signal_all(Signal::SIGSTOP);
    }

    /// Lets its processes continue.
    pub(crate) fn thaw(&self) {
        self.signal_all(Signal::SIGCONT);
    }

    /// Writes beyond so many bytes of a file fail from now on, as if the disk was full.
    pub(crate) fn limit_files(&self, bytes: u64) {
        self.set_limit_of_files(&bytes.to_string());
    }

    /// Lets all files grow again.
    pub(crate) fn lift_limit_of_files(&self) {
        self.set_limit_of_files("unlimited");
    }

    fn set_limit_of_files(&self, limit: &str) {
        for pid in self.processes() {
            let mut prlimit = command("prlimit", self.folder.path());
            prlimit.args(["--pid", &pid.to_string(), &format!("--fsize={limit}:")]);
            // An error says that it is gone already.
            let _ = prlimit.stderr(Stdio::null()).status().expect("it was found");
        }
    }

    fn signal_all(&self, signal: Signal) {
        for pid in self.processes() {
            // An error says that it is gone already.
            let _ = kill(pid, signal);
        }
    }

    /// All of its processes. The first one starts the others.
    fn processes(&self) -> impl Iterator<Item = Pid> + use<> {
        let server = Pid::from_raw(i32::try_from(self.server.id()).expect("process ids are small"));
        std::iter::once(server).chain(descendants(server))
    }

    /// A copy of its data, while it is stopped.
    pub(crate) fn backup(&self) -> TempDir {
        let backup = TempDir::new().expect("a folder for temporary files");
        copy(&self.data(), &backup.path().join("data"));
        backup
    }

    /// Replaces its data, while it is stopped, by those of a backup.
    pub(crate) fn restore(&self, backup: &TempDir) {
        std::fs::remove_dir_all(self.data()).expect("it is the test's own");
        copy(&backup.path().join("data"), &self.data());
    }

    fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    /// Stops it at once: as after a power cut, it recovers when it is started again.
    pub(crate) fn stop(&mut self) {
        let id = i32::try_from(self.server.id()).expect("process ids are small");
        self.thaw();
        // At once, with all of its processes; an error says that it is gone already.
        let _ = kill(Pid::from_raw(id), Signal::SIGQUIT);
        // One that waits for a client to log in does not end by this, and a client of this thread cannot move on.
        let log = self.log.get_mut().expect("no test panics with it");
        while log.recv_timeout(STOP_DEADLINE).is_ok() {}
        let _ = self.server.kill();
        let _ = self.server.wait();
    }

    /// Starts it again on the same port, after `stop`.
    pub(crate) fn start_again(&mut self) {
        (self.server, self.log) = serve(self.folder.path(), self.port)
            .unwrap_or_else(|log| panic!("postgres did not start again:\n{log}"));
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
        if let Some(port) = self.port {
            command.env("PGPORT", port.to_string());
        }
        command.env("PGHOST", self.host()).env("PGUSER", POSTGRES).env("PGDATABASE", POSTGRES)
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        self.stop();
    }
}

/// Makes a server in a folder, as a copy of one that was made before: to make one takes a second of a processor.
fn init() -> TempDir {
    let folder = TempDir::new().expect("a folder for temporary files");
    copy(&template(), &folder.path().join("data"));
    folder
}

/// The data of a server that was never started.
fn template() -> PathBuf {
    let version = program("initdb").to_string_lossy().replace('/', "-");
    let data = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("postgres{version}"));
    // Tests run at the same time: the first one makes it, the others wait.
    let lock = File::create(data.with_extension("lock")).expect("a writable folder");
    lock.lock().expect("a file system with locks");
    if !data.exists() {
        let folder = TempDir::new().expect("a folder for temporary files");
        let made = folder.path().join("data");
        let mut initdb = command("initdb", folder.path());
        initdb.arg("-D").arg(&made);
        initdb.args([
            "-U",
            POSTGRES,
            "-A",
            "trust",
            "-E",
            "UTF8",
            "--locale=C",
            "--no-sync",
            "--wal-segsize=1",
        ]);
        let output = initdb.output().expect("it was found");
        assert!(output.status.success(), "initdb: {}", String::from_utf8_lossy(&output.stderr));
        let copied = data.with_extension("copied");
        // What is left of a test that was killed in between; an error says that there is nothing.
        let _ = std::fs::remove_dir_all(&copied);
        copy(&made, &copied);
        std::fs::rename(&copied, &data).expect("a writable folder");
    }
    data
}

/// Copies a folder, with the owner of each file.
fn copy(from: &Path, to: &Path) {
    let output = Command::new("cp").arg("-a").arg(from).arg(to).output().expect("it was found");
    assert!(output.status.success(), "cp: {}", String::from_utf8_lossy(&output.stderr));
}

/// Starts the server whose data is in this folder, and returns it with the rest of its log; or its log if it does not start.
fn serve(folder: &Path, port: Option<u16>) -> Result<(Child, Mutex<Receiver<String>>), String> {
    let mut postgres = command("postgres", folder);
    postgres.arg("-D").arg(folder.join("data")).arg("-k").arg(folder).args(["-c", "fsync=off"]);
    match port {
        Some(port) => postgres.args(["-c", "listen_addresses=127.0.0.1", "-p", &port.to_string()]),
        None => postgres.args(["-c", "listen_addresses="]),
    };
    let mut server = postgres
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it was found");
    let log = BufReader::new(server.stderr.take().expect("it is piped"));
    match wait_for_line(log, "ready to accept", START_DEADLINE) {
        Ok(log) => Ok((server, Mutex::new(log))),
        Err(said) => {
            // An error says that it is gone already.
            let _ = server.kill();
            let _ = server.wait();
            Err(said)
        }
    }
}

/// A program of the server, or a pooler, in a folder that it owns: it refuses to run as root.
pub(crate) fn command(name: &str, folder: &Path) -> Command {
    let mut command = Command::new(program(name));
    command.current_dir(folder);
    if Uid::effective().is_root() {
        let nobody = User::from_name("nobody").expect("a readable list of users").expect("a user `nobody`");
        chown(folder, Some(nobody.uid), Some(nobody.gid)).expect("root may");
        command.uid(nobody.uid.as_raw()).gid(nobody.gid.as_raw());
    }
    command
}

/// Debian keeps the server's programs off PATH, and a pooler off that of users other than root.
fn program(name: &str) -> PathBuf {
    let versions = std::fs::read_dir(DEBIAN).into_iter().flatten().flatten();
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::env::split_paths(&path).chain(versions.map(|version| version.path().join("bin")));
    let folders = folders.chain([PathBuf::from("/usr/sbin")]);
    let found = folders.map(|folder| folder.join(name)).find(|program| program.is_file());
    found.unwrap_or_else(|| panic!("there is no {name}; try `make tools`"))
}
