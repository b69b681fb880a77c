//! Characters that show a text in another order than it is written in.

/// Characters that change the order of those around them.
const REORDER: [std::ops::RangeInclusive<char>; 2] = ['\u{202a}'..='\u{202e}', '\u{2066}'..='\u{2069}'];

/// Whether `c` changes the order of the characters around it.
pub(crate) fn reorders(c: char) -> bool {
    REORDER.iter().any(|range| range.contains(&c))
}
