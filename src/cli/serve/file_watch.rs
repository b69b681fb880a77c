//! Notices a change of jobs.toml: an editor renames a new file into its place, a symbolic link is changed (as in a ConfigMap),
//! or the file is overwritten. It watches the folder, because a watch of the file would end with that file. It also reads the
//! file every 10 s, for file systems that report no changes.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::io;
use std::os::fd::{AsFd, AsRawFd, RawFd};
use std::path::{Path, PathBuf};
use std::time::Duration;

use nix::errno::Errno;
use nix::sys::inotify::{AddWatchFlags, InitFlags, Inotify, InotifyEvent, WatchDescriptor};
use tokio::io::unix::AsyncFd;
use tokio::sync::mpsc;
use tokio::time::{sleep, timeout};
use tracing::warn;

use crate::config::{LONGEST, read_regular};

use super::reloader::ReloadRequest;

/// A changed file is loaded once it has been the same for this long: an editor may still be writing it.
const QUIET: Duration = Duration::from_millis(150);

/// A file that is being written for longer than this many times `QUIET` is loaded at a later check.
const MAX_LOOKS: usize = 20;

/// How often the file is read even without an event in the folder.
const LOOK_EVERY: Duration = Duration::from_secs(10);

/// Events after which the file may be a different one. `MODIFY` is left out: a writer closes the file in the end.
const MAKES_ANOTHER: AddWatchFlags = AddWatchFlags::IN_CLOSE_WRITE
    .union(AddWatchFlags::IN_MOVED_TO)
    .union(AddWatchFlags::IN_CREATE)
    .union(AddWatchFlags::IN_DELETE)
    .union(AddWatchFlags::IN_ATTRIB)
    .union(AddWatchFlags::IN_DELETE_SELF)
    .union(AddWatchFlags::IN_MOVE_SELF);

/// A watch of one file.
pub(crate) struct FileWatch {
    path: PathBuf,
    /// Its bytes when it was last found unchanged for `QUIET`; `None` if it could not be read.
    seen: Option<Vec<u8>>,
    folders: BTreeMap<PathBuf, WatchDescriptor>,
    reload_requests: mpsc::Sender<ReloadRequest>,
    /// Whether it was logged that a folder cannot be watched.
    has_complained: bool,
}

/// The kernel's queue of events, in a form that the runtime can wait for.
struct InotifyQueue(Inotify);

impl AsRawFd for InotifyQueue {
    fn as_raw_fd(&self) -> RawFd {
        self.0.as_fd().as_raw_fd()
    }
}

impl FileWatch {
    /// Returns a watch of the file that was loaded with this text.
    pub(crate) fn new(path: PathBuf, text: &str, reload_requests: mpsc::Sender<ReloadRequest>) -> Self {
        Self {
            path,
            seen: Some(text.as_bytes().to_vec()),
            folders: BTreeMap::new(),
            reload_requests,
            has_complained: false,
        }
    }

    /// Watches until the receiver of the requests is gone.
    pub(crate) async fn run(mut self) {
        let queue = open_queue();
        let queue = queue.inspect_err(|error| self.complain(error)).ok();
        loop {
            // Before the file is read: every later change causes an event.
            self.watch_folders(queue.as_ref());
            if self.is_another().await && self.reload_requests.send(ReloadRequest::Noticed).await.is_err() {
                return;
            }
            // After an event or the timeout, the file is read again.
            let _ = timeout(LOOK_EVERY, self.hear(queue.as_ref())).await;
        }
    }

    fn complain(&mut self, error: &dyn std::fmt::Display) {
        if std::mem::replace(&mut self.has_complained, true) {
            return;
        }
        let file = self.path.display();
        let every_s = LOOK_EVERY.as_secs();
        warn!(%file, %error, every_s, "cannot watch the folder of the jobs file: the file is checked now and then");
    }

    /// Watches the folder of the file, and the folder of the file that it links to.
    fn watch_folders(&mut self, queue: Option<&AsyncFd<InotifyQueue>>) {
        let Some(queue) = queue.map(|queue| &queue.get_ref().0) else { return };
        let target = std::fs::canonicalize(&self.path).ok();
        let folders: Vec<PathBuf> =
            [Some(self.path.clone()), target].into_iter().flatten().map(folder_of).collect();
        let gone = std::mem::take(&mut self.folders);
        for folder in &folders {
            match queue.add_watch(folder, MAKES_ANOTHER | AddWatchFlags::IN_ONLYDIR) {
                Ok(watch) => drop(self.folders.insert(folder.clone(), watch)),
                // The folder may be being replaced.
                Err(Errno::ENOENT | Errno::ENOTDIR) => {}
                Err(error) => self.complain(&error),
            }
        }
        for watch in gone.values().filter(|watch| !self.folders.values().any(|kept| kept == *watch)) {
            // The kernel has removed the watch of a deleted folder already.
            let _ = queue.rm_watch(*watch);
        }
    }

    /// Waits for an event that may concern the file.
    async fn hear(&self, queue: Option<&AsyncFd<InotifyQueue>>) {
        let Some(queue) = queue else { return std::future::pending().await };
        // Through a link, any event may change the file that it leads to.
        let is_link = std::fs::symlink_metadata(&self.path).is_ok_and(|file| file.is_symlink());
        let mut has_renewed_lately = false;
        while !has_renewed_lately {
            let Ok(mut ready) = queue.readable().await else { return std::future::pending().await };
            // However many events the folder has, the file is not read more often than this.
            sleep(QUIET).await;
            loop {
                match queue.get_ref().0.read_events() {
                    Ok(events) => {
                        has_renewed_lately |= is_link || events.iter().any(|event| self.concerns(event))
                    }
                    Err(_) => break ready.clear_ready(),
                }
            }
        }
    }

    fn concerns(&self, event: &InotifyEvent) -> bool {
        event.name.as_deref().is_none_or(|name| Some(name) == self.path.file_name() || is_of_volume(name))
    }

    /// Whether the file has changed, and is no longer being written.
    async fn is_another(&mut self) -> bool {
        let mut before = read(&self.path).await;
        if before == self.seen {
            return false;
        }
        for _ in 0..MAX_LOOKS {
            sleep(QUIET).await;
            let now = read(&self.path).await;
            if now == before {
                return std::mem::replace(&mut self.seen, now) != self.seen;
            }
            before = now;
        }
        false
    }
}

fn open_queue() -> io::Result<AsyncFd<InotifyQueue>> {
    let queue = Inotify::init(InitFlags::IN_CLOEXEC | InitFlags::IN_NONBLOCK)?;
    #[expect(
        deprecated,
        reason = "its successor asks for a promise that this type keeps: the fd is the queue's own and never changes"
    )]
    AsyncFd::new(InotifyQueue(queue))
}

/// Whether the name is one like `..data`: a ConfigMap swaps this link, through which its files are reached.
fn is_of_volume(name: &OsStr) -> bool {
    name.as_encoded_bytes().starts_with(b"..")
}

fn folder_of(path: PathBuf) -> PathBuf {
    match path.parent() {
        Some(folder) if folder != Path::new("") => folder.to_owned(),
        _ => PathBuf::from("."),
    }
}

/// Returns the contents of the path, if it is a file that can be a jobs.toml.
async fn read(path: &Path) -> Option<Vec<u8>> {
    let path = path.to_owned();
    let read = tokio::task::spawn_blocking(move || read_regular(&path, LONGEST));
    read.await.ok()?.ok().map(|(_, bytes)| bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The longest time that a test waits for anything.
    const DEADLINE: Duration = Duration::from_secs(60);

    struct Scene {
        folder: tempfile::TempDir,
        reload_requests: mpsc::Receiver<ReloadRequest>,
        watching: tokio::task::JoinHandle<()>,
    }

    impl Scene {
        /// Returns a watch of `jobs.toml` in a folder, after `lay` has put that file there with the text `1`.
        fn new(lay: impl FnOnce(&Path)) -> Self {
            let folder = tempfile::tempdir().expect("a folder");
            lay(folder.path());
            let (reload_requests, heard) = mpsc::channel(16);
            let watch = FileWatch::new(folder.path().join("jobs.toml"), "1", reload_requests);
            Self { folder, reload_requests: heard, watching: tokio::spawn(watch.run()) }
        }

        fn path(&self, name: &str) -> PathBuf {
            self.folder.path().join(name)
        }

        async fn is_noticed(&mut self) {
            let order = timeout(DEADLINE, self.reload_requests.recv()).await.expect("in time");
            assert!(matches!(order, Some(ReloadRequest::Noticed)));
        }
    }

    impl Drop for Scene {
        fn drop(&mut self) {
            self.watching.abort();
        }
    }

    fn write(path: PathBuf, text: &str) {
        std::fs::write(path, text).expect("a writable folder");
    }

    fn link(to: &str, path: PathBuf) {
        std::os::unix::fs::symlink(to, path).expect("a folder that holds links");
    }

    #[tokio::test]
    async fn a_file_written_over_or_renamed_into_its_place_is_noticed_once() {
        let mut scene = Scene::new(|folder| write(folder.join("jobs.toml"), "1"));
        write(scene.path("jobs.toml"), "2");
        scene.is_noticed().await;
        write(scene.path("jobs.toml.new"), "3");
        std::fs::rename(scene.path("jobs.toml.new"), scene.path("jobs.toml")).expect("renamed");
        scene.is_noticed().await;
        // A file with the same contents, and a log in the same folder: no change.
        write(scene.path("jobs.toml"), "3");
        write(scene.path("app.log"), "x");
        write(scene.path("jobs.toml"), "4");
        scene.is_noticed().await;
        assert!(scene.reload_requests.try_recv().is_err());
    }

    #[tokio::test]
    async fn a_link_that_leads_elsewhere_is_noticed() {
        let mut scene = Scene::new(|folder| {
            for (version, text) in [("..1", "1"), ("..2", "2"), ("..3", "3")] {
                std::fs::create_dir(folder.join(version)).expect("a folder");
                write(folder.join(version).join("jobs.toml"), text);
            }
            link("..1", folder.join("..data"));
            link("..data/jobs.toml", folder.join("jobs.toml"));
        });
        for version in ["..2", "..3"] {
            // As kubelet swaps the files of a ConfigMap.
            link(version, scene.path("..data_tmp"));
            std::fs::rename(scene.path("..data_tmp"), scene.path("..data")).expect("renamed");
            scene.is_noticed().await;
        }
        write(scene.path("..3/jobs.toml"), "4");
        scene.is_noticed().await;
    }

    #[tokio::test]
    async fn a_file_that_goes_and_comes_back_is_noticed() {
        let mut scene = Scene::new(|folder| write(folder.join("jobs.toml"), "1"));
        std::fs::remove_file(scene.path("jobs.toml")).expect("removed");
        scene.is_noticed().await;
        write(scene.path("jobs.toml"), "1");
        scene.is_noticed().await;
    }
}
