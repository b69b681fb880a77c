//! Turns the text of jobs.toml into a checked [`Config`], or a list of everything that is wrong with it. Each problem
//! names its place, the value and how to correct it. None ever shows a value that may be a secret.

mod file;
mod report;
mod secrets;
mod sections;
pub(crate) mod source;
mod store;
#[cfg(test)]
pub(crate) mod testing;
mod values;
mod warnings;

pub use file::jobs::FileJobs;
pub use file::outline::Outline;
pub use file::{Config, Overrides, job_names, load};
pub use report::places::Places;
pub use report::problem::{Problem, Problems, Severity};
pub use report::{MOST_DRAWN, draw, render};
pub(crate) use secrets::mask::mask;
pub use sections::cluster::{Cluster, local_cluster};
pub use sections::http::{
    BaseUrl, HttpSettings, ListenAddress, TokenRight, TokenSettings, host_of, parse_listen,
};
#[cfg(test)]
pub(crate) use sections::keys::default_of;
pub(crate) use sections::keys::{Home, KEYS, Key};
pub use sections::logs::LogRetention;
pub use sections::replica::ReplicaSettings;
pub use sections::shared::MIN_LEASE;
pub use source::regular_file::{UnusableFile, read_private, read_regular, read_secret};
pub use source::{LONGEST, Purpose, Source, SourceError, find, find_again};
pub use store::postgres_url::{PostgresHost, PostgresUrl, SslMode};
pub use store::redis_url::{CertificateFiles, RedisUrl};
pub use store::store_of_flag;
pub use store::url::{LOCAL_STORE_FILE, StoreUrl, StoreUrlError};
pub use values::resolve::{EnvError, resolve_env, token_problem};
pub use values::substitute::ReadFile;
pub use warnings::machine::Machine;
