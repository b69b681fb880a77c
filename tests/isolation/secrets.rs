//! The replica's settings and secrets.

use crate::process::Scene;
use crate::{file, printed, start};

/// What the replica is started with.
const SECRETS: [(&str, &str); 5] = [
    ("SOLOCRON_LISTEN", "127.0.0.1:7071"),
    ("CREDENTIALS_DIRECTORY", "/run/credentials/solocron.service"),
    ("TRACEPARENT", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"),
    ("STORE_FOLDER", "sesame"),
    ("PG_SECRET", "open"),
];

/// Prints the variables, and leaves out those that tell the job which run it is.
const PRINT: &str = "env | sort; echo over";

fn names(lines: &[String]) -> Vec<&str> {
    lines.iter().filter_map(|line| line.split_once('=')).map(|(name, _)| name).collect()
}

#[test]
fn neither_the_replicas_settings_nor_what_its_file_refers_to_reach_a_job() {
    // Another job names the secret, and so may have it.
    let other =
        "[jobs.other]\nschedule = \"@yearly\"\ncommand = [\"true\"]\nenv = { PGPASSWORD = \"${PG_SECRET}\" }";
    let job = format!("shell = \"{PRINT}\"");
    let text = file("", &format!("{job}\n{other}")).replace("\"local\"", "\"local:${STORE_FOLDER}\"");
    let scene = Scene::new(&text);
    let mut replica = start(&scene, &SECRETS);
    let lines = printed(&mut replica);
    let seen = names(&lines);
    for (name, _) in SECRETS.into_iter().chain([("SOLOCRON_STATE_DIR", "")]) {
        assert!(!seen.contains(&name), "{name} reached the job: {lines:#?}");
    }
    assert!(seen.contains(&"PATH") && seen.contains(&"SOLOCRON_RUN"), "{lines:#?}");
}

#[test]
fn a_job_has_the_secret_that_its_own_env_names() {
    let job = format!("shell = \"{PRINT}\"\nenv = {{ PGPASSWORD = \"${{PG_SECRET}}\" }}");
    let scene = Scene::new(&file("", &job));
    let lines = printed(&mut start(&scene, &SECRETS));
    assert!(lines.contains(&"PGPASSWORD=open".to_owned()), "{lines:#?}");
    assert!(!names(&lines).contains(&"PG_SECRET"), "{lines:#?}");
}
