//! Names that people give and ids that the program makes. A value of these types is always well formed.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// Longest name in bytes; it keeps keys, paths and log lines short.
const MAX_NAME: usize = 64;

/// Why a name was refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{kind} name `{value}` {problem}; names match [A-Za-z0-9][A-Za-z0-9._-]{{0,63}}")]
pub struct NameError {
    kind: &'static str,
    /// Escaped: what cannot be seen is often what is wrong with it.
    value: String,
    problem: String,
}

fn checked(kind: &'static str, value: &str) -> Result<Arc<str>, NameError> {
    let refuse = |problem: String| NameError { kind, value: value.escape_debug().to_string(), problem };
    let Some(first) = value.chars().next() else {
        return Err(refuse("is empty".into()));
    };
    if !first.is_ascii_alphanumeric() {
        return Err(refuse(format!("starts with `{}`", first.escape_debug())));
    }
    if let Some(bad) = value.chars().find(|c| !c.is_ascii_alphanumeric() && !"._-".contains(*c)) {
        return Err(refuse(format!("contains `{}`", bad.escape_debug())));
    }
    if value.len() > MAX_NAME {
        return Err(refuse(format!("has {} characters", value.len())));
    }
    Ok(value.into())
}

macro_rules! name {
    ($(#[$doc:meta])* $type:ident, $kind:literal) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        #[serde(try_from = "String", into = "String")]
        pub struct $type(Arc<str>);

        impl $type {
            /// Checks the name: `[A-Za-z0-9][A-Za-z0-9._-]{0,63}`.
            pub fn parse(value: &str) -> Result<Self, NameError> {
                checked($kind, value).map(Self)
            }

            /// The name as written.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(&self.0)
            }
        }

        impl FromStr for $type {
            type Err = NameError;
            fn from_str(value: &str) -> Result<Self, NameError> {
                Self::parse(value)
            }
        }

        impl TryFrom<String> for $type {
            type Error = NameError;
            fn try_from(value: String) -> Result<Self, NameError> {
                Self::parse(&value)
            }
        }

        impl From<$type> for String {
            fn from(value: $type) -> String {
                value.0.as_ref().to_owned()
            }
        }
    };
}

name! {
    /// The name of a job: its table's key in jobs.toml.
    JobName, "job"
}
name! {
    /// The name of a replica, unique within its cluster.
    NodeName, "node"
}
name! {
    /// The name under which replicas cooperate.
    ClusterName, "cluster"
}
name! {
    /// What replicas are told apart by: `gpu`.
    Label, "label"
}

/// One execution for one tick; its retries share the id. Time-ordered and unguessable (UUID v7).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RunId(Uuid);

impl RunId {
    /// A new id, different from every other.
    pub fn new() -> Self {
        Self(Uuid::now_v7())
    }
}

impl Default for RunId {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Display for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.0.hyphenated().encode_lower(&mut Uuid::encode_buffer()))
    }
}

impl FromStr for RunId {
    type Err = uuid::Error;
    fn from_str(value: &str) -> Result<Self, uuid::Error> {
        Uuid::parse_str(value).map(Self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_within_the_pattern_are_accepted() {
        for good in ["a", "nightly-backup", "A.b_c-9", "0", &"x".repeat(64)] {
            assert_eq!(JobName::parse(good).expect("good name").as_str(), good);
        }
    }

    #[test]
    fn a_refused_name_says_what_is_wrong_and_what_is_right() {
        let cases = [
            ("", "job name `` is empty"),
            ("nightly backup", "contains ` `"),
            ("-x", "starts with `-`"),
            ("a/b", "contains `/`"),
            ("é", "starts with `é`"),
            ("\u{feff}", "job name `\\u{feff}` starts with `\\u{feff}`"),
            ("two\nlines", "job name `two\\nlines` contains `\\n`"),
            (&"x".repeat(65), "has 65 characters"),
        ];
        for (bad, expected) in cases {
            let message = JobName::parse(bad).expect_err("bad name").to_string();
            assert!(message.contains(expected), "{message}");
            assert!(message.contains("[A-Za-z0-9]"), "{message}");
        }
    }

    #[test]
    fn run_ids_survive_their_text_form() {
        let id = RunId::new();
        assert_eq!(id.to_string().parse::<RunId>().expect("own text"), id);
        assert_ne!(id, RunId::new());
    }
}
