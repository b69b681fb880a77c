//! What the processes about a run call themselves: people read it in `ps`, and a process of the run tells its guard by it. Of all that
//! it knows, a name alone can be read by whoever the run's user is, and written by nobody else.

use std::ffi::{CStr, CString};

/// The maker of guards. By this name in place of its own the program knows that it is to make them.
pub(in crate::run) const MAKER: &CStr = c"lease-guards";

/// A guard, before its run has begun.
pub(super) const BEFORE_THE_RUN: &CStr = c"lease-guard-new";

/// A guard, once the run is over, while something that it left behind goes on.
pub(super) const AFTER_THE_RUN: &CStr = c"lease-guard-end";

/// A run's main process, before it has become its command.
pub(super) const JOB: &CStr = c"lease-guard-job";

/// A process's name has 15 letters at the most: four letters of 64 stand for the run.
const PREFIX: &[u8] = b"lease-guard";
const LETTERS_OF_RUN: usize = 4;
const LETTERS: &[u8; 64] = b"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ._";

/// The guard of a run.
pub(in crate::run) fn guard_name(run: &str) -> CString {
    let digits = run.len().checked_sub(LETTERS_OF_RUN * 3 / 2).and_then(|from| run.get(from..));
    let number = digits.and_then(|digits| usize::from_str_radix(digits, 16).ok()).unwrap_or_default();
    let letter = |at: usize| LETTERS[number >> (6 * at) & 63];
    let name = PREFIX.iter().copied().chain((0..LETTERS_OF_RUN).map(letter));
    CString::new(name.collect::<Vec<_>>()).expect("none of them is NUL")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::job::RunId;

    #[test]
    fn the_name_of_a_guard_fits_a_process_and_stands_for_its_run() {
        let name = |run: &str| guard_name(run).into_string().expect("ASCII");
        assert_eq!(name("01890a5d-ac96-774b-bcce-b302099a8057"), "lease-guardn1EC");
        assert_eq!(name("x"), "lease-guard0000");
        assert_ne!(name(&RunId::new().to_string()), name(&RunId::new().to_string()));
    }
}
