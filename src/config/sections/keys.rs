//! The keys of jobs.toml: one row for each, with its default and what it means. Reading, "did you mean", defaults, the
//! tables of docs/configuration.md and the manual page all come from here.

/// The table that a key belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Home {
    /// `[cluster]`.
    Cluster,
    /// `[jobs.NAME]` alone: `[defaults]` cannot have it.
    Job,
    /// `[jobs.NAME]` or `[defaults]`.
    Shared,
    /// `[replica]`.
    Replica,
    /// `[http]`.
    Http,
    /// One of the tokens in `[http.tokens]`.
    Token,
    /// `[logs]`.
    Logs,
}

impl Home {
    /// Returns the table as messages name it, in Markdown.
    pub(crate) fn title(self) -> &'static str {
        match self {
            Self::Cluster => CLUSTER.topic,
            Self::Job => "`[jobs.NAME]`",
            Self::Shared => "`[defaults]` or `[jobs.NAME]`",
            Self::Replica => REPLICA.topic,
            Self::Http => HTTP.topic,
            Self::Token => TOKEN.topic,
            Self::Logs => LOGS.topic,
        }
    }
}

/// What applies if the key is absent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Absent {
    /// The file is refused; the text says where else the value may come from.
    Refused(&'static str),
    /// This value, as it is written in the file.
    Is(&'static str),
    /// No value; the text says what that means.
    Means(&'static str),
}

/// One key of jobs.toml.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Key {
    pub(crate) name: &'static str,
    pub(crate) home: Home,
    /// The heading of its table in docs/configuration.md; `None` for a key that is not supported yet.
    pub(crate) topic: Option<&'static str>,
    pub(crate) absent: Absent,
    /// The smallest value, as it is written in the file.
    pub(crate) least: Option<&'static str>,
    /// What it does, in Markdown.
    pub(crate) meaning: &'static str,
    /// What other programs call it.
    synonyms: &'static [&'static str],
}

impl Key {
    const fn least(self, least: &'static str) -> Self {
        Self { least: Some(least), ..self }
    }

    const fn or(self, synonyms: &'static [&'static str]) -> Self {
        Self { synonyms, ..self }
    }

    /// Returns the line of the file that sets the default; `None` if the key has none.
    pub(crate) fn default_line(&self) -> Option<String> {
        let Absent::Is(value) = self.absent else { return None };
        Some(format!("{} = {value}\n", self.name))
    }

    /// Returns the default for people, in Markdown.
    pub(crate) fn default_text(&self) -> String {
        let default = match self.absent {
            Absent::Refused(text) | Absent::Means(text) => text.to_owned(),
            Absent::Is(value) => format!("`{value}`"),
        };
        match self.least {
            Some(least) => format!("{default}, at least `{least}`"),
            None => default,
        }
    }
}

/// Where a key stands: the table that it belongs to, and the heading of its table in docs/configuration.md.
#[derive(Debug, Clone, Copy)]
struct KeyPlace {
    home: Home,
    topic: &'static str,
}

const CLUSTER: KeyPlace = KeyPlace { home: Home::Cluster, topic: "`[cluster]`" };
const REPLICA: KeyPlace = KeyPlace { home: Home::Replica, topic: "`[replica]`" };
const HTTP: KeyPlace = KeyPlace { home: Home::Http, topic: "`[http]`" };
const TOKEN: KeyPlace = KeyPlace { home: Home::Token, topic: "`[http.tokens]`" };
const LOGS: KeyPlace = KeyPlace { home: Home::Logs, topic: "`[logs]`" };
const WHAT_RUNS: KeyPlace = KeyPlace { home: Home::Shared, topic: "What runs, and when" };
const OWN: KeyPlace = KeyPlace { home: Home::Job, ..WHAT_RUNS };
const HOW_LONG: KeyPlace = KeyPlace { home: Home::Shared, topic: "How long it may take, and what then" };
const LATE: KeyPlace = KeyPlace { home: Home::Shared, topic: "Ticks that cannot start on time" };

const fn key(place: KeyPlace, name: &'static str, absent: Absent, meaning: &'static str) -> Key {
    let KeyPlace { home, topic } = place;
    Key { name, home, topic: Some(topic), absent, least: None, meaning, synonyms: &[] }
}

const NONE: Absent = Absent::Means("none");

/// Every key, in the order in which messages and docs list them.
pub(crate) const KEYS: &[Key] = &[
    key(
        CLUSTER,
        "name",
        Absent::Refused("required, unless the store is local"),
        "replicas with the same name and store cooperate",
    ),
    key(
        CLUSTER,
        "store",
        Absent::Refused("required: here, by `--store` or by `SOLOCRON_STORE`"),
        "where replicas meet, see below",
    )
    .or(&["url", "redis"]),
    key(
        CLUSTER,
        "replicas",
        NONE,
        "the expected number; if fewer are alive for a minute, every replica warns",
    ),
    key(
        REPLICA,
        "drain",
        Absent::Is("\"20s\""),
        "how long runs may continue after the order to stop",
    ),
    key(
        REPLICA,
        "max_running",
        Absent::Means("any number"),
        "how many runs this replica has at once; other replicas take what comes meanwhile",
    ),
    key(REPLICA, "labels", NONE, "`[\"gpu\"]`: what jobs with `only_on` ask for"),
    key(
        HTTP,
        "listen",
        Absent::Is("\"127.0.0.1:7070\""),
        "address of [page, API, health and metrics](http.md). `run --replicas N` takes this port and the N − 1 after it",
    )
    .or(&["address", "bind", "port"]),
    key(
        HTTP,
        "hosts",
        Absent::Means("none"),
        "names by which browsers reach it, besides `localhost`, this machine's name and that of `url`. IP addresses always pass",
    )
    .or(&["host"]),
    key(
        HTTP,
        "url",
        NONE,
        "base of links, where a proxy or a balancer has an address of its own. With `https`, the cookie of the login is sent \
         over TLS alone",
    ),
    key(HTTP, "tokens", NONE, "who may read, and who may act, see below"),
    key(
        TOKEN,
        "token",
        Absent::Refused("required"),
        "`\"${file:/run/secrets/maria}\"`: the file with the token, which no other user may read. With two lines, both are valid",
    ),
    key(TOKEN, "may", Absent::Refused("required"), "`read`, or `act`: read, trigger, pause, resume, kill and unlock"),
    key(LOGS, "keep", Absent::Is("\"14d\""), "age at which a run's log is deleted").or(&["retention"]),
    key(LOGS, "keep_runs", Absent::Is("200"), "logs kept per job"),
    key(LOGS, "max_bytes", Absent::Is("\"1GiB\""), "size of all run logs"),
    key(
        OWN,
        "schedule",
        Absent::Refused("required"),
        "one string or a list (union of all): [Schedules](schedules.md)",
    )
    .or(&["cron"]),
    key(
        OWN,
        "command",
        Absent::Refused("required, or `shell`"),
        "a list of arguments, run as it is",
    )
    .or(&["cmd", "exec", "run"]),
    key(OWN, "shell", Absent::Refused("required, or `command`"), "a string for `/bin/sh -c`"),
    key(WHAT_RUNS, "timezone", Absent::Is("\"UTC\""), "IANA name; the data is built in").or(&["tz"]),
    key(
        WHAT_RUNS,
        "env",
        NONE,
        "added to the [environment](#what-a-job-sees); merged with that of `[defaults]` key by key",
    )
    .or(&["environment"]),
    key(WHAT_RUNS, "cwd", NONE, "working directory").or(&["dir", "workdir", "working_dir", "working_directory"]),
    key(
        WHAT_RUNS,
        "user",
        NONE,
        "run as this user, with that user's groups and [a clean environment](#with-another-user); needs root",
    ),
    key(WHAT_RUNS, "group", Absent::Means("that of the user"), "run as this group; needs root"),
    key(
        HOW_LONG,
        "lease",
        Absent::Is("\"30s\""),
        "time limit of the lock. It is renewed while the job runs. Longer than your Redis failover takes, for jobs that must \
         survive one",
    )
    .least("5s")
    .or(&["ttl"]),
    key(HOW_LONG, "timeout", NONE, "stop the attempt after this long"),
    key(
        HOW_LONG,
        "kill_grace",
        Absent::Is("\"10s\""),
        "time between SIGTERM and SIGKILL on timeout, `kill`, replacement and drain; the lock is renewed meanwhile. When the \
         lock is lost: at most a sixth of the lease",
    ),
    key(
        LATE,
        "overlap",
        Absent::Is("\"skip\""),
        "the previous run is still running at the tick: `skip` the tick; `wait` for the end, in order of ticks and no longer \
         than `start_deadline`; or `replace`: stop the previous run, then run",
    )
    .or(&["concurrency"]),
    key(
        LATE,
        "start_deadline",
        Absent::Means("until the next tick, at most `1h`"),
        "a tick that has not started by then is missed",
    ),
    key(
        LATE,
        "catch_up",
        Absent::Is("\"none\""),
        "after an outage: `none`: missed ticks stay missed. `last`: the newest missed tick runs once, however late; older ones \
         stay missed",
    ),
    key(
        LATE,
        "on_interrupt",
        Absent::Is("\"skip\""),
        "a run was cut short by its replica (crash, drain, lost lock): `skip`: it is not repeated. `rerun`: the tick runs once \
         more",
    ),
    key(
        HOW_LONG,
        "retries",
        Absent::Is("0"),
        "further attempts after a failed or timed out one, on the same replica, under the same lock. A drain or the loss of the \
         lock ends the waiting",
    ),
    key(HOW_LONG, "retry_delay", Absent::Is("\"10s\""), "time before the first further attempt; it doubles each time"),
    key(
        HOW_LONG,
        "no_new_privileges",
        Absent::Is("false"),
        "nothing that the job starts gains privileges: set-uid bits (`sudo`) and file capabilities have no effect",
    ),
    key(
        HOW_LONG,
        "max_processes",
        NONE,
        "limit of processes of the job's `user`, checked when the job starts one more. Needs a `user`, which nothing else should \
         share",
    ),
    key(
        HOW_LONG,
        "max_output",
        Absent::Is("\"64MiB\""),
        "how much output of a run is kept: the first half of that, and the newest of the rest",
    )
    .least("64KiB"),
    key(WHAT_RUNS, "success_codes", Absent::Is("[0]"), "exit codes that count as success"),
    key(
        WHAT_RUNS,
        "only_on",
        NONE,
        "labels: only replicas started with all of these `--label`s take part",
    )
    .or(&["labels"]),
    key(WHAT_RUNS, "enabled", Absent::Is("true"), "`false`: the job is not scheduled").or(&["disabled"]),
    key(WHAT_RUNS, "description", NONE, "for people"),
];

/// The top-level tables, each with its synonyms.
const TABLES: &[(&str, &[&str])] = &[
    ("cluster", &[]),
    ("defaults", &["default"]),
    ("jobs", &["job"]),
    ("replica", &[]),
    ("http", &[]),
    ("logs", &[]),
];

/// Returns the names of the top-level tables.
pub(crate) fn tables() -> Vec<&'static str> {
    TABLES.iter().map(|(name, _)| *name).collect()
}

/// Returns the names of the keys of these tables.
pub(crate) fn names(homes: &[Home]) -> Vec<&'static str> {
    KEYS.iter().filter(|key| homes.contains(&key.home)).map(|key| key.name).collect()
}

/// Returns every key of a job.
pub(crate) fn of_job() -> Vec<&'static str> {
    names(&[Home::Job, Home::Shared])
}

/// Returns the key of this name.
pub(crate) fn find(name: &str) -> Option<&'static Key> {
    KEYS.iter().find(|key| key.name == name)
}

/// Returns the default of a key, as it is written in the file.
///
/// # Panics
/// If the key has no default.
pub(crate) fn default_of(name: &str) -> &'static str {
    let Some(Absent::Is(value)) = find(name).map(|key| key.absent) else { panic!("`{name}` has no default") };
    value
}

/// Returns the key or table that other programs call by this word.
pub(crate) fn synonym(word: &str) -> Option<&'static str> {
    let keys = KEYS.iter().map(|key| (key.name, key.synonyms));
    keys.chain(TABLES.iter().copied()).find(|(_, synonyms)| synonyms.contains(&word)).map(|(name, _)| name)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use crate::config::MIN_LEASE;
    use crate::job::parse_duration;

    use super::*;

    /// The table of docs/configuration.md that the rows of a topic make.
    fn table(topic: &str) -> String {
        let rows = KEYS.iter().filter(|key| key.topic == Some(topic));
        let rows = rows.map(|key| format!("| `{}` | {} | {} |\n", key.name, key.default_text(), key.meaning));
        format!("| key | default | meaning |\n|---|---|---|\n{}", rows.collect::<String>())
    }

    #[test]
    fn the_docs_have_the_table_of_every_topic() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/configuration.md");
        let docs = std::fs::read_to_string(path).expect("the docs");
        for KeyPlace { topic, .. } in [CLUSTER, WHAT_RUNS, HOW_LONG, LATE, REPLICA, HTTP, TOKEN, LOGS] {
            let table = table(topic);
            assert!(docs.contains(&table), "docs/configuration.md needs this table for {topic}:\n{table}");
        }
    }

    #[test]
    fn the_least_lease_is_that_of_the_table() {
        let least = find("lease").and_then(|key| key.least).expect("a least lease");
        assert_eq!(parse_duration(least).expect("a duration"), MIN_LEASE);
    }

    #[test]
    fn no_key_stands_in_two_tables() {
        for key in KEYS {
            assert_eq!(KEYS.iter().filter(|other| other.name == key.name).count(), 1, "{}", key.name);
        }
    }

    #[test]
    fn a_known_key_has_its_table_and_a_synonym_its_key() {
        let title = |name| find(name).map(|key| key.home.title());
        assert_eq!(title("schedule"), Some("`[jobs.NAME]`"));
        assert_eq!(title("lease"), Some("`[defaults]` or `[jobs.NAME]`"));
        assert_eq!(title("drain"), Some("`[replica]`"));
        assert_eq!(title("colour"), None);
        assert_eq!(synonym("ttl"), Some("lease"));
        assert_eq!(synonym("job"), Some("jobs"));
    }
}
