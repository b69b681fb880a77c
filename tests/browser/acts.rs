//! A job is run from its page by those who may act, and by nobody else.

use crate::login::log_in;
use crate::stage::{GRAFANA, MARIA, REFUSED, Stage};
use crate::webdriver::Browser;

/// Sends what the form would send that the page does not show.
const OWN_FORM: &str = "
    const form = document.createElement('form');
    Object.assign(form, { method: 'post', action: '/jobs/idle-10/trigger' });
    document.body.append(form);
    form.submit();";

#[test]
fn a_job_runs_once_for_a_token_that_may_act_and_not_for_one_that_may_only_read() {
    let stage = Stage::start_with_tokens();
    let browser = Browser::start();
    browser.open(&stage.page("/jobs/idle-10"));
    log_in(&browser, GRAFANA);
    browser.wait_until("the page that was asked for", || browser.url().ends_with("/idle-10").then_some(()));
    stage.open_job(&browser, "idle-10");
    browser.wait_for_text("#act", |text| text.contains("your token may only read"));
    assert_eq!(browser.count("main form[method=post], #act a"), 0, "nothing to act with");
    browser.open(&stage.page("/jobs/idle-10/trigger"));
    browser.wait_for_text("#act", |text| text.contains("your token may only read"));
    assert_eq!(browser.count("main form"), 0);
    browser.script(OWN_FORM);
    browser.wait_for_text("#error h1", |text| text == "this token may only read");

    stage.open_job(&browser, "idle-10");
    browser.click("body > nav form button");
    browser.wait_until("the login", || browser.url().ends_with("/login").then_some(()));
    log_in(&browser, MARIA);
    browser.wait_until("the jobs", || browser.url().ends_with('/').then_some(()));
    stage.open_job(&browser, "idle-10");
    browser.wait_for_text("#acts", |text| text.contains("refused: this token may only read"));
    assert_eq!(browser.text_of("#ticks p").as_deref(), Some("No tick has been decided yet."));
    browser.click("#act form[action='/jobs/idle-10/trigger'] button");
    browser.wait_for_text("#acts [role=status]", |text| text.contains("a replica has picked this up"));
    browser.wait_for_text("#ticks tbody tr.succeeded td[data-l=cause]", |text| text.contains("manual"));
    assert_eq!(browser.count("#ticks tbody tr"), 1, "one run, that of maria");
    browser.click("#ticks tbody a");
    browser.wait_for_text("#story h1", |text| text.ends_with("idle-10: succeeded"));
    stage.expect_clean(browser, &[REFUSED]);
}
