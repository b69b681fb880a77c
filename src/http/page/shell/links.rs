//! Addresses of pages. What they contain is encoded, so that a name can be no other path.

use std::fmt::Write;

use crate::job::{JobName, RunId};

/// Returns a text as a part of an address: every byte that is no letter, digit, `-`, `.`, `_` or `~` is encoded.
pub(crate) fn encoded(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            encoded.push(char::from(byte));
        } else {
            // Writing into memory cannot fail.
            let _ = write!(encoded, "%{byte:02X}");
        }
    }
    encoded
}

/// Returns the path of a run's page below the base of links. Names of jobs need no encoding.
pub(crate) fn run_link(job: &JobName, run: RunId) -> String {
    format!("/jobs/{job}/runs/{run}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_could_end_a_part_of_an_address_is_encoded() {
        assert_eq!(encoded("nightly-backup_1.2~"), "nightly-backup_1.2~");
        assert_eq!(encoded("/?q=a b&c#d%"), "%2F%3Fq%3Da%20b%26c%23d%25");
        assert_eq!(encoded("\"><script>"), "%22%3E%3Cscript%3E");
        assert_eq!(encoded("ä"), "%C3%A4");
    }
}
