//! The Redis user of docs/redis.md may do what is needed.

use nix::sys::signal::Signal;

use crate::markdown::{Page, words};
use crate::process::{Program, Scene};
use crate::redis_server::RedisServer;

const JOBS: &str = r#"
[cluster]
name = "billing"
store = "${STORE}"
[jobs.a]
schedule = "* * * * * *"
shell = "true"
"#;

#[test]
fn the_redis_user_may_do_what_is_needed() {
    let page = Page::read("docs/redis.md");
    let texts = page.blocks_in("text");
    let rule = texts.iter().find(|text| text.starts_with("ACL SETUSER solocron")).expect("the ACL line");
    let server = RedisServer::start();
    // The password begins with the sign that ends a command line elsewhere.
    let rule: Vec<&str> = rule.split_whitespace().collect();
    assert_eq!(server.cli(&rule), "OK");
    let scene = Scene::new(JOBS);
    let url = server.url().replace("redis://", "redis://solocron:PASSWORD@").replace("/0", "/1");
    let start = |line: &str| {
        let args = words(line);
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        Program::start(scene.command(&args).env("STORE", &url))
    };
    let mut replica = start("run --log-format json --log-level debug");
    replica.wait_for_event("run recorded");
    for line in ["status", "history", "pause a", "resume a", "acts a", "exec --lock b -- true"] {
        start(line).wait().expect_code(0);
    }
    replica.signal(Signal::SIGTERM);
    let log = replica.wait().expect_code(0).log;
    assert!(!log.contains("store is set up"), "what may not be read is no warning:\n{log}");
    let refused = server.cli(&["ACL", "LOG"]);
    let lines: Vec<&str> = refused.lines().collect();
    let objects = lines.windows(2).filter(|pair| pair[0] == "object").map(|pair| pair[1]);
    assert!(objects.eq(["config|get"]), "nothing but the optional right was refused:\n{refused}");
    assert!(page.text.contains("| `+config\\|get` "));
}
