//! The thread that owns the SQLite connection. Requests that write and arrive together share one transaction and one sync;
//! those that only read wait for no other process.

use std::path::PathBuf;
use std::sync::mpsc;
use std::time::Duration;

use tokio::sync::oneshot;
use tokio::time::timeout;

use crate::job::{ClusterName, format_duration};
use crate::lease::{Era, LeaseInstant, Memory, Server};
use crate::store::StoreError;
use crate::time::Clock;

use super::file::{File, Patience, refused};
use super::tables::{TableError, Tables};

/// At most this many requests share one transaction; more would only make the first wait longer.
const BATCH: usize = 256;

/// The handle of the thread, which ends when this is dropped.
pub(super) struct Worker {
    asks: mpsc::Sender<Box<dyn Ask>>,
    /// How long to wait for an answer before the request is given up.
    pub(super) patience: Duration,
}

/// What the thread needs.
pub(super) struct Desk {
    pub(super) path: PathBuf,
    pub(super) cluster: ClusterName,
    pub(super) clock: Box<dyn Clock>,
    /// How far this process's boot clock is ahead of the machine's own, in milliseconds; 0 unless it runs in a time
    /// namespace.
    pub(super) lead: i64,
    pub(super) era: Era,
    pub(super) patience: Patience,
}

/// A request under way: performed inside a transaction, answered after its commit.
trait Ask: Send {
    fn access(&self) -> Access;

    /// Performs the request; an error of the file itself ends the whole transaction.
    fn perform(&mut self, tables: &Tables<'_>, server: &Server) -> Result<(), rusqlite::Error>;

    /// Answers with the result, or with the error if the transaction failed.
    fn answer(self: Box<Self>, committed: Result<(), StoreError>);
}

/// What a request does with the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Access {
    /// It reads, and waits for no process that writes.
    Read,
    /// It writes, while no other process does.
    Write,
}

struct Question<T, F> {
    access: Access,
    perform: Option<F>,
    result: Option<Result<T, StoreError>>,
    reply: oneshot::Sender<Result<T, StoreError>>,
}

impl<T, F> Ask for Question<T, F>
where
    T: Send,
    F: FnOnce(&Tables<'_>, &Server) -> Result<T, TableError> + Send,
{
    fn access(&self) -> Access {
        self.access
    }

    fn perform(&mut self, tables: &Tables<'_>, server: &Server) -> Result<(), rusqlite::Error> {
        // A caller that gave up asks again, or has dropped the tick: a late grant would hold the lock for no run.
        let Some(perform) = self.perform.take().filter(|_| !self.reply.is_closed()) else { return Ok(()) };
        self.result = Some(match perform(tables, server) {
            Ok(value) => Ok(value),
            Err(TableError::Sql(error)) => return Err(error),
            Err(error) => Err(error.into()),
        });
        Ok(())
    }

    fn answer(self: Box<Self>, committed: Result<(), StoreError>) {
        let result = match (committed, self.result) {
            (Ok(()), Some(result)) => result,
            (Ok(()), None) => Err(StoreError::NotSent("local store: the request was not performed".into())),
            (Err(error), _) => Err(error),
        };
        // The caller may have given up.
        let _ = self.reply.send(result);
    }
}

impl Worker {
    /// Starts the thread.
    pub(super) fn start(desk: Desk) -> Result<Self, StoreError> {
        let (asks, inbox) = mpsc::channel::<Box<dyn Ask>>();
        let patience = desk.patience.answer;
        std::thread::Builder::new()
            .name("local-store".to_owned())
            .spawn(move || serve(&desk, &inbox))
            .map_err(|error| {
                StoreError::NotSent(format!("local store: cannot start its thread: {error}").into())
            })?;
        Ok(Self { asks, patience })
    }

    /// Performs `perform` inside a transaction that only reads.
    pub(super) async fn read<T, F>(&self, perform: F) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: FnOnce(&Tables<'_>, &Server) -> Result<T, TableError> + Send + 'static,
    {
        self.ask_within(self.patience, Access::Read, perform).await
    }

    /// Performs `perform` inside a transaction that writes, and waits for its commit.
    pub(super) async fn write<T, F>(&self, perform: F) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: FnOnce(&Tables<'_>, &Server) -> Result<T, TableError> + Send + 'static,
    {
        self.ask_within(self.patience, Access::Write, perform).await
    }

    /// Performs `perform` inside a transaction, and waits no longer than `limit`.
    pub(super) async fn ask_within<T, F>(
        &self,
        limit: Duration,
        access: Access,
        perform: F,
    ) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: FnOnce(&Tables<'_>, &Server) -> Result<T, TableError> + Send + 'static,
    {
        let (reply, answer) = oneshot::channel();
        let gone = || StoreError::NotSent("local store: its thread has ended".into());
        self.asks
            .send(Box::new(Question { access, perform: Some(perform), result: None, reply }))
            .map_err(|_| gone())?;
        match timeout(limit, answer).await {
            Ok(Ok(result)) => result,
            Ok(Err(_)) => Err(StoreError::Unknown("local store: its thread has ended".into())),
            Err(_) => Err(StoreError::Unknown(
                format!(
                    "local store: no answer within {}; is the disk stuck, or another process in the file?",
                    format_duration(limit)
                )
                .into(),
            )),
        }
    }
}

fn serve(desk: &Desk, inbox: &mpsc::Receiver<Box<dyn Ask>>) {
    let mut file = None;
    while let Ok(first) = inbox.recv() {
        let mut batch = vec![first];
        batch.extend(inbox.try_iter().take(BATCH - 1));
        let (reads, writes): (Vec<_>, Vec<_>) =
            batch.into_iter().partition(|ask| ask.access() == Access::Read);
        // Reads first: they wait for no other process.
        for (access, mut asks) in [(Access::Read, reads), (Access::Write, writes)] {
            if asks.is_empty() {
                continue;
            }
            let done = at_hand(&mut file, desk).and_then(|file| transact(desk, file, access, &mut asks));
            for ask in asks {
                ask.answer(done.clone());
            }
        }
    }
}

/// Returns the file that other replicas find. Opens it again if it is not open, or was deleted.
fn at_hand<'a>(file: &'a mut Option<File>, desk: &Desk) -> Result<&'a File, StoreError> {
    if file.as_ref().is_none_or(|file| !file.is_still_there()) {
        *file = None;
        *file = Some(File::open(&desk.path, desk.patience)?);
    }
    Ok(file.as_ref().expect("it was just opened"))
}

fn transact(desk: &Desk, file: &File, access: Access, asks: &mut [Box<dyn Ask>]) -> Result<(), StoreError> {
    let transaction = match access {
        Access::Read => file.begin_to_read().map_err(refused)?,
        Access::Write => file.begin_to_write(desk.patience)?,
    };
    // The clocks are read once this process holds the file's lock: no decision uses an earlier time than the one before it.
    let server = desk.server();
    let tables = Tables { connection: &transaction, cluster: &desk.cluster };
    for ask in asks {
        // An error drops the transaction, which rolls it back.
        ask.perform(&tables, &server).map_err(refused)?;
    }
    transaction.commit().map_err(|error| StoreError::Unknown(format!("local store: commit: {error}").into()))
}

impl Desk {
    fn server(&self) -> Server {
        let boot = i64::try_from(self.clock.boot().0.as_millis()).unwrap_or(i64::MAX);
        Server {
            now: self.clock.utc(),
            lease_now: LeaseInstant(boot.saturating_sub(self.lead)),
            era: self.era.clone(),
            memory: Memory::Durable,
        }
    }
}
