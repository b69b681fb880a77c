//! What the stores recorded, over all that they forgot: every entry that was ever seen is kept here.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use crate::server::Server;
use crate::world::now_ms;

/// One entry of a job's history.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Recorded {
    pub(crate) job: String,
    pub(crate) tick_ms: i64,
    /// Stands for every tick above this one.
    pub(crate) after_ms: Option<i64>,
    pub(crate) count: Option<i64>,
    pub(crate) run: Option<String>,
    pub(crate) cause: String,
    pub(crate) outcome: String,
    pub(crate) reason: String,
    /// By the store's clock.
    pub(crate) started_ms: Option<i64>,
    /// Its name in the store.
    pub(crate) id: String,
}

impl Recorded {
    /// Whether it stands for this tick. Of a run by hand no tick of the schedule is told.
    pub(crate) fn covers(&self, tick_ms: i64) -> bool {
        self.cause != "manual" && self.begins_after() < tick_ms && tick_ms <= self.tick_ms
    }

    /// It stands for the ticks after this instant.
    pub(crate) fn begins_after(&self) -> i64 {
        self.after_ms.unwrap_or(self.tick_ms - 1)
    }

    /// Whether both tell of ticks that did not run from the same one on, and for the same reason.
    pub(crate) fn begins_as(&self, other: &Self) -> bool {
        let is_without_run = self.run.is_none() && other.run.is_none();
        let is_alike =
            (&self.job, &self.cause, self.verdict()) == (&other.job, &other.cause, other.verdict());
        is_without_run && is_alike && self.begins_after() == other.begins_after()
    }

    /// Whether an entry of before has given way to this one, of more ticks: it is not there any more.
    fn replaces(&self, before: &Self, present: &[Self]) -> bool {
        before.tick_ms < self.tick_ms
            && before.begins_as(self)
            && !present.iter().any(|entry| entry.id == before.id)
    }

    /// Whether it says what became of its ticks.
    pub(crate) fn is_definite(&self) -> bool {
        self.outcome != "unknown"
    }

    /// Its place in the store: the milliseconds and the number of its name.
    fn at(&self) -> (u64, u64) {
        let (ms, number) = self.id.split_once('-').expect("the name of an entry");
        (ms.parse().expect("milliseconds"), number.parse().expect("a number"))
    }

    /// When it was written, by the store's clock.
    pub(crate) fn written_ms(&self) -> i64 {
        i64::try_from(self.at().0).expect("milliseconds")
    }

    /// What tells it from all others of one store.
    pub(crate) fn name(&self) -> (String, String) {
        (self.job.clone(), self.id.clone())
    }

    /// `missed (late)`
    pub(crate) fn verdict(&self) -> String {
        if self.reason.is_empty() {
            self.outcome.clone()
        } else {
            format!("{} ({})", self.outcome, self.reason)
        }
    }
}

/// `1795731446074-1 missed (late) after 1795731446000 to 1795731484000`
impl fmt::Display for Recorded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let after = self.after_ms.map(|after| format!("after {after} ")).unwrap_or_default();
        write!(f, "{} {} {after}to {}", self.id, self.verdict(), self.tick_ms)
    }
}

/// Everything that was ever recorded.
#[derive(Debug, Default)]
pub(crate) struct Ledger {
    /// By job: each is read anew every few seconds, and compared with its own alone.
    entries: BTreeMap<String, BTreeSet<Recorded>>,
    /// Two records of one tick in the same store at the same time.
    contradictions: BTreeSet<[Recorded; 2]>,
    losses_ms: Vec<i64>,
    /// When each entry was first read.
    read_ms: BTreeMap<(String, String), i64>,
    /// Entries of ticks that had not come when they were seen.
    ahead: BTreeSet<(String, String)>,
    /// What each job's history had when it was last read, and how often a store had forgotten by then.
    latest: BTreeMap<String, (usize, Vec<Recorded>)>,
}

/// How a pair of records that can never be in one store is reported.
pub(crate) const CONTRADICTION: &str = "two records of a tick in one store";

/// A history of as many entries may have lost its oldest ones to newer ones.
const FULL: usize = 100;

/// Further ahead is a tick only by a clock that is wrong by hours.
const AHEAD_MS: i64 = 600_000;

type Row = (String, BTreeMap<String, String>);

impl Ledger {
    /// Takes in what a server has recorded now; at the same instant these keys are deleted, and made anew by this command, if any.
    pub(crate) fn collect(
        &mut self,
        server: &Server,
        jobs: &[&str],
        (doomed, instead): (&[String], Option<&str>),
    ) -> redis::RedisResult<()> {
        let mut asked = redis::pipe();
        asked.atomic();
        for job in jobs {
            asked.cmd("XRANGE").arg(format!("solocron:{{campaign/{job}}}:runs")).arg("-").arg("+");
        }
        if !doomed.is_empty() {
            asked.cmd("DEL").arg(doomed).ignore();
            for (key, command) in doomed.iter().zip(instead.into_iter().cycle()) {
                asked.cmd(command).arg(key).arg("text").ignore();
            }
        }
        let answers: Vec<Vec<Row>> = asked.query(&mut server.connect()?)?;
        let read_ms = now_ms();
        for (job, rows) in jobs.iter().zip(answers) {
            let present: Vec<Recorded> =
                rows.into_iter().map(|(id, fields)| recorded(job, id, &fields)).collect();
            let present = self.without_ahead(present);
            let gives_way = |entry: &Recorded| {
                entry.run.is_none() && present.iter().any(|newer| newer.replaces(entry, &present))
            };
            self.entries.entry((*job).to_owned()).or_default().retain(|entry| !gives_way(entry));
            self.take_back(job, &present);
            self.contradictions.extend(contradictions(&present));
            for entry in &present {
                self.read_ms.entry(entry.name()).or_insert(read_ms);
            }
            self.entries.entry((*job).to_owned()).or_default().extend(present);
            if !doomed.is_empty() {
                self.latest.remove(*job);
            }
        }
        Ok(())
    }

    /// Those that were not of the future when they were first seen: a clock was wrong then, and its ticks may be other ones'.
    fn without_ahead(&mut self, present: Vec<Recorded>) -> Vec<Recorded> {
        let latest = now_ms() + AHEAD_MS;
        let (ahead, present): (Vec<_>, Vec<_>) =
            present.into_iter().partition(|it| it.tick_ms > latest || self.ahead.contains(&it.name()));
        self.ahead.extend(ahead.iter().map(Recorded::name));
        present
    }

    /// Forgets the entries that the store itself took back: ticks that did not run are open again where a clock that was ahead
    /// had passed them. So they are if the store forgot the entry before the ticks came.
    fn take_back(&mut self, job: &str, present: &[Recorded]) {
        let read_ms = &self.read_ms;
        let was_ahead = |entry: &Recorded| {
            entry.run.is_none() && read_ms.get(&entry.name()).is_some_and(|read_ms| *read_ms < entry.tick_ms)
        };
        let is_gone = |entry: &Recorded| !present.iter().any(|it| it.id == entry.id);
        let entries = self.entries.entry(job.to_owned()).or_default();
        entries.retain(|entry| !(was_ahead(entry) && is_gone(entry)));
        let latest = (self.losses_ms.len(), present.to_vec());
        let Some((losses, before)) = self.latest.insert(job.to_owned(), latest) else { return };
        if losses == self.losses_ms.len() {
            let entries = self.entries.entry(job.to_owned()).or_default();
            for entry in taken_back(&before, present) {
                entries.remove(entry);
            }
        }
    }

    /// The store loses its memory about now.
    pub(crate) fn lost(&mut self, at_ms: i64) {
        self.losses_ms.push(at_ms);
    }

    /// Pairs of records that can never be in one store.
    pub(crate) fn contradictions(&self) -> Vec<[Recorded; 2]> {
        self.contradictions.iter().cloned().collect()
    }

    pub(crate) fn losses(&self) -> &[i64] {
        &self.losses_ms
    }

    /// When each entry was first read, by job and name.
    pub(crate) fn read_ms(&self) -> &BTreeMap<(String, String), i64> {
        &self.read_ms
    }

    pub(crate) fn entries(&self) -> Vec<Recorded> {
        self.entries.values().flatten().cloned().collect()
    }
}

/// The entries of a history that its store took back until it was read again. What goes by itself is older than all that stays,
/// or went with the store's memory. A store that takes entries back leaves those of runs alone: where one of these is gone as
/// well, the history was lost, by an eviction for example, and nothing was taken back.
fn taken_back<'a>(before: &'a [Recorded], present: &'a [Recorded]) -> impl Iterator<Item = &'a Recorded> {
    let oldest = present.iter().map(Recorded::at).min();
    let is_gone = move |entry: &&Recorded| {
        let is_too_old = present.len() >= FULL && oldest > Some(entry.at());
        !is_too_old && !present.iter().any(|it| it.id == entry.id)
    };
    let is_lost = before.iter().filter(is_gone).any(|entry| entry.run.is_some());
    before.iter().filter(move |_| !is_lost).filter(is_gone)
}

/// Whether both say what became of a run, or of a tick, and it was not a run that was cut short and its rerun.
fn contradicts(one: &Recorded, other: &Recorded) -> bool {
    let share_a_tick = one.begins_after().max(other.begins_after()) < one.tick_ms.min(other.tick_ms);
    let is_schedules = one.cause != "manual" && other.cause != "manual";
    let is_rerun = (one.cause == "rerun") != (other.cause == "rerun");
    let is_same_run = one.run.is_some() && one.run == other.run;
    is_same_run || share_a_tick && is_schedules && one.is_definite() && other.is_definite() && !is_rerun
}

fn contradictions(present: &[Recorded]) -> Vec<[Recorded; 2]> {
    let rest = |at: usize| present[at + 1..].iter();
    let pairs = present.iter().enumerate().flat_map(|(at, one)| rest(at).map(move |other| (one, other)));
    let found = pairs.filter(|(one, other)| contradicts(one, other));
    found.map(|(one, other)| [one.clone(), other.clone()]).collect()
}

fn recorded(job: &str, id: String, fields: &BTreeMap<String, String>) -> Recorded {
    let text = |name: &str| fields.get(name).cloned().unwrap_or_default();
    let number = |name: &str| fields.get(name).and_then(|value| value.parse().ok());
    Recorded {
        job: job.to_owned(),
        tick_ms: number("tick").expect("every entry has its tick"),
        after_ms: number("after"),
        count: number("count"),
        run: fields.get("run").cloned(),
        cause: text("cause"),
        outcome: text("outcome"),
        reason: text("reason"),
        started_ms: number("started"),
        id,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The entry of a tick that ran, or was skipped.
    fn entry(second: i64, has_run: bool) -> Recorded {
        let fields = [("tick", (second * 1_000).to_string()), ("run", format!("run-{second}"))];
        let fields = fields.into_iter().filter(|(name, _)| has_run || *name != "run");
        let fields = fields.map(|(name, value)| (name.to_owned(), value)).collect();
        recorded("job", format!("{second}-0"), &fields)
    }

    fn taken_back_ids(before: &[Recorded], present: &[Recorded]) -> Vec<String> {
        taken_back(before, present).map(|entry| entry.id.clone()).collect()
    }

    #[test]
    fn a_run_that_has_two_entries_in_one_store_is_a_contradiction() {
        let again = Recorded { id: "9-0".into(), ..entry(1, true) };
        assert_eq!(contradictions(&[entry(1, true), entry(2, true), again]).len(), 1);
        assert!(contradictions(&[entry(1, true), entry(2, true)]).is_empty());
    }

    #[test]
    fn entries_without_a_run_are_taken_back_and_a_history_without_its_runs_was_lost() {
        let before = [entry(1, true), entry(2, false), entry(3, true), entry(4, false)];
        let [ran, _, ran_too, _] = before.clone();
        assert_eq!(taken_back_ids(&before, &[ran.clone(), ran_too, entry(5, true)]), ["2-0", "4-0"]);
        // The history was evicted, and the next entry began another one.
        assert_eq!(taken_back_ids(&before, &[]), [""; 0]);
        assert_eq!(taken_back_ids(&before, &[entry(5, false)]), [""; 0]);
        assert_eq!(taken_back_ids(&before, &[ran]), [""; 0]);
    }

    #[test]
    fn an_entry_of_ticks_to_come_is_forgotten_once_it_is_gone_also_after_a_loss() {
        for loses in [false, true] {
            let (ahead, over) = (entry(20, false), entry(9, false));
            let mut ledger = Ledger::default();
            let of_job = BTreeSet::from([ahead.clone(), over.clone()]);
            ledger.entries.insert("job".into(), of_job);
            ledger.read_ms.extend([(ahead.name(), 10_000), (over.name(), 10_000)]);
            ledger.take_back("job", &[ahead.clone(), over.clone()]);
            assert_eq!(ledger.entries().len(), 2);
            if loses {
                ledger.lost(10_500);
            }
            ledger.take_back("job", std::slice::from_ref(&over));
            assert_eq!(ledger.entries(), [over], "{loses}");
        }
    }

    #[test]
    fn entries_dropped_from_a_full_history_are_neither_lost_nor_taken_back() {
        let history = |from: i64| (from..).take(FULL).map(|second| entry(second, second % 2 == 0));
        let (before, present): (Vec<_>, Vec<_>) = (history(1_000).collect(), history(1_010).collect());
        assert_eq!(taken_back_ids(&before, &present), [""; 0]);
        let without_one: Vec<_> =
            history(1_010).filter(|entry| entry.id != "1051-0").chain(history(1_110).take(1)).collect();
        assert_eq!(taken_back_ids(&before, &without_one), ["1051-0"]);
    }
}
