//! What this process uses of its machine: the metrics that every exporter has.

use std::fs;

use nix::sys::resource::{Resource, UsageWho, getrlimit, getrusage};
use nix::sys::time::TimeValLike;

use crate::time::UtcMillis;

use crate::metrics::catalogue;
use crate::metrics::samples::{Samples, number_if_known, numbers, seconds};

/// What this process uses. What cannot be read is `None`, and has no sample.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct ProcessFigures {
    cpu_seconds: Option<f64>,
    resident_bytes: Option<f64>,
    virtual_bytes: Option<f64>,
    open_fds: Option<f64>,
    max_fds: Option<f64>,
    started: UtcMillis,
}

impl ProcessFigures {
    /// Reads /proc/self, which takes some microseconds. `started`: when this process started.
    pub(crate) fn read(started: UtcMillis) -> Self {
        let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
        let usage = getrusage(UsageWho::RUSAGE_SELF).ok();
        let cpu_micros = usage.map(|usage| (usage.user_time() + usage.system_time()).num_microseconds());
        // The folder itself is open while it is read.
        let open_fds = fs::read_dir("/proc/self/fd").ok().map(|fds| fds.count().saturating_sub(1));
        Self {
            cpu_seconds: cpu_micros.map(|micros| micros as f64 / 1e6),
            resident_bytes: bytes_of(&status, "VmRSS:"),
            virtual_bytes: bytes_of(&status, "VmSize:"),
            open_fds: open_fds.map(|fds| fds as f64),
            max_fds: getrlimit(Resource::RLIMIT_NOFILE).ok().map(|(soft, _)| soft as f64),
            started,
        }
    }

    /// Returns the samples.
    pub(crate) fn samples(&self) -> Vec<Samples> {
        let known = [
            (&catalogue::PROCESS_CPU, self.cpu_seconds),
            (&catalogue::PROCESS_RESIDENT, self.resident_bytes),
            (&catalogue::PROCESS_VIRTUAL, self.virtual_bytes),
            (&catalogue::PROCESS_OPEN_FDS, self.open_fds),
            (&catalogue::PROCESS_MAX_FDS, self.max_fds),
        ];
        let mut samples: Vec<Samples> =
            known.into_iter().map(|(family, value)| number_if_known(family, value)).collect();
        samples.push(numbers(&catalogue::PROCESS_START, &[seconds(self.started)]));
        samples
    }
}

/// Reads a line like `VmRSS:   10240 kB` of /proc/self/status.
fn bytes_of(status: &str, name: &str) -> Option<f64> {
    let line = status.lines().find_map(|line| line.strip_prefix(name))?;
    let kilobytes: u64 = line.trim().strip_suffix(" kB")?.trim().parse().ok()?;
    Some((kilobytes * 1_024) as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_size_is_read_in_bytes_and_another_line_is_none() {
        let status = "Name:\tsolocron\nVmSize:\t  123 kB\nVmRSS:\t    8 kB\nThreads:\t4\n";
        assert_eq!(bytes_of(status, "VmRSS:"), Some(8_192.0));
        assert_eq!(bytes_of(status, "VmSize:"), Some(125_952.0));
        assert_eq!(bytes_of(status, "Threads:"), None);
        assert_eq!(bytes_of(status, "VmPeak:"), None);
    }

    #[test]
    fn this_process_has_memory_files_and_a_limit_of_them() {
        let figures = ProcessFigures::read(UtcMillis(1_764_000_000_500));
        assert!(figures.cpu_seconds.is_some_and(|seconds| seconds >= 0.0), "{figures:?}");
        let (resident, open) = (figures.resident_bytes.expect("linux"), figures.open_fds.expect("linux"));
        assert!(figures.virtual_bytes.is_some_and(|all| all >= resident), "{figures:?}");
        assert!(figures.max_fds.is_some_and(|max| max >= open), "{figures:?}");
        let samples = figures.samples();
        assert!(samples.iter().all(|(_, samples)| samples.len() == 1), "{samples:?}");
    }
}
