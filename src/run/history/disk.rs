//! The disk of the state directory, which may hang: a dead network mount, a device that does not answer. No job waits
//! for it longer than the given patience, and a disk that hangs takes a few threads, not one for each run.

use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::Semaphore;
use tokio::time::{Instant, timeout_at};

/// How many pieces of work are done at the same time.
const AT_A_TIME: usize = 4;

/// The patience for work that no caller waits for.
const UNWATCHED: Duration = Duration::from_secs(10);

/// One disk; clones share its state.
#[derive(Clone)]
pub(crate) struct Disk {
    /// How many pieces of work were given up and are still running.
    hanging: Arc<AtomicUsize>,
    turns: Arc<Semaphore>,
    /// Work that was not begun. It may hold open files, and closing them may hang as well.
    refused: Arc<Mutex<Vec<Box<dyn Send>>>>,
}

impl Default for Disk {
    fn default() -> Self {
        let turns = Arc::new(Semaphore::new(AT_A_TIME));
        Self { hanging: Arc::default(), turns, refused: Arc::default() }
    }
}

impl std::fmt::Debug for Disk {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Disk").field("hanging", &self.hanging).finish_non_exhaustive()
    }
}

impl Disk {
    /// Whether work was given up and still hangs.
    pub(crate) fn is_hanging(&self) -> bool {
        self.hanging.load(Ordering::Relaxed) > 0
    }

    /// Does this work off the runtime, and returns its result. After `patience` the work is given up with an error
    /// and continues in the background; `late` then receives its result. While given-up work hangs, no other work is
    /// begun, and the same error is returned at once.
    pub(crate) async fn work<T: Send + 'static>(
        &self,
        patience: Duration,
        work: impl FnOnce() -> io::Result<T> + Send + 'static,
        late: impl FnOnce(T) + Send + 'static,
    ) -> io::Result<T> {
        let deadline = Instant::now() + patience;
        if self.hanging.load(Ordering::Relaxed) > 0 {
            return self.refuse(work);
        }
        let Ok(Ok(turn)) = timeout_at(deadline, Arc::clone(&self.turns).acquire_owned()).await else {
            return self.refuse(work);
        };
        let mut working = tokio::task::spawn_blocking(move || {
            let done = work();
            drop(turn);
            done
        });
        if let Ok(done) = timeout_at(deadline, &mut working).await {
            self.clear();
            return done.expect("work on files neither panics nor is it aborted");
        }
        self.hanging.fetch_add(1, Ordering::Relaxed);
        let disk = self.clone();
        tokio::spawn(async move {
            // An error here means that it was aborted with the runtime, at the end of the process.
            let done = working.await;
            disk.hanging.fetch_sub(1, Ordering::Relaxed);
            disk.clear();
            if let Ok(Ok(done)) = done {
                tokio::task::spawn_blocking(move || late(done));
            }
        });
        Err(hangs())
    }

    /// Closes a file that is not needed any more, off the runtime: on a network mount this may take as long as a
    /// write.
    pub(crate) fn close_in_background(&self, file: impl Send + 'static) {
        let disk = self.clone();
        tokio::spawn(async move {
            let close = move || {
                drop(file);
                Ok(())
            };
            // Closed or given up: no caller waits for it.
            let _ = disk.work(UNWATCHED, close, drop).await;
        });
    }

    fn refuse<T>(&self, work: impl Send + 'static) -> io::Result<T> {
        self.refused.lock().unwrap_or_else(PoisonError::into_inner).push(Box::new(work));
        Err(hangs())
    }

    /// The disk answers again: drops the refused work, with its files.
    fn clear(&self) {
        let refused = std::mem::take(&mut *self.refused.lock().unwrap_or_else(PoisonError::into_inner));
        if !refused.is_empty() {
            tokio::task::spawn_blocking(move || drop(refused));
        }
    }
}

fn hangs() -> io::Error {
    io::Error::new(io::ErrorKind::TimedOut, "the disk does not answer")
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    const PATIENCE: Duration = Duration::from_millis(20);
    const LIMIT: Duration = Duration::from_secs(60);

    #[tokio::test]
    async fn what_hangs_is_given_up_and_nothing_else_begun_until_the_disk_answers() {
        let disk = Disk::default();
        let (answer, awaited) = mpsc::channel::<u32>();
        let (tell, mut told) = tokio::sync::mpsc::unbounded_channel();
        let hangs = move || Ok(awaited.recv().expect("the test answers"));
        let gone = disk.work(PATIENCE, hangs, move |late| tell.send(late).expect("the test listens")).await;
        assert_eq!(gone.map_err(|error| error.kind()), Err(io::ErrorKind::TimedOut));
        let refused = disk.work(LIMIT, || Ok(()), drop).await;
        assert_eq!(refused.map_err(|error| error.kind()), Err(io::ErrorKind::TimedOut));
        answer.send(7).expect("the work waits");
        assert_eq!(told.recv().await, Some(7));
        assert_eq!(disk.work(LIMIT, || Ok(8), drop).await.ok(), Some(8));
    }

    #[tokio::test]
    async fn an_error_of_a_disk_that_answers_is_the_works_own() {
        let full = || Err::<(), _>(io::Error::from(io::ErrorKind::StorageFull));
        let error = Disk::default().work(LIMIT, full, drop).await.map_err(|error| error.kind());
        assert_eq!(error, Err(io::ErrorKind::StorageFull));
    }
}
