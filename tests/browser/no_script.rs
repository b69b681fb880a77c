//! Without JavaScript everything can still be read.

use serde_json::json;

use crate::stage::Stage;
use crate::webdriver::Browser;

fn without_script() -> Browser {
    let browser = Browser::start();
    browser.devtools("Emulation.setScriptExecutionDisabled", &json!({ "value": true }));
    browser
}

#[test]
fn without_javascript_search_links_and_questions_work() {
    let stage = Stage::start();
    let browser = without_script();
    stage.open_jobs(&browser, "/");
    let is_shown = browser.script("return document.querySelector('.js').checkVisibility()");
    assert_eq!(is_shown, false, "what needs a script");
    browser.type_into("#q", "idle-0");
    browser.click("#counts button");
    browser.wait_until("nine jobs", || (browser.count("[id^=job-]") == 9).then_some(()));
    browser.click("#job-idle-07 th a");
    browser.wait_until("its page", || browser.url().ends_with("/jobs/idle-07").then_some(()));
    browser.type_into("#why input", "04:00");
    browser.click("#why button");
    let answer = browser.wait_for_text("#why [role=status]", |text| !text.is_empty());
    assert!(answer.contains("idle-07"), "{answer}");
    browser.click("body > nav a[href='/replicas']");
    browser.wait_until("the replicas", || (browser.count("table.replicas tbody tr") == 3).then_some(()));
    stage.expect_clean(browser, &[]);
}

#[test]
fn without_javascript_a_page_loads_again_and_again_only_if_it_is_told_to() {
    let stage = Stage::start();
    let browser = without_script();
    stage.open_jobs(&browser, "/");
    browser.click("#pager noscript a");
    browser.wait_until("its address", || browser.url().ends_with("/?refresh=10").then_some(()));
    browser.requests();
    let url = stage.page("/?refresh=10");
    browser.wait_until("the page once more", || browser.requests().contains(&url).then_some(()));
    browser.click("#pager noscript a");
    browser.wait_until("its address", || browser.url().ends_with('/').then_some(()));
    stage.expect_clean(browser, &[]);
}
