//! Connects the commands of this machine to its replicas, which listen on the sockets of `socket`.

use std::io::{self, ErrorKind};
use std::path::Path;

use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::UnixStream;

use crate::cli::serve::reloader::ReloadAnswer;

use super::socket::{DRAIN, RELOAD, SocketError, at, folder_of, has_no_listener, name_of, sockets};

/// A connection to a replica.
#[derive(Debug)]
pub(crate) struct Listening {
    /// The replica's name, as far as the name of the socket contains it.
    pub(crate) name: String,
    stream: UnixStream,
}

/// Connects to every replica of this state folder that listens. Needs a running runtime.
pub(crate) fn listening(state_dir: &Path) -> Result<Vec<Listening>, SocketError> {
    let mut found = Vec::new();
    for path in sockets(&folder_of(state_dir))? {
        match connect(&path) {
            Ok(stream) => found.push(Listening { name: name_of(&path), stream }),
            Err(error) if has_no_listener(&error) => {}
            Err(error) => return Err(SocketError::at(&path)(error)),
        }
    }
    Ok(found)
}

fn connect(path: &Path) -> io::Result<UnixStream> {
    let stream = at(path, |path| std::os::unix::net::UnixStream::connect(path))?;
    stream.set_nonblocking(true)?;
    UnixStream::from_std(stream)
}

impl Listening {
    /// Sends the request to load jobs.toml again, and waits for the answer.
    pub(crate) async fn reload(self) -> io::Result<ReloadAnswer> {
        let (_, line) = self.ask(RELOAD, "it ended meanwhile").await?;
        Ok(serde_json::from_str(&line)?)
    }

    /// Sends the request to drain. Returns once the replica has confirmed it.
    pub(crate) async fn drain(self) -> io::Result<Draining> {
        let (stream, _) = self.ask(DRAIN, "it ended, or is of an earlier release").await?;
        Ok(Draining(stream))
    }

    /// Sends a line, and reads the first line of the answer. `silent` is the text of the error if none comes.
    async fn ask(self, request: &str, silent: &'static str) -> io::Result<(BufReader<UnixStream>, String)> {
        let mut stream = BufReader::new(self.stream);
        stream.write_all(format!("{request}\n").as_bytes()).await?;
        let mut line = String::new();
        stream.read_line(&mut line).await?;
        if line.is_empty() {
            return Err(io::Error::new(ErrorKind::UnexpectedEof, silent));
        }
        Ok((stream, line))
    }
}

/// A replica that drains.
#[derive(Debug)]
pub(crate) struct Draining(BufReader<UnixStream>);

impl Draining {
    /// Waits until the replica has ended.
    pub(crate) async fn ended(mut self) {
        let mut more = String::new();
        // The end of the connection, or an error, shows that the replica has ended.
        while self.0.read_line(&mut more).await.is_ok_and(|read| read > 0) {}
    }
}
