//! Finds the candidate that a misspelt name was probably meant to be. A candidate that differs too much is not
//! suggested.

use strsim::osa_distance;

/// Returns the candidate nearest to `word`, ignoring case. `None` if each differs in more than one letter and in more
/// than a third of its letters.
pub fn nearest<'a>(word: &str, candidates: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let length = |text: &str| text.chars().count();
    let slips = |candidate: &str| osa_distance(&word.to_ascii_lowercase(), &candidate.to_ascii_lowercase());
    candidates
        .map(|candidate| (slips(candidate), candidate))
        .filter(|(slips, candidate)| *slips <= (length(word).max(length(candidate)) / 3).max(1))
        .min_by_key(|(slips, _)| *slips)
        .map(|(_, candidate)| candidate)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_likely_slip_is_suggested() {
        let words = ["@daily", "@weekly", "@hourly"];
        assert_eq!(nearest("@dayly", words.into_iter()), Some("@daily"));
        assert_eq!(nearest("@houry", words.into_iter()), Some("@hourly"));
        assert_eq!(nearest("@fortnight", words.into_iter()), None);
        assert_eq!(nearest("MON", ["sun", "mon"].into_iter()), Some("mon"));
        assert_eq!(
            nearest("laese", ["lease"].into_iter()),
            Some("lease"),
            "neighbours that are swapped are one slip"
        );
    }
}
