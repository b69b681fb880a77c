//! Judges what a Redis server reports about itself: what voids the promise, what may be lost, and what it did not show.
//! Pure.

use crate::store::Concern;
use crate::store::concern::shown_bytes;

use super::settings::Settings;

/// Older versions lack what the scripts need.
const LEAST_REDIS: (u32, u32) = (6, 2);
const LEAST_VALKEY: (u32, u32) = (7, 2);

/// From this percentage of memory in use, a warning is given: with the default history of 200 runs per job, a cluster grows
/// for a while.
const NEARLY_FULL: u64 = 90;

/// Returns all findings.
pub(super) fn judge(settings: &Settings) -> Vec<Concern> {
    if settings.info.is_empty() {
        let what = "the server's version, role, eviction policy and persistence";
        return vec![Concern::unchecked(what, "the user may not run INFO")];
    }
    let mut concerns = vec![version(settings), role(settings)];
    concerns.extend(life(settings));
    concerns.extend(mode(settings));
    concerns.extend(loading(settings));
    concerns.extend(eviction(settings));
    concerns.extend(fullness(settings));
    concerns.extend(failed_writes(settings));
    concerns.extend(persistence(settings));
    concerns.extend(followers(settings));
    concerns
}

fn version(settings: &Settings) -> Concern {
    let (name, version, least) = match settings.fact("valkey_version") {
        Some(version) => ("Valkey", version, LEAST_VALKEY),
        None => ("Redis", settings.fact("redis_version").unwrap_or_default(), LEAST_REDIS),
    };
    let mut numbers = version.split('.').map(|number| number.parse::<u32>().ok());
    let (Some(Some(major)), Some(Some(minor))) = (numbers.next(), numbers.next()) else {
        return Concern::unchecked("the server's version", format!("INFO says `{version}`"));
    };
    let found = format!("{name} {version}");
    if (major, minor) >= least {
        return Concern::note("server", found);
    }
    Concern::error("the server is older than solocron can work with", found)
        .help("update it: solocron needs Redis 6.2 or newer, or Valkey 7.2 or newer")
}

fn role(settings: &Settings) -> Concern {
    match settings.fact("role") {
        Some("master") => Concern::note("role", "primary"),
        Some("slave") => {
            let of = |name| settings.fact(name).unwrap_or("?");
            let primary = format!("{}:{}", of("master_host"), of("master_port"));
            let found = format!("replica of {primary}, link {}", of("master_link_status"));
            Concern::error("the server is a Redis replica (read-only), so no job starts", found)
                .help(format!("name its primary in `store`; it calls {primary} so"))
        }
        Some("sentinel") => Concern::error("this is a Sentinel, and holds no data", "sentinel")
            .help("name the primary that it watches in `store`"),
        other => {
            Concern::unchecked("the server's role", format!("INFO says `{}`", other.unwrap_or_default()))
        }
    }
}

fn mode(settings: &Settings) -> Option<Concern> {
    let is_cluster = settings.flag("cluster_enabled") || settings.fact("redis_mode") == Some("cluster");
    is_cluster.then(|| {
        Concern::error(
            "the server is a node of a Redis Cluster, which is not supported yet",
            "cluster_enabled 1",
        )
        .help("name a server that is not part of a Redis Cluster in `store`")
    })
}

/// Checks the replication id, by which replicas tell one era from the next.
fn life(settings: &Settings) -> Option<Concern> {
    let told = settings.fact("master_replid").filter(|id| id.bytes().any(|digit| digit != b'0'));
    told.is_none().then(|| {
        let what = "the server shows no replication id, so a restart or failover would go unnoticed, and no \
                    job runs";
        Concern::error(what, "INFO has no master_replid")
            .help("name a Redis or Valkey server itself in `store`, and nothing that answers in its place")
    })
}

fn loading(settings: &Settings) -> Option<Concern> {
    settings.flag("loading").then(|| {
        let part = settings.fact("loading_loaded_perc").unwrap_or("?").to_owned() + " % done";
        Concern::error("the server is still loading its data, and no job starts until it has finished", part)
            .help("wait, and check again")
    })
}

fn eviction(settings: &Settings) -> Option<Concern> {
    let (Some(limit), Some(policy)) = (settings.number("maxmemory"), settings.fact("maxmemory_policy"))
    else {
        return Some(Concern::unchecked("the eviction policy", "INFO does not tell"));
    };
    // Without a limit nothing is ever evicted.
    if limit == 0 || policy == "noeviction" {
        return None;
    }
    let found = format!("maxmemory-policy {policy}, maxmemory {}", shown_bytes(limit));
    let what = if policy.starts_with("allkeys-") {
        "records may be evicted, and then their jobs wait one lease and ticks are recorded as unknown"
    } else {
        "lock keys may be evicted; nothing depends on them, but people no longer see the holder in them"
    };
    Some(Concern::warning(what, found).help("set `maxmemory-policy noeviction`, or use a dedicated Redis"))
}

fn fullness(settings: &Settings) -> Option<Concern> {
    let (used, limit) = (settings.number("used_memory")?, settings.number("maxmemory")?);
    // Such a server evicts keys instead of refusing writes.
    let evicts = settings.fact("maxmemory_policy").is_some_and(|policy| policy.starts_with("allkeys-"));
    let percent = used.saturating_mul(100).checked_div(limit).filter(|_| !evicts)?;
    let found = format!("{percent} % of {}", shown_bytes(limit));
    let help = "raise `maxmemory`, or make room";
    match percent {
        100.. => Some(Concern::error("the server's memory is full, and no job starts", found).help(help)),
        NEARLY_FULL.. => {
            let what = "the server's memory is nearly full, and once it is full no job starts";
            Some(Concern::warning(what, found).help(help))
        }
        _ => None,
    }
}

fn failed_writes(settings: &Settings) -> Vec<Concern> {
    let failed = |name| settings.fact(name) == Some("err");
    let help =
        "see the server's own log for why; most often its disk is full or its folder cannot be written";
    let mut concerns = Vec::new();
    if settings.flag("aof_enabled") && failed("aof_last_write_status") {
        let what =
            "the server could not write its append-only file and refuses writes (MISCONF), so no job starts";
        concerns.push(Concern::error(what, "aof_last_write_status err").help(help));
    }
    if failed("rdb_last_bgsave_status") {
        let found = "rdb_last_bgsave_status err";
        let goes_on = settings.setting("stop-writes-on-bgsave-error") == Some("no")
            || settings.setting("save").is_some_and(str::is_empty);
        concerns.push(if goes_on {
            Concern::warning(
                "the server's last snapshot failed, and a restart forgets what came since",
                found,
            )
            .help(help)
        } else {
            let what = "the server's last snapshot failed and it refuses writes (MISCONF), so no job starts";
            Concern::error(what, found).help(help)
        });
    }
    concerns
}

/// Whatever a restart loses, no tick runs twice as long as a replica remembers it: so these are no errors.
fn persistence(settings: &Settings) -> Option<Concern> {
    let Some(aof) = settings.fact("aof_enabled") else {
        return Some(Concern::unchecked("persistence", "INFO does not tell"));
    };
    let help = "set `appendonly yes`";
    match (aof, settings.setting("appendfsync"), settings.setting("save")) {
        ("1", Some("always"), _) => Some(Concern::note("persistence", "append-only file, appendfsync always")),
        ("1", Some("everysec"), _) => Some(Concern::note(
            "persistence",
            "append-only file, appendfsync everysec (a crash may lose the last second, which replicas remember)",
        )),
        ("1", Some(other), _) => {
            let what = "a crash of the server's machine may lose half a minute of decisions, which only replicas remember";
            let found = format!("appendfsync {other}");
            Some(Concern::warning(what, found).help("set `appendfsync everysec`, or `always`"))
        }
        (_, None, _) | (_, _, None) => Some(
            Concern::unchecked("snapshots and appendfsync", "the user may not run CONFIG GET").help(
                "look at `save` and `appendfsync` yourself, or grant `+config|get`, which also shows passwords in the \
                 server's configuration",
            ),
        ),
        (_, _, Some("")) => {
            let what = "Redis has no persistence: a restart loses every record, then each job waits one lease and only \
                        running replicas know which ticks ran";
            Some(Concern::warning(what, "neither append-only file nor snapshots").help(help))
        }
        (_, _, Some(save)) => {
            let what = "a restart of the server loses the records since its last snapshot, which only running replicas \
                        remember";
            Some(Concern::warning(what, format!("snapshots alone, save {save}")).help(help))
        }
    }
}

/// After a failover, the former primary still takes writes from clients that reach it, unless it requires connected
/// followers.
fn followers(settings: &Settings) -> Option<Concern> {
    let count = settings.number("connected_slaves").filter(|count| *count > 0)?;
    // INFO has this field only if both settings are set.
    if settings.fact("min_slaves_good_slaves").is_some() {
        let set = |name| {
            settings.setting(name).map_or_else(|| format!("{name} is set"), |set| format!("{name} {set}"))
        };
        let found = format!("{count}; {}, {}", set("min-replicas-to-write"), set("min-replicas-max-lag"));
        return Some(Concern::note("followers", found));
    }
    let what = "after a failover, ticks may run twice, and runs overlap, for as long as the former primary still serves a \
                replica: both take writes";
    let found = format!("followers {count}, min-replicas-to-write 0");
    let help = "set `min-replicas-to-write 1`, and `min-replicas-max-lag` to a few seconds, less than the shortest lease, on each \
                of them: that bounds it to the lag";
    Some(Concern::warning(what, found).help(help))
}

#[cfg(test)]
#[path = "judge_tests.rs"]
mod tests;
