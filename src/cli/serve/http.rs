//! Starts the HTTP server of a replica: binds its address, reads its tokens, and passes on what a reload changes. Its thread
//! answers questions for the output of the replica's runs, with and without HTTP.

use std::collections::BTreeSet;
use std::io;
use std::net::TcpListener;
use std::sync::Arc;

use tracing::{info, warn};

use crate::cli::exit::Failure;
use crate::config::{Config, HttpSettings, ListenAddress, Problem, Source, read_private, token_problem};
use crate::http::{HttpHandle, HttpOptions, HttpSources, HttpThread, TokenBook, TokenText};
use crate::job::NodeName;
use crate::relay::OutputResponder;
use crate::store::{Store, StoreError};

/// The socket of the server, which does not serve yet.
#[derive(Debug)]
pub(crate) enum HttpSocket {
    /// It listens.
    Bound(TcpListener),
    /// It is not wanted.
    Off,
    /// The usual port is taken; replicas work without HTTP.
    Taken(ListenAddress, io::Error),
}

impl HttpSocket {
    /// Binds the address.
    ///
    /// # Errors
    /// If it cannot be bound, and somebody named it; that of the default is only logged.
    pub(crate) fn bind(settings: &HttpSettings) -> Result<Self, Failure> {
        let Some(listen) = settings.listen else { return Ok(Self::Off) };
        match TcpListener::bind(listen.address) {
            Ok(listener) => Ok(Self::Bound(listener)),
            Err(error) if listen.is_explicit => Err(Failure::failed(format!(
                "no HTTP on {}: {error}; use --listen or --no-http",
                listen.address
            ))),
            Err(error) => Ok(Self::Taken(listen, error)),
        }
    }

    /// Starts to serve, and to answer questions for output. Returns `None` if there is no thread for it, which is logged.
    pub(crate) fn serve(
        self,
        node: &NodeName,
        sources: HttpSources,
        responder: OutputResponder,
        open_store: impl FnOnce() -> Result<Arc<dyn Store>, StoreError> + Send + 'static,
    ) -> Option<HttpHandle> {
        let listener = match self {
            Self::Bound(listener) => Some(listener),
            Self::Off => None,
            Self::Taken(listen, error) => {
                warn!(%node, address = %listen.address, %error, "no HTTP: use --listen or --no-http");
                None
            }
        };
        let has_tokens = !sources.options.borrow().tokens.is_empty();
        let handle = match HttpThread::start(listener, sources, responder, open_store) {
            Ok(handle) => handle,
            Err(error) => {
                warn!(%node, %error, "no HTTP, and no output for other machines: their thread cannot be started");
                return None;
            }
        };
        if let Some(address) = handle.address {
            info!(%node, %address, "serving HTTP");
            if !has_tokens && !address.ip().to_canonical().is_loopback() {
                warn!(%node, %address, "HTTP serves only health and metrics here: add [http.tokens] for the rest");
            }
        }
        Some(handle)
    }
}

/// Returns what the file says about HTTP, with its tokens, or every problem with their files.
pub(crate) fn resolve_http(config: &Config, source: &Source) -> Result<HttpOptions, Vec<Problem>> {
    let settings = &config.http;
    let (mut tokens, mut problems) = (Vec::new(), Vec::new());
    for (name, token) in &settings.tokens {
        let read = read_private(&token.file).and_then(|text| TokenText::parse(&text));
        match read {
            Ok(text) => tokens.push(text.named(name.clone(), token.may)),
            Err(error) => problems.push(token_problem(name, &error.of_file(&token.file), source)),
        }
    }
    let tokens =
        TokenBook::new(tokens).map_err(|same| vec![token_problem(&same.second, &same.problem(), source)])?;
    if !problems.is_empty() {
        return Err(problems);
    }
    let mut hosts: BTreeSet<String> = settings.hosts.iter().cloned().collect();
    hosts.extend(nix::unistd::gethostname().ok().map(|host| host.to_string_lossy().to_ascii_lowercase()));
    Ok(HttpOptions {
        cluster: config.cluster.to_string(),
        hosts,
        url: settings.url.clone(),
        tokens,
        jobs: Arc::new(config.jobs.clone()),
    })
}
