//! The sockets by which the commands of this machine reach its replicas: each replica listens on one in `STATE_DIR/replicas`,
//! which only its own user may enter. A request is one word in one line; the answer is one line of JSON.

use std::fs::{self, DirBuilder, File};
use std::io::{self, ErrorKind};
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;

use crate::cli::serve::reloader::ReloadRequest;
use crate::job::NodeName;

/// The longest path in bytes that is used directly. The kernel allows 107; a longer path is named through its open folder.
const MAX_PATH: usize = 100;

/// How long a caller may take to send its word.
const WORD_WITHIN: Duration = Duration::from_secs(5);

/// How many callers are answered at a time; the others wait.
const MOST_CALLERS: usize = 16;

/// Pause after a connection that could not be accepted.
const ACCEPT_AGAIN: Duration = Duration::from_millis(100);

/// The longest word, with its newline.
const MAX_WORD: u64 = 16;

/// The request to load jobs.toml again.
pub(crate) const RELOAD: &str = "reload";

/// The request to drain, and end.
pub(crate) const DRAIN: &str = "drain";

/// Returns the folder of the sockets.
pub(crate) fn folder_of(state_dir: &Path) -> PathBuf {
    state_dir.join("replicas")
}

/// A replica's socket, which is removed when this value is dropped.
#[derive(Debug)]
pub(crate) struct Control {
    path: PathBuf,
    listener: UnixListener,
}

impl Control {
    /// Starts to listen, and removes the sockets of replicas that were killed. Needs a running runtime.
    pub(crate) fn open(state_dir: &Path, node: &NodeName) -> Result<Self, SocketError> {
        let folder = folder_of(state_dir);
        DirBuilder::new()
            .recursive(true)
            .mode(0o750)
            .create(state_dir)
            .map_err(SocketError::at(state_dir))?;
        DirBuilder::new().recursive(true).mode(0o700).create(&folder).map_err(SocketError::at(&folder))?;
        for left in sockets(&folder)? {
            if is_left_behind(&left).map_err(SocketError::at(&left))? {
                // Another replica may have removed it already.
                let _ = fs::remove_file(&left);
            }
        }
        let id = std::process::id();
        let (making, path) = (folder.join(format!(".{id}")), folder.join(format!("{node}.{id}.sock")));
        let listener = listen(&making, &path).map_err(SocketError::at(&path))?;
        Ok(Self { path, listener })
    }

    /// Answers every caller, until the future is dropped. Requests to load go to `reload_requests`; `drain` starts to drain.
    pub(crate) async fn serve<D: Fn() + Clone + Send + 'static>(
        self,
        reload_requests: mpsc::Sender<ReloadRequest>,
        drain: D,
    ) {
        let mut callers = JoinSet::new();
        loop {
            tokio::select! {
                accepted = self.listener.accept(), if callers.len() < MOST_CALLERS => match accepted {
                    Ok((stream, _)) => drop(callers.spawn(answer(stream, reload_requests.clone(), drain.clone()))),
                    // Most likely out of file descriptors: the caller waits, too.
                    Err(_) => tokio::time::sleep(ACCEPT_AGAIN).await,
                },
                Some(_) = callers.join_next() => {}
            }
        }
    }
}

/// Returns a socket that listens as soon as it appears at `path`. It is created at `making`, and then renamed.
fn listen(making: &Path, path: &Path) -> io::Result<UnixListener> {
    // A killed process may have had the same id.
    fs::remove_file(making).or_else(|error| match error.kind() {
        ErrorKind::NotFound => Ok(()),
        _ => Err(error),
    })?;
    let listener = at(making, |making| std::os::unix::net::UnixListener::bind(making))?;
    listener.set_nonblocking(true)?;
    // A socket that does not listen yet could be mistaken for one that was left behind.
    fs::rename(making, path)?;
    UnixListener::from_std(listener)
}

/// An error of a socket or its folder.
#[derive(Debug, thiserror::Error)]
#[error("{}: {error}", .path.display())]
pub(crate) struct SocketError {
    path: PathBuf,
    error: io::Error,
}

impl SocketError {
    pub(crate) fn at(path: &Path) -> impl FnOnce(io::Error) -> Self {
        |error| Self { path: path.to_owned(), error }
    }
}

impl Drop for Control {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}

/// Answers one caller. One that sends nothing within `WORD_WITHIN`, or does not read, gets no answer.
async fn answer(
    stream: UnixStream,
    reload_requests: mpsc::Sender<ReloadRequest>,
    drain: impl Fn(),
) -> io::Result<()> {
    let mut stream = BufReader::new(stream);
    let mut word = String::new();
    let mut limited = (&mut stream).take(MAX_WORD);
    let read = limited.read_line(&mut word);
    tokio::time::timeout(WORD_WITHIN, read).await.map_err(io::Error::from).and_then(|read| read)?;
    match word.trim_end() {
        RELOAD => {}
        DRAIN => {
            drain();
            stream.write_all(b"draining\n").await?;
            // The connection ends with this replica.
            return std::future::pending().await;
        }
        _ => return Ok(()),
    }
    let (asker, answered) = oneshot::channel();
    let gone = |_| io::Error::from(ErrorKind::BrokenPipe);
    reload_requests
        .send(ReloadRequest::Asked(asker))
        .await
        .map_err(|_| io::Error::from(ErrorKind::BrokenPipe))?;
    let answer = answered.await.map_err(gone)?;
    let mut line = serde_json::to_vec(&answer)?;
    line.push(b'\n');
    stream.write_all(&line).await
}

/// Returns the sockets in the folder, by name.
pub(crate) fn sockets(folder: &Path) -> Result<Vec<PathBuf>, SocketError> {
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries,
    };
    let paths =
        entries.and_then(|entries| entries.map(|entry| Ok(entry?.path())).collect::<io::Result<Vec<_>>>());
    let paths = paths.map_err(SocketError::at(folder))?;
    let mut sockets: Vec<_> = paths
        .into_iter()
        .filter(|path| path.extension().is_some_and(|extension| extension == "sock"))
        .collect();
    sockets.sort();
    Ok(sockets)
}

/// Returns the replica's name: `n-1` of `n-1.4711.sock`.
pub(crate) fn name_of(path: &Path) -> String {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    stem.rsplit_once('.').map_or(stem.clone(), |(name, _)| name.to_owned())
}

fn is_left_behind(path: &Path) -> io::Result<bool> {
    match at(path, |path| std::os::unix::net::UnixStream::connect(path)) {
        Ok(_) => Ok(false),
        Err(error) => Ok(has_no_listener(&error)),
    }
}

pub(crate) fn has_no_listener(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::ConnectionRefused | ErrorKind::NotFound)
}

/// Calls `act` with a path of the socket that is short enough for the kernel.
pub(crate) fn at<T>(path: &Path, act: impl FnOnce(&Path) -> io::Result<T>) -> io::Result<T> {
    let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else { return act(path) };
    if path.as_os_str().as_bytes().len() <= MAX_PATH {
        return act(path);
    }
    let folder = File::open(folder)?;
    act(&Path::new(&format!("/proc/self/fd/{}", folder.as_raw_fd())).join(name))
}

#[cfg(test)]
mod tests {
    use crate::cli::serve::control::client::{Listening, listening};
    use crate::cli::serve::reloader::{ReloadAnswer, ReloadEnd};

    use super::*;

    fn node() -> NodeName {
        NodeName::parse("n-1").expect("a name")
    }

    /// Answers every request with its number.
    async fn obey(mut reload_requests: mpsc::Receiver<ReloadRequest>) {
        let mut number = 0;
        while let Some(ReloadRequest::Asked(asker)) = reload_requests.recv().await {
            number += 1;
            let answer = ReloadAnswer {
                node: node(),
                end: ReloadEnd::Loaded,
                said: number.to_string(),
                problems: String::new(),
            };
            let _ = asker.send(answer);
        }
    }

    #[tokio::test]
    async fn a_replica_is_found_however_long_the_path_and_one_that_was_killed_is_not() {
        let folder = tempfile::tempdir().expect("a folder");
        let state_dir = folder.path().join("x".repeat(200));
        assert_eq!(listening(&state_dir).expect("nothing there").len(), 0);

        let (reload_requests, to_obey) = mpsc::channel(1);
        let serving = tokio::spawn(
            Control::open(&state_dir, &node()).expect("a writable folder").serve(reload_requests, || {}),
        );
        tokio::spawn(obey(to_obey));
        let left = folder_of(&state_dir).join("killed.1.sock");
        drop(
            at(&left, |path| std::os::unix::net::UnixListener::bind(path))
                .expect("a socket that nobody listens on"),
        );

        for said in ["1", "2"] {
            let found = listening(&state_dir).expect("readable");
            let [one] = <[Listening; 1]>::try_from(found).expect("one replica");
            assert_eq!(one.name, "n-1");
            assert_eq!(one.reload().await.expect("an answer").said, said);
        }
        // The next start removes what replicas left behind.
        let another = Control::open(&state_dir, &NodeName::parse("n-2").expect("a name")).expect("writable");
        assert!(!left.exists());
        drop(another);
        serving.abort();
        assert!(serving.await.is_err_and(|error| error.is_cancelled()));
        assert_eq!(sockets(&folder_of(&state_dir)).expect("readable"), Vec::<PathBuf>::new());
    }
}
