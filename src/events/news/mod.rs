//! What programs and other replicas are told of the events of a replica: one flat object for each, with stable names. Fields
//! that do not apply are left out.

mod item;
mod word;

pub use item::NewsItem;
pub use word::EventWord;
