//! Reads what commands about a cluster need from a file that may be invalid: the cluster's name and store, and the jobs
//! whose tables are valid. Nothing is taken from a table that a mistake may have changed.

use crate::config::file::{Overrides, Parts, fingerprint};
use crate::config::report::problem::{Problem, Problems};
use crate::config::sections::cluster::Cluster;
use crate::config::source::Source;

use super::jobs::FileJobs;

/// A file, as far as it can be relied on.
#[derive(Debug)]
pub struct Outline {
    /// `[cluster]`, or what is wrong with it, as far as that is known.
    pub cluster: Result<Cluster, Vec<Problem>>,
    /// The jobs.
    pub jobs: FileJobs,
    /// 16 hexadecimal digits that differ when the text of the file differs.
    pub fingerprint: String,
    /// All problems of the file; `None` if none of them is an error.
    pub problems: Option<Problems>,
}

impl Outline {
    /// Reads as much of the file as can be read. `store`, from flag or environment, overrides the file's.
    pub fn read(source: &Source, store: Option<&str>, env: &dyn Fn(&str) -> Option<String>) -> Self {
        let overrides = Overrides { store, ..Overrides::default() };
        let Parts { cluster, cluster_problems, jobs, findings, .. } = Parts::read(source, &overrides, env);
        Self {
            cluster: cluster.ok_or(cluster_problems),
            jobs,
            fingerprint: fingerprint(&source.text),
            problems: Problems::unless_harmless(findings.in_order()).err(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = "[cluster]\nname = \"billing\"\nstore = \"redis://h:6379/0\"\n\
        [jobs.a]\nschedule = \"@daily\"\nshell = \"a\"\n\
        [jobs.b]\nschedule = \"@daily\"\nshell = \"b\"\nlease = \"1m\"\n";

    fn outline(text: &str) -> Outline {
        Outline::read(&Source::new("jobs.toml", text), None, &|_| None)
    }

    /// Returns the names of the jobs whose tables are valid, and of those whose tables are not.
    fn jobs(text: &str) -> (String, String) {
        let FileJobs { right, invalid, .. } = outline(text).jobs;
        let joined = |names: Vec<&str>| names.join(" ");
        (
            joined(right.keys().map(|name| name.as_str()).collect()),
            joined(invalid.iter().map(|name| name.as_str()).collect()),
        )
    }

    #[test]
    fn a_table_that_is_right_counts_beside_one_that_is_not() {
        let edited = |from: &str, to: &str| {
            assert!(GOOD.contains(from), "{from}");
            let text = GOOD.replace(from, to);
            let outline = outline(&text);
            assert!(outline.problems.is_some(), "{text}");
            assert_eq!(outline.cluster.expect("it is right").name.as_str(), "billing", "{text}");
            jobs(&text)
        };
        let one = ("a".to_owned(), "b".to_owned());
        for (from, to) in [
            ("lease = \"1m\"", "leese = \"1m\""),
            ("lease = \"1m\"", "lease = \"1x\""),
            ("lease = \"1m\"", "lease = 1m"),
            ("lease = \"1m\"", "lease = \"1m\"\nlease = \"2m\""),
            ("lease = \"1m\"", "lease = \"1m\"\n[jobs.b]\nlease = \"2m\""),
            ("shell = \"b\"", "shell = \"b"),
        ] {
            assert_eq!(edited(from, to), one, "{to}");
        }
        let none = (String::new(), "a b".to_owned());
        assert_eq!(edited("[jobs.a]", "[defaults]\nlease = \"1x\"\n[jobs.a]"), none);
        let both = ("a b".to_owned(), String::new());
        assert_eq!(edited("[jobs.a]", "[replica]\ndrain = 3\n[jobs.a]"), both);
        assert_eq!(edited("[jobs.a]", "[replicas]\n[jobs.a]"), both);
    }

    #[test]
    fn a_part_that_cannot_be_read_may_hold_more_jobs() {
        let text = GOOD.replace("[jobs.b]", "[jobs.b");
        assert!(outline(&text).jobs.is_partial);
        assert_eq!(jobs(&text), ("a".to_owned(), String::new()));
        let text = GOOD.replace("[jobs.b]", "[default");
        assert_eq!(jobs(&text), (String::new(), "a".to_owned()), "it may be the header of the defaults");
        assert!(!outline(GOOD).jobs.is_partial);
    }

    #[test]
    fn a_cluster_that_a_mistake_may_have_changed_is_not_relied_on() {
        let local = GOOD.replace("redis://h:6379/0", "local");
        for (from, to) in [
            ("name = \"billing\"\n", ""),
            ("name = ", "nam = "),
            ("name = \"billing\"", "name = billing"),
            ("store = ", "store = \"local\"\nstore = "),
            ("[cluster]", "[clusterr]"),
            ("[cluster]", "[cluster"),
            ("[jobs.a]", "[cluster]\nname = \"other\"\n[jobs.a]"),
        ] {
            let text = GOOD.replace(from, to);
            assert!(outline(&text).cluster.is_err(), "{text}");
            // Without a name of its own, a cluster on a local store is called `local`.
            let text = local.replace(from, to);
            assert!(outline(&text).cluster.is_err() || to.is_empty(), "{text}");
        }
        let text = GOOD.replace("name = ", "replicas = 0\nnmae = 1\nname = ");
        assert_eq!(outline(&text).cluster.expect("name and store are right").replicas, None);
    }
}
