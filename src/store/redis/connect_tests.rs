//! The connector against a server of the test's own, which answers what it is told to.

use std::time::Duration;

use futures_util::future::join;
use redis::{Cmd, Value, cmd};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};

use crate::config::RedisUrl;
use crate::store::StoreError;

use super::connect::{CallError, Connector, client};

/// A call that is not waited for longer than this is no call that the whole connection is judged by.
const SHORT: Duration = Duration::from_millis(1_500);

/// Answers everything with OK: `SLOW` after a tenth of a short wait, and `HANG` never.
async fn serve(client: TcpStream) {
    let (from, mut to) = client.into_split();
    let mut lines = BufReader::new(from).lines();
    while let Ok(Some(line)) = lines.next_line().await {
        let parts: usize = line.trim_start_matches('*').parse().expect("a command is an array");
        let mut words = Vec::new();
        for _ in 0..parts {
            lines.next_line().await.expect("its length").expect("its length");
            words.push(lines.next_line().await.expect("a word").expect("a word"));
        }
        match words[0].as_str() {
            "HANG" => continue,
            "SLOW" => tokio::time::sleep(SHORT / 10).await,
            _ => {}
        }
        if to.write_all(b"+OK\r\n").await.is_err() {
            return;
        }
    }
}

async fn connected() -> Connector {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("the loopback has a free port");
    let address = listener.local_addr().expect("it is bound");
    tokio::spawn(async move {
        while let Ok((client, _)) = listener.accept().await {
            tokio::spawn(serve(client));
        }
    });
    let url = RedisUrl::parse(&format!("redis://{address}/0")).expect("a good url");
    let connector = Connector::start(&client(&url).expect("a good url"), "a server");
    connector.ready().await.expect("a server");
    connector
}

async fn call(connector: &Connector, command: &Cmd) -> Result<Value, StoreError> {
    connector.call(command, SHORT).await.map_err(CallError::into)
}

fn is_unknown(answer: &Result<Value, StoreError>) -> bool {
    matches!(answer, Err(StoreError::Unknown(why)) if why == "no answer within 1s500ms")
}

#[tokio::test]
async fn a_connection_over_which_nothing_is_heard_is_dropped_after_a_short_wait() {
    let connector = connected().await;

    let hung = call(&connector, &cmd("HANG")).await;

    assert!(is_unknown(&hung), "{hung:?}");
    let next = call(&connector, &cmd("PING")).await;
    assert!(matches!(next, Err(StoreError::NotSent(_))), "{next:?}");
    connector.ready().await.expect("it is connected to anew");
    assert_eq!(call(&connector, &cmd("PING")).await, Ok(Value::Okay));
}

#[tokio::test]
async fn a_connection_over_which_others_are_answered_meanwhile_is_kept() {
    let connector = connected().await;

    let (slow, hung) = join(call(&connector, &cmd("SLOW")), call(&connector, &cmd("HANG"))).await;

    assert_eq!(slow, Ok(Value::Okay));
    assert!(is_unknown(&hung), "{hung:?}");
    // It is sent, by the same connection; what comes back is taken for the answer that is still missing.
    let next = call(&connector, &cmd("PING")).await;
    assert!(is_unknown(&next), "{next:?}");
}
