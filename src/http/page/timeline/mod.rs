//! The timeline as SVG. Places along the time are percentages of the width, and heights are pixels: so it fills any
//! screen, and letters and signs keep their form. Everything is said by attributes, as the page allows no styles.

mod compact;
mod drawing;
mod part;
#[cfg(test)]
mod tests;

pub(crate) use part::{TimelineChoice, TimelineLinks, timeline_part};
