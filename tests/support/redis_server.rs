//! A redis-server of a test's own: ready when `start` returns, gone with its folder when the value is dropped. Its log
//! says when it is ready, so that nothing has to be guessed.

use std::hash::{BuildHasher as _, RandomState};
use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tempfile::TempDir;

/// A server that is not ready by then never will be, however busy the machine.
const START_DEADLINE: Duration = Duration::from_secs(30);

/// Another process may take a free port first; more often than this it is something else.
const PORT_ATTEMPTS: usize = 20;

/// Below those that the kernel gives away.
const PORTS: Range<u16> = 20_000..32_000;

/// Arguments in which `{port}` stands get the port, and the plain port is closed.
const PORT: &str = "{port}";

/// A running server.
pub(crate) struct RedisServer {
    child: Child,
    folder: TempDir,
    args: Vec<String>,
    env: Vec<(String, PathBuf)>,
    port: u16,
}

impl RedisServer {
    /// Starts a server that keeps nothing on disk.
    pub(crate) fn start() -> Self {
        Self::start_with(&[])
    }

    /// Starts a server with further arguments; `{port}` in them stands for the port.
    pub(crate) fn start_with(args: &[&str]) -> Self {
        Self::start_under(args, &[])
    }

    /// Starts a server with further arguments and variables.
    pub(crate) fn start_under(args: &[&str], env: &[(&str, &Path)]) -> Self {
        let folder = TempDir::new().expect("a folder for temporary files");
        let args: Vec<String> = args.iter().map(ToString::to_string).collect();
        let env: Vec<(String, PathBuf)> =
            env.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        for _ in 0..PORT_ATTEMPTS {
            let port = free_port();
            match spawn(&folder, (&args, &env), port) {
                Ok(child) => return Self { child, folder, args, env, port },
                Err(log) if log.contains("Address already in use") => {}
                Err(log) => panic!("redis-server {args:?} did not start:\n{log}"),
            }
        }
        panic!("redis-server found no free port in {PORT_ATTEMPTS} attempts");
    }

    /// The port, plain or TLS.
    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    /// Its address over TCP.
    pub(crate) fn url(&self) -> String {
        format!("redis://127.0.0.1:{}/0", self.port)
    }

    /// Its unix socket.
    pub(crate) fn socket(&self) -> PathBuf {
        self.folder.path().join("redis.sock")
    }

    /// Its address over the unix socket.
    pub(crate) fn unix_url(&self) -> String {
        format!("redis+unix://{}", self.socket().display())
    }

    /// What redis-cli prints for a command.
    pub(crate) fn cli(&self, args: &[&str]) -> String {
        let output = Command::new("redis-cli")
            .arg("-s")
            .arg(self.socket())
            .args(args)
            .output()
            .unwrap_or_else(|error| panic!("redis-cli: {error}; try `apt-get install redis-tools`"));
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    }

    /// Stops answering, as a hung machine does, until `thaw`.
    pub(crate) fn freeze(&self) {
        self.signal(Signal::SIGSTOP);
    }

    /// Goes on after `freeze`.
    pub(crate) fn thaw(&self) {
        self.signal(Signal::SIGCONT);
    }

    fn signal(&self, signal: Signal) {
        let id = i32::try_from(self.child.id()).expect("process ids are small");
        kill(Pid::from_raw(id), signal).expect("the server is our child");
    }

    /// Kills it; it forgets everything.
    pub(crate) fn stop(&mut self) {
        // An error says that it is gone already.
        let _ = self.child.kill();
        self.child.wait().expect("the server is our child");
    }

    /// Starts it again on the same port, after `stop`.
    pub(crate) fn start_again(&mut self) {
        self.child = spawn(&self.folder, (&self.args, &self.env), self.port)
            .unwrap_or_else(|log| panic!("redis-server did not start again:\n{log}"));
    }
}

impl Drop for RedisServer {
    fn drop(&mut self) {
        self.stop();
    }
}

/// One that no connection is given as its own end, so that it is still free when the server is started again.
pub(crate) fn free_port() -> u16 {
    let any = || {
        let at = RandomState::new().hash_one(0) % u64::from(PORTS.end - PORTS.start);
        PORTS.start + u16::try_from(at).expect("it is below")
    };
    let mut tried = std::iter::repeat_with(any).take(PORT_ATTEMPTS);
    tried.find(|port| TcpListener::bind(("127.0.0.1", *port)).is_ok()).expect("the loopback has a free port")
}

/// Starts the process and waits until its log says that it is ready; the error is its log.
fn spawn(
    folder: &TempDir,
    (args, env): (&[String], &[(String, PathBuf)]),
    port: u16,
) -> Result<Child, String> {
    let own_port = args.iter().any(|arg| arg.contains(PORT));
    let mut child = Command::new("redis-server")
        .current_dir(folder.path())
        .envs(env.iter().map(|(name, value)| (name, value)))
        .args(["--save", "", "--appendonly", "no", "--bind", "127.0.0.1", "--unixsocket", "redis.sock"])
        .args(["--port", &if own_port { 0 } else { port }.to_string()])
        .args(args.iter().map(|arg| arg.replace(PORT, &port.to_string())))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::inherit())
        .spawn()
        .unwrap_or_else(|error| panic!("redis-server: {error}; try `apt-get install redis-server`"));
    let log = BufReader::new(child.stdout.take().expect("it is piped"));
    let Err(said) = wait_for_line(log, "Ready to accept connections", START_DEADLINE) else {
        return Ok(child);
    };
    let _ = child.kill();
    child.wait().expect("the server is our child");
    Err(said)
}

/// Waits until a server's log has a line with this text, and returns the rest of the log; or the log if it ends before, or says
/// nothing for this long. Goes on reading until the server ends, so that the pipe never fills.
pub(crate) fn wait_for_line(
    log: impl BufRead + Send + 'static,
    text: &str,
    limit: Duration,
) -> Result<Receiver<String>, String> {
    let (lines, heard) = mpsc::channel();
    std::thread::spawn(move || {
        for line in log.lines().map_while(Result::ok) {
            let _ = lines.send(line);
        }
    });
    let mut said = String::new();
    while let Ok(line) = heard.recv_timeout(limit) {
        if line.contains(text) {
            return Ok(heard);
        }
        said += &line;
        said.push('\n');
    }
    Err(said)
}
