//! The nearest of several names to one that is not among them.
//! What is too far off to be a slip of the pen is not suggested.

/// Which candidate `word` was probably meant to be, whatever its case.
pub(super) fn nearest<'a>(word: &str, candidates: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let slips_allowed = (word.chars().count() / 3).max(1);
    candidates
        .map(|candidate| (distance(word, candidate), candidate))
        .filter(|(slips, _)| *slips <= slips_allowed)
        .min_by_key(|(slips, _)| *slips)
        .map(|(_, candidate)| candidate)
}

/// Letters to add, drop or replace to get from one word to the other (Levenshtein), whatever their case.
fn distance(from: &str, to: &str) -> usize {
    let lower = |text: &str| text.chars().map(|c| c.to_ascii_lowercase()).collect::<Vec<_>>();
    let (from, to) = (lower(from), lower(to));
    let mut row: Vec<usize> = (0..=to.len()).collect();
    for (i, a) in from.iter().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], i + 1);
        for (j, b) in to.iter().enumerate() {
            let replaced = diagonal + usize::from(a != b);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[to.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_count_letters_added_dropped_and_replaced() {
        for (from, to, expected) in
            [("", "", 0), ("abc", "", 3), ("", "ab", 2), ("kitten", "sitting", 3), ("MON", "mon", 0)]
        {
            assert_eq!(distance(from, to), expected, "{from} {to}");
        }
    }

    #[test]
    fn only_a_likely_slip_is_suggested() {
        let words = ["@daily", "@weekly", "@hourly"];
        assert_eq!(nearest("@dayly", words.into_iter()), Some("@daily"));
        assert_eq!(nearest("@houry", words.into_iter()), Some("@hourly"));
        assert_eq!(nearest("@fortnight", words.into_iter()), None);
    }
}
