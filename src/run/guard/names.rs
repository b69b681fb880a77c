//! The names of the processes around a run, as operators see them in `ps`. A process of the run recognises its guard
//! by the name: of all the data about a process, only the name can be read by every user, and written by no other
//! process.

use std::ffi::{CStr, CString};

/// The zygote. The program runs as the zygote if it is started by this name.
pub(in crate::run) const ZYGOTE_NAME: &CStr = c"lease-guards";

/// A guard whose run has not begun yet.
pub(super) const BEFORE_THE_RUN: &CStr = c"lease-guard-new";

/// A guard whose run is over, while a process that the run left behind continues.
pub(super) const AFTER_THE_RUN: &CStr = c"lease-guard-end";

/// A run's main process, before it has executed its command.
pub(super) const JOB: &CStr = c"lease-guard-job";

/// A process name has at most 15 characters: four characters out of 64 stand for the run.
const PREFIX: &[u8] = b"lease-guard";
const LETTERS_OF_RUN: usize = 4;
const LETTERS: &[u8; 64] = b"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ._";

/// Returns the name of a run's guard.
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
