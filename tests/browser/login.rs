//! Who may see and do what, as a browser has it.

use crate::stage::{GRAFANA, MARIA, REFUSED, Stage};
use crate::webdriver::Browser;

/// Sends a token by the form of the page.
pub(crate) fn log_in(browser: &Browser, token: &str) {
    browser.type_into("#login input[name=token]", token);
    browser.click("#login button");
}

#[test]
fn a_browser_logs_in_with_a_token_and_out_again() {
    let stage = Stage::start_with_tokens();
    let browser = Browser::start();
    browser.open(&stage.page("/jobs/payout"));
    assert!(browser.url().contains("/login?next="), "{}", browser.url());
    log_in(&browser, "hunter2");
    browser.wait_for_text("#login [role=alert]", |text| text == "This is no token of this cluster.");
    log_in(&browser, MARIA);
    browser
        .wait_until("the page that was asked for", || browser.url().ends_with("/jobs/payout").then_some(()));
    assert_eq!(browser.text_of("body > nav form button").as_deref(), Some("Log out maria"));
    assert!(!browser.text_of("footer").expect("a footer").contains("read-only"));
    let cookies = browser.script("return document.cookie");
    assert_eq!(cookies, "", "no script can read the cookie");
    browser.click("body > nav form button");
    browser.wait_until("the login", || browser.url().ends_with("/login").then_some(()));
    browser.open(&stage.page("/"));
    assert!(browser.url().ends_with("/login"), "{}", browser.url());
    stage.expect_clean(browser, &[REFUSED]);
}

#[test]
fn a_page_that_cannot_act_says_why() {
    let stage = Stage::start_with_tokens();
    let elsewhere = format!("--host-resolver-rules=MAP cron.example {}", stage.addresses()[0].ip());
    let browser = Browser::start_with(&[&elsewhere]);
    browser.open(&stage.page("/"));
    log_in(&browser, GRAFANA);
    browser.wait_for_text("footer", |text| text.contains("your token may only read"));

    browser.open(&format!("http://cron.example:{}/", stage.addresses()[0].port()));
    log_in(&browser, MARIA);
    browser.wait_for_text("footer", |text| text.contains("over plain HTTP from another machine"));
    stage.expect_clean(browser, &["Cross-Origin-Opener-Policy"]);
}

#[test]
fn without_tokens_a_page_says_that_it_is_read_only_and_shows_no_output() {
    let stage = Stage::start();
    let browser = stage.browse("/");
    browser.wait_for_text("footer", |text| text.contains("no tokens are set up"));
    browser.wait_until("a run", || (browser.count("#job-payout td a[href*='/runs/']") > 0).then_some(()));
    browser.click("#job-payout td a[href*='/runs/']");
    browser.wait_for_text("#output", |text| !text.is_empty());
    assert_eq!(browser.count("#output pre"), 0);
    stage.expect_clean(browser, &[]);
}

#[test]
fn what_a_job_printed_is_shown_as_text_to_those_who_may_see_it() {
    let mut stage = Stage::start_with_tokens();
    stage.break_payout();
    stage.wait_for_failure();
    let browser = Browser::start();
    browser.open(&stage.page("/"));
    log_in(&browser, GRAFANA);
    browser.wait_until("a failed run", || {
        (browser.count("#job-payout.failing td a[href*='/runs/']") > 0).then_some(())
    });
    let run = browser.script("return document.querySelector(\"#job-payout td a[href*='/runs/']\").href");
    browser.open(run.as_str().expect("an address"));
    browser.wait_for_text("#output", |text| text.contains("<b>paying</b>"));
    stage.expect_clean(browser, &[]);
}
