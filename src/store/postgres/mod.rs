//! The engine on a PostgreSQL server: cells are rows, and a swap is one statement.

mod connection;
mod engine;
mod failures;
mod inspect;
mod schema;
mod sql;
mod subscription;

pub use schema::init_postgres;
pub(crate) use schema::schema_sql;

use std::sync::Arc;

use crate::config::PostgresUrl;
use crate::job::ClusterName;
use crate::time::Clock;

use super::cells::CasStore;
use super::{Store, StoreError};
use engine::PostgresEngine;

/// Starts to connect to a cluster's store on a PostgreSQL server, and returns at once. `clock`: that of this process. Needs a
/// running Tokio runtime.
///
/// # Errors
///
/// If a certificate that the URL needs cannot be read.
pub fn start_postgres(
    url: &PostgresUrl,
    cluster: &ClusterName,
    clock: Box<dyn Clock>,
) -> Result<Arc<dyn Store>, StoreError> {
    Ok(Arc::new(CasStore::start(PostgresEngine::start(url, cluster)?, clock)))
}
