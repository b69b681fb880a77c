//! How a PostgreSQL server is set up: what voids the promise, what may be lost, and what it did not show.

use std::collections::BTreeMap;

use crate::store::{Concern, StoreError};

use super::connection::PostgresConnector;

/// The oldest release that is accepted, PostgreSQL 13. The tests run on 15 only.
const LEAST_VERSION: u32 = 130_000;

/// A queue of notifications that is so full will be full soon.
const MUCH_PERCENT: u8 = 50;

/// A request is given up after two seconds.
const LONGEST_LOCK_MS: u32 = 2_000;

/// The settings that matter, and what else the server tells about itself.
const FACTS: &str = "select name, value from (
     values ('server_version', current_setting('server_version')),
         ('server_version_num', current_setting('server_version_num')),
         ('fsync', current_setting('fsync')),
         ('full_page_writes', current_setting('full_page_writes')),
         ('server_encoding', current_setting('server_encoding')),
         ('isolation', current_setting('default_transaction_isolation')),
         ('lock_timeout_ms', (select setting from pg_settings where name = 'lock_timeout')),
         ('notifications', (100 * pg_notification_queue_usage())::int::text),
         ('synchronous_names', current_setting('synchronous_standby_names')),
         ('standbys', (select count(*)::text from pg_stat_replication)),
         ('shown', (select count(sync_state)::text from pg_stat_replication)),
         ('synchronous', (select count(*)::text from pg_stat_replication where sync_state in ('sync', 'quorum')))
     ) as facts(name, value)";

/// The rights that this user lacks.
const RIGHTS: &str = "select format('%s on solocron.%s', w.which, t.name) from
     unnest(array['cells', 'entries', 'notes', 'feeds', 'lines', 'slips']) as t(name),
     unnest(array['select', 'insert', 'update', 'delete']) as w(which)
     where not has_table_privilege(format('solocron.%I', t.name), w.which)
     union all select 'execute on function pg_control_system()'
     where not has_function_privilege('pg_control_system()', 'execute')
     order by 1";

/// Returns all findings; without `rights` only those that do not concern this user. `is_exposed`: whether others on the network
/// could read what is sent.
pub(super) async fn inspect(
    connector: &PostgresConnector,
    rights: bool,
    is_exposed: bool,
) -> Result<Vec<Concern>, StoreError> {
    let mut facts = BTreeMap::new();
    for row in connector.query(FACTS, &[]).await? {
        let value = row.try_get::<_, Option<String>>(1).ok().flatten();
        facts.insert(row.try_get::<_, String>(0).unwrap_or_default(), value.unwrap_or_default());
    }
    let mut concerns = judge(&facts);
    if rights {
        concerns.extend(missing_rights(connector).await?);
        concerns.extend(is_exposed.then(|| {
            let what = "the server is on another machine, and its certificate is not verified: others on the network could \
                        take its place, or read what is sent";
            Concern::note(what, "a connection that is not verified").help("add `?sslmode=verify-full` to `store`")
        }));
    }
    Ok(concerns)
}

async fn missing_rights(connector: &PostgresConnector) -> Result<Option<Concern>, StoreError> {
    let rows = connector.query(RIGHTS, &[]).await?;
    let missing: Vec<String> = rows.iter().map(|row| row.try_get(0).unwrap_or_default()).collect();
    let what = "the user of the store lacks rights, so that requests are refused";
    Ok((!missing.is_empty()).then(|| {
        Concern::error(what, missing.join(", "))
            .help(
                "run `grant usage on schema solocron to USER; grant select, insert, update, delete on all tables in schema solocron \
                 to USER; grant execute on function pg_control_system() to USER`",
            )
    }))
}

/// Judges what the server shows.
fn judge(facts: &BTreeMap<String, String>) -> Vec<Concern> {
    let fact = |name: &str| facts.get(name).map(String::as_str).unwrap_or_default();
    let mut concerns = vec![version(fact("server_version"), fact("server_version_num"))];
    if fact("fsync") == "off" {
        let what =
            "the server does not wait for its disk, so that a power cut loses or damages what was decided";
        concerns.push(Concern::warning(what, "fsync off").help("set `fsync = on`"));
    }
    if fact("full_page_writes") == "off" {
        let what = "a power cut may damage what was decided, unless the file system writes whole pages";
        concerns.push(Concern::warning(what, "full_page_writes off").help("set `full_page_writes = on`"));
    }
    if fact("server_encoding") != "UTF8" {
        let what = "the database cannot hold every character, so that what operators write and what a run prints is refused, except in the end of a run";
        let found = format!("encoding {}", fact("server_encoding"));
        concerns.push(
            Concern::warning(what, found).help("make a database with `create database NAME template template0 encoding 'UTF8'`, and name it in `store`"),
        );
    }
    if !matches!(fact("isolation"), "" | "read committed") {
        let what = "requests of replicas that meet fail, and are sent again";
        let help = "run `alter role USER set default_transaction_isolation = 'read committed'`";
        concerns.push(Concern::warning(what, fact("isolation").to_owned()).help(help));
    }
    if fact("notifications").parse::<u8>().is_ok_and(|percent| percent >= MUCH_PERCENT) {
        let what = "a session listens and does not read, so that soon no hint can be published: replicas then start jobs later";
        let help = "end it: `select pid, state, query from pg_stat_activity where state like 'idle in transaction%'`";
        let found = format!("queue of notifications {} % full", fact("notifications"));
        concerns.push(Concern::warning(what, found).help(help));
    }
    if !fact("lock_timeout_ms").parse::<u32>().is_ok_and(|limit| (1..=LONGEST_LOCK_MS).contains(&limit)) {
        let what =
            "while a session locks the tables, requests that wait for it take up the server's connections";
        let found = format!("lock_timeout {} ms", fact("lock_timeout_ms"));
        concerns.push(Concern::note(what, found).help("run `alter role USER set lock_timeout = '1s'`"));
    }
    let hangs = !fact("synchronous_names").is_empty() && fact("synchronous") == "0";
    match (fact("standbys"), fact("synchronous")) {
        (standbys, _) if hangs && (matches!(standbys, "" | "0") || fact("shown") != "0") => {
            let what = "every commit waits for a synchronous standby, and there is none: no job starts";
            let help = "start the standby, or empty `synchronous_standby_names`";
            concerns.push(Concern::error(what, "no synchronous standby").help(help));
        }
        ("" | "0", _) => {}
        _ if fact("shown") == "0" => {
            let why = "the user may not see it: grant pg_monitor to it";
            concerns.push(Concern::unchecked("whether a standby is synchronous", why));
        }
        (standbys, "0") => {
            let what = "no standby is synchronous: a failover loses what it had not received, jobs then wait one lease, \
                        and ticks are recorded as unknown";
            let help =
                "set `synchronous_standby_names`, and let the manager promote synchronous standbys only";
            concerns.push(Concern::warning(what, format!("{standbys} asynchronous")).help(help));
        }
        (standbys, synchronous) => {
            concerns
                .push(Concern::note("standbys", format!("{standbys}, of these {synchronous} synchronous")));
        }
    }
    concerns
}

fn version(shown: &str, number: &str) -> Concern {
    let found = format!("PostgreSQL {shown}");
    match number.parse::<u32>() {
        Ok(LEAST_VERSION..) => Concern::note("server", found),
        Ok(_) => Concern::error("the server is older than solocron can work with", found)
            .help("update it: solocron needs PostgreSQL 13 or newer"),
        Err(_) => Concern::unchecked("the server's version", found),
    }
}

#[cfg(test)]
mod tests {
    use crate::store::Grade;

    use super::*;

    fn judged(changed: &[(&str, &str)]) -> Vec<(Grade, String)> {
        let usual = [
            ("server_version", "15.8"),
            ("server_version_num", "150008"),
            ("fsync", "on"),
            ("full_page_writes", "on"),
            ("server_encoding", "UTF8"),
            ("isolation", "read committed"),
            ("lock_timeout_ms", "1000"),
            ("notifications", "0"),
            ("synchronous_names", ""),
            ("standbys", "0"),
            ("shown", "2"),
            ("synchronous", "0"),
        ];
        let facts = usual.iter().chain(changed).map(|(name, value)| ((*name).into(), (*value).into()));
        judge(&facts.collect()).into_iter().map(|concern| (concern.grade, concern.value)).collect()
    }

    #[test]
    fn a_server_alone_with_the_usual_settings_raises_no_concern() {
        assert_eq!(judged(&[]), [(Grade::Note, "PostgreSQL 15.8".to_owned())]);
    }

    #[test]
    fn what_may_lose_decisions_is_named_with_its_grade() {
        for (changed, grade, value) in [
            (&[("fsync", "off")][..], Grade::Warning, "fsync off"),
            (&[("full_page_writes", "off")], Grade::Warning, "full_page_writes off"),
            (&[("server_encoding", "LATIN1")], Grade::Warning, "encoding LATIN1"),
            (&[("isolation", "serializable")], Grade::Warning, "serializable"),
            (&[("lock_timeout_ms", "0")], Grade::Note, "lock_timeout 0 ms"),
            (&[("notifications", "50")], Grade::Warning, "queue of notifications 50 % full"),
            (&[("synchronous_names", "*")], Grade::Error, "no synchronous standby"),
            (&[("standbys", "2")], Grade::Warning, "2 asynchronous"),
            (&[("standbys", "2"), ("synchronous", "1")], Grade::Note, "2, of these 1 synchronous"),
        ] {
            assert!(
                judged(changed).contains(&(grade, value.to_owned())),
                "{changed:?}: {:?}",
                judged(changed)
            );
        }
        let old = judged(&[("server_version", "12.1"), ("server_version_num", "120001")]);
        assert_eq!(old, [(Grade::Error, "PostgreSQL 12.1".to_owned())]);
    }
}
