//! The names of all Redis keys: the one place where they are built.

use crate::job::{ClusterName, JobName};
use crate::store::{Feed, Slip};

/// The keys of one cluster. The keys of one job share a hash slot.
#[derive(Debug, Clone)]
pub struct RedisKeys {
    cluster: ClusterName,
    /// The number of the database. Keys belong to it; channels do not.
    db: i64,
}

impl RedisKeys {
    /// Returns the keys of this cluster, in database 0.
    pub fn of(cluster: ClusterName) -> Self {
        Self { cluster, db: 0 }
    }

    /// Returns the same keys in the database of this number.
    pub(super) fn in_db(self, db: i64) -> Self {
        Self { db, ..self }
    }

    fn job(&self, job: &JobName, what: &str) -> String {
        format!("solocron:{{{}/{job}}}:{what}", self.cluster)
    }

    /// Returns the key of a job's record: a hash that does not expire.
    pub fn state(&self, job: &JobName) -> String {
        self.job(job, "state")
    }

    /// Returns the key of the lock's mirror for people: a string that expires with the lock.
    pub fn lock(&self, job: &JobName) -> String {
        self.job(job, "lock")
    }

    /// Returns the key of a job's history: a capped stream.
    pub fn runs(&self, job: &JobName) -> String {
        self.job(job, "runs")
    }

    /// Returns the key of the heartbeats: a hash by node.
    pub fn nodes(&self) -> String {
        format!("solocron:{{{}}}:nodes", self.cluster)
    }

    /// Returns the key of the notices: a hash by job.
    pub fn notices(&self) -> String {
        format!("solocron:{{{}}}:notices", self.cluster)
    }

    /// Returns the name of the channel of hints.
    pub(super) fn hints(&self) -> String {
        format!("solocron:{{{}}}:hints:{}", self.cluster, self.db)
    }

    /// Returns the key of a feed: a capped stream.
    pub fn feed(&self, feed: Feed) -> String {
        format!("solocron:{{{}}}:{}", self.cluster, feed.as_str())
    }

    /// Returns the key of a slip: a hash that expires.
    pub fn slip(&self, slip: &Slip) -> String {
        format!("solocron:{{{}}}:{slip}", self.cluster)
    }

    /// Returns the name of the channel of wakes.
    pub(super) fn wakes(&self) -> String {
        format!("solocron:{{{}}}:wake:{}", self.cluster, self.db)
    }

    /// Returns the cluster's name, as keys contain it.
    pub(super) fn cluster(&self) -> &str {
        self.cluster.as_str()
    }

    /// Returns a key that matches the pattern of jobs' keys, but belongs to no job: no job's name begins with `-`.
    pub(super) fn job_probe(&self) -> String {
        format!("solocron:{{{}/-}}:probe", self.cluster)
    }

    /// Returns a key that matches the pattern of the cluster's own keys, and that nothing else uses.
    pub(super) fn cluster_probe(&self) -> String {
        format!("solocron:{{{}}}:probe", self.cluster)
    }

    /// Returns the key of the jobs that the cluster has ever known: a set.
    pub fn jobs(&self) -> String {
        format!("solocron:{{{}}}:jobs", self.cluster)
    }
}

#[cfg(test)]
mod tests {
    use crate::job::{NodeName, RunId};

    use super::*;

    #[test]
    fn keys_are_the_contracts() {
        let keys = RedisKeys::of(ClusterName::parse("billing").expect("name"));
        let job = JobName::parse("pay").expect("name");
        assert_eq!(keys.lock(&job), "solocron:{billing/pay}:lock");
        assert_eq!(keys.state(&job), "solocron:{billing/pay}:state");
        assert_eq!(keys.runs(&job), "solocron:{billing/pay}:runs");
        let (node, id) = (NodeName::parse("n1").expect("name"), RunId::new());
        assert_eq!(keys.slip(&Slip::Ask(node)), "solocron:{billing}:ask:n1");
        assert_eq!(keys.slip(&Slip::Tell(id)), format!("solocron:{{billing}}:tell:{id}"));
        assert_eq!(
            Feed::ALL.map(|feed| keys.feed(feed)),
            ["solocron:{billing}:recent", "solocron:{billing}:acts"]
        );
        assert_eq!(keys.in_db(2).wakes(), "solocron:{billing}:wake:2");
    }
}
