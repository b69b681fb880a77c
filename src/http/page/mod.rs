//! The page: HTML that is made here, whole, from what the board knows. It works without a script. Rendering is pure:
//! functions from what is shown to text.
//!
//! A page consists of parts ([`shell::PagePart`]), each an element with an id. The same templates make a page and the
//! changes that its stream sends.

mod answer;
mod assets;
mod home;
mod job;
mod replicas;
mod screens;
mod session;
mod shell;
#[cfg(test)]
mod testing;
mod timeline;

pub(super) use answer::{absent_page, base_of, error_page, see_other};
pub(super) use screens::page_routes;
pub(super) use session::login_address;
