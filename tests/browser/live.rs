//! A page goes on by itself: what fails, what comes, and what is no longer known.

use std::time::Duration;

use serde_json::{Value, json};
use solocron::time::{Clock, SystemClock};

use crate::http_client::get;
use crate::stage::Stage;
use crate::webdriver::Browser;

/// Notes in the page when an element of this selector first has this text.
const WATCH: &str = "
    const [selector, text] = arguments;
    window.seenAt = null;
    const look = () => {
        const found = document.querySelector(selector);
        if (!window.seenAt && found && found.innerText.includes(text)) window.seenAt = Date.now();
    };
    new MutationObserver(look).observe(document.body, { subtree: true, childList: true, characterData: true, attributes: true });
    look();";

/// Waits until an element that is watched for was seen, and returns when, in milliseconds of the wall clock.
fn seen_at(browser: &Browser) -> i64 {
    browser.wait_until("what is watched for", || browser.script("return window.seenAt").as_i64())
}

/// Waits until the stream of changes has brought something: the row of a job that runs each second is another one then.
fn wait_for_news(browser: &Browser) {
    browser.script("window.row = document.getElementById('job-payout')");
    browser.wait_until("a change", || {
        let is_new = browser.script("return document.getElementById('job-payout') !== window.row");
        (is_new == true).then_some(())
    });
}

fn time_of(event: &Value) -> i64 {
    let at = event["timestamp"].as_str().and_then(|at| at.parse::<jiff::Timestamp>().ok());
    at.expect("every line has its time").as_millisecond()
}

#[test]
fn a_job_that_fails_shows_on_the_page_of_every_replica_within_two_seconds() {
    let mut stage = Stage::start();
    let browser = stage.browse("/");
    for replica in 1..stage.addresses().len() {
        browser.open_window();
        browser.wait_until("the jobs", || {
            browser.open(&stage.page_of(replica, "/"));
            (browser.count("[id^=job-]") > 0).then_some(())
        });
    }
    assert_eq!(browser.count("[id^=job-]"), 30);
    let windows = browser.windows();
    for window in &windows {
        browser.switch_to(window);
        wait_for_news(&browser);
        browser.script_of(WATCH, &json!(["#troubles", "payout"]));
    }
    stage.break_payout();
    let failed = stage.wait_for_failure();
    for window in &windows {
        browser.switch_to(window);
        let late = seen_at(&browser) - time_of(&failed);
        assert!(late < 2_000, "{late} ms late on {}", browser.url());
        assert_eq!(browser.count("#job-payout.failing"), 1);
        let last = browser.text_of("#job-payout td:nth-of-type(2)").expect("what it did last");
        assert!(last.contains("failed, exit code 1"), "{last}");
    }
    stage.expect_clean(browser, &[]);
}

#[test]
fn times_count_on_by_the_clock_of_the_store_between_two_updates() {
    let stage = Stage::start();
    let browser = stage.browse("/");
    let selector = "#job-idle-20 td:nth-of-type(5) time";
    let far = browser.text_of(selector).expect("its next tick");
    assert!(far.starts_with("in "), "{far}");
    // A laptop whose clock is an hour off counts as the store does.
    browser.script("const real = Date.now; Date.now = () => real() + 3600000");
    let near = "#job-payout td:nth-of-type(5) time";
    browser.wait_for_text(near, |text| text == "now" || text == "in 1s");
    let elapsed = "#job-payout td:nth-of-type(2) time";
    browser.wait_for_text(elapsed, |text| text == "now" || text.ends_with("s ago") && text.len() < 8);
    let first = browser.text_of(".store-time").expect("the store's time");
    browser.wait_for_text(".store-time", |text| text > first.as_str());
    stage.expect_clean(browser, &[]);
}

#[test]
fn a_page_says_within_three_seconds_that_the_store_is_away_and_recovers() {
    let mut stage = Stage::start();
    let browser = stage.browse("/");
    wait_for_news(&browser);
    browser.script_of(WATCH, &json!(["#top", "the store does not answer"]));
    let stopped = browser.script("return Date.now()").as_i64().expect("a time");
    stage.server.freeze();
    let late = seen_at(&browser) - stopped;
    assert!(late < 3_000, "{late} ms");
    assert_eq!(browser.count("[id^=job-]"), 30, "the last state stays");
    let headline = browser.text_of("#troubles h1").expect("a headline");
    assert!(headline.contains("store"), "{headline}");
    // Who comes now sees the same.
    browser.reload();
    assert_eq!(browser.count("[id^=job-]"), 30);
    browser.wait_for_text("#top", |text| text.contains("the store does not answer"));

    stage.server.thaw();
    browser.wait_for_text("#top", |text| text.contains("store answers"));
    browser.wait_for_text("#troubles h1", |text| !text.contains("store"));

    let stopped = browser.script("return Date.now()").as_i64().expect("a time");
    browser.script_of(WATCH, &json!(["#top", "the store does not answer"]));
    stage.server.stop();
    let late = seen_at(&browser) - stopped;
    assert!(late < 3_000, "{late} ms after it was killed");
    stage.server.start_again();
    browser.wait_for_text("#top", |text| text.contains("store answers"));
    assert_eq!(browser.count("[id^=job-]"), 30);
    stage.expect_clean(browser, &[]);
}

#[test]
fn a_page_that_is_opened_without_the_store_lists_the_jobs_and_fills_in_what_ran() {
    let stage = Stage::start();
    let browser = Browser::start();
    stage.server.freeze();
    let is_away = || get(stage.addresses()[0], "/readyz").status == 503;
    browser.wait_until("an outage", || is_away().then_some(()));
    browser.open(&stage.page("/"));
    browser.wait_for_text("#troubles h1", |text| text == "The store does not answer");
    assert_eq!(browser.count("#jobs tr.unknown time.due"), 30, "every job with its next tick");
    assert_eq!(browser.count("#jobs tr:not(.unknown) td, #timeline:not([hidden])"), 0, "no state is made up");
    stage.server.thaw();
    browser.wait_for_text("#troubles h1", |text| !text.contains("store"));
    browser.wait_until("what ran", || (browser.count("#jobs tr.ok, #jobs tr.running") > 0).then_some(()));
    assert_eq!(browser.count("#jobs tr.unknown"), 0);
    assert_eq!(browser.count("#timeline svg.tl"), 1);
    stage.expect_clean(browser, &[]);
}

#[test]
fn a_page_whose_replica_is_gone_says_since_when_it_is_old() {
    let mut stage = Stage::start();
    let browser = stage.browse("/");
    wait_for_news(&browser);
    stage.kill(0);
    let said = browser.wait_for_text("#news", |text| text.starts_with("No news since "));
    assert!(said.ends_with("trying again."), "{said}");
    assert_eq!(browser.count("body.stale"), 1);
    assert_eq!(browser.count("[id^=job-]"), 30, "what was known stays");
    stage.start_again(0);
    browser.wait_until("news", || (browser.count("body.stale") == 0).then_some(()));
    assert_eq!(browser.text_of("#news").as_deref(), Some(""));
    stage.expect_clean(browser, &["net::ERR_"]);
}

#[test]
fn a_page_that_is_held_still_changes_only_once_it_goes_on() {
    let mut stage = Stage::start();
    let browser = stage.browse("/");
    wait_for_news(&browser);
    browser.press("p");
    browser.wait_for_text("#news", |text| text.starts_with("Held still"));
    stage.break_payout();
    stage.wait_for_failure();
    let (shown, deadline) =
        (browser.count("#job-payout.failing"), SystemClock.boot().plus(Duration::from_secs(3)));
    browser.wait_until("three seconds", || (SystemClock.boot() > deadline).then_some(()));
    assert_eq!((shown, browser.count("#job-payout.failing")), (0, 0));
    browser.press("p");
    browser.wait_until("the failure", || (browser.count("#job-payout.failing") == 1).then_some(()));
    stage.expect_clean(browser, &[]);
}
