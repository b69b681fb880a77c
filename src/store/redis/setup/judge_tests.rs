//! Tables of what the server reports, and the findings about it.

use crate::store::Grade;

use super::*;

const FINE: &str = "redis_version:7.0.15\r\nredis_mode:standalone\r\nrole:master\r\nloading:0\r\nused_memory:10\r\n\
    maxmemory:0\r\nmaxmemory_policy:noeviction\r\nrdb_last_bgsave_status:ok\r\naof_enabled:1\r\n\
    aof_last_write_status:ok\r\ncluster_enabled:0\r\nmaster_replid:8c3f00\r\n";

/// A sound server with some fields of INFO (`name:value`) and some settings (`name value`) changed.
fn server(changes: &[&str]) -> Settings {
    let config = [("save", ""), ("appendfsync", "always"), ("stop-writes-on-bgsave-error", "yes")];
    let config = config.map(|(name, value)| (name.to_owned(), value.to_owned()));
    let mut settings = Settings::of(FINE, Some(config.into_iter().collect()));
    for change in changes {
        if let Some((name, value)) = change.split_once(':') {
            settings.info.insert(name.to_owned(), value.to_owned());
        } else {
            let (name, value) = change.split_once(' ').expect("a setting");
            settings.config.as_mut().expect("it has some").insert(name.to_owned(), value.to_owned());
        }
    }
    settings
}

/// All but notes: grade and text.
fn complaints(settings: &Settings) -> Vec<(Grade, String)> {
    let worth = judge(settings).into_iter().filter(|concern| concern.grade != Grade::Note);
    worth.map(|concern| (concern.grade, format!("{}: {}", concern.what, concern.value))).collect()
}

#[test]
fn a_sound_server_gives_no_cause_to_complain() {
    assert_eq!(complaints(&server(&[])), []);
    for fine in [
        &["redis_version:6.2.0"][..],
        &["redis_version:10.0.1"],
        &["valkey_version:7.2.5", "redis_version:7.2.4"],
        &["maxmemory_policy:allkeys-lru"],
        &["appendfsync everysec"],
        &["maxmemory:100", "used_memory:89"],
        &["connected_slaves:0"],
        &["connected_slaves:2", "min_slaves_good_slaves:2"],
    ] {
        assert_eq!(complaints(&server(fine)), [], "{fine:?}");
    }
}

/// Fields that are changed, the grade of the one complaint about them, and words of it.
type Row<'a> = (&'a [&'a str], Grade, &'a [&'a str]);

fn assert_said(table: &[Row<'_>]) {
    for (changes, grade, words) in table {
        let said = complaints(&server(changes));
        let [(found, text)] = &said[..] else { panic!("{changes:?}: {said:?}") };
        assert_eq!(found, grade, "{text}");
        assert!(words.iter().all(|word| text.contains(word)), "{text} lacks some of {words:?}");
    }
}

#[test]
fn a_server_that_jobs_cannot_run_with_is_an_error() {
    let error = Grade::Error;
    assert_said(&[
        (&["redis_version:6.0.16"], error, &["older", "Redis 6.0.16"]),
        (&["valkey_version:7.1.0"], error, &["older", "Valkey 7.1.0"]),
        (
            &["role:slave", "master_host:10.0.0.1", "master_port:6379", "master_link_status:up"],
            error,
            &["is a Redis replica", "replica of 10.0.0.1:6379, link up"],
        ),
        (&["role:sentinel"], error, &["is a Sentinel"]),
        (&["cluster_enabled:1"], error, &["Redis Cluster"]),
        (&["master_replid:0000"], error, &["no replication id", "no job runs", "master_replid"]),
        (&["loading:1", "loading_loaded_perc:42.10"], error, &["still loading", "42.10 % done"]),
        (&["maxmemory:100", "used_memory:250"], error, &["memory is full", "250 %"]),
        (&["aof_last_write_status:err"], error, &["append-only file", "MISCONF"]),
        (&["rdb_last_bgsave_status:err", "save 3600 1"], error, &["last snapshot failed", "MISCONF"]),
    ]);
}

#[test]
fn a_server_that_may_lose_or_refuse_something_is_a_warning() {
    let warning = Grade::Warning;
    assert_said(&[
        (
            &["maxmemory:1048576", "maxmemory_policy:allkeys-lru"],
            warning,
            &["records may be evicted", "maxmemory-policy allkeys-lru, maxmemory 1 MiB"],
        ),
        (
            &["maxmemory:1048576", "maxmemory_policy:volatile-ttl"],
            warning,
            &["lock keys may be evicted", "volatile-ttl"],
        ),
        (&["maxmemory:100", "used_memory:90"], warning, &["nearly full", "90 % of 100 bytes"]),
        (&["rdb_last_bgsave_status:err"], warning, &["last snapshot failed"]),
        (
            &["rdb_last_bgsave_status:err", "save 3600 1", "stop-writes-on-bgsave-error no"],
            warning,
            &["last snapshot failed"],
        ),
        (&["aof_enabled:0"], warning, &["loses every record", "neither append-only file nor snapshots"]),
        (&["aof_enabled:0", "save 3600 1"], warning, &["since its last snapshot", "save 3600 1"]),
        (&["appendfsync no"], warning, &["half a minute", "appendfsync no"]),
        (&["connected_slaves:1"], warning, &["run twice", "followers 1, min-replicas-to-write 0"]),
    ]);
}

#[test]
fn what_the_server_does_not_tell_is_never_taken_for_fine() {
    let unchecked = |settings: &Settings| -> Vec<String> {
        let said = complaints(settings).into_iter();
        said.map(|(grade, text)| (grade == Grade::Unchecked).then_some(text).expect("only unchecked"))
            .collect()
    };
    let silent = Settings { config: None, ..server(&[]) };
    assert_eq!(unchecked(&silent).len(), 1, "{:?}", unchecked(&silent));
    assert!(unchecked(&silent)[0].contains("CONFIG GET"), "{:?}", unchecked(&silent));
    assert!(unchecked(&Settings::default())[0].contains("INFO"));
    for (name, word) in [
        ("redis_version", "version"),
        ("role", "role"),
        ("maxmemory_policy", "eviction"),
        ("aof_enabled", "persistence"),
    ] {
        let mut settings = server(&[]);
        settings.info.remove(name);
        let said = unchecked(&settings);
        assert!(said.len() == 1 && said[0].contains(word), "{name}: {said:?}");
    }
}

#[test]
fn every_complaint_that_can_be_mended_says_how() {
    for changes in [&["redis_version:5.0"][..], &["aof_enabled:0"], &["maxmemory:1"], &["role:slave"]] {
        let worst = judge(&server(changes)).into_iter().min_by_key(|concern| concern.grade);
        assert!(worst.expect("a complaint").help.is_some(), "{changes:?}");
    }
}
