//! The catalogue against what monitoring programs ask of names, and against the words that it repeats.

use std::collections::BTreeSet;

use crate::job::{Outcome, Reason, Verdict};
use crate::run::StopReason;
use crate::view::problems::Kind;

use super::label_values as values;
use super::{CATALOGUE, LabelSets, MetricKind};

#[test]
fn names_are_lower_case_distinct_and_end_as_their_type_asks() {
    let bases: BTreeSet<&str> = CATALOGUE.iter().map(|family| family.base()).collect();
    assert_eq!(bases.len(), CATALOGUE.len(), "a name without its suffix stands for one metric");
    for family in CATALOGUE {
        let name = family.name;
        assert!(name.starts_with("solocron_") || name.starts_with("process_"), "{name}");
        assert!(name.chars().all(|c| c.is_ascii_lowercase() || c == '_'), "{name}");
        assert_eq!(name.ends_with("_total"), family.kind == MetricKind::Counter, "{name}");
        assert_eq!(name.ends_with("_info"), family.kind == MetricKind::Info, "{name}");
        assert!(!["_sum", "_count", "_bucket", "_created"].iter().any(|end| name.ends_with(end)), "{name}");
    }
}

#[test]
fn help_is_one_line_that_needs_no_escapes() {
    for family in CATALOGUE {
        assert!(!family.help.is_empty() && !family.help.contains(['\\', '"', '\n']), "{}", family.name);
        assert!(!family.help.ends_with('.'), "{}", family.name);
    }
}

#[test]
fn labels_are_none_of_those_that_belong_to_the_monitoring_program() {
    for family in CATALOGUE {
        for label in family.labels {
            assert!(!["job", "instance", "le", "quantile"].contains(label), "{}: {label}", family.name);
        }
        let LabelSets::Closed(sets) = family.sets else { continue };
        assert_eq!(sets.iter().collect::<BTreeSet<_>>().len(), sets.len(), "{}", family.name);
        assert!(sets.iter().all(|set| set.len() == family.labels.len()), "{}", family.name);
    }
}

#[test]
fn bounds_ascend() {
    for family in CATALOGUE {
        if let MetricKind::Histogram(bounds) = family.kind {
            assert!(bounds.windows(2).all(|pair| pair[0] < pair[1]), "{}", family.name);
        }
    }
}

#[test]
fn the_units_are_those_of_the_names() {
    let unit = |name: &str| CATALOGUE.iter().find(|family| family.name == name).expect("a row").unit();
    assert_eq!(unit("solocron_job_run_seconds_total"), Some("seconds"));
    assert_eq!(unit("solocron_run_log_bytes"), Some("bytes"));
    assert_eq!(unit("solocron_renewal_slack_ratio"), Some("ratio"));
    assert_eq!(unit("solocron_info"), None);
    assert_eq!(unit("process_max_fds"), None);
}

fn listed(verdict: Verdict) -> bool {
    let reason = verdict.reason.map_or("", Reason::as_str);
    values::VERDICTS.contains(&[verdict.outcome.as_str(), reason].as_slice())
}

#[test]
fn every_verdict_that_a_run_can_end_with_is_listed() {
    let stops = [
        StopReason::GuardLost,
        StopReason::Timeout,
        StopReason::Operator,
        StopReason::Replaced,
        StopReason::Shutdown,
        StopReason::LockLost,
    ];
    let others = [
        Verdict::plain(Outcome::Succeeded),
        Verdict::plain(Outcome::Failed),
        Verdict::because(Outcome::Failed, Reason::SpawnFailed),
        Verdict::because(Outcome::Unknown, Reason::LeftBehind),
    ];
    for verdict in stops.map(StopReason::verdict).into_iter().chain(others) {
        assert!(listed(verdict), "{verdict}");
    }
}

#[test]
fn every_verdict_without_a_run_that_a_claim_is_answered_with_is_listed() {
    // The reasons for which a replica may be unfit, as its roster says them.
    let unfit = [Reason::NoReplica, Reason::Late, Reason::Capacity];
    let missed = unfit.into_iter().chain([Reason::Edited]).map(|why| Verdict::because(Outcome::Missed, why));
    let others = [
        Verdict::because(Outcome::Skipped, Reason::Overlap),
        Verdict::because(Outcome::Skipped, Reason::Paused),
        Verdict::because(Outcome::Unknown, Reason::StoreReset),
    ];
    for verdict in missed.chain(others) {
        assert!(listed(verdict), "{verdict}");
    }
    let words = |set: &&[&str]| {
        set[0].parse::<Outcome>().is_ok() && (set[1].is_empty() || set[1].parse::<Reason>().is_ok())
    };
    assert!(values::VERDICTS.iter().all(words));
}

#[test]
fn kinds_of_trouble_have_the_names_that_status_prints() {
    let kinds = [
        Kind::NoReplicaFits,
        Kind::NewerSchema,
        Kind::MarkAhead,
        Kind::LeaseAwaited,
        Kind::NoRecord,
        Kind::Unreadable,
        Kind::Overdue,
        Kind::HolderLost,
        Kind::LastOutcome,
    ];
    let names: Vec<String> = kinds
        .iter()
        .map(|kind| serde_json::to_value(kind).expect("a word").as_str().unwrap().to_owned())
        .collect();
    let listed: Vec<&str> = values::JOB_TROUBLES.iter().map(|set| set[0]).collect();
    assert_eq!(names, listed);
}

const RULES: &str = include_str!("../../../docs/alerts.yml");
const RULES_TESTS: &str = include_str!("../../../docs/alerts_test.yml");
const PAGE: &str = include_str!("../../../docs/alerts.md");
const DASHBOARD: &str = include_str!("../../../docs/grafana.json");

/// The names of metrics in a text.
fn named(text: &str) -> BTreeSet<&str> {
    let words = text.split(|c: char| !c.is_ascii_lowercase() && c != '_');
    words.filter(|word| word.starts_with("solocron_")).collect()
}

#[test]
fn rules_page_and_dashboard_name_metrics_that_exist() {
    let names: BTreeSet<&str> = CATALOGUE.iter().map(|family| family.name).collect();
    for (what, text) in [("rules", RULES), ("tests", RULES_TESTS), ("page", PAGE), ("dashboard", DASHBOARD)] {
        let named = named(text);
        assert!(named.len() > 5, "{what}: {named:?}");
        for name in named {
            let of_histogram = ["_bucket", "_sum", "_count"].iter().find_map(|end| name.strip_suffix(end));
            assert!(names.contains(of_histogram.unwrap_or(name)), "the {what} names {name}");
        }
    }
}

#[test]
fn the_page_has_a_section_for_each_rule_and_each_rule_has_a_test_in_which_it_fires() {
    let alerts: Vec<&str> = RULES.lines().filter_map(|line| line.trim().strip_prefix("- alert: ")).collect();
    let sections: Vec<&str> = PAGE.lines().filter_map(|line| line.strip_prefix("### ")).collect();
    assert_eq!(sections, alerts);
    for alert in alerts {
        assert!(RULES_TESTS.contains(&format!("{{alertname=\"{alert}\"")), "{alert} fires in no test");
    }
}

#[test]
fn the_dashboard_has_twelve_panels_and_asks_for_cluster_and_job() {
    let dashboard: serde_json::Value = serde_json::from_str(DASHBOARD).expect("JSON");
    let panels = dashboard["panels"].as_array().expect("a list");
    assert_eq!(panels.len(), 12);
    assert!(
        panels.iter().all(|panel| panel["targets"].as_array().is_some_and(|targets| !targets.is_empty()))
    );
    let variables = dashboard["templating"]["list"].as_array().expect("a list");
    assert_eq!(variables.iter().map(|variable| &variable["name"]).collect::<Vec<_>>(), ["job", "job_name"]);
}
