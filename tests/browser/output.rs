//! What a job prints on another replica, as a browser sees it come.

use crate::login::log_in;
use crate::stage::{MARIA, Stage};
use crate::webdriver::Browser;

#[test]
fn lines_of_another_replica_show_as_they_are_printed_and_its_address_is_never_asked() {
    let stage = Stage::start_with_a_talker();
    let browser = Browser::start();
    browser.open(&stage.page("/login"));
    log_in(&browser, MARIA);
    browser.wait_until("the jobs", || browser.url().ends_with('/').then_some(()));
    stage.open_job(&browser, "talk");
    browser.click("#act form[action='/jobs/talk/trigger'] button");
    browser.click("#ticks tbody tr.running a");
    browser.wait_for_text("#output-note", |text| text == "Live from n2, which is asked through the store.");
    let first = browser.wait_for_text("#output pre", |text| text.contains("one"));
    assert!(!first.contains("two"), "{first}");
    browser.script("window.opened = 'once'");
    for (line, next) in [("two", "three"), ("three", "four")] {
        stage.touch(line);
        let shown = browser.wait_for_text("#output pre", |text| text.contains(line));
        assert!(!shown.contains(next), "{shown}");
    }
    browser.wait_for_text("#story h1", |text| text.ends_with("talk: failed, exit code 3"));
    assert_eq!(browser.script("return window.opened"), "once", "the page was not loaded again");
    let shown = browser.text_of("#output pre").expect("the output stays");
    let lines: Vec<&str> = shown.lines().filter_map(|line| line.split_whitespace().last()).collect();
    assert_eq!(lines, ["one", "two", "three"], "{shown}");
    browser.expect_clean(&stage.addresses()[..1], &[]);
}
