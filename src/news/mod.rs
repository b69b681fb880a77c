//! What happens on each replica, for the viewers of all others: a replica appends its own news to the feed `recent`, in few
//! and short lines, and the boards of the others read them. No decision depends on it, and nothing that jobs print is in it.

mod line;
mod outbox;
#[cfg(test)]
mod outbox_tests;
mod own;
mod publisher;
#[cfg(test)]
mod publisher_tests;

pub use line::{LineItem, NewsLine};
pub use own::OwnNews;
pub use publisher::NewsPublisher;
