//! `[replica]`: how each replica behaves, unless its flags say otherwise. Keys of later releases are
//! refused, not ignored.

use std::time::Duration;

use super::findings::Findings;
use super::keys;
use super::policy;
use super::section::Section;
use super::value::{self, Raw, Reading, Refusal};

/// How long running jobs may go on after the replica was told to stop.
const DEFAULT_DRAIN: Duration = Duration::from_secs(20);

/// How this replica behaves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReplicaSettings {
    /// How long running jobs may go on after the replica was told to stop; zero: not at all.
    pub drain: Duration,
}

/// Reads `[replica]`; the flag beats the file.
pub(super) fn read(
    section: &Section<'_>,
    drain: Option<Duration>,
    findings: &mut Findings,
) -> ReplicaSettings {
    section.refuse_unknown(keys::REPLICA, findings);
    section.read("max_running", findings, |raw| {
        value::small_number(raw, 1..=u32::MAX)?;
        policy::not_yet("each replica runs whatever it wins").alone::<()>()
    });
    section.read("listen", findings, |raw| {
        listen(raw)?;
        policy::not_yet("there are no HTTP pages yet").alone::<()>()
    });
    section.read("labels", findings, |raw| {
        let labels = policy::labels(raw)?;
        if labels.is_empty() {
            Ok(())
        } else {
            policy::not_yet("every replica takes part in every job").alone()
        }
    });
    let in_file = section.read("drain", findings, value::duration).map(|drain| drain.value);
    ReplicaSettings { drain: drain.or(in_file).unwrap_or(DEFAULT_DRAIN) }
}

fn listen(raw: &Raw<'_>) -> Reading<()> {
    let text = value::text(raw)?;
    let port = text
        .rsplit_once(':')
        .filter(|(host, _)| !host.is_empty())
        .and_then(|(_, port)| port.parse::<u16>().ok());
    match port {
        Some(_) => Ok(()),
        None => Refusal::new(
            format!("is `{text}`, expected an address with a port"),
            "write `\"127.0.0.1:7070\"`",
        )
        .alone(),
    }
}
