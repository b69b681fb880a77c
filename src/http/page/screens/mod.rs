//! The pages as people get them: which part of the cluster each one shows, who looks, and the stream of its changes.

mod act;
mod context;
mod output;
mod past;
mod routes;
mod screen;
#[cfg(test)]
mod screen_tests;
mod stream;
mod unread;

pub(in crate::http) use routes::page_routes;
