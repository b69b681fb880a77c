use std::time::Duration;

use super::super::super::testing::FILE;
use super::super::tests::{healthy, messages};
use crate::lease::{Leaps, LeaseInstant};

#[tokio::test]
async fn a_mark_in_the_future_is_trouble_only_where_ticks_do_not_run_when_they_come() {
    let (bench, mut survey) = healthy(FILE).await;
    let (now, hour) = (survey.now, survey.now.plus(Duration::from_secs(3_600)));
    let record = survey.jobs[0].record.as_mut().expect("it was opened");
    (record.mark, record.leaps) = (hour, Leaps::default());
    let said = messages(&survey, &bench);
    assert!(matches!(&said[..], [one] if one.starts_with("a clock was ahead")), "{said:?}");
    let leap = format!("{}-{}", now.0, hour.0);
    survey.jobs[0].record.as_mut().expect("it was opened").leaps = leap.parse().expect("leaps");
    assert_eq!(messages(&survey, &bench), [""; 0]);
}

#[tokio::test]
async fn a_wait_for_a_longer_lease_than_the_files_that_nobody_is_known_to_hold_is_named() {
    let (bench, mut survey) = healthy(FILE).await;
    let (now, until) = (survey.now, survey.now.plus(Duration::from_secs(600)));
    let own = survey.jobs[0].spec.lease;
    let record = survey.jobs[0].record.as_mut().expect("it was opened");
    (record.until, record.lease) = (LeaseInstant(until.0), own);
    assert_eq!(messages(&survey, &bench), [""; 0], "its own lease is no matter");
    survey.jobs[0].record.as_mut().expect("it was opened").lease = Duration::from_secs(600);
    let said = messages(&survey, &bench);
    let names = |said: &str| said.contains("for a lease of 10m") && said.contains("solocron unlock");
    assert!(matches!(&said[..], [one] if names(one)), "{said:?}");
    survey.jobs[0].record.as_mut().expect("it was opened").until = LeaseInstant(now.plus(own).0);
    assert_eq!(messages(&survey, &bench), [""; 0], "it is soon over");
}
