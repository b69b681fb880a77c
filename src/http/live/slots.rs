//! The slots for streams. One token, or one address where there are no tokens, takes only some of them: a script that has gone
//! wild leaves the others to the rest.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

use axum::http::StatusCode;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::http::access::client_slots::{ClientSlot, ClientSlots, NoSlot};
use crate::http::access::throttle::network_of;
use crate::http::route::problem::ProblemDetails;
use crate::http::route::serve::ConnectionPeer;
use crate::http::route::table::AdmittedRequest;
use crate::job::TokenName;
use crate::metrics::{HttpTally, OpenStream};

/// The most streams at once.
const MOST: usize = 32;

/// How many of them may be of output.
const OF_OUTPUT: usize = 16;

/// The most streams of one client at once.
const OF_CLIENT: usize = 8;

/// The slots for streams.
#[derive(Debug)]
pub(crate) struct StreamSlots {
    all: ClientSlots<StreamClient>,
    of_output: Arc<Semaphore>,
}

/// Whose streams are counted together.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum StreamClient {
    /// All who have this token.
    Token(TokenName),
    /// All who send none, from this network.
    Network(IpAddr),
}

impl StreamClient {
    /// Returns the client that sent a request.
    pub(crate) fn of(call: &AdmittedRequest) -> Self {
        let peer = call.parts.extensions.get::<ConnectionPeer>();
        let address = peer.map_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED), |peer| peer.0.ip());
        match call.visitor.name() {
            Some(name) => Self::Token(name.clone()),
            None => Self::Network(network_of(address)),
        }
    }
}

impl From<NoSlot> for ProblemDetails {
    fn from(why: NoSlot) -> Self {
        let (status, title, help) = match why {
            NoSlot::AllTaken => (
                StatusCode::SERVICE_UNAVAILABLE,
                "too many streams",
                "close one of the pages and programs that follow this replica".to_owned(),
            ),
            NoSlot::ClientHasMost => (
                StatusCode::TOO_MANY_REQUESTS,
                "too many streams of one client",
                format!(
                    "with one token, or from one address without a token, {OF_CLIENT} pages and programs may follow this replica: \
                     close one of them"
                ),
            ),
        };
        Self::new(status, title).help(help).retry_after(1)
    }
}

/// The slot of one stream, free again when this is dropped.
#[derive(Debug)]
pub(crate) struct StreamSlot {
    _slot: ClientSlot<StreamClient>,
    _counted: OpenStream,
}

/// The slot of one client that reads output, free again when this is dropped.
#[derive(Debug)]
pub(crate) struct OutputSlot {
    _permit: OwnedSemaphorePermit,
}

impl Default for StreamSlots {
    fn default() -> Self {
        Self { all: ClientSlots::new(MOST, OF_CLIENT), of_output: Arc::new(Semaphore::new(OF_OUTPUT)) }
    }
}

impl StreamSlots {
    /// Takes a slot for a stream of this client.
    ///
    /// # Errors
    /// If all are taken, or all that one client may have. That is counted.
    pub(crate) fn take(&self, client: StreamClient, tally: &HttpTally) -> Result<StreamSlot, NoSlot> {
        let slot = self.all.take(client).inspect_err(|_| tally.count_refused())?;
        Ok(StreamSlot { _slot: slot, _counted: tally.open_stream() })
    }

    /// Takes a slot for reading output; `None` if all are taken.
    pub(crate) fn take_output(&self) -> Option<OutputSlot> {
        let permit = Arc::clone(&self.of_output).try_acquire_owned().ok()?;
        Some(OutputSlot { _permit: permit })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn network(number: u8) -> StreamClient {
        StreamClient::Network(IpAddr::from([10, 0, 0, number]))
    }

    #[test]
    fn a_slot_is_free_again_once_its_stream_ends() {
        let (slots, tally) = (StreamSlots::default(), HttpTally::of(&[]));
        let take = |client: u8| slots.take(network(client), &tally);
        let mut taken: Vec<_> = (0..4).flat_map(|client| [client; OF_CLIENT]).map(take).collect();
        assert!(taken.len() == MOST && taken.iter().all(Result::is_ok), "{taken:?}");
        assert_eq!(take(4).err(), Some(NoSlot::AllTaken));
        drop(taken.pop());
        assert!(take(4).is_ok());
        drop(taken);
        assert_eq!(slots.all.clients(), 0, "no client is remembered");
    }

    #[test]
    fn one_client_takes_eight_streams_and_leaves_the_others_to_the_rest() {
        let (slots, tally) = (StreamSlots::default(), HttpTally::of(&[]));
        let grafana = StreamClient::Token(TokenName::parse("grafana").expect("a name"));
        for client in [grafana, network(1)] {
            let mut taken: Vec<_> =
                (0..MOST).filter_map(|_| slots.take(client.clone(), &tally).ok()).collect();
            assert_eq!(taken.len(), OF_CLIENT);
            let refused = slots.take(client.clone(), &tally).err();
            assert_eq!(refused, Some(NoSlot::ClientHasMost));
            assert!(slots.take(network(2), &tally).is_ok());
            drop(taken.pop());
            assert!(slots.take(client, &tally).is_ok());
        }
    }

    #[test]
    fn fewer_clients_than_streams_read_output() {
        let slots = StreamSlots::default();
        let mut taken: Vec<_> = (0..MOST).filter_map(|_| slots.take_output()).collect();
        assert_eq!(taken.len(), OF_OUTPUT);
        drop(taken.pop());
        taken.extend(slots.take_output());
        assert_eq!(taken.len(), OF_OUTPUT);
        assert!(slots.take_output().is_none());
    }
}
