//! Finds the candidate that a misspelt name was probably meant to be. A candidate that differs too much is not
//! suggested.

/// Returns the candidate nearest to `word`, ignoring case. `None` if each differs in more than one letter and in more
/// than a third of its letters.
pub fn nearest<'a>(word: &str, candidates: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let length = |text: &str| text.chars().count();
    candidates
        .map(|candidate| (distance(word, candidate), candidate))
        .filter(|(slips, candidate)| *slips <= (length(word).max(length(candidate)) / 3).max(1))
        .min_by_key(|(slips, _)| *slips)
        .map(|(_, candidate)| candidate)
}

/// Returns how many letters must be inserted, deleted, changed or swapped with their neighbour to turn one text into
/// the other, ignoring case.
fn distance(from: &str, to: &str) -> usize {
    let lower = |text: &str| text.chars().map(|c| c.to_ascii_lowercase()).collect::<Vec<_>>();
    let (from, to) = (lower(from), lower(to));
    let mut before: Vec<usize> = Vec::new();
    let mut above: Vec<usize> = (0..=to.len()).collect();
    for i in 1..=from.len() {
        let mut row = vec![i; to.len() + 1];
        for j in 1..=to.len() {
            let change = above[j - 1] + usize::from(from[i - 1] != to[j - 1]);
            row[j] = change.min(above[j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && from[i - 1] == to[j - 2] && from[i - 2] == to[j - 1] {
                row[j] = row[j].min(before[j - 2] + 1);
            }
        }
        before = std::mem::replace(&mut above, row);
    }
    above[to.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_count_letters_added_dropped_replaced_and_swapped() {
        let cases = [
            ("", "", 0),
            ("abc", "", 3),
            ("", "ab", 2),
            ("kitten", "sitting", 3),
            ("MON", "mon", 0),
            ("laese", "lease", 1),
            ("lsaee", "lease", 2),
        ];
        for (from, to, expected) in cases {
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
