//! Who descends from a process.

use nix::unistd::Pid;

/// The children of a process, their children, and so on.
pub(crate) fn descendants(of: Pid) -> Vec<Pid> {
    let mut found = vec![of];
    let mut at = 0;
    while let Some(pid) = found.get(at) {
        // Each thread lists the children that it started. A process that is gone has none.
        for thread in std::fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten() {
            let children = std::fs::read_to_string(thread.path().join("children")).unwrap_or_default();
            found.extend(children.split_whitespace().filter_map(|id| id.parse().ok()).map(Pid::from_raw));
        }
        at += 1;
    }
    found.split_off(1)
}
