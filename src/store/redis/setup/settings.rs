//! What a Redis server says of itself: the fields of INFO, and of its configuration where it tells.

use std::collections::BTreeMap;

/// Fields by name.
pub(super) type ServerSettings = BTreeMap<String, String>;

/// The settings that INFO does not tell. One call each: Redis 6.2 takes a single name.
pub(super) const CONFIG_NAMES: [&str; 5] =
    ["save", "appendfsync", "stop-writes-on-bgsave-error", "min-replicas-to-write", "min-replicas-max-lag"];

/// What the server said of itself.
#[derive(Debug, Clone, Default)]
pub(super) struct Settings {
    /// INFO; empty where the user may not ask.
    pub(super) info: ServerSettings,
    /// CONFIG GET of [`CONFIG_NAMES`]; absent where the user may not ask.
    pub(super) config: Option<ServerSettings>,
}

impl Settings {
    /// Reads the text of INFO.
    pub(super) fn of(info: &str, config: Option<ServerSettings>) -> Self {
        let pair = |line: &str| line.split_once(':').map(|(name, value)| (name.to_owned(), value.to_owned()));
        Self { info: info.lines().map(str::trim_end).filter_map(pair).collect(), config }
    }

    /// A field of INFO.
    pub(super) fn fact(&self, name: &str) -> Option<&str> {
        self.info.get(name).map(String::as_str)
    }

    /// A number of INFO.
    pub(super) fn number(&self, name: &str) -> Option<u64> {
        self.fact(name)?.parse().ok()
    }

    /// Whether a flag of INFO is raised.
    pub(super) fn flag(&self, name: &str) -> bool {
        self.fact(name) == Some("1")
    }

    /// A setting of the configuration.
    pub(super) fn setting(&self, name: &str) -> Option<&str> {
        self.config.as_ref()?.get(name).map(String::as_str)
    }

    /// Whether commands are answered for what they are: not on a replica or a node of a cluster, nor while data is loaded.
    pub(super) fn takes_commands(&self) -> bool {
        self.fact("role") != Some("slave") && !self.flag("loading") && !self.flag("cluster_enabled")
    }
}
