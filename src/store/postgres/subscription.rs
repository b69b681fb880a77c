//! Listens to a channel over a connection of its own that is opened again whenever it ends.

use std::future::poll_fn;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::time::sleep;
use tokio_postgres::AsyncMessage;
use tracing::debug;

use crate::store::Diagnosis;

use super::connection::Address;
use super::failures::diagnose;

/// The pause between two attempts to listen.
const RETRY: Duration = Duration::from_secs(1);

/// At most this many messages wait to be processed. Further ones are dropped.
const WAITING: usize = 8_192;

/// Listens to a channel until the receiver is dropped, and returns what can be parsed of the texts for this cluster.
pub(super) fn listen<T: Send + 'static>(
    address: Address,
    channel: &'static str,
    cluster: String,
    label: String,
    parse: fn(&str) -> Option<T>,
) -> mpsc::Receiver<T> {
    let (tell, told) = mpsc::channel(WAITING);
    tokio::spawn(async move {
        while !tell.is_closed() {
            if let Err(why) = hear(&address, channel, &cluster, parse, &tell).await {
                // That the server cannot be reached is logged elsewhere.
                debug!(store = %label, %channel, error = %why, "messages of other replicas are not received");
            }
            tokio::select! {
                () = tell.closed() => {}
                () = sleep(RETRY) => {}
            }
        }
    });
    told
}

async fn hear<T>(
    address: &Address,
    channel: &str,
    cluster: &str,
    parse: fn(&str) -> Option<T>,
    tell: &mpsc::Sender<T>,
) -> Result<(), Diagnosis> {
    let (client, mut driver) = address.connect().await?;
    let statement = format!("listen {channel}");
    let subscribe = client.batch_execute(&statement);
    tokio::pin!(subscribe);
    let mut is_subscribed = false;
    loop {
        tokio::select! {
            () = tell.closed() => return Ok(()),
            listening = &mut subscribe, if !is_subscribed => {
                listening.map_err(|error| diagnose(&error))?;
                is_subscribed = true;
            }
            message = poll_fn(|context| driver.poll_message(context)) => {
                match message {
                    None => return Ok(()),
                    Some(Err(error)) => return Err(diagnose(&error)),
                    Some(Ok(AsyncMessage::Notification(notification))) => {
                        let (of, texts) = notification.payload().split_once('\n').unwrap_or_default();
                        if of == cluster {
                            // If the receiver is full, the value is dropped.
                            texts.split('\x1e').filter_map(parse).for_each(|value| drop(tell.try_send(value)));
                        }
                    }
                    Some(Ok(_)) => {}
                }
            }
        }
    }
}
