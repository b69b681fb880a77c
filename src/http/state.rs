//! What the handlers of requests share.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::sync::Arc;

use tokio::sync::watch;

use crate::config::BaseUrl;
use crate::replica::ReplicaFacts;
use crate::time::Clock;

use super::access::throttle::WrongTokens;
use super::access::token::TokenBook;
use super::health::Progress;

/// What jobs.toml says about HTTP. A reload replaces it; only the address stays.
#[derive(Debug, Clone, Default)]
pub struct HttpOptions {
    /// Names by which browsers reach it, in lower case, besides `localhost` and that of `url`.
    pub hosts: BTreeSet<String>,
    /// The base of links.
    pub url: Option<BaseUrl>,
    /// Who may read, and who may act.
    pub tokens: TokenBook,
}

/// What the handlers of requests share.
#[derive(Debug)]
pub struct Shared {
    /// Where it listens.
    pub address: SocketAddr,
    /// What jobs.toml says.
    pub options: watch::Receiver<HttpOptions>,
    /// What the replica reports about itself.
    pub facts: watch::Receiver<ReplicaFacts>,
    /// When the loop of the replica last moved.
    pub progress: Arc<Progress>,
    /// The clocks.
    pub clock: Arc<dyn Clock>,
    wrong_tokens: WrongTokens,
}

impl Shared {
    /// Returns what handlers share for a listener at this address.
    pub fn new(
        address: SocketAddr,
        options: watch::Receiver<HttpOptions>,
        facts: watch::Receiver<ReplicaFacts>,
        progress: Arc<Progress>,
        clock: Arc<dyn Clock>,
    ) -> Self {
        Self { address, options, facts, progress, clock, wrong_tokens: WrongTokens::default() }
    }

    /// Returns the addresses that sent wrong tokens lately.
    pub(super) fn wrong_tokens(&self) -> &WrongTokens {
        &self.wrong_tokens
    }
}
