//! The disk of the state directory, which may hang: a dead network mount, a device that does not answer. Nothing that a
//! job needs waits for it longer than it says, and what hangs takes one thread, not one for each run.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::time::timeout;

/// One disk; clones share what is known of it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Disk {
    /// Pieces of work that were given up, and are still under way.
    hanging: Arc<AtomicUsize>,
}

impl Disk {
    /// Does this work off the runtime, and returns what came of it. After `patience` it is given up with an error, and
    /// goes on by itself: `late` is then done with what comes of it. While work hangs, no other is begun, and the same
    /// error is returned at once.
    pub(crate) async fn work<T: Send + 'static>(
        &self,
        patience: Duration,
        work: impl FnOnce() -> io::Result<T> + Send + 'static,
        late: impl FnOnce(T) + Send + 'static,
    ) -> io::Result<T> {
        if self.hanging.load(Ordering::Relaxed) > 0 {
            return Err(hangs());
        }
        let mut working = tokio::task::spawn_blocking(work);
        if let Ok(done) = timeout(patience, &mut working).await {
            return done.expect("work on files neither panics nor is it aborted");
        }
        self.hanging.fetch_add(1, Ordering::Relaxed);
        let hanging = Arc::clone(&self.hanging);
        tokio::spawn(async move {
            // Aborted with the runtime, at the end of the process.
            let done = working.await;
            hanging.fetch_sub(1, Ordering::Relaxed);
            if let Ok(Ok(done)) = done {
                tokio::task::spawn_blocking(move || late(done));
            }
        });
        Err(hangs())
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
