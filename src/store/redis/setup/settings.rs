//! What a Redis server reports about itself: the fields of INFO, and of its configuration if it shows that.

use std::collections::BTreeMap;

/// Fields by name.
pub(super) type ServerSettings = BTreeMap<String, String>;

/// The settings that INFO does not show. One call each: Redis 6.2 takes a single name.
pub(super) const CONFIG_NAMES: [&str; 5] =
    ["save", "appendfsync", "stop-writes-on-bgsave-error", "min-replicas-to-write", "min-replicas-max-lag"];

/// What the server reported about itself.
#[derive(Debug, Clone, Default)]
pub(super) struct Settings {
    /// INFO; empty if the user may not read it.
    pub(super) info: ServerSettings,
    /// CONFIG GET of [`CONFIG_NAMES`]; `None` if the user may not read them.
    pub(super) config: Option<ServerSettings>,
}

impl Settings {
    /// Parses the text of INFO.
    pub(super) fn of(info: &str, config: Option<ServerSettings>) -> Self {
        let pair = |line: &str| line.split_once(':').map(|(name, value)| (name.to_owned(), value.to_owned()));
        Self { info: info.lines().map(str::trim_end).filter_map(pair).collect(), config }
    }

    /// Returns a field of INFO.
    pub(super) fn fact(&self, name: &str) -> Option<&str> {
        self.info.get(name).map(String::as_str)
    }

    /// Returns a field of INFO as a number.
    pub(super) fn number(&self, name: &str) -> Option<u64> {
        self.fact(name)?.parse().ok()
    }

    /// Whether a flag of INFO is set.
    pub(super) fn flag(&self, name: &str) -> bool {
        self.fact(name) == Some("1")
    }

    /// Returns a setting of the configuration.
    pub(super) fn setting(&self, name: &str) -> Option<&str> {
        self.config.as_ref()?.get(name).map(String::as_str)
    }

    /// Whether commands get their normal answers: not on a Redis replica or a node of a Redis Cluster, nor while data is
    /// loaded.
    pub(super) fn takes_commands(&self) -> bool {
        self.fact("role") != Some("slave") && !self.flag("loading") && !self.flag("cluster_enabled")
    }
}
