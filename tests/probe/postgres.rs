//! A PostgreSQL server that is out of something.

use serde_json::Value;

use crate::postgres_server::Postgres;
use crate::{complaints, probe};

/// The servers of tests do not wait for their disk, which is a warning.
fn errors(report: &Value) -> Vec<String> {
    complaints(report).into_iter().filter(|line| line.starts_with("error ")).collect()
}

#[test]
fn a_server_that_takes_writes_is_left_as_it_was() {
    let server = Postgres::start_with_tables();
    let (report, code) = probe(&server.url());
    assert_eq!((errors(&report), code), (vec![], 0));
    assert_eq!(server.sql("select count(*) from solocron.slips"), "0");
}

#[test]
fn a_full_disk_is_found_by_a_write() {
    let server = Postgres::start_with_tables();
    // What the server itself reports once its disk is full.
    server.sql(
        "create function full_disk() returns trigger language plpgsql as $$ begin \
         raise exception 'could not extend file: No space left on device' using errcode = '53100'; end $$; \
         create trigger full_disk before insert on solocron.slips for each row execute function full_disk()",
    );
    let (report, code) = probe(&server.url());
    assert_eq!(
        (errors(&report), code),
        (
            vec![
                "error the store refuses a write: could not extend file: No space left on device".to_owned()
            ],
            1
        )
    );
    let help = "free space on the server's disk; replicas then continue by themselves";
    assert!(report.to_string().contains(help), "{report}");
}

#[test]
fn too_few_connections_are_named_with_what_to_do() {
    let server = Postgres::start_with_tables();
    let url = server.make_user("cron");
    server.sql("alter role cron connection limit 0");
    let (report, code) = probe(&url);
    assert_eq!(
        (errors(&report), code),
        (vec!["error the store cannot be used: too many connections for role \"cron\"".to_owned()], 69)
    );
    assert!(report.to_string().contains("raise `max_connections`"), "{report}");
}
