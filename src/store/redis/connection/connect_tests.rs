//! The connector against a server inside the test, which answers as the commands say.

use std::time::Duration;

use futures_util::StreamExt;
use futures_util::future::join;
use redis::{Cmd, Value, cmd};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::tcp::OwnedWriteHalf;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

use crate::config::RedisUrl;
use crate::store::StoreError;

use super::connect::{CallError, Connector};
use super::server::ServerAddress;
use super::stream::Untaken;

/// A call with this limit is too short for a timeout alone to drop the connection.
const SHORT: Duration = Duration::from_millis(1_500);

/// Answers each command with OK; but `SLOW` after a tenth of a short wait, `HANG` never, `FLOOD` without end, and `QUIT` as
/// the last. After a `SUBSCRIBE` it sends without end as well.
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
            "QUIT" => {
                // The client waits only for the end of the connection.
                let _ = to.write_all(b"+OK\r\n").await;
                return;
            }
            "FLOOD" => return flood(&mut to).await,
            "SUBSCRIBE" => {
                // An error means that the client does not read any more.
                let _ = to.write_all(b"*3\r\n$9\r\nsubscribe\r\n$1\r\na\r\n:1\r\n").await;
                return flood(&mut to).await;
            }
            "SLOW" => tokio::time::sleep(SHORT / 10).await,
            _ => {}
        }
        if to.write_all(b"+OK\r\n").await.is_err() {
            return;
        }
    }
}

/// Sends the beginning of an answer, and bytes until the client stops reading.
async fn flood(to: &mut OwnedWriteHalf) {
    let mut sent = to.write_all(b"$999999999999\r\n").await;
    while sent.is_ok() {
        sent = to.write_all(&[b'x'; 65_536]).await;
    }
}

/// Starts a server. Also returns how many connections it has accepted.
async fn counting() -> (ServerAddress, watch::Receiver<u32>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("the loopback has a free port");
    let address = listener.local_addr().expect("it is bound");
    let (count, accepted) = watch::channel(0);
    tokio::spawn(async move {
        while let Ok((client, _)) = listener.accept().await {
            count.send_modify(|count| *count += 1);
            tokio::spawn(serve(client));
        }
    });
    let url = RedisUrl::parse(&format!("redis://{address}/0")).expect("a good url");
    (ServerAddress::at(&url).expect("a good url"), accepted)
}

async fn started() -> ServerAddress {
    counting().await.0
}

async fn connected() -> Connector {
    connected_to(&started().await).await
}

async fn connected_to(server: &ServerAddress) -> Connector {
    let connector = Connector::start(server, "a server");
    connector.ready().await.expect("a server");
    connector
}

async fn call(connector: &Connector, command: &Cmd) -> Result<Value, StoreError> {
    connector.call(command, SHORT).await.map_err(CallError::into)
}

fn is_unknown(answer: &Result<Value, StoreError>) -> bool {
    matches!(answer, Err(StoreError::Unknown(why)) if &**why == "no answer within 1s500ms")
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
    // It is sent over the same connection; its answer is taken for the one that is still missing.
    let next = call(&connector, &cmd("PING")).await;
    assert!(is_unknown(&next), "{next:?}");
}

#[tokio::test]
async fn a_connection_that_ended_while_nobody_used_it_fails_no_call() {
    let (server, mut accepted) = counting().await;
    let connector = connected_to(&server).await;
    assert_eq!(call(&connector, &cmd("QUIT")).await, Ok(Value::Okay));

    let anew = accepted.wait_for(|count| *count == 2);
    tokio::time::timeout(Duration::from_secs(60), anew).await.expect("it connects anew").expect("a server");

    connector.ready().await.expect("a server");
    assert_eq!(call(&connector, &cmd("PING")).await, Ok(Value::Okay));
}

#[tokio::test]
async fn an_answer_without_an_end_ends_its_connection_before_it_fills_the_memory() {
    let connector = connected().await;

    let flooded = connector.call(&cmd("FLOOD"), Duration::from_secs(60)).await;

    let said = format!("{:?}", flooded.map_err(StoreError::from));
    assert!(said.contains("the server sent more than 64 MiB, and no end of an answer"), "{said}");
    connector.ready().await.expect("it is connected to anew");
}

#[tokio::test]
async fn a_message_without_an_end_ends_the_connection_that_listens() {
    let mut line = started().await.listen(&Untaken::up_to(1 << 20)).await.expect("a server");
    line.subscribe("a").await.expect("it is confirmed");

    let next = tokio::time::timeout(Duration::from_secs(60), line.into_on_message().next()).await;

    assert!(next.expect("it ends").is_none());
}
