//! What a job prints on another machine, as a browser sees it come. The machine of the browser reaches only the store and its own
//! replica.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use crate::login::log_in;
use crate::machine::{Machine, store_of_machines, within_namespaces};
use crate::process::Scene;
use crate::stage::{MARIA, write_private};
use crate::webdriver::Browser;

/// Where the replica beside the browser serves its page.
const PAGE: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 7_070);

#[test]
fn lines_printed_on_a_machine_out_of_reach_show_as_they_are_printed() {
    within_namespaces("output::lines_printed_on_a_machine_out_of_reach_show_as_they_are_printed", watch);
}

/// In the process within the namespaces.
fn watch() {
    let redis = store_of_machines();
    let scene = Scene::new("");
    let token = scene.path("maria");
    write_private(&token, MARIA);
    scene.edit(&format!(
        "[cluster]\nname = \"billing\"\nstore = \"local\"\n\
         [jobs.talk]\nschedule = \"0 0 29 2 *\"\nonly_on = [\"talks\"]\n\
         shell = \"echo one; until test -e two; do sleep 0.1; done; echo two; until test -e three; do sleep 0.1; done; \
         echo three; exit 3\"\n\
         [http.tokens]\nmaria = {{ token = \"${{file:{}}}\", may = \"act\" }}\n",
        token.display()
    ));
    let [near, far] = [1, 2].map(|number| Machine::new(number, &scene, &redis));
    let route = near.command("ip").args(["route", "get", "10.77.2.2"]).output().expect("ip");
    assert!(!route.status.success(), "the other machine is out of reach");
    let _beside = near.replica(&["--listen", &PAGE.to_string()]);
    let _talks = far.replica(&["--no-http", "--label", "talks"]);
    let [ip, client] = ["10.77.1.2", "10.77.1.1"].map(|ip| ip.parse().expect("an address"));
    let browser = Browser::start_elsewhere(&mut near.command("chromedriver"), ip, client);
    browser.open(&format!("http://{PAGE}/login"));
    log_in(&browser, MARIA);
    browser.wait_until("the jobs", || browser.url().ends_with('/').then_some(()));
    browser.wait_until("what may be done with the job", || {
        browser.open(&format!("http://{PAGE}/jobs/talk"));
        (browser.count("#act form") > 0).then_some(())
    });
    browser.click("#act form[action='/jobs/talk/trigger'] button");
    browser.click("#ticks tbody tr.running a");
    browser.wait_for_text("#output-note", |text| text == "Live from n2, which is asked through the store.");
    let first = browser.wait_for_text("#output pre", |text| text.contains("one"));
    assert!(!first.contains("two"), "{first}");
    browser.script("window.opened = 'once'");
    for (line, next) in [("two", "three"), ("three", "four")] {
        std::fs::write(scene.path(line), "").expect("a writable folder");
        let shown = browser.wait_for_text("#output pre", |text| text.contains(line));
        assert!(!shown.contains(next), "{shown}");
    }
    browser.wait_for_text("#story h1", |text| text.ends_with("talk: failed, exit code 3"));
    assert_eq!(browser.script("return window.opened"), "once", "the page was not loaded again");
    let shown = browser.text_of("#output pre").expect("the output stays");
    let lines: Vec<&str> = shown.lines().filter_map(|line| line.split_whitespace().last()).collect();
    assert_eq!(lines, ["one", "two", "three"], "{shown}");
    browser.expect_clean(&[PAGE], &[]);
}
