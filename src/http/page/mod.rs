//! The page: HTML that is made here, whole, from what the board knows. It works without a script. Rendering is pure:
//! functions from what is shown to text.
//!
//! A page consists of parts ([`shell::PagePart`]), each an element with an id. The same templates make a page and the
//! changes that its stream sends.

mod answer;
mod assets;
pub(super) mod home;
pub(super) mod job;
#[cfg(test)]
mod looks;
mod replicas;
mod session;
pub(super) mod shell;
#[cfg(test)]
mod testing;
mod timeline;

pub(super) use answer::{base_of, error_page, html, see_other};
pub(super) use assets::asset_answer;
pub(super) use replicas::replicas_parts;
pub(super) use session::{log_in, log_out, login_address, login_form};
