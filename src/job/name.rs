//! Names that users choose and ids that the program generates. A value of these types is always well formed.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// The longest name in bytes; the limit keeps keys, paths and log lines short.
const MAX_NAME: usize = 64;

/// Why a name was refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{kind} name `{value}` {problem}; names match [A-Za-z0-9][A-Za-z0-9._-]{{0,63}}")]
pub struct NameError {
    kind: &'static str,
    /// Escaped, because the wrong character is often invisible.
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
            /// Parses the name: it matches `[A-Za-z0-9][A-Za-z0-9._-]{0,63}`.
            ///
            /// # Errors
            /// If it does not match.
            pub fn parse(value: &str) -> Result<Self, NameError> {
                checked($kind, value).map(Self)
            }

            /// Returns the name as written.
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
    /// The name of a cluster: replicas with the same name and store cooperate.
    ClusterName, "cluster"
}
name! {
    /// A label of a replica, such as `gpu`; a job's `only_on` refers to it.
    Label, "label"
}
name! {
    /// The name of a token for the HTTP face: its key in `[http.tokens]`. The log names who acted by it.
    TokenName, "token"
}

/// The id of a run; its attempts share it. Time-ordered and unguessable (UUID v7).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RunId(Uuid);

impl RunId {
    /// Returns a new id, different from every other.
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
