//! A Chromium of a test's own, driven over WebDriver by a ChromeDriver. Every wait has a limit, and no process of it
//! outlives the value.

use std::fmt;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use nix::sys::signal::{Signal, kill, killpg};
use nix::unistd::Pid;
use serde_json::{Value, json};
use solocron::time::{Clock, SystemClock};
use tempfile::TempDir;

use crate::process::descendants;

/// No single thing that a test waits for takes longer than this, however busy the machine.
const DEADLINE: Duration = Duration::from_secs(40);

/// From one look at a page to the next.
const BETWEEN_LOOKS: Duration = Duration::from_millis(25);

/// What ChromeDriver says once it listens.
const LISTENS: &str = "started successfully on port ";

/// How Chromium is started. It asks nobody but the pages that a test opens.
const ARGUMENTS: [&str; 15] = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--disable-dev-shm-usage",
    "--hide-scrollbars",
    "--no-first-run",
    "--no-default-browser-check",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-default-apps",
    "--disable-sync",
    "--disable-breakpad",
    "--disable-features=Translate,OptimizationHints,MediaRouter,DialMediaRouteProvider",
    "--lang=en-US",
];

/// The key that opens a link, and the one that leaves a field.
pub(crate) const ENTER: &str = "\u{e007}";
pub(crate) const ESCAPE: &str = "\u{e00c}";

/// A browser with one session.
pub(crate) struct Browser {
    driver: Child,
    address: SocketAddr,
    session: String,
    /// Whether a test has looked at what its pages logged and requested.
    is_checked: bool,
    profile: TempDir,
}

/// Why a command was refused.
#[derive(Debug)]
struct Refused {
    /// `no such element`
    kind: String,
    message: String,
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.kind, self.message)
    }
}

impl Browser {
    /// Starts a browser.
    pub(crate) fn start() -> Self {
        Self::start_with(&[])
    }

    /// Starts a browser with further arguments.
    pub(crate) fn start_with(arguments: &[&str]) -> Self {
        Self::start_by(&mut Command::new("chromedriver"), IpAddr::from([127, 0, 0, 1]), arguments)
    }

    /// Starts a browser on another machine: by a command that starts `chromedriver` at this address, for a client at that of
    /// the test.
    pub(crate) fn start_elsewhere(driver: &mut Command, ip: IpAddr, client: IpAddr) -> Self {
        // Without such a list it serves its own machine alone.
        Self::start_by(driver.arg(format!("--allowed-ips={client}")), ip, &[])
    }

    fn start_by(driver: &mut Command, ip: IpAddr, arguments: &[&str]) -> Self {
        let profile = TempDir::new().expect("a folder for temporary files");
        let mut driver = driver
            .args(["--port=0", "--log-level=WARNING"])
            .env("HOME", profile.path())
            .process_group(0)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap_or_else(|error| panic!("chromedriver: {error}; try `make tools`"));
        let address = SocketAddr::from((ip, port_of(&mut driver)));
        let mut browser = Self { driver, address, session: String::new(), is_checked: false, profile };
        let folder = format!("--user-data-dir={}", browser.profile.path().join("profile").display());
        let all: Vec<&str> = ARGUMENTS.iter().chain(arguments).copied().chain([folder.as_str()]).collect();
        let wanted = json!({ "capabilities": { "alwaysMatch": {
            "goog:chromeOptions": { "args": all },
            "goog:loggingPrefs": { "browser": "ALL", "performance": "ALL" },
            "timeouts": { "pageLoad": 30_000, "script": 30_000 },
        } } });
        let started = browser.ask("POST", "/session", &wanted).expect("a session");
        browser.session = started["sessionId"].as_str().expect("an id").to_owned();
        browser
    }

    /// Opens an address in the window.
    pub(crate) fn open(&self, url: &str) {
        self.command("POST", "url", &json!({ "url": url }));
    }

    /// Loads the page again.
    pub(crate) fn reload(&self) {
        self.command("POST", "refresh", &json!({}));
    }

    /// The address of the page.
    pub(crate) fn url(&self) -> String {
        self.command("GET", "url", &Value::Null).as_str().expect("an address").to_owned()
    }

    /// Opens another window, and goes on in it.
    pub(crate) fn open_window(&self) {
        let window = self.command("POST", "window/new", &json!({ "type": "window" }));
        self.command("POST", "window", &json!({ "handle": window["handle"] }));
    }

    /// The windows, the oldest first.
    pub(crate) fn windows(&self) -> Vec<Value> {
        self.command("GET", "window/handles", &Value::Null).as_array().expect("windows").clone()
    }

    /// Goes on in this window.
    pub(crate) fn switch_to(&self, window: &Value) {
        self.command("POST", "window", &json!({ "handle": window }));
    }

    /// Gives the page this size, as if the screen had it.
    pub(crate) fn resize(&self, width: u32, height: u32) {
        let screen = json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": false });
        self.devtools("Emulation.setDeviceMetricsOverride", &screen);
    }

    /// Runs a function's body in the page, and returns what it returns.
    pub(crate) fn script(&self, body: &str) -> Value {
        self.script_of(body, &json!([]))
    }

    /// The same with arguments.
    pub(crate) fn script_of(&self, body: &str, arguments: &Value) -> Value {
        self.command("POST", "execute/sync", &json!({ "script": body, "args": arguments }))
    }

    /// Runs a function's body in the page, which calls its last argument with the result.
    pub(crate) fn script_that_calls_back(&self, body: &str) -> Value {
        self.command("POST", "execute/async", &json!({ "script": body, "args": [] }))
    }

    /// The text that people see of the first element of this selector; `None` if there is none.
    pub(crate) fn text_of(&self, selector: &str) -> Option<String> {
        let body = "const found = document.querySelector(arguments[0]); return found && found.innerText";
        self.script_of(body, &json!([selector])).as_str().map(str::to_owned)
    }

    /// How many elements this selector has.
    pub(crate) fn count(&self, selector: &str) -> u64 {
        let body = "return document.querySelectorAll(arguments[0]).length";
        self.script_of(body, &json!([selector])).as_u64().expect("a number")
    }

    /// Waits until the text of an element is the wanted one, and returns it.
    pub(crate) fn wait_for_text(&self, selector: &str, wanted: impl Fn(&str) -> bool) -> String {
        let mut last = None;
        self.wait_until(&format!("the wanted text of {selector}"), || {
            last = self.text_of(selector);
            last.clone().filter(|text| wanted(text))
        })
    }

    /// Waits until this is so.
    #[expect(clippy::disallowed_methods, reason = "the page has to be looked at again")]
    pub(crate) fn wait_until<T>(&self, what: &str, mut look: impl FnMut() -> Option<T>) -> T {
        let deadline = SystemClock.boot().plus(DEADLINE);
        loop {
            if let Some(found) = look() {
                return found;
            }
            if SystemClock.boot() > deadline {
                let page = self.script("return document.body && document.body.innerText");
                panic!("not within {DEADLINE:?}: {what}\n{}\n{}", self.url(), page.as_str().unwrap_or("-"));
            }
            std::thread::sleep(BETWEEN_LOOKS);
        }
    }

    /// Clicks on the first element of this selector, as soon as there is one.
    pub(crate) fn click(&self, selector: &str) {
        self.on_element(selector, "click", &json!({}));
    }

    /// Types a text into the first element of this selector.
    pub(crate) fn type_into(&self, selector: &str, text: &str) {
        self.on_element(selector, "value", &json!({ "text": text }));
    }

    /// Presses these keys one after the other, wherever the focus is.
    pub(crate) fn press(&self, keys: &str) {
        let strokes: Vec<Value> = keys
            .chars()
            .flat_map(|key| {
                ["keyDown", "keyUp"].map(|what| json!({ "type": what, "value": key.to_string() }))
            })
            .collect();
        let keyboard = json!({ "actions": [{ "type": "key", "id": "keyboard", "actions": strokes }] });
        self.command("POST", "actions", &keyboard);
    }

    /// A picture of the page as a PNG file: of what the window shows, or of the whole page.
    pub(crate) fn picture(&self, is_whole: bool) -> Vec<u8> {
        let shown = json!({ "format": "png", "captureBeyondViewport": is_whole });
        let picture = self.devtools("Page.captureScreenshot", &shown);
        decoded(picture["data"].as_str().expect("a picture"))
    }

    /// Gives a command of the DevTools protocol.
    pub(crate) fn devtools(&self, command: &str, parameters: &Value) -> Value {
        self.command("POST", "goog/cdp/execute", &json!({ "cmd": command, "params": parameters }))
    }

    /// Asserts that no page has logged a warning or an error, but for those that contain one of these texts, and that no
    /// request went elsewhere than to these addresses.
    pub(crate) fn expect_clean(mut self, own: &[SocketAddr], expected: &[&str]) {
        self.is_checked = true;
        let logged = self.log("browser");
        let odd: Vec<&Value> = logged
            .iter()
            .filter(|entry| entry["level"] == "SEVERE" || entry["level"] == "WARNING")
            .filter(|entry| {
                let text = entry["message"].as_str().unwrap_or_default();
                !expected.iter().any(|expected| text.contains(expected))
            })
            .collect();
        assert!(odd.is_empty(), "the console: {odd:#?}");
        let foreign: Vec<String> = self.requests().into_iter().filter(|url| !is_own(url, own)).collect();
        assert!(foreign.is_empty(), "requests elsewhere: {foreign:#?}");
    }

    /// The addresses of all requests of all pages since the last time.
    pub(crate) fn requests(&self) -> Vec<String> {
        let entries = self.log("performance");
        let urls = entries.iter().filter_map(|entry| {
            let entry: Value = serde_json::from_str(entry["message"].as_str()?).ok()?;
            let (method, parameters) = (&entry["message"]["method"], &entry["message"]["params"]);
            let url = match method.as_str()? {
                "Network.requestWillBeSent" => &parameters["request"]["url"],
                "Network.webSocketCreated" => &parameters["url"],
                _ => return None,
            };
            Some(url.as_str()?.to_owned())
        });
        urls.collect()
    }

    fn log(&self, kind: &str) -> Vec<Value> {
        let entries = self.command("POST", "se/log", &json!({ "type": kind }));
        entries.as_array().expect("entries").clone()
    }

    /// Does something to the first element of a selector. The page may replace it at any time: then the new one is meant.
    fn on_element(&self, selector: &str, what: &str, body: &Value) {
        let query = json!({ "using": "css selector", "value": selector });
        self.wait_until(&format!("{what} of {selector}"), || {
            let found = self.ask("POST", &self.path("element"), &query);
            let done = found.and_then(|found| {
                let element = found.as_object().and_then(|object| object.values().next());
                let id = element.and_then(Value::as_str).expect("an element");
                self.ask("POST", &self.path(&format!("element/{id}/{what}")), body)
            });
            match done {
                Ok(_) => Some(()),
                Err(Refused { kind, .. })
                    if ["no such element", "stale element reference", "element click intercepted"]
                        .contains(&kind.as_str()) =>
                {
                    None
                }
                Err(refused) => panic!("{what} of {selector}: {refused}"),
            }
        });
    }

    fn command(&self, method: &str, path: &str, body: &Value) -> Value {
        let answer = self.ask(method, &self.path(path), body);
        answer.unwrap_or_else(|refused| panic!("{method} {path}: {refused}"))
    }

    fn path(&self, path: &str) -> String {
        format!("/session/{}/{path}", self.session)
    }

    /// Sends one command, and waits for its answer.
    fn ask(&self, method: &str, path: &str, body: &Value) -> Result<Value, Refused> {
        let body = if body.is_null() { String::new() } else { body.to_string() };
        let mut stream = TcpStream::connect_timeout(&self.address, DEADLINE).expect("chromedriver listens");
        stream.set_read_timeout(Some(DEADLINE)).expect("a socket");
        stream.set_write_timeout(Some(DEADLINE)).expect("a socket");
        let head = format!(
            "{method} {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n",
            body.len()
        );
        stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(body.as_bytes())).expect("it reads");
        let answer = read_answer(stream);
        let mut answer: Value = serde_json::from_str(&answer)
            .unwrap_or_else(|error| panic!("{method} {path}: {error}: {answer}"));
        let value = answer["value"].take();
        let text = |name: &str| value[name].as_str().map(str::to_owned);
        match text("error") {
            Some(kind) => Err(Refused { kind, message: text("message").unwrap_or_default() }),
            None => Ok(value),
        }
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        let pid = |id: u32| Pid::from_raw(i32::try_from(id).expect("process ids are small"));
        let driver = pid(self.driver.id());
        // Chromium has process groups of its own: its processes are looked up before their parent is gone.
        let browser = descendants(driver);
        // Errors say that it is gone already.
        let _ = killpg(driver, Signal::SIGKILL);
        let _ = self.driver.wait();
        for process in browser {
            let _ = kill(process, Signal::SIGKILL);
        }
        if !std::thread::panicking() {
            assert!(self.is_checked, "a test ends with `expect_clean`");
        }
    }
}

/// Waits until ChromeDriver listens, and returns its port.
fn port_of(driver: &mut Child) -> u16 {
    let output = BufReader::new(driver.stdout.take().expect("it is piped"));
    let (heard, lines) = mpsc::channel();
    // Reads on, so that its output never fills the pipe; ends with it.
    std::thread::spawn(move || {
        for line in output.lines().map_while(Result::ok) {
            let _ = heard.send(line);
        }
    });
    loop {
        let line = lines.recv_timeout(DEADLINE).expect("chromedriver starts");
        if let Some((_, rest)) = line.split_once(LISTENS) {
            return rest.trim_end_matches('.').parse().expect("a port");
        }
    }
}

/// Reads one answer, whose length its head tells.
fn read_answer(stream: TcpStream) -> String {
    let mut reader = BufReader::new(stream);
    let mut length = 0;
    loop {
        let mut line = String::new();
        let read = reader.read_line(&mut line).expect("chromedriver answers");
        assert!(read > 0, "chromedriver ended");
        if line.trim().is_empty() {
            break;
        }
        if let Some((name, value)) = line.split_once(':')
            && name.eq_ignore_ascii_case("content-length")
        {
            length = value.trim().parse().expect("a length");
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).expect("chromedriver answers");
    String::from_utf8(body).expect("JSON")
}

/// Whether an address is one of these servers', or none of the network.
fn is_own(url: &str, own: &[SocketAddr]) -> bool {
    let local = ["data:", "blob:", "about:", "chrome:", "file:"];
    let (Some((_, rest)), false) =
        (url.split_once("://"), local.iter().any(|scheme| url.starts_with(scheme)))
    else {
        return true;
    };
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let port = authority.rsplit_once(':').and_then(|(_, port)| port.parse().ok());
    own.iter().any(|own| port == Some(own.port()))
}

/// The bytes of a text in base64.
fn decoded(text: &str) -> Vec<u8> {
    let value = |c: u8| match c {
        b'A'..=b'Z' => u32::from(c - b'A'),
        b'a'..=b'z' => u32::from(c - b'a') + 26,
        b'0'..=b'9' => u32::from(c - b'0') + 52,
        b'+' => 62,
        _ => 63,
    };
    let letters: Vec<u8> = text.bytes().filter(|c| *c != b'=' && !c.is_ascii_whitespace()).collect();
    let mut bytes = Vec::with_capacity(letters.len() * 3 / 4);
    for group in letters.chunks(4) {
        let bits = group.iter().fold(0, |bits, c| bits << 6 | value(*c)) << (6 * (4 - group.len()));
        bytes.extend(bits.to_be_bytes()[1..].iter().take(group.len() * 6 / 8));
    }
    bytes
}
