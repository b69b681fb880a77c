//! Clients that behave badly.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use solocron::time::{Clock, SystemClock};

use crate::http_client::connect;

/// Requests that fill every buffer between the server and a client that does not read.
const PIPELINED: usize = 4_000;

/// Clients that send a part of a head, and then nothing.
pub(crate) fn slow(address: SocketAddr, count: usize) -> Vec<TcpStream> {
    let client = |_| {
        let mut stream = connect(address);
        // The server may have closed it already to make room.
        let _ = stream.write_all(b"GET /healthz HTTP/1.1\r\nHost: loc");
        stream
    };
    (0..count).map(client).collect()
}

/// Clients that send requests for this path, and read no answer.
pub(crate) fn without_reading(address: SocketAddr, path: &str, count: usize) -> Vec<TcpStream> {
    let request = format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n");
    let client = |_| {
        let mut stream = connect(address);
        stream.set_nonblocking(true).expect("a socket");
        for _ in 0..PIPELINED {
            // Once its buffers are full, the server reads no further request either.
            if stream.write(request.as_bytes()).is_err() {
                break;
            }
        }
        stream
    };
    (0..count).map(client).collect()
}

/// Waits until the server has closed the connection of a client that goes on not to read; `None` if it does not in this
/// time.
#[expect(clippy::disallowed_methods, reason = "nothing tells of the end of a connection that is not read")]
pub(crate) fn closed_within(stream: &mut TcpStream, limit: Duration) -> Option<Duration> {
    let began = SystemClock.boot();
    stream.set_nonblocking(true).expect("a socket");
    loop {
        let took = SystemClock.boot().since(began);
        match stream.write(b"\r\n") {
            Err(error) if error.kind() != ErrorKind::WouldBlock => return Some(took),
            _ if took > limit => return None,
            _ => std::thread::sleep(Duration::from_millis(100)),
        }
    }
}

/// Reads until the server closes the connection, and returns after how long that was.
pub(crate) fn read_to_end(stream: &mut TcpStream) -> (String, Duration) {
    let began = SystemClock.boot();
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    (String::from_utf8_lossy(&answer).into_owned(), SystemClock.boot().since(began))
}
