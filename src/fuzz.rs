//! Fuzz targets: each parses external input as the program does; only in test builds. No input may cause a panic, and
//! what was parsed must be the same when it is written and parsed again.

use std::collections::BTreeMap;

use crate::config::{Overrides, Source, StoreUrl, load, render};
use crate::job::Schedule;
use crate::lease::{HistoryEntry, Record};
use crate::time::UtcMillis;

/// A fuzz target: parses any input.
pub type FuzzTarget = fn(&[u8]);

/// The fuzz targets, by name.
pub const TARGETS: [(&str, FuzzTarget); 7] = [
    ("jobs_toml", jobs_toml),
    ("cron", cron),
    ("store_url", store_url),
    ("answer", crate::store::fuzz::answer),
    ("hint", crate::store::fuzz::hint),
    ("record", record),
    ("guard", crate::run::fuzz_request),
];

/// How many ticks of a schedule are computed.
const TICKS: usize = 5;

/// The first instant of 2026.
const FROM: UtcMillis = UtcMillis(1_767_225_600_000);

/// Loads a jobs.toml and renders its problems.
pub fn jobs_toml(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    // No files of this machine may become part of the input.
    if text.contains("${file:") {
        return;
    }
    let source = Source::new("jobs.toml", text);
    match load(&source, &Overrides::default(), &|_| None) {
        Ok((_, warnings)) => drop(render(&warnings, &source, true)),
        Err(problems) => assert!(render(problems.as_slice(), &source, false).contains("error")),
    }
}

/// Parses a cron expression and computes some ticks; each is later than the one before.
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

/// Parses a store URL and checks that its password is never shown.
pub fn store_url(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let secret = "hunter2-hunter2";
    match StoreUrl::parse(&text.replace("SECRET", secret)) {
        // Elsewhere, e.g. in a file name, the text is not a password and may be shown.
        Ok(url @ (StoreUrl::Redis(_) | StoreUrl::Postgres(_))) if text.contains(":SECRET@") => {
            assert!(!format!("{url} {url:?}").contains(secret), "{url}");
        }
        Ok(_) => {}
        Err(error) => assert!(!error.to_string().is_empty()),
    }
}

/// Parses the fields of a record, or of an entry: a name and its value, line by line.
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
