//! Opens the store that a URL names. Nothing above this floor knows which kinds of stores there are.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::config::{LOCAL_STORE_FILE, StoreUrl};
use crate::job::ClusterName;
use crate::time::{Clock, SystemClock};

use super::{LocalStore, RedisStore, Store, StoreError, start_postgres};

/// Starts a local store: [`LocalStore::start`] or [`LocalStore::start_patient`].
pub(crate) type StartLocal = fn(&Path, ClusterName, Box<dyn Clock>) -> Result<LocalStore, StoreError>;

/// Starts to connect to a cluster's store; a local one is started by `start`. Needs a running runtime.
pub(crate) fn open(
    url: &StoreUrl,
    cluster: &ClusterName,
    state_dir: &Path,
    start: StartLocal,
) -> Result<Arc<dyn Store>, StoreError> {
    let clock = Box::new(SystemClock);
    match url {
        StoreUrl::Redis(url) => Ok(Arc::new(RedisStore::start(url, cluster.clone())?)),
        StoreUrl::Postgres(url) => start_postgres(url, cluster, clock),
        StoreUrl::Local | StoreUrl::LocalPath(_) => {
            let path = file_of(url, state_dir).expect("it is a file");
            Ok(Arc::new(start(&path, cluster.clone(), clock)?))
        }
    }
}

/// Returns the file of an embedded store; `None` of any other store.
pub(crate) fn file_of(url: &StoreUrl, state_dir: &Path) -> Option<PathBuf> {
    match url {
        StoreUrl::Local => Some(state_dir.join(LOCAL_STORE_FILE)),
        StoreUrl::LocalPath(path) => Some(path.clone()),
        StoreUrl::Redis(_) | StoreUrl::Postgres(_) => None,
    }
}
