//! Everything on a page can be reached by keys.

use crate::stage::Stage;
use crate::webdriver::{ENTER, ESCAPE};

#[test]
fn keys_search_move_open_and_go() {
    let stage = Stage::start();
    let browser = stage.browse("/");
    browser.press("j");
    let first = browser.script("return document.querySelector('tr.current, li.current').id");
    browser.press("j");
    let second = browser.script("return document.querySelector('tr.current, li.current').id");
    assert_ne!(first, second);
    browser.press("k");
    assert_eq!(browser.script("return document.querySelector('tr.current, li.current').id"), first);
    let job = first.as_str().and_then(|id| id.strip_prefix("job-")).expect("a row").to_owned();
    browser.press(ENTER);
    browser.wait_until("its page", || browser.url().ends_with(&format!("/jobs/{job}")).then_some(()));
    browser.wait_until("a tick", || (browser.count("[id^=tick-] a") > 0).then_some(()));
    browser.press("j");
    browser.press(ENTER);
    browser.wait_until("its run", || browser.url().contains("/runs/").then_some(()));

    browser.press("gr");
    browser.wait_until("the replicas", || browser.url().ends_with("/replicas").then_some(()));
    assert_eq!(browser.count("table.replicas tbody tr"), 3);
    browser.press("gh");
    browser.wait_until("the jobs", || (browser.count("[id^=job-]") == 30).then_some(()));

    browser.press("/");
    assert_eq!(browser.script("return document.activeElement.id"), "q");
    browser.press("idle-07j");
    assert_eq!(
        browser.script("return document.activeElement.value"),
        "idle-07j",
        "keys of a field are its own"
    );
    browser.press(ESCAPE);
    browser.press("/");
    browser.script("document.activeElement.value = 'idle-07'");
    browser.press(ENTER);
    browser.wait_until("one job", || (browser.count("[id^=job-]") == 1).then_some(()));
    assert!(browser.url().ends_with("/?q=idle-07"), "{}", browser.url());
    stage.expect_clean(browser, &[]);
}

#[test]
fn a_theme_is_chosen_by_a_key_and_kept() {
    let stage = Stage::start();
    let browser = stage.browse("/");
    let background = || browser.script("return getComputedStyle(document.body).backgroundColor");
    let before = background();
    browser.press("t");
    let after = background();
    assert_ne!(before, after);
    browser.open(&stage.page("/replicas"));
    assert_eq!(background(), after);
    browser.press("t");
    assert_eq!(background(), before);
    stage.expect_clean(browser, &[]);
}

#[test]
fn the_tab_key_reaches_the_skip_link_first_and_it_leads_to_the_content() {
    let stage = Stage::start();
    let browser = stage.browse("/");
    browser.press("\u{e004}");
    assert_eq!(browser.script("return document.activeElement.textContent"), "Skip to the content");
    browser.press(ENTER);
    browser.wait_until("the content", || {
        (browser.script("return document.activeElement.id") == "main").then_some(())
    });
    stage.expect_clean(browser, &[]);
}

#[test]
fn a_row_that_is_marked_stays_marked_when_it_is_replaced_and_the_times_change_zone() {
    let stage = Stage::start();
    let browser = stage.browse("/?q=payout");
    browser.press("j");
    browser.script("window.before = document.getElementById('job-payout')");
    browser.wait_until("a new row", || {
        let is_new = browser.script("return document.getElementById('job-payout') !== window.before");
        (is_new == true).then_some(())
    });
    assert_eq!(browser.count("#job-payout.current"), 1);
    let time = browser.text_of(".store-time").expect("the store's time");
    assert!(time.ends_with(" UTC"), "{time}");
    browser.press("u");
    let local = browser.text_of(".store-time").expect("the store's time");
    assert!(!local.is_empty(), "{local}");
    stage.expect_clean(browser, &[]);
}

#[test]
fn the_focus_stays_where_it_is_when_a_part_of_the_page_is_replaced() {
    let stage = Stage::start();
    let browser = stage.browse("/?q=payout");
    browser.script(
        "window.before = document.getElementById('job-payout'); window.before.querySelector('th a').focus()",
    );
    browser.wait_until("a new row", || {
        let is_new = browser.script("return document.getElementById('job-payout') !== window.before");
        (is_new == true).then_some(())
    });
    let focus = browser.script("return document.activeElement.closest('#job-payout th') !== null");
    assert_eq!(focus, true);
    // What is being written is not taken away.
    browser.press("/");
    browser.press("abc");
    browser.script("window.before = document.getElementById('job-payout')");
    browser.wait_until("a new row", || {
        let is_new = browser.script("return document.getElementById('job-payout') !== window.before");
        (is_new == true).then_some(())
    });
    assert_eq!(browser.script("return document.activeElement.value"), "abc");
    stage.expect_clean(browser, &[]);
}

#[test]
fn what_is_wrong_is_copied_as_one_line_of_text() {
    let mut stage = Stage::start();
    stage.break_payout();
    stage.wait_for_failure();
    let browser = stage.browse("/");
    browser.wait_for_text("#troubles", |text| text.contains("failed with exit code 1"));
    // Over plain HTTP from another machine, a browser has the old clipboard alone.
    for clipboard in ["", "Object.defineProperty(navigator, 'clipboard', { value: undefined })"] {
        browser.script(clipboard);
        browser.script("document.getElementById('q').value = ''");
        browser.wait_for_text("#troubles [data-copy]", |text| text == "copy");
        browser.click("#troubles [data-copy]");
        browser.wait_for_text("#troubles [data-copy]", |text| text == "copied");
        browser.type_into("#q", "\u{e009}v");
        let copied = browser.script("return document.getElementById('q').value");
        let is_message = |text: &str| text.starts_with("payout: failed with exit code 1");
        assert!(copied.as_str().is_some_and(is_message), "{clipboard}: {copied}");
    }
    stage.expect_clean(browser, &[]);
}
