//! One connection: HTTP/1.1 with bounded heads and times.

use std::net::SocketAddr;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::Router;
use axum::body::{Body, HttpBody};
use axum::http::{Request, Response};
use hyper::body::{Frame, Incoming, SizeHint};
use hyper::server::conn::http1;
use hyper::service::{Service, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use crate::http::route::serve::{ConnectionPeer, SpareConnection};

use super::limited_stream::LimitedStream;
use super::slots::ConnectionSlot;

/// How long a client may take to send the head of a request, from the connection or from the answer before.
const HEAD_WITHIN: Duration = Duration::from_secs(5);

/// The most bytes of a head, and the most headers in it.
const HEAD_LIMITS: (usize, usize) = (8 << 10, 64);

/// How long a connection may take to end once the server stops.
const ENDS_WITHIN: Duration = Duration::from_millis(300);

/// Serves a connection until it ends, the server stops, or it has to make room.
pub(super) async fn serve(
    stream: TcpStream,
    peer: SocketAddr,
    slot: ConnectionSlot,
    router: Router,
    stop: CancellationToken,
) {
    let (bytes, headers) = HEAD_LIMITS;
    let (slot_ref, router) = (&slot, TowerToHyperService::new(router));
    let answer = service_fn(move |mut request: Request<Incoming>| {
        request.extensions_mut().insert(ConnectionPeer(peer));
        if slot_ref.is_spare {
            request.extensions_mut().insert(SpareConnection);
        }
        let receiving = slot_ref.receiving();
        let request = request.map(|body| {
            let receiving = Some(receiving).filter(|_| !body.is_end_stream());
            KeepingBody { body, _kept: receiving }
        });
        let (answering, response) = (slot_ref.answering(), router.call(request));
        async move {
            let response: Result<Response<Body>, _> = response.await;
            response.map(|response| response.map(|body| KeepingBody { body, _kept: answering }))
        }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_WITHIN)
        .keep_alive(!slot_ref.is_spare)
        .max_buf_size(bytes)
        .max_headers(headers)
        .serve_connection(TokioIo::new(LimitedStream::new(stream)), answer);
    tokio::pin!(connection);
    tokio::select! {
        // A client that breaks the rules, or goes away, is no concern of this server.
        _ = connection.as_mut() => {}
        () = slot_ref.close.cancelled() => {}
        () = stop.cancelled() => {
            connection.as_mut().graceful_shutdown();
            let _ = timeout(ENDS_WITHIN, connection).await;
        }
    }
}

/// A body that keeps something as long as it lasts: of a request, that its connection can make room; of an answer, that it
/// cannot.
#[derive(Debug)]
struct KeepingBody<B, T> {
    body: B,
    _kept: T,
}

impl<B: HttpBody + Unpin, T: Unpin> HttpBody for KeepingBody<B, T> {
    type Data = B::Data;
    type Error = B::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<B::Data>, B::Error>>> {
        Pin::new(&mut self.body).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
