//! What axe-core, the checker of accessibility, finds on every page: in both themes, on a screen and on a phone.

use serde_json::Value;

use crate::phone::PHONE;
use crate::stage::{MARIA, REFUSED, Stage};
use crate::webdriver::Browser;

/// Runs the checker, and returns what it finds serious.
const RUN: &str = "
    const done = arguments[arguments.length - 1];
    axe.run(document, { resultTypes: ['violations'] }).then(
        result => done(result.violations.filter(found => ['serious', 'critical'].includes(found.impact))
            .map(found => ({ rule: found.id, help: found.help, nodes: found.nodes.slice(0, 4).map(node =>
                ({ html: node.html.slice(0, 300), why: node.failureSummary })) }))),
        error => done([{ error: String(error) }]));";

/// The checker, as `make tools` has it.
fn checker() -> String {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/target/axe-core-4.14.1/package/axe.min.js");
    std::fs::read_to_string(file).unwrap_or_else(|error| panic!("{file}: {error}; try `make tools`"))
}

#[test]
fn no_page_has_a_serious_fault_in_either_theme_or_width() {
    let mut stage = Stage::start_with_tokens();
    stage.break_payout();
    stage.wait_for_failure();
    let checker = checker();
    let browser = Browser::start();
    let mut found: Vec<(String, Value)> = Vec::new();
    let mut check = |what: &str| {
        for (width, theme) in [(1280, "light"), (1280, "dark"), (PHONE, "light"), (PHONE, "dark")] {
            browser.resize(width, 900);
            browser.script(&format!("document.documentElement.dataset.theme = '{theme}'"));
            browser.script(&checker);
            let faults = browser.script_that_calls_back(RUN);
            if faults.as_array().is_none_or(|faults| !faults.is_empty()) {
                found.push((format!("{what}, {width}, {theme}"), faults));
            }
        }
    };
    browser.open(&stage.page("/login"));
    check("the login");
    browser.type_into("#login input[name=token]", MARIA);
    browser.click("#login button");
    browser.wait_until("a failed run", || {
        (browser.count("#job-payout.failing td a[href*='/runs/']") > 0).then_some(())
    });
    check("the jobs");
    let run = browser.script("return document.querySelector(\"#job-payout td a[href*='/runs/']\").href");
    for path in ["/?by=job", "/jobs/payout", "/replicas", "/nowhere"] {
        browser.open(&stage.page(path));
        check(path);
    }
    browser.open(run.as_str().expect("an address"));
    check("a run");
    assert!(found.is_empty(), "{found:#?}");
    stage.expect_clean(browser, &[REFUSED]);
}
