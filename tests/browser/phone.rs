//! A phone of 360 pixels, at three in the morning: nothing has to be moved sideways.

use crate::stage::{MARIA, Stage};
use crate::webdriver::Browser;

/// The width of a small phone.
pub(crate) const PHONE: u32 = 360;

/// What is wider than the page, for the message.
const WIDE: &str = "
    const width = document.scrollingElement.clientWidth;
    return [...document.querySelectorAll('body *')].filter(e => e.getBoundingClientRect().right > width + 0.5)
        .slice(0, 8).map(e => e.tagName + '#' + e.id + '.' + e.getAttribute('class'));";

#[test]
fn no_page_is_wider_than_a_phone() {
    let mut stage = Stage::start_with_tokens();
    stage.break_payout();
    stage.wait_for_failure();
    let browser = Browser::start();
    browser.resize(PHONE, 740);
    browser.open(&stage.page("/login"));
    let expect_narrow = |what: &str| {
        let width = browser.script("return document.scrollingElement.scrollWidth").as_u64();
        assert!(width <= Some(u64::from(PHONE)), "{what}: {width:?} {:#}", browser.script(WIDE));
    };
    expect_narrow("/login");
    browser.type_into("#login input[name=token]", MARIA);
    browser.click("#login button");
    browser.wait_until("a failed run", || {
        (browser.count("#job-payout.failing td a[href*='/runs/']") > 0).then_some(())
    });
    expect_narrow("/");
    let run = browser.script("return document.querySelector(\"#job-payout td a[href*='/runs/']\").href");
    for path in [
        "/?by=job&span=24h",
        "/?q=nothing-is-called-so",
        "/jobs/payout?at=02%3A30",
        "/replicas",
        "/jobs/other",
        &format!("/{}", "nowhere".repeat(60)),
    ] {
        browser.open(&stage.page(path));
        expect_narrow(path);
    }
    browser.open(run.as_str().expect("an address"));
    expect_narrow("a run");
    stage.expect_clean(browser, &["the server responded with a status of 404"]);
}

#[test]
fn everything_that_is_touched_is_large_enough() {
    let stage = Stage::start();
    let browser = stage.browse("/");
    browser.resize(PHONE, 740);
    let small = browser.script(
        "return [...document.querySelectorAll('button, input, body > nav a, .choices a, #pager a')]
            .filter(e => { const box = e.getBoundingClientRect(); return box.width && (box.height < 24 || box.width < 24) })
            .map(e => e.outerHTML)",
    );
    assert_eq!(small.as_array().map(Vec::len), Some(0), "{small:#}");
    stage.expect_clean(browser, &[]);
}
