//! What comes from outside, read as it is read in earnest, for programs that try inputs. Only in builds for tests. Whatever comes,
//! nothing panics, and what was read says the same once more.

use std::collections::BTreeMap;

use crate::config::{Overrides, Source, StoreUrl, load, render};
use crate::job::Schedule;
use crate::lease::{HistoryEntry, Record};
use crate::time::UtcMillis;

/// Reads an input, whatever it is.
pub type FuzzTarget = fn(&[u8]);

/// The readers, by name.
pub const TARGETS: [(&str, FuzzTarget); 7] = [
    ("jobs_toml", jobs_toml),
    ("cron", cron),
    ("store_url", store_url),
    ("answer", crate::store::fuzz::answer),
    ("hint", crate::store::fuzz::hint),
    ("record", record),
    ("guard", crate::run::fuzz_request),
];

/// So many ticks of a schedule are asked for.
const TICKS: usize = 5;

/// The first instant of 2026.
const FROM: UtcMillis = UtcMillis(1_767_225_600_000);

/// A jobs.toml, with its problems drawn.
pub fn jobs_toml(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    // Files of this machine are none of the input.
    if text.contains("${file:") {
        return;
    }
    let source = Source::new("jobs.toml", text);
    match load(&source, &Overrides::default(), &|_| None) {
        Ok((_, warnings)) => drop(render(&warnings, &source, true)),
        Err(problems) => assert!(render(problems.as_slice(), &source, false).contains("error")),
    }
}

/// A cron expression.
pub fn cron(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let Ok(schedule) = Schedule::parse("job", &[&text], "Europe/Berlin") else { return };
    let mut at = FROM;
    for _ in 0..TICKS {
        let Some(next) = schedule.next_after(at) else { return };
        assert!(next.instant() > at, "{text}: {next:?} comes after {at:?}");
        at = next.instant();
    }
}

/// What is given as a store. Its password is never shown.
pub fn store_url(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let secret = "hunter2-hunter2";
    match StoreUrl::parse(&text.replace("SECRET", secret)) {
        // Where it is not the password, as in the name of a file, it may be shown.
        Ok(url @ StoreUrl::Redis(_)) if text.contains(":SECRET@") => {
            assert!(!format!("{url} {url:?}").contains(secret), "{url}");
        }
        Ok(_) => {}
        Err(error) => assert!(!error.to_string().is_empty()),
    }
}

/// The fields of a record, or of an entry: a name and its value, line by line.
pub fn record(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let fields: BTreeMap<String, String> = text
        .lines()
        .filter_map(|line| line.split_once('='))
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect();
    let owned = |fields: &[(&'static str, String)]| -> BTreeMap<String, String> {
        fields.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect()
    };
    if let Ok(record) = Record::from_fields(&fields) {
        assert_eq!(Record::from_fields(&owned(&record.to_fields())).as_ref(), Ok(&record));
    }
    if let Ok(entry) = HistoryEntry::from_fields(&fields) {
        assert_eq!(HistoryEntry::from_fields(&owned(&entry.to_fields())).as_ref(), Ok(&entry));
    }
}
