//! A slow line to a server on this machine: everything takes the same time each way, however much of it is under way. A
//! connection is two threads for each way: one reads, and one passes on what has been under way for long enough.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::mpsc::{self, Receiver, Sender};
use std::time::Duration;

use solocron::time::BootInstant;
use solocron::time::{Clock, SystemClock};

/// A line, until the test's process ends.
pub(crate) struct SlowLine {
    port: u16,
}

/// What was sent, and when it arrives.
type Parcel = (BootInstant, Vec<u8>);

impl SlowLine {
    /// A line to a server's port, over which a question and its answer take this long together.
    pub(crate) fn to(server: u16, round_trip: Duration) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("the loopback has a free port");
        let port = listener.local_addr().expect("it is bound").port();
        std::thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                // A server that is gone closes the client's connection.
                let Ok(server) = TcpStream::connect(("127.0.0.1", server)) else { continue };
                pass_on(&client, &server, round_trip / 2);
                pass_on(&server, &client, round_trip / 2);
            }
        });
        Self { port }
    }

    /// Where replicas connect to.
    pub(crate) fn url(&self) -> String {
        format!("redis://127.0.0.1:{}/0", self.port)
    }
}

/// Passes everything on that comes from one end to the other, so much later.
fn pass_on(from: &TcpStream, to: &TcpStream, delay: Duration) {
    let (from, to) = (from.try_clone().expect("a handle"), to.try_clone().expect("a handle"));
    to.set_nodelay(true).expect("an open connection");
    let (sent, arriving) = mpsc::channel();
    std::thread::spawn(move || read(from, delay, &sent));
    std::thread::spawn(move || write(to, &arriving));
}

fn read(mut from: TcpStream, delay: Duration, sent: &Sender<Parcel>) {
    let mut chunk = [0; 65_536];
    while let Ok(read @ 1..) = from.read(&mut chunk) {
        let parcel = (SystemClock.boot().plus(delay), chunk[..read].to_vec());
        if sent.send(parcel).is_err() {
            return;
        }
    }
}

fn write(mut to: TcpStream, arriving: &Receiver<Parcel>) {
    let (_open, never) = mpsc::channel::<()>();
    while let Ok((at, bytes)) = arriving.recv() {
        // It can only time out.
        let _ = never.recv_timeout(at.since(SystemClock.boot()));
        if to.write_all(&bytes).is_err() {
            break;
        }
    }
    // An error says that it ended by itself.
    let _ = to.shutdown(Shutdown::Both);
}
