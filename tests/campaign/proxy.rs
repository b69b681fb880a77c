//! The network between one replica and the store: passes everything on, and does what tests ask of it. A connection is
//! two threads, one each way.

use std::collections::{BTreeMap, VecDeque};
use std::io::Write;
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU16, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use socket2::SockRef;

use crate::dice::Dice;
use crate::lag::{Arriving, Lag};
use crate::pause::pause;
use crate::resp::{self, Request};
use crate::trick::{Rule, Rules, Trick};

/// A proxy of its own for one replica.
pub(crate) struct Proxy {
    port: u16,
    wires: Arc<Wires>,
}

struct Wires {
    /// Passes on bytes, and not values.
    is_blind: bool,
    upstream: AtomicU16,
    is_cut: AtomicBool,
    delay_ms: AtomicU64,
    /// Both ways.
    lag: Arc<Lag>,
    rules: Mutex<Rules>,
    /// Both ends of every connection, to be shut when the network is cut. A held request's are not among them.
    live: Mutex<BTreeMap<u64, [Arc<TcpStream>; 2]>>,
    next: AtomicU64,
    counts: Mutex<BTreeMap<String, u64>>,
}

/// Requests that were passed on and not answered yet, with what is to be done to their answers.
type Outstanding = Arc<Mutex<VecDeque<(Request, Option<Trick>)>>>;

/// Where a thread reads from, and where it writes to.
type Ends<'a> = (&'a Arc<TcpStream>, &'a TcpStream);

impl Proxy {
    /// A proxy for a replica to a server's port on this machine.
    pub(crate) fn to(upstream: u16) -> Self {
        Self::start(upstream, false)
    }

    /// A proxy for a server that follows another: what passes it is not looked at.
    pub(crate) fn between_servers(upstream: u16) -> Self {
        Self::start(upstream, true)
    }

    fn start(upstream: u16, is_blind: bool) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("the loopback has a free port");
        let port = listener.local_addr().expect("it is bound").port();
        let wires = Arc::new(Wires {
            is_blind,
            upstream: AtomicU16::new(upstream),
            is_cut: AtomicBool::new(false),
            delay_ms: AtomicU64::new(0),
            lag: Arc::default(),
            rules: Mutex::default(),
            live: Mutex::default(),
            next: AtomicU64::new(0),
            counts: Mutex::default(),
        });
        let accepting = Arc::clone(&wires);
        std::thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                accepting.join(client);
            }
        });
        Self { port, wires }
    }

    /// Where the replica connects to.
    pub(crate) fn url(&self) -> String {
        format!("redis://127.0.0.1:{}/0", self.port)
    }

    /// Where another server connects to.
    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    /// Ends every connection and accepts none until `mend`.
    pub(crate) fn cut(&self) {
        self.wires.is_cut.store(true, Ordering::SeqCst);
        self.wires.count("cut");
        self.wires.hang_up();
    }

    /// Passes everything on again, without delay.
    pub(crate) fn mend(&self) {
        self.wires.rules().mend();
        self.wires.is_cut.store(false, Ordering::SeqCst);
        self.wires.delay_ms.store(0, Ordering::SeqCst);
    }

    /// Leads to another server from now on; the connections to the one before end.
    pub(crate) fn point_at(&self, upstream: u16) {
        self.wires.upstream.store(upstream, Ordering::SeqCst);
        self.wires.hang_up();
    }

    /// Every request takes this much longer.
    pub(crate) fn delay(&self, by: Duration) {
        self.wires.delay_ms.store(u64::try_from(by.as_millis()).unwrap_or(u64::MAX), Ordering::SeqCst);
        self.wires.count("delay");
    }

    /// The line is slow and lossy, by this much on average each way; not any more with nothing.
    pub(crate) fn lag(&self, mean: Duration) {
        self.wires.lag.set(mean);
        self.wires.count("lag");
    }

    /// Tricks the next requests of a kind.
    pub(crate) fn add(&self, rule: Rule) {
        self.wires.rules().add(rule);
    }

    /// What was done and answered so far, by name.
    pub(crate) fn counts(&self) -> BTreeMap<String, u64> {
        self.wires.counts.lock().expect("no thread panics").clone()
    }

    /// How often this was done or answered so far.
    pub(crate) fn counted(&self, what: &str) -> u64 {
        self.wires.counted(what)
    }
}

impl Wires {
    fn rules(&self) -> MutexGuard<'_, Rules> {
        self.rules.lock().expect("no thread panics")
    }

    fn count(&self, what: &str) {
        *self.counts.lock().expect("no thread panics").entry(what.to_owned()).or_default() += 1;
    }

    fn counted(&self, what: &str) -> u64 {
        self.counts.lock().expect("no thread panics").get(what).copied().unwrap_or(0)
    }

    fn hang_up(&self) {
        for stream in self.live.lock().expect("no thread panics").values().flatten() {
            // An error says that it ended by itself.
            let _ = stream.shutdown(Shutdown::Both);
        }
    }

    /// A new connection; one that cannot be passed on is closed.
    fn join(self: &Arc<Self>, client: TcpStream) {
        if self.is_cut.load(Ordering::SeqCst) {
            return;
        }
        let Ok(server) = TcpStream::connect(("127.0.0.1", self.upstream.load(Ordering::SeqCst))) else {
            return;
        };
        // Errors only make it slower.
        let _ = (client.set_nodelay(true), server.set_nodelay(true));
        let (client, server) = (Arc::new(client), Arc::new(server));
        let number = self.next.fetch_add(1, Ordering::SeqCst);
        let ends = [Arc::clone(&client), Arc::clone(&server)];
        self.live.lock().expect("no thread panics").insert(number, ends.clone());
        let outstanding = Outstanding::default();
        let (up, down) = (Arc::clone(self), Arc::clone(self));
        let answers = Arc::clone(&outstanding);
        std::thread::spawn(move || up.pass_requests(number, (&client, &server), &outstanding));
        std::thread::spawn(move || {
            let [client, server] = ends;
            let is_reset = down.pass_replies(number, (&server, &client), &answers);
            down.live.lock().expect("no thread panics").remove(&number);
            // A reset is sent when nobody has the connection open any more: whoever reads it is woken.
            let _ = client.shutdown(if is_reset { Shutdown::Read } else { Shutdown::Both });
        });
    }

    fn pass_requests(&self, number: u64, (from, mut to): Ends<'_>, outstanding: &Outstanding) {
        self.for_each_value(from, 2 * number, |value| {
            let request = resp::request(value);
            let trick = self.rules().for_request(request, |answer| self.counted(answer));
            self.count(&format!("sent {request:?}"));
            pause(Duration::from_millis(self.delay_ms.load(Ordering::SeqCst)));
            if let Some(Trick::Hold(limit)) = trick {
                self.count("held request");
                self.live.lock().expect("no thread panics").remove(&number);
                pause(limit);
            }
            outstanding.lock().expect("no thread panics").push_back((request, trick));
            to.write_all(value).is_ok()
        });
        // The server still answers what it has.
        let _ = to.shutdown(Shutdown::Write);
    }

    /// Whether the connection to the client is to be reset in the end.
    fn pass_replies(&self, number: u64, (from, mut to): Ends<'_>, outstanding: &Outstanding) -> bool {
        let (mut listens, mut is_reset) = (true, false);
        self.for_each_value(from, 2 * number + 1, |value| {
            let next = outstanding.lock().expect("no thread panics").pop_front();
            let answers = if next.is_some() { resp::answers(value) } else { Vec::new() };
            answers.iter().for_each(|answer| self.count(answer));
            let is_spared = |trick: &Trick| {
                *trick == Trick::DropGrant && !(answers.contains(&"won") && self.rules().drops_grant())
            };
            match next.and_then(|(_, trick)| trick).filter(|trick| !is_spared(trick)) {
                Some(Trick::DropReply | Trick::DropGrant) => {
                    self.count("dropped reply");
                    listens = false;
                }
                Some(Trick::ResetInReply) => {
                    self.count("reset in reply");
                    // Errors say that it has ended already.
                    let _ = to.write_all(&value[..value.len() / 2]);
                    let _ = SockRef::from(to).set_linger(Some(Duration::ZERO));
                    is_reset = true;
                }
                other => {
                    if let Some(Trick::DelayReply(by)) = other {
                        self.count("delayed reply");
                        pause(by);
                    }
                    if let Some(Trick::Hold(_)) = other {
                        self.count("delivered late");
                    }
                    // Who does not listen any more does not keep the server from answering.
                    listens = listens && to.write_all(value).is_ok();
                }
            }
            !is_reset
        });
        is_reset
    }

    /// Reads value by value until the end, or until `act` says that it is enough. The line has its luck by its number.
    fn for_each_value(&self, from: &Arc<TcpStream>, line: u64, mut act: impl FnMut(&[u8]) -> bool) {
        let mut bytes = Vec::new();
        for piece in Arriving::from(from, &self.lag, Dice::of(line)) {
            bytes.extend_from_slice(&piece);
            while let Some(len) = self.first_len(&bytes) {
                if !act(&bytes[..len]) {
                    return;
                }
                bytes.drain(..len);
            }
        }
    }

    /// The length of what can be passed on.
    fn first_len(&self, bytes: &[u8]) -> Option<usize> {
        match (bytes.len(), self.is_blind) {
            (0, _) => None,
            (len, true) => Some(len),
            (_, false) => resp::value_len(bytes),
        }
    }
}
