//! A client for HTTP/1.1 that sends what a test writes, byte for byte, and reads one answer. Nothing here waits for ever.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use socket2::{Domain, Socket, Type};

/// No answer takes longer.
const WITHIN: Duration = Duration::from_secs(30);

/// An answer.
#[derive(Debug, Clone)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    headers: Vec<(String, String)>,
    pub(crate) body: String,
}

impl Answer {
    /// The value of a header, if there is one.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let is_it = |(own, _): &&(String, String)| own.eq_ignore_ascii_case(name);
        self.headers.iter().find(is_it).map(|(_, value)| value.as_str())
    }

    /// The names of its headers, in lower case.
    pub(crate) fn header_names(&self) -> Vec<&str> {
        self.headers.iter().map(|(name, _)| name.as_str()).collect()
    }

    fn parse(bytes: &[u8]) -> Self {
        let text = String::from_utf8_lossy(bytes);
        let (head, body) = text.split_once("\r\n\r\n").unwrap_or_else(|| panic!("no answer: {text:?}"));
        let mut lines = head.lines();
        let status = lines.next().and_then(|line| line.split(' ').nth(1)).and_then(|code| code.parse().ok());
        let headers = lines.filter_map(|line| line.split_once(": "));
        let headers: Vec<_> = headers.map(|(name, value)| (name.to_lowercase(), value.to_owned())).collect();
        let is_chunked =
            headers.iter().any(|(name, value)| name == "transfer-encoding" && value == "chunked");
        let body = if is_chunked { joined(body) } else { body.to_owned() };
        Self { status: status.unwrap_or_else(|| panic!("no status: {head}")), headers, body }
    }
}

/// The text of a chunked body.
fn joined(mut rest: &str) -> String {
    let mut body = String::new();
    while let Some((size, after)) = rest.split_once("\r\n") {
        let size = usize::from_str_radix(size, 16).unwrap_or_else(|_| panic!("no chunk: {rest:?}"));
        if size == 0 {
            return body;
        }
        body.push_str(&after[..size]);
        rest = &after[size + 2..];
    }
    panic!("the body has no end")
}

/// A connection with a limit on every wait.
pub(crate) fn connect(to: SocketAddr) -> TcpStream {
    with_limits(TcpStream::connect_timeout(&to, WITHIN).unwrap_or_else(|error| panic!("{to}: {error}")))
}

fn with_limits(stream: TcpStream) -> TcpStream {
    stream.set_read_timeout(Some(WITHIN)).expect("a socket");
    stream.set_write_timeout(Some(WITHIN)).expect("a socket");
    stream
}

/// The answer to these bytes, up to the end of the connection.
pub(crate) fn send(to: SocketAddr, bytes: &[u8]) -> Answer {
    let mut stream = connect(to);
    // The server may have answered, and closed, before it has read everything.
    let _ = stream.write_all(bytes);
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    Answer::parse(&answer)
}

/// The answer to a request without a body.
pub(crate) fn request(to: SocketAddr, line: &str, headers: &[(&str, &str)]) -> Answer {
    let headers: String = headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
    send(to, format!("{line} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n{headers}\r\n").as_bytes())
}

/// The answer to a GET of this path.
pub(crate) fn get(to: SocketAddr, path: &str) -> Answer {
    request(to, &format!("GET {path}"), &[])
}

/// An answer that goes on, such as server-sent events.
pub(crate) struct OpenAnswer {
    stream: TcpStream,
    text: String,
}

impl OpenAnswer {
    /// The answer to a GET of this path, of which nothing was read yet.
    pub(crate) fn open(to: SocketAddr, path: &str, headers: &[(&str, &str)]) -> Self {
        Self::request(connect(to), path, headers)
    }

    fn request(mut stream: TcpStream, path: &str, headers: &[(&str, &str)]) -> Self {
        let headers: String = headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
        let request = format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n{headers}\r\n");
        stream.write_all(request.as_bytes()).expect("it listens");
        Self { stream, text: String::new() }
    }

    /// The same for a client at another address of this machine, `127.0.0.CLIENT`.
    pub(crate) fn open_as(client: u8, to: SocketAddr, path: &str, headers: &[(&str, &str)]) -> Self {
        let socket = Socket::new(Domain::IPV4, Type::STREAM, None).expect("a socket");
        socket.bind(&SocketAddr::from(([127, 0, 0, client], 0)).into()).expect("an address of this machine");
        socket.connect_timeout(&to.into(), WITHIN).unwrap_or_else(|error| panic!("{to}: {error}"));
        Self::request(with_limits(socket.into()), path, headers)
    }

    /// Reads until the answer contains this text, and gives back everything since the last time.
    pub(crate) fn wait_for(&mut self, wanted: &str) -> String {
        let mut buffer = [0; 4096];
        while !self.text.contains(wanted) {
            match self.stream.read(&mut buffer) {
                Ok(0) => panic!("it ended without `{wanted}`: {}", self.text),
                Ok(read) => self.text.push_str(&String::from_utf8_lossy(&buffer[..read])),
                Err(error) => panic!("no `{wanted}`: {error}: {}", self.text),
            }
        }
        std::mem::take(&mut self.text)
    }
}
