//! What the store on PostgreSQL promises beyond the contract of all stores.

use std::time::Duration;

use solocron::config::PostgresUrl;
use solocron::job::JobName;
use solocron::lease::{Answer, Finish, Open, Reply, Request};
use solocron::store::{FailureCause, Grade, Wake, init_postgres, start_postgres};
use solocron::time::SystemClock;
use tokio::time::timeout;

use crate::cases::beat;
use crate::postgres_server::Postgres;
use crate::support::sample;
use crate::world::{Replica, World, cluster, job};

const DEADLINE: Duration = Duration::from_secs(20);

fn url(server: &Postgres, options: &str) -> PostgresUrl {
    PostgresUrl::parse(&format!("{}{options}", server.url())).expect("a good url")
}

fn server(world: &World) -> &Postgres {
    let World::Postgres(server) = world else { unreachable!("it was made with a server") };
    server
}

#[tokio::test]
async fn a_grant_reaches_the_others_as_a_hint_and_a_line_as_a_wake() {
    let world = World::postgres();
    let (a, b) = (world.opened().await, world.replica().await);
    let (mut hints, mut wakes) = (b.store.hints(), b.store.wakes());
    // It is not known when they listen: what is published before is lost.
    let hint = async {
        loop {
            a.win().await;
            let run = a.record().await;
            let finish = sample::finish(&sample::lease(&run), &a.era);
            a.ask(Request::Finish(finish)).await;
            if let Ok(hint) = timeout(Duration::from_millis(200), hints.recv()).await {
                return hint.expect("it listens");
            }
        }
    };
    let hint = timeout(DEADLINE, hint).await.expect("a hint");
    assert_eq!((hint.job, hint.era), (job(), a.era.clone()));
    assert!(matches!(hint.reply.answer, Answer::Decided { by: Some(_), .. }), "{:?}", hint.reply);
    let wake = async {
        loop {
            a.store.append(solocron::store::Feed::Acts, "line").await.expect("a store");
            if let Ok(wake) = timeout(Duration::from_millis(200), wakes.recv()).await {
                return wake.expect("it listens");
            }
        }
    };
    assert_eq!(timeout(DEADLINE, wake).await, Ok(Wake::Feed(solocron::store::Feed::Acts)));
}

#[tokio::test]
async fn without_hints_nothing_is_published_and_the_receivers_close_at_once() {
    let world = World::postgres();
    let quiet = start_postgres(&url(server(&world), "?hints=off"), &cluster(), Box::new(SystemClock));
    let quiet = quiet.expect("a runtime");
    assert_eq!(timeout(DEADLINE, quiet.hints().recv()).await, Ok(None));
    assert_eq!(timeout(DEADLINE, quiet.wakes().recv()).await, Ok(None));
}

#[tokio::test]
async fn a_database_without_tables_is_named_with_the_way_to_make_them() {
    let server = Postgres::start_on_port();
    let store = start_postgres(&url(&server, ""), &cluster(), Box::new(SystemClock)).expect("a runtime");
    store.ready().await.expect("a server");
    let error = store.pulse(Some(&beat("a"))).await.expect_err("there are none");
    assert_eq!(error.cause(), Some(&FailureCause::NoTables), "{error}");
    assert!(error.help().is_some_and(|help| help.contains("solocron store init")), "{error}");
    // Run again, it changes nothing.
    for _ in 0..2 {
        init_postgres(&url(&server, "")).await.expect("a superuser");
    }
    store.pulse(Some(&beat("a"))).await.expect("a pulse");
}

#[tokio::test]
async fn a_user_without_rights_is_refused_and_the_probe_names_what_is_missing() {
    let world = World::postgres();
    world.replica().await;
    let address = server(&world).make_user("cron");
    server(&world).sql("revoke delete on solocron.slips from cron");
    let url = PostgresUrl::parse(&address).expect("a good url");
    let store = start_postgres(&url, &cluster(), Box::new(SystemClock)).expect("a runtime");
    store.ready().await.expect("a server");
    store.pulse(Some(&beat("a"))).await.expect("its other rights are enough");
    let concerns = store.inspect().await.expect("concerns");
    let errors = concerns.iter().filter(|concern| concern.grade == Grade::Error);
    let errors: Vec<&str> = errors.map(|concern| concern.value.as_str()).collect();
    assert_eq!(errors, ["delete on solocron.slips"]);
}

#[tokio::test]
async fn a_server_that_takes_no_writes_is_refused_with_the_reason() {
    let server = Postgres::start_on_port();
    server.sql("alter system set default_transaction_read_only = on");
    server.sql("select pg_reload_conf()");
    let store = start_postgres(&url(&server, ""), &cluster(), Box::new(SystemClock)).expect("a runtime");
    let error = timeout(DEADLINE, async {
        loop {
            // The setting counts within a moment.
            if let Err(error) = store.ready().await {
                return error;
            }
        }
    });
    let error = error.await.expect("it takes no writes");
    assert!(error.to_string().contains("does not allow writes"), "{error}");
}

#[tokio::test]
async fn a_database_that_does_not_exist_is_named() {
    let server = Postgres::start_on_port();
    let url = PostgresUrl::parse(&format!("{}x", server.url())).expect("a good url");
    let store = start_postgres(&url, &cluster(), Box::new(SystemClock)).expect("a runtime");
    let error = store.ready().await.expect_err("there is no database `postgresx`");
    assert_eq!(error.cause(), Some(&FailureCause::NoDatabase), "{error}");
}

#[tokio::test]
async fn a_restart_is_no_new_era_and_what_was_decided_stays() {
    let mut world = World::postgres();
    let replica = world.opened().await;
    let lease = replica.win().await;
    let World::Postgres(server) = &mut world else { unreachable!("it was made with a server") };
    server.stop();
    server.start_again();
    let pulse = async {
        loop {
            // An error says that it is not there yet.
            if replica.store.ready().await.is_ok()
                && let Ok(pulse) = replica.store.pulse(None).await
            {
                return pulse;
            }
        }
    };
    let pulse = timeout(DEADLINE, pulse).await.expect("it is there again");
    assert_eq!(pulse.era, replica.era);
    assert_eq!(replica.record().await.fence, lease.fence);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_swap_that_waited_for_a_lock_of_the_row_too_long_writes_nothing() {
    let world = World::postgres();
    let replica = world.opened().await;
    let before = replica.record().await;
    let held = "begin; select from solocron.cells for update; select pg_sleep(1.7); rollback";
    let (server, claim) = (server(&world), replica.claim(Duration::ZERO).await);
    let name = job();
    std::thread::scope(|scope| {
        let holding = scope.spawn(|| server.sql(held));
        while server.sql("select count(*) from pg_locks where relation = 'solocron.cells'::regclass") == "0" {
        }
        let request = Request::Claim(claim);
        let replied = tokio::task::block_in_place(|| {
            tokio::runtime::Handle::current().block_on(replica.store.submit(&name, &request))
        });
        holding.join().expect("it slept");
        assert!(!matches!(&replied, Ok(reply) if matches!(reply.answer, Answer::Won { .. })), "{replied:?}");
    });
    assert_eq!(replica.record().await, before);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_session_that_has_a_row_locked_holds_up_no_other_job() {
    let world = World::postgres();
    let replica = world.opened().await;
    let other = JobName::parse("other").expect("a name");
    let held = format!(
        "begin; select from solocron.cells where job = '{}' for update; select pg_sleep(2.5); rollback",
        job()
    );
    let (server, before) = (server(&world), replica.record().await);
    let (one, two) = (replica.claim(Duration::ZERO).await, sample::open(replica.caller().await));
    std::thread::scope(|scope| {
        let holding = scope.spawn(|| server.sql(&held));
        while server.sql("select count(*) from pg_locks where relation = 'solocron.cells'::regclass") == "0" {
        }
        let two = Open { is_known_job: false, ..two };
        let requests = [(job(), Request::Claim(one)), (other, Request::Open(two))];
        let replied = tokio::task::block_in_place(|| {
            tokio::runtime::Handle::current().block_on(replica.store.submit_all(&requests))
        });
        let [locked, free] = &replied[..] else { panic!("{replied:?}") };
        let error = locked.as_ref().expect_err("its row is locked");
        assert_eq!(error.cause(), Some(&FailureCause::RowLocked), "{error}");
        assert!(matches!(free, Ok(Reply { answer: Answer::Opened { .. }, .. })), "{free:?}");
        holding.join().expect("it slept");
    });
    assert_eq!(replica.record().await, before);
}

#[tokio::test]
async fn a_server_that_can_take_no_more_notifications_grants_locks_all_the_same() {
    let world = World::postgres();
    let replica = world.opened().await;
    // What the server's own function does once the queue is full, at the commit.
    server(&world).sql(
        "create schema full_queue; create function full_queue.pg_notify(text, text) returns void language plpgsql as \
         $$ begin raise exception 'too many notifications in the NOTIFY queue' using errcode = '54000'; end $$; \
         alter role postgres set search_path = full_queue, pg_catalog; \
         select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'solocron'",
    );
    let there_again = async {
        // An error says that the connection is not there again yet.
        while replica.store.ready().await.is_err() || replica.store.pulse(None).await.is_err() {}
    };
    timeout(DEADLINE, there_again).await.expect("the server is up");
    replica.win().await;
}

#[tokio::test]
async fn of_serializable_transactions_that_meet_none_is_an_error() {
    let world = World::postgres();
    world.opened().await;
    server(&world).sql("alter role postgres set default_transaction_isolation = 'serializable'");
    crate::cases::of_many_claimants_exactly_one_wins_each_tick(&world).await;
    let concerns = world.replica().await.store.inspect().await.expect("concerns");
    assert!(concerns.iter().any(|concern| concern.value == "serializable"), "{concerns:?}");
}

#[tokio::test]
async fn a_database_of_another_encoding_takes_an_end_whatever_the_job_printed() {
    let world = World::postgres();
    let encoding = "template template0 encoding 'LATIN1' lc_collate 'C' lc_ctype 'C'";
    server(&world).sql(&format!("create database latin {encoding}"));
    let url = server(&world).url();
    let (host, _) = url.rsplit_once('/').expect("a database");
    let url = PostgresUrl::parse(&format!("{host}/latin")).expect("a good url");
    init_postgres(&url).await.expect("a superuser");
    let store = start_postgres(&url, &cluster(), Box::new(SystemClock)).expect("a runtime");
    store.ready().await.expect("a server");
    let era = store.pulse(None).await.expect("a pulse").era;
    let replica = Replica { store, era };
    let caller = replica.caller().await;
    replica.ask(Request::Open(Open { is_known_job: false, ..sample::open(caller) })).await;
    let granted = async {
        // For its first seconds the lock of a new record may be held.
        let won = |reply: &Reply| matches!(reply.answer, Answer::Won { .. });
        while !won(&replica.ask(Request::Claim(replica.claim(Duration::ZERO).await)).await) {}
    };
    timeout(DEADLINE, granted).await.expect("a grant");

    let lease = sample::lease(&replica.record().await);
    let tail = "ü € \u{1f600} \u{1b}[0m\n".to_owned();
    let finish = Finish { tail: tail.clone(), ..sample::finish(&lease, &replica.era) };
    let reply = replica.ask(Request::Finish(finish)).await;

    assert!(!replica.record().await.is_running(), "{reply:?}");
    let entries = replica.store.history(&[job()], 10).await.expect("history").remove(0).1;
    let told = entries.iter().find(|entry| entry.run == Some(lease.run)).expect("its end");
    assert_eq!(told.tail, Some(tail));
}
