//! An engine in memory, for tests: it loses answers, goes back to older cells, and lets others in between.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use futures_util::future::ready;
use tokio::sync::mpsc;

use crate::job::JobName;
use crate::lease::Era;
use crate::store::{
    Answered, Concern, Feed, FeedId, FeedLine, KEPT_ENTRIES, Marker, Slip, SlipLoad, StoreError,
};
use crate::time::UtcMillis;

use super::{
    CellSwap, Channel, ConfirmedBeat, Engine, Exchanged, JobCell, Note, NoteKind, NumberedEntry, Put,
    ReadCells, RequestLane, ServerMoment,
};

/// What the server keeps.
#[derive(Debug, Clone, Default)]
pub(super) struct Kept {
    pub(super) cells: BTreeMap<JobName, JobCell>,
    pub(super) entries: BTreeMap<JobName, Vec<NumberedEntry>>,
    notes: Vec<(NoteKind, Note, Option<u64>)>,
}

impl Kept {
    fn has(&self, beat: &ConfirmedBeat) -> bool {
        self.notes.iter().any(|(folder, note, number)| {
            *folder == NoteKind::Nodes && note.name == beat.node.as_str() && *number >= Some(beat.count)
        })
    }
}

/// A server, and what goes wrong with it.
#[derive(Debug)]
pub(super) struct MemoryServer {
    pub(super) kept: Kept,
    pub(super) moment: ServerMoment,
    /// How many cells were read.
    pub(super) reads: usize,
    /// How many swaps were sent.
    pub(super) swaps: usize,
    /// What happens right before the next swap arrives.
    pub(super) before_swap: Option<fn(&mut MemoryServer)>,
    /// Whether the answer to the next swap is lost.
    pub(super) loses_answer: bool,
}

/// Clones share the server.
#[derive(Debug, Clone)]
pub(super) struct MemoryEngine(Arc<Mutex<MemoryServer>>);

impl MemoryEngine {
    pub(super) fn new(now: UtcMillis) -> Self {
        let moment = ServerMoment { now, era: Era("e1".into()) };
        let server = MemoryServer {
            kept: Kept::default(),
            moment,
            reads: 0,
            swaps: 0,
            before_swap: None,
            loses_answer: false,
        };
        Self(Arc::new(Mutex::new(server)))
    }

    pub(super) fn server(&self) -> MutexGuard<'_, MemoryServer> {
        self.0.lock().expect("no test panics with it")
    }
}

impl MemoryServer {
    fn put(&mut self, folder: NoteKind, name: &str, text: &str, number: Option<u64>) {
        self.kept.notes.retain(|(of, note, _)| *of != folder || note.name != name);
        let note = Note { name: name.to_owned(), at: self.moment.now, text: text.to_owned() };
        self.kept.notes.push((folder, note, number));
    }

    fn write(&mut self, swap: &CellSwap) -> Option<UtcMillis> {
        let version = self.kept.cells.get(&swap.job).map(|cell| cell.version);
        if !swap.conditions.hold(version, &self.moment.server()) {
            return None;
        }
        self.kept.cells.insert(swap.job.clone(), swap.cell.clone());
        let entries = self.kept.entries.entry(swap.job.clone()).or_default();
        entries.retain(|entry| !swap.removed.contains(&entry.number));
        for new in &swap.entries {
            entries.retain(|entry| entry.number != new.number);
            entries.push(new.clone());
        }
        let surplus = entries.len().saturating_sub(KEPT_ENTRIES);
        entries.drain(..surplus);
        Some(self.moment.now)
    }
}

impl Engine for MemoryEngine {
    fn ready(&self) -> Answered<'_, ()> {
        Box::pin(ready(Ok(())))
    }

    fn read<'a>(&'a self, _: RequestLane, jobs: &'a [JobName]) -> Answered<'a, ReadCells> {
        let mut server = self.server();
        server.reads += jobs.len();
        let cells = jobs.iter().map(|job| Ok(server.kept.cells.get(job).cloned())).collect();
        Box::pin(ready(Ok((cells, server.moment.clone()))))
    }

    fn swap<'a>(
        &'a self,
        _: RequestLane,
        swaps: &'a [CellSwap],
        beat: Option<&'a ConfirmedBeat>,
    ) -> Answered<'a, Vec<Option<UtcMillis>>> {
        let mut server = self.server();
        server.swaps += swaps.len();
        if let Some(happens) = server.before_swap.take() {
            happens(&mut server);
        }
        let has_beat = beat.is_none_or(|beat| server.kept.has(beat));
        let written = swaps.iter().map(|swap| if has_beat { server.write(swap) } else { None }).collect();
        let is_lost = std::mem::take(&mut server.loses_answer);
        let lost = || Err(StoreError::Unknown("the answer was lost".into()));
        Box::pin(ready(if is_lost { lost() } else { Ok(written) }))
    }

    fn entries<'a>(
        &'a self,
        _: RequestLane,
        jobs: &'a [JobName],
        newest: usize,
    ) -> Answered<'a, Vec<Result<Vec<NumberedEntry>, StoreError>>> {
        let server = self.server();
        let of_job = |job: &JobName| {
            let all = server.kept.entries.get(job).map(Vec::as_slice).unwrap_or_default();
            Ok(all[all.len().saturating_sub(newest)..].to_vec())
        };
        Box::pin(ready(Ok(jobs.iter().map(of_job).collect())))
    }

    fn exchange<'a>(
        &'a self,
        puts: &'a [Put],
        _: Option<UtcMillis>,
        folders: &'a [NoteKind],
    ) -> Answered<'a, Exchanged> {
        let mut server = self.server();
        let list = |folder: &NoteKind| {
            let notes = server.kept.notes.iter().filter(|(of, ..)| of == folder);
            notes.map(|(_, note, _)| note.clone()).collect()
        };
        let lists = folders.iter().map(list).collect();
        for Put { folder, name, text, number } in puts {
            server.put(*folder, name, text, *number);
        }
        Box::pin(ready(Ok((lists, server.moment.clone()))))
    }

    fn replace_marker<'a>(&'a self, former: Option<&'a Marker>, marker: &'a Marker) -> Answered<'a, ()> {
        let mut server = self.server();
        let present = server.kept.notes.iter().find(|(folder, ..)| *folder == NoteKind::Marker);
        if present.is_none_or(|(_, note, _)| Some(&note.text) == former.map(|former| &former.0)) {
            server.put(NoteKind::Marker, "marker", &marker.0, None);
        }
        Box::pin(ready(Ok(())))
    }

    fn append<'a>(&'a self, _: Feed, _: &'a str, _: &'a str) -> Answered<'a, ()> {
        unreachable!("no test appends a line")
    }

    fn newest(&self, _: Feed, _: Option<FeedId>, _: usize) -> Answered<'_, Vec<FeedLine>> {
        unreachable!("no test reads lines")
    }

    fn leave<'a>(
        &'a self,
        _: &'a Slip,
        _: &'a str,
        _: Duration,
        _: &'a str,
    ) -> Answered<'a, Option<SlipLoad>> {
        unreachable!("no test leaves a text")
    }

    fn collect<'a>(&'a self, _: &'a Slip) -> Answered<'a, Vec<String>> {
        unreachable!("no test collects texts")
    }

    fn listen<T: Send + 'static>(&self, _: Channel, _: fn(&str) -> Option<T>) -> mpsc::Receiver<T> {
        mpsc::channel(1).1
    }

    fn inspect(&self, _: bool) -> Answered<'_, Vec<Concern>> {
        Box::pin(ready(Ok(Vec::new())))
    }

    fn label(&self) -> String {
        "memory".to_owned()
    }
}
