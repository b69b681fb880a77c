//! Passwords, least privilege and TLS: what is needed is enough, and what is missing is said, without the secret.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use solocron::config::RedisUrl;
use solocron::lease::{Claim, Request};
use solocron::store::{Feed, RedisStore, Slip, Store, StoreError};
use tempfile::TempDir;

use crate::support::redis_server::RedisServer;
use crate::support::sample::{self, LEASE};
use crate::tls;
use crate::world::{Replica, cluster, job};

/// All that solocron needs of a Redis user, quoted by docs/redis.md; the name and the password are an example.
pub(crate) const LEAST_PRIVILEGE: &str = "ACL SETUSER solocron on >s3cret resetkeys ~solocron:* resetchannels \
    &solocron:* -@all +publish +subscribe \
    +evalsha +eval +time +info +hset +hgetall +hmget +hlen +hstrlen +hdel +set +del +pexpire +xadd +xdel +xrevrange \
    +smismember +smembers +sadd";

const PASSWORD: &str = "s3cret";

pub(crate) fn grant(server: &RedisServer, line: &str) {
    let words: Vec<&str> = line.split_whitespace().collect();
    assert_eq!(server.cli(&words), "OK", "{line}");
}

fn without(right: &str) -> String {
    LEAST_PRIVILEGE.split_whitespace().filter(|word| *word != right).collect::<Vec<_>>().join(" ")
}

fn url_of(server: &RedisServer, user: &str, password: &str) -> String {
    format!("redis://{user}:{password}@127.0.0.1:{}/0", server.port())
}

async fn connect(url: &str) -> Result<Replica, StoreError> {
    let url = RedisUrl::parse(url).expect("a good url");
    let store = std::sync::Arc::new(RedisStore::start(&url, cluster())?);
    store.ready().await?;
    let era = store.pulse(None).await?.era;
    Ok(Replica { store, era })
}

/// Every kind of call once, those of a lost lock included.
async fn use_everything(server: &RedisServer, replica: &Replica) {
    replica.store.pulse(Some(&crate::cases::beat("a"))).await.expect("a pulse");
    replica.store.enroll(&[job()]).await.expect("enrolled");
    replica.store.known(&[job()]).await.expect("known");
    replica.store.jobs().await.expect("listed");
    replica.ask(Request::Open(sample::open(replica.caller().await))).await;
    let state = solocron::store::RedisKeys::of(cluster()).state(&job());
    server.cli(&["HSET", &state, "until", "0", "settled", "0", "mark", "1"]);
    let lease = replica.win().await;
    replica.ask(Request::Renew(sample::renew(&lease, replica.now().await))).await;
    replica.ask(Request::Finish(sample::finish(&lease, &replica.era))).await;
    replica.ask(Request::Manual(sample::manual(replica.caller().await))).await;
    let run = replica.record().await.run.expect("a run");
    replica.ask(Request::Abandon(sample::abandon(run, &replica.era))).await;
    let entries = replica.store.history(&[job()], 10).await.expect("history").remove(0).1;
    assert!(entries.iter().any(|entry| entry.run == Some(run)), "{entries:?}");
}

/// Every kind of call by which replicas and commands leave something for each other, and read of many jobs.
async fn exchange_everything(replica: &Replica) {
    let (store, slip) = (&replica.store, Slip::Ask(sample::node("a")));
    store.append(Feed::Acts, "line").await.expect("appended");
    assert_eq!(store.newest(Feed::Acts, None, 10).await.expect("a feed").len(), 1);
    store.leave(&slip, "text", Duration::from_secs(15)).await.expect("left");
    assert_eq!(store.collect(&slip).await, Ok(vec!["text".to_owned()]));
    assert!(store.standings(&[job()]).await.expect("standings")[0].is_some());
    assert!(store.glance(&[job()], 10).await.expect("a glance")[0].record.is_some());
}

#[tokio::test]
async fn a_user_with_least_privilege_can_do_everything() {
    let server = RedisServer::start();
    grant(&server, LEAST_PRIVILEGE);

    let replica = connect(&url_of(&server, "solocron", PASSWORD)).await.expect("a good user");

    use_everything(&server, &replica).await;
    exchange_everything(&replica).await;
    // A replica that vanished an hour ago is forgotten, which takes one more right.
    let nodes = solocron::store::RedisKeys::of(cluster()).nodes();
    server.cli(&["HSET", &nodes, "gone", "1 {}"]);
    replica.store.pulse(Some(&crate::cases::beat("a"))).await.expect("a pulse");
    assert_eq!(server.cli(&["HEXISTS", &nodes, "gone"]), "0");
}

#[tokio::test]
async fn every_right_of_the_least_privilege_is_needed() {
    let rights = LEAST_PRIVILEGE.split_whitespace().filter(|word| word.starts_with('+'));
    let spare = ["+hdel", "+hmget", "+hlen", "+hstrlen", "+xdel", "+publish", "+subscribe"];
    for right in rights.filter(|right| !spare.contains(right)) {
        let server = RedisServer::start();
        grant(&server, &without(right));
        let used = async move {
            let replica = connect(&url_of(&server, "solocron", PASSWORD)).await.expect("connects");
            use_everything(&server, &replica).await;
        };
        assert!(tokio::spawn(used).await.is_err(), "{right} is not needed");
    }
}

#[tokio::test]
async fn who_may_not_delete_entries_has_one_for_each_missed_tick() {
    for (right, expected) in [("", 1), ("+xdel", 2)] {
        let server = RedisServer::start();
        grant(&server, &without(right));
        let replica = connect(&url_of(&server, "solocron", PASSWORD)).await.expect("connects");
        replica.ask(Request::Open(sample::open(replica.caller().await))).await;
        let state = solocron::store::RedisKeys::of(cluster()).state(&job());
        let mark = replica.store.pulse(None).await.expect("a pulse").now.minus(Duration::from_secs(90));
        server.cli(&["HSET", &state, "until", "0", "settled", "0", "mark", &mark.0.to_string(), "leaps", ""]);
        for seconds in [80, 70] {
            let late = replica.claim(Duration::from_secs(seconds)).await;
            replica.ask(Request::Claim(Claim { prev: None, ..late })).await;
        }
        let entries = replica.store.history(&[job()], 10).await.expect("history").remove(0).1;
        assert_eq!(entries.len(), expected, "{entries:?}");
    }
}

#[tokio::test]
async fn a_missing_right_is_named_without_the_password() {
    // INFO is called by a script, to which Redis 7 does not name what is denied.
    for (right, name) in [("+evalsha", "evalsha"), ("+info", "INFO")] {
        let server = RedisServer::start();
        grant(&server, &without(right));

        let error = connect(&url_of(&server, "solocron", PASSWORD)).await.expect_err("no right");

        let StoreError::Refused(why) = &error else { panic!("{error:?}") };
        assert!(why.contains("NOPERM") && why.contains(name) && !why.contains("NOERA"), "{why}");
        assert!(!format!("{error:?}").contains(PASSWORD), "{error:?}");
    }
}

#[tokio::test]
async fn a_foreign_key_is_refused() {
    let server = RedisServer::start();
    grant(&server, &LEAST_PRIVILEGE.replace("~solocron:*", "~other:*"));

    let error = connect(&url_of(&server, "solocron", PASSWORD)).await.expect_err("no right");

    assert!(matches!(&error, StoreError::Refused(why) if why.contains("NOPERM")), "{error:?}");
}

#[tokio::test]
async fn a_wrong_password_is_said_and_not_shown() {
    let server = RedisServer::start();
    grant(&server, LEAST_PRIVILEGE);

    let error = connect(&url_of(&server, "solocron", "wr0ng")).await.expect_err("a wrong password");

    let StoreError::NotSent(why) = &error else { panic!("{error:?}") };
    assert!(why.contains("WRONGPASS") || why.to_lowercase().contains("password"), "{why}");
    assert!(!format!("{error:?}").contains("wr0ng"), "{error:?}");
}

#[tokio::test]
async fn a_password_that_is_missing_is_asked_for() {
    let server = RedisServer::start_with(&["--requirepass", PASSWORD]);

    let error = connect(&server.url()).await.expect_err("a password is needed");

    assert!(error.to_string().contains("NOAUTH"), "{error:?}");
}

/// The server's address, for a process of this test's own.
const TLS_URL: &str = "SOLOCRON_TEST_TLS_URL";

fn tls_server(folder: &Path, asks_clients: &str) -> RedisServer {
    let args = tls::server_args(folder, asks_clients);
    RedisServer::start_with(&args.iter().map(String::as_str).collect::<Vec<_>>())
}

#[tokio::test]
async fn tls_is_spoken_to_a_server_whose_ca_is_trusted() {
    // The test starts itself as each of the clients.
    if let Ok(url) = std::env::var(TLS_URL) {
        return speak_tls(&url).await;
    }
    let folder = TempDir::new().expect("a folder for temporary files");
    tls::certificates(folder.path());
    let server = tls_server(folder.path(), "no");

    // The trusted CAs are read from the environment, which only a new process can be given safely.
    let client = |ca: &str| {
        let output = Command::new(std::env::current_exe().expect("a test has a file"))
            .args(["redis_access::tls_is_spoken_to_a_server_whose_ca_is_trusted", "--exact", "--nocapture"])
            .env(TLS_URL, format!("rediss://localhost:{}/0", server.port()))
            .env("SSL_CERT_FILE", folder.path().join(ca))
            .output()
            .expect("a process");
        (output.status.success(), String::from_utf8_lossy(&output.stderr).into_owned())
    };

    assert!(client("ca.crt").0, "{}", client("ca.crt").1);
    std::fs::write(folder.path().join("none.crt"), "").expect("a temporary file");
    let (trusted, said) = client("none.crt");
    assert!(!trusted && said.to_lowercase().contains("certificate"), "{said}");
}

#[tokio::test]
async fn a_server_that_asks_its_clients_for_a_certificate_is_shown_one() {
    let folder = TempDir::new().expect("a folder for temporary files");
    tls::certificates(folder.path());
    let server = tls_server(folder.path(), "yes");
    let path = |name: &str| folder.path().join(name).display().to_string();
    let url = format!("rediss://localhost:{}/0?cacert={}", server.port(), path("ca.crt"));

    let error = connect(&url).await.expect_err("it wants a certificate");
    assert!(error.to_string().to_lowercase().contains("certificate"), "{error}");

    speak_tls(&format!("{url}&cert={}&key={}", path("client.crt"), path("client.key"))).await;

    let missing =
        connect(&format!("{url}&cert={}&key=/none", path("client.crt"))).await.expect_err("no such file");
    assert!(missing.to_string().contains("/none cannot be read"), "{missing}");
}

/// A client in a process of its own.
async fn speak_tls(url: &str) {
    let replica = connect(url).await.unwrap_or_else(|error| panic!("{error}"));
    let open = sample::open(replica.caller().await);
    let reply = replica.ask(Request::Open(open)).await;
    assert!(reply.mark.is_some_and(|mark| mark.since(reply.now) < LEASE), "{reply:?}");
    assert!(replica.store.label().starts_with("rediss://localhost:"));
    tokio::time::timeout(Duration::from_secs(5), replica.now()).await.expect("in time");
}
