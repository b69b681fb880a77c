//! The names of all Redis keys: the one place where they are built.

use crate::job::{ClusterName, JobName};

/// The keys of one cluster. Those of a job share a slot.
#[derive(Debug, Clone)]
pub struct RedisKeys {
    cluster: ClusterName,
    /// The number of the database: keys lie in it, but channels do not.
    db: i64,
}

impl RedisKeys {
    /// The keys of this cluster.
    pub fn of(cluster: ClusterName) -> Self {
        Self { cluster, db: 0 }
    }

    /// The same in the database of this number.
    pub(super) fn in_db(self, db: i64) -> Self {
        Self { db, ..self }
    }

    fn job(&self, job: &JobName, what: &str) -> String {
        format!("solocron:{{{}/{job}}}:{what}", self.cluster)
    }

    /// The record that decides: a hash without ttl.
    pub fn state(&self, job: &JobName) -> String {
        self.job(job, "state")
    }

    /// The lock's mirror for people: a string that lives as long as the lock.
    pub fn lock(&self, job: &JobName) -> String {
        self.job(job, "lock")
    }

    /// Final records: a capped stream.
    pub fn runs(&self, job: &JobName) -> String {
        self.job(job, "runs")
    }

    /// Heartbeats: a hash by node.
    pub fn nodes(&self) -> String {
        format!("solocron:{{{}}}:nodes", self.cluster)
    }

    /// Which jobs' records an operator has changed lately: a hash by job.
    pub fn notices(&self) -> String {
        format!("solocron:{{{}}}:notices", self.cluster)
    }

    /// The channel of hints.
    pub(super) fn hints(&self) -> String {
        format!("solocron:{{{}}}:hints:{}", self.cluster, self.db)
    }

    /// The cluster, as keys name it.
    pub(super) fn cluster(&self) -> &str {
        self.cluster.as_str()
    }

    /// A key beside those of jobs that is none's: no job's name begins so.
    pub(super) fn job_probe(&self) -> String {
        format!("solocron:{{{}/-}}:probe", self.cluster)
    }

    /// A key beside the cluster's own that nothing else uses.
    pub(super) fn cluster_probe(&self) -> String {
        format!("solocron:{{{}}}:probe", self.cluster)
    }

    /// The jobs that the cluster has ever known: a set.
    pub fn jobs(&self) -> String {
        format!("solocron:{{{}}}:jobs", self.cluster)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_the_contracts() {
        let keys = RedisKeys::of(ClusterName::parse("billing").expect("name"));
        let job = JobName::parse("pay").expect("name");
        assert_eq!(keys.lock(&job), "solocron:{billing/pay}:lock");
        assert_eq!(keys.state(&job), "solocron:{billing/pay}:state");
        assert_eq!(keys.runs(&job), "solocron:{billing/pay}:runs");
    }
}
