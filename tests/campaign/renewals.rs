//! When the good requests of each run were sent, by the logs of the replicas: the claim's and each renewal's.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::Value;

/// For each run, the instants on `CLOCK_BOOTTIME`, in milliseconds and in order.
pub(crate) type Renewals = BTreeMap<String, Vec<i64>>;

/// Reads every log of a folder.
pub(crate) fn read(folder: &Path) -> Renewals {
    let mut renewals = Renewals::new();
    for file in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        if file.path().extension().is_some_and(|extension| extension == "log") {
            read_text(&std::fs::read_to_string(file.path()).expect("logs are text"), &mut renewals);
        }
    }
    renewals.values_mut().for_each(|sent| sent.sort_unstable());
    renewals
}

fn read_text(text: &str, renewals: &mut Renewals) {
    for line in text.lines().filter(|line| line.contains("sent_boot_ms")) {
        let line: Value = serde_json::from_str(line).unwrap_or_default();
        if let (Some(run), Some(sent)) = (line["run"].as_str(), line["sent_boot_ms"].as_i64()) {
            renewals.entry(run.to_owned()).or_default().push(sent);
        }
    }
}
