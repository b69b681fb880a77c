//! Whether the user has all rights that solocron needs: every right but one is tried by a call that changes nothing,
//! because the server checks rights before anything else. Missing rights are reported with the words that grant them.

use redis::Cmd;

use crate::store::{Concern, FailureCause, StoreError};

/// No script has this hash: the server says so after it has checked the right.
const NO_HASH: &str = "0000000000000000000000000000000000000000";

/// Rights that the line in docs/redis.md grants, but that this release does not need: nothing sends a `ping`, and a
/// database for which `select` is needed and denied is not reached at all.
const SPARE: [&str; 2] = ["ping", "select"];

/// Rights without which each tick costs the server more.
const SAVING: [&str; 2] = ["publish", "subscribe"];

/// The right without which pages and the API read no jobs, and metrics tell what their own replica saw. Each tick costs the
/// server more, too.
const SHOWING: &str = "hmget";

/// The right without which jobs that the file does not name are not listed.
const LISTING: [&str; 1] = ["smembers"];

/// The rights without which no output comes from other machines.
const RELAYING: [&str; 2] = ["hlen", "hstrlen"];

/// The only right that no harmless call shows: its trial writes.
const WRITING: &str = "sadd";

/// The result of one try.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Try {
    /// The user has the right.
    Granted,
    /// The command is denied.
    NoCommand,
    /// The key, or the channel, is denied.
    NoKey,
}

impl Try {
    /// Returns what the server's refusal means for the right. A refusal for another reason shows that the right is granted.
    pub(super) fn of(refusal: &StoreError) -> Self {
        if refusal.cause() != Some(&FailureCause::NoRight) {
            Self::Granted
        } else if refusal.diagnosis().contains("to access") {
            Self::NoKey
        } else {
            Self::NoCommand
        }
    }
}

/// Two keys that nothing else uses, one of each kind.
pub(super) struct ProbeKeys {
    pub(super) of_jobs: String,
    pub(super) of_cluster: String,
}

/// Returns the trial of the right to subscribe, and its result. It is tried over its own connection, where the server
/// answered with this refusal, if any.
pub(super) fn listening(cluster: &str, refusal: Option<&StoreError>) -> (Trial, Try) {
    let found = refusal.map_or(Try::Granted, Try::of);
    (trial("subscribe", Some(channel_pattern(cluster)), &["SUBSCRIBE"]), found)
}

/// A right, and a call that shows whether the user has it.
pub(super) struct Trial {
    pub(super) right: &'static str,
    /// The pattern of the key or channel that the call names.
    pub(super) pattern: Option<String>,
    pub(super) call: Cmd,
}

/// Returns the only trial that writes, and the call that deletes what it wrote. It is left out if the user may not delete.
pub(super) fn writing_trial(keys: &ProbeKeys, cluster: &str) -> (Trial, Cmd) {
    let trial = trial(WRITING, Some(cluster_pattern(cluster)), &["SADD", &keys.of_cluster, "probe"]);
    (trial, words(&["DEL", &keys.of_cluster]))
}

/// Returns all other trials, none of which changes anything.
pub(super) fn trials(keys: &ProbeKeys, cluster: &str) -> Vec<Trial> {
    let (job, of_jobs) = (keys.of_jobs.as_str(), Some(format!("~solocron:{{{cluster}/*")));
    let (nodes, of_cluster) = (keys.of_cluster.as_str(), Some(cluster_pattern(cluster)));
    let job = |right, call: &[&str]| {
        let call: Vec<&str> = call.iter().map(|word| if *word == "KEY" { job } else { word }).collect();
        trial(right, of_jobs.clone(), &call)
    };
    let nodes = |right, call: &[&str]| {
        let call: Vec<&str> = call.iter().map(|word| if *word == "KEY" { nodes } else { word }).collect();
        trial(right, of_cluster.clone(), &call)
    };
    vec![
        trial("eval", None, &["EVAL", "return 1", "0"]),
        trial("evalsha", None, &["EVALSHA", NO_HASH, "0"]),
        trial("time", None, &["TIME"]),
        trial("info", None, &["INFO", "server"]),
        job("del", &["DEL", "KEY"]),
        job("pexpire", &["PEXPIRE", "KEY", "1"]),
        // One argument too many: the server refuses that, after it has checked the right.
        job("hset", &["HSET", "KEY", "f", "v", "g"]),
        job("hgetall", &["HGETALL", "KEY"]),
        job("hmget", &["HMGET", "KEY", "f"]),
        job("set", &["SET", "KEY", "v", "XX", "PX", "1"]),
        job("xadd", &["XADD", "KEY", "NOMKSTREAM", "*", "f", "v"]),
        job("xdel", &["XDEL", "KEY", "0-0"]),
        job("xrevrange", &["XREVRANGE", "KEY", "+", "-", "COUNT", "1"]),
        nodes("hset", &["HSET", "KEY", "f", "v", "g"]),
        nodes("hdel", &["HDEL", "KEY", "f"]),
        nodes("hgetall", &["HGETALL", "KEY"]),
        nodes("hlen", &["HLEN", "KEY"]),
        nodes("hstrlen", &["HSTRLEN", "KEY", "f"]),
        nodes("del", &["DEL", "KEY"]),
        nodes("pexpire", &["PEXPIRE", "KEY", "1"]),
        nodes("xadd", &["XADD", "KEY", "NOMKSTREAM", "*", "f", "v"]),
        nodes("xrevrange", &["XREVRANGE", "KEY", "+", "-", "COUNT", "1"]),
        nodes("smismember", &["SMISMEMBER", "KEY", "m"]),
        nodes("smembers", &["SMEMBERS", "KEY"]),
        // No client subscribes to this channel.
        trial("publish", Some(channel_pattern(cluster)), &["PUBLISH", &keys.of_cluster, ""]),
        trial("ping", None, &["PING"]),
    ]
}

/// Returns the trial that selects the database that is already selected.
pub(super) fn select(db: i64) -> Trial {
    trial("select", None, &["SELECT", &db.to_string()])
}

fn cluster_pattern(cluster: &str) -> String {
    format!("~solocron:{{{cluster}}}:*")
}

fn channel_pattern(cluster: &str) -> String {
    format!("&solocron:{{{cluster}}}:*")
}

fn trial(right: &'static str, pattern: Option<String>, call: &[&str]) -> Trial {
    Trial { right, pattern, call: words(call) }
}

fn words(call: &[&str]) -> Cmd {
    let mut command = redis::cmd(call[0]);
    command.arg(&call[1..]);
    command
}

/// Returns the findings about a user of this name.
pub(super) fn judge(tries: &[(Trial, Try)], user: &str) -> Vec<Concern> {
    let names = |wanted: Try, name: &dyn Fn(&Trial) -> Option<String>| {
        let mut names: Vec<String> =
            tries.iter().filter(|(_, found)| *found == wanted).filter_map(|(trial, _)| name(trial)).collect();
        names.sort();
        names.dedup();
        names
    };
    let commands = names(Try::NoCommand, &|trial| Some(format!("+{}", trial.right)));
    let is_one_of = |rights: &[&str], right: &str| rights.contains(&&right[1..]);
    let (spare, commands): (Vec<String>, Vec<String>) =
        commands.into_iter().partition(|right| is_one_of(&SPARE, right));
    let (listing, commands): (Vec<String>, Vec<String>) =
        commands.into_iter().partition(|right| is_one_of(&LISTING, right));
    let (relaying, commands): (Vec<String>, Vec<String>) =
        commands.into_iter().partition(|right| is_one_of(&RELAYING, right));
    let (showing, commands): (Vec<String>, Vec<String>) =
        commands.into_iter().partition(|right| is_one_of(&[SHOWING], right));
    let (mut saving, needed): (Vec<String>, Vec<String>) =
        commands.into_iter().partition(|right| is_one_of(&SAVING, right));
    let (channels, keys): (Vec<String>, Vec<String>) = names(Try::NoKey, &|trial| trial.pattern.clone())
        .into_iter()
        .partition(|pattern| pattern.starts_with('&'));
    saving.extend(channels);
    let grant = |rights: &[String]| format!("grant it: `ACL SETUSER {user} {}`", rights.join(" "));
    let mut concerns = Vec::new();
    if !needed.is_empty() {
        let what = format!("user `{user}` may not run every command that is needed");
        concerns.push(Concern::error(what, format!("missing {}", needed.join(" "))).help(grant(&needed)));
    }
    if !keys.is_empty() {
        let what = format!("user `{user}` may not use every key of the cluster");
        concerns.push(Concern::error(what, format!("missing {}", keys.join(" "))).help(grant(&keys)));
    }
    if !showing.is_empty() {
        let what = format!("user `{user}` may not read how all jobs stand");
        let detail = format!(
            "missing {}: pages and the API show no jobs, metrics tell what their own replica saw, and each tick costs the \
             server more",
            showing.join(" ")
        );
        concerns.push(Concern::warning(what, detail).help(grant(&showing)));
    }
    if !relaying.is_empty() {
        let what = format!("user `{user}` may not read what replicas leave for each other");
        let detail = format!("missing {}: output from other machines is not shown", relaying.join(" "));
        concerns.push(Concern::warning(what, detail).help(grant(&relaying)));
    }
    if !saving.is_empty() {
        let what = format!("user `{user}` lacks rights that spare the server work");
        let detail = format!("missing {}: each tick costs it more", saving.join(" "));
        concerns.push(Concern::warning(what, detail).help(grant(&saving)));
    }
    if !listing.is_empty() {
        let what = format!("user `{user}` may not list the cluster's jobs");
        let detail = format!("missing {}: jobs that are not in jobs.toml are in no list", listing.join(" "));
        concerns.push(Concern::warning(what, detail).help(grant(&listing)));
    }
    if !spare.is_empty() {
        let what = format!("user `{user}` lacks rights that other releases may need");
        concerns.push(Concern::warning(what, format!("missing {}", spare.join(" "))).help(grant(&spare)));
    }
    if !tries.iter().any(|(trial, _)| trial.right == WRITING) {
        let why = "what the check writes could not be deleted without +del";
        concerns.push(Concern::unchecked(&format!("right +{WRITING}"), why));
    }
    concerns
}

#[cfg(test)]
mod tests {
    use crate::store::{Diagnosis, Grade};

    use super::*;

    #[test]
    fn refusals_for_other_reasons_show_that_the_right_is_there() {
        for (refusal, found) in [
            (
                "NOPERM this user has no permissions to run the 'hset' command or its subcommand",
                Try::NoCommand,
            ),
            ("NOPERM User solocron has no permissions to run the 'hset' command", Try::NoCommand),
            ("NOPERM No permissions to access a key", Try::NoKey),
            ("NOPERM No permissions to access a channel", Try::NoKey),
            ("NOPERM this user has no permissions to access one of the keys used as arguments", Try::NoKey),
            ("NOSCRIPT No matching script. Please use EVAL.", Try::Granted),
            ("ERR wrong number of arguments for 'hset' command", Try::Granted),
            ("OOM command not allowed when used memory > 'maxmemory'.", Try::Granted),
        ] {
            let is_right = refusal.starts_with("NOPERM");
            let why = if is_right { Diagnosis::of(FailureCause::NoRight, refusal) } else { refusal.into() };
            assert_eq!(Try::of(&StoreError::Refused(why)), found, "{refusal}");
        }
    }

    #[test]
    fn what_is_missing_is_named_once_with_the_words_that_grant_it() {
        let keys = ProbeKeys { of_jobs: "a".into(), of_cluster: "b".into() };
        let denied = |trial: Trial| {
            let found = match trial.right {
                "hset" | "xadd" | "ping" | "subscribe" | "hmget" | "hlen" => Try::NoCommand,
                "hdel" | "publish" => Try::NoKey,
                _ => Try::Granted,
            };
            (trial, found)
        };
        let (subscribing, _) = listening("billing", None);
        let tries: Vec<_> = trials(&keys, "billing").into_iter().chain([subscribing]).map(denied).collect();
        let concerns = judge(&tries, "cron");
        let helps: Vec<&str> = concerns.iter().filter_map(|concern| concern.help.as_deref()).collect();
        assert_eq!(
            helps,
            [
                "grant it: `ACL SETUSER cron +hset +xadd`",
                "grant it: `ACL SETUSER cron ~solocron:{billing}:*`",
                "grant it: `ACL SETUSER cron +hmget`",
                "grant it: `ACL SETUSER cron +hlen`",
                "grant it: `ACL SETUSER cron +subscribe &solocron:{billing}:*`",
                "grant it: `ACL SETUSER cron +ping`",
            ]
        );
        let grades: Vec<Grade> = concerns.iter().map(|concern| concern.grade).collect();
        let warnings = [Grade::Warning; 4];
        assert_eq!(grades, [&[Grade::Error; 2][..], &warnings, &[Grade::Unchecked]].concat());
    }
}
