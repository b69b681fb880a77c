//! What else there is to do while starts are measured: a busy loop, or clients of the first replica, the bad ones included.
//! All of it is pinned to one processor, so that the other one is left to the replicas in any case.

use std::io::Write;
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use solocron::time::{Clock, SystemClock};

use crate::contender::AtWork;
use crate::http_client::{OpenAnswer, connect, get};
use crate::lateness::quantile;
use crate::measure::{Figures, sleep_until};
use crate::workload::Workload;

/// The processor of all of it.
const PROCESSOR: &str = "1";

/// Connections of wrk.
const CONNECTIONS: &str = "50";

/// Clients that send half of a head, pages that follow what happens, and clients that read nothing.
const CROWD: (usize, usize, usize) = (200, 32, 16);

/// Requests that fill every buffer between a replica and a client that reads nothing.
const PIPELINED: usize = 4_000;

/// The time between two probes.
const PROBE_EVERY_MS: i64 = 50;

/// What else there is to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Load {
    /// Nothing, and no HTTP either.
    Nothing,
    /// A busy loop. Replicas serve HTTP, and nobody asks.
    BusyLoop,
    /// wrk asks the first replica for this path, beside clients that send nothing, read nothing, or follow what happens.
    Flood(&'static str),
}

/// Processes that end with the value.
struct Background(Vec<Child>);

impl Drop for Background {
    fn drop(&mut self) {
        for child in &mut self.0 {
            // An error says that it has ended already.
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// A load that ends with the value.
pub(crate) struct UnderWay {
    background: Background,
    wrk: Option<Wrk>,
    /// Where the crowd writes how long its probes took, in microseconds.
    probes: PathBuf,
}

/// wrk, which tells at its end what it saw.
pub(crate) struct Wrk(Child);

/// What wrk saw.
#[derive(Debug, Default)]
pub(crate) struct WrkReport {
    pub(crate) per_second: f64,
    pub(crate) p99_ms: f64,
    /// Answers other than 2xx and 3xx, and connections that failed.
    pub(crate) errors: u64,
}

/// A command on the processor of the load.
fn pinned(program: &str) -> Command {
    let mut command = Command::new("taskset");
    command.args(["-c", PROCESSOR, program]).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command
}

impl UnderWay {
    /// Starts the load of this workload.
    pub(crate) fn start(workload: &Workload, at_work: &AtWork, folder: &Path) -> Self {
        let probes = folder.join("probes");
        let (background, wrk) = match workload.load {
            Load::Nothing => (Vec::new(), None),
            Load::BusyLoop => {
                let looping = pinned("sh").args(["-c", "while :; do :; done"]).spawn();
                (vec![looping.expect("a shell, and taskset of util-linux")], None)
            }
            Load::Flood(path) => {
                let address = at_work.address();
                let lasts_s = u64::try_from(workload.lasts_s).expect("some seconds");
                let crowd = start_crowd(address, &probes);
                (vec![crowd], Some(Wrk::start(address, path, lasts_s)))
            }
        };
        Self { background: Background(background), wrk, probes }
    }

    /// Ends it; returns what clients saw.
    pub(crate) fn end(self) -> Figures {
        let report = self.wrk.map(Wrk::report);
        drop(self.background);
        let Some(report) = report else { return Figures::new() };
        let text = std::fs::read_to_string(&self.probes).unwrap_or_default();
        let answered = text.lines().filter_map(|line| line.parse::<i64>().ok());
        let mut took: Vec<i64> = answered.collect();
        took.sort_unstable();
        let failed = text.lines().filter(|line| line.parse::<i64>().is_err()).count();
        let ms = |of_thousand| quantile(&took, of_thousand).map_or(f64::NAN, |us| us as f64 / 1e3);
        vec![
            ("requests per second", report.per_second),
            ("requests, p99, ms", report.p99_ms),
            ("requests with errors", report.errors as f64),
            ("/healthz, p99, ms", ms(990)),
            ("/healthz, slowest, ms", ms(1_000)),
            ("/healthz without a 200", failed as f64),
        ]
    }
}

impl Wrk {
    /// Starts to ask for a path.
    pub(crate) fn start(address: SocketAddr, path: &str, seconds: u64) -> Self {
        let mut command = pinned("wrk");
        command.args(["-t", "1", "-c", CONNECTIONS, "-d", &format!("{seconds}s"), "--latency"]);
        command.args(["--timeout", "10s"]).arg(format!("http://{address}{path}")).stdout(Stdio::piped());
        Self(command.spawn().expect("wrk: `make tools` installs it"))
    }

    /// Waits for its end.
    pub(crate) fn report(self) -> WrkReport {
        let output = self.0.wait_with_output().expect("it is a child of this process");
        WrkReport::read(&String::from_utf8_lossy(&output.stdout))
    }
}

impl WrkReport {
    /// Reads what wrk prints.
    fn read(text: &str) -> Self {
        let mut report = Self::default();
        for line in text.lines().map(str::trim) {
            let words: Vec<&str> = line.split_whitespace().collect();
            match words[..] {
                ["Requests/sec:", number] => report.per_second = number.parse().unwrap_or_default(),
                ["99%", time] => report.p99_ms = millis(time),
                ["Non-2xx", "or", "3xx", "responses:", count] => {
                    report.errors += count.parse::<u64>().unwrap_or_default();
                }
                ["Socket", "errors:", ..] => {
                    let counts =
                        words.iter().filter_map(|word| word.trim_end_matches(',').parse::<u64>().ok());
                    report.errors += counts.sum::<u64>();
                }
                _ => {}
            }
        }
        report
    }
}

/// A time as wrk writes it, in milliseconds: `740.00us`, `12.31ms`, `1.20s`.
fn millis(time: &str) -> f64 {
    let units = [("us", 1e-3), ("ms", 1.0), ("s", 1e3), ("m", 6e4)];
    let of_unit = |(unit, factor): &(&str, f64)| Some(time.strip_suffix(unit)?.parse::<f64>().ok()? * factor);
    units.iter().find_map(of_unit).unwrap_or(f64::NAN)
}

/// Starts the clients besides wrk, as a process of their own.
fn start_crowd(address: SocketAddr, probes: &Path) -> Child {
    let this = std::env::current_exe().expect("a program has a file");
    let mut command = pinned(&this.display().to_string());
    let file = std::fs::File::create(probes).expect("a writable folder");
    command.args(["be-crowd", &address.to_string()]).stdout(file);
    command.spawn().expect("this program, and taskset of util-linux")
}

/// Is a crowd of clients until it is killed, and writes how long each probe took, in microseconds.
pub(crate) fn crowd(address: &str) {
    let address: SocketAddr = address.parse().expect("an address");
    let (slow, streams, stuck) = CROWD;
    for number in 0..streams {
        let path = ["/", "/jobs/job0", "/?by=job", "/api/v1/events"][number % 4];
        std::thread::spawn(move || follow(address, path));
    }
    for number in 0..stuck {
        let path = ["/metrics?jobs=all", "/api/v1/status"][number % 2];
        std::thread::spawn(move || read_nothing(address, path));
    }
    std::thread::spawn(move || come_slowly(address, slow));
    let mut out = std::io::stdout().lock();
    loop {
        let began = SystemClock.boot();
        let answer = std::panic::catch_unwind(|| get(address, "/healthz").status);
        let took = SystemClock.boot().since(began).as_micros();
        let line = if matches!(answer, Ok(200)) { took.to_string() } else { format!("failed: {answer:?}") };
        writeln!(out, "{line}").and_then(|()| out.flush()).expect("room on the disk");
        sleep_until(SystemClock.utc().0 + PROBE_EVERY_MS);
    }
}

/// Follows a page, and again whenever the stream ends.
fn follow(address: SocketAddr, path: &'static str) {
    loop {
        let _ = std::panic::catch_unwind(|| {
            let mut stream = OpenAnswer::open(address, path, &[("Accept", "text/event-stream")]);
            loop {
                stream.wait_for("\n\n");
            }
        });
        sleep_until(SystemClock.utc().0 + 1_000);
    }
}

/// Sends requests and reads no answer, until it is disconnected; and again.
fn read_nothing(address: SocketAddr, path: &str) {
    let request = format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n");
    loop {
        if let Ok(mut stream) = TcpStream::connect(address) {
            for _ in 0..PIPELINED {
                if stream.write_all(request.as_bytes()).is_err() {
                    break;
                }
            }
            sleep_until(SystemClock.utc().0 + 15_000);
        }
        sleep_until(SystemClock.utc().0 + 100);
    }
}

/// Keeps so many connections on which half of a head was sent, or opens them again.
fn come_slowly(address: SocketAddr, count: usize) {
    let mut open = std::collections::VecDeque::new();
    loop {
        let mut stream = connect(address);
        let _ = stream.write_all(b"GET / HTTP/1.1\r\nHost: loc");
        open.push_back(stream);
        if open.len() > count {
            open.pop_front();
            // The server closes one of them each time another comes.
            sleep_until(SystemClock.utc().0 + 20);
        }
    }
}
