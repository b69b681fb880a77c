//! The text of jobs.toml becomes a checked [`Config`], or a list of everything that is wrong with it. Each
//! problem names its place, the value and the way out, and none ever shows a value that may be a secret.

mod cluster;
mod command;
mod document;
mod elsewhere;
mod env;
mod expressions;
mod file;
mod file_jobs;
#[cfg(test)]
mod file_tests;
mod findings;
mod foreign_file;
mod job;
mod keys;
mod logs;
mod mask;
mod outline;
mod placed;
mod policy;
mod problem;
mod redis_url;
mod replica;
mod report;
mod resolve;
mod secret_values;
mod section;
mod shared;
mod shell;
mod size;
mod source;
mod store;
mod store_url;
mod substitute;
mod suggest;
mod value;
mod warnings;

pub use cluster::{Cluster, local_cluster};
pub use file::{Config, Overrides, load};
pub use file_jobs::FileJobs;
pub use foreign_file::{read_regular, read_secret};
pub use logs::LogRetention;
pub use outline::Outline;
pub use problem::{Problem, Problems, Severity};
pub use redis_url::{CertificateFiles, RedisUrl};
pub use replica::ReplicaSettings;
pub use report::{draw, place, render};
pub use resolve::{EnvError, resolve_env};
pub use shared::MIN_LEASE;
pub use source::{LONGEST, Purpose, Source, SourceError, find, find_again};
pub use store::store_of_flag;
pub use store_url::{StoreUrl, StoreUrlError};
pub use substitute::ReadFile;
