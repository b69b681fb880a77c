//! HTTP: health, metrics, page and API. It has a thread of its own, with a lower priority than the replica's, and answers
//! from what the replica reports about itself: no request waits for the replica, and the replica waits for none. The thread
//! also answers questions for the output of the replica's runs, with and without HTTP.
//!
//! A request passes through `server` (sockets and their limits), `route` (which paths there are) and `access` (who
//! may do it) before its handler sees it.

mod access;
mod acts;
mod api;
mod board;
mod live;
mod page;
mod route;
mod scrape;
mod server;
mod state;
#[cfg(test)]
mod testing;

pub use access::token::{NamedToken, SameToken, TokenBook, TokenText};
pub use scrape::health::Progress;
pub use server::thread::{HttpHandle, HttpThread};
pub use state::{HttpOptions, HttpSources};
