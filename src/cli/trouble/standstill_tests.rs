use std::time::Duration;

use super::super::super::testing::FILE;
use super::super::tests::{healthy, messages};
use crate::lease::Leaps;

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
