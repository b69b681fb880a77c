//! What run logs leave free on their disk: the embedded store may be on it, and grows while jobs run. Below the
//! reserve no log is written; below half of it, the oldest logs are deleted.

use std::io;
use std::path::Path;

use nix::sys::statvfs::statvfs;

/// Bounds of the reserve, in bytes; between them it is a twentieth of the disk. The embedded store's journal alone
/// takes 4 MiB, and twice as much for a moment.
const BOUNDS: (u64, u64) = (16 << 20, 64 << 20);

/// On a small disk, the reserve is at most the size divided by this: three quarters are left to logs.
const SHARE_OF_SMALL: u64 = 4;

/// The free space and the size of a folder's disk, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct DiskReserve {
    free: u64,
    size: u64,
}

impl DiskReserve {
    /// Returns the space of the disk that this folder is on. `None` if the disk does not report it: then logs are
    /// written until a write fails.
    pub(crate) fn of(folder: &Path) -> Option<Self> {
        let disk = statvfs(folder).ok()?;
        let unit = disk.fragment_size();
        Some(Self {
            free: disk.blocks_available().saturating_mul(unit),
            size: disk.blocks().saturating_mul(unit),
        })
    }

    /// Returns how many bytes logs leave free.
    fn reserve(self) -> u64 {
        (self.size / 20).clamp(BOUNDS.0.min(self.size / SHARE_OF_SMALL), BOUNDS.1)
    }

    /// Returns an error if so little is free that no log may be written.
    pub(crate) fn check(self) -> io::Result<()> {
        let reserve = self.reserve();
        if self.free >= reserve {
            return Ok(());
        }
        let (free, reserve) = (self.free >> 20, reserve >> 20);
        let message =
            format!("{free} MiB are free on its disk: logs leave the last {reserve} MiB of it to the store");
        Err(io::Error::new(io::ErrorKind::StorageFull, message))
    }

    /// Returns how many bytes of logs are to be deleted, because the store has taken more than half of the reserve.
    pub(crate) fn shortage(self) -> u64 {
        (self.reserve() / 2).saturating_sub(self.free)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    #[test]
    fn a_twentieth_of_a_disk_is_reserved_within_bounds_or_a_quarter_of_a_small_one() {
        let reserve = |size| DiskReserve { free: 0, size }.reserve();
        let sizes = [10 * MIB, 60 * MIB, 400 * MIB, 1 << 40];
        assert_eq!(sizes.map(reserve), [5 * MIB / 2, 15 * MIB, 20 * MIB, 64 * MIB]);
    }

    #[test]
    fn no_log_is_written_into_the_reserve_and_logs_are_deleted_once_half_of_it_is_gone() {
        let of = |free| DiskReserve { free, size: 60 * MIB };
        assert_eq!(of(15 * MIB).check().map_err(|error| error.kind()), Ok(()));
        let error = of(15 * MIB - 1).check().expect_err("too little");
        assert_eq!(
            error.to_string(),
            "14 MiB are free on its disk: logs leave the last 15 MiB of it to the store"
        );
        assert_eq!([8, 7, 0].map(|free| of(free * MIB).shortage()), [0, MIB / 2, 15 * MIB / 2]);
    }
}
