//! Every message about jobs.toml as a user sees it, one snapshot each. A message names the thing, the value and the
//! way out, and never a password.

use std::path::Path;

use solocron::config::{Machine, Overrides, Source, load, render};

/// What no message may ever show: the password in every store of this file, and of every variable.
const SECRET: &str = "hunter2";

/// Compares with the snapshot of this name, which holds the message and nothing else.
fn assert_message(name: &str, text: &str, overrides: &Overrides<'_>) {
    let shown = messages(text, overrides);
    assert!(!shown.contains(SECRET), "{shown}");
    insta::with_settings!({ omit_expression => true, prepend_module_to_snapshot => false }, {
        insta::assert_snapshot!(name, shown);
    });
}

fn messages(text: &str, overrides: &Overrides<'_>) -> String {
    let source = Source::new("jobs.toml", text);
    let env = |name: &str| match name {
        "REDIS_PASSWORD" | "REDIS_URL" => Some(SECRET.to_owned()),
        _ => None,
    };
    match load(&source, overrides, &env) {
        Ok((_, warnings)) if warnings.is_empty() => "accepted without a word".to_owned(),
        Ok((_, warnings)) => format!("accepted, with warnings\n\n{}", render(&warnings, &source, false)),
        Err(problems) => render(problems.as_slice(), &source, false),
    }
}

/// A good file whose only job has these lines more.
fn job_with(lines: &str) -> String {
    format!(
        "[cluster]\nstore = \"local\"\n\n[jobs.backup]\nschedule = \"30 2 * * *\"\ncommand = [\"backup\"]\n{lines}\n"
    )
}

macro_rules! files {
    ($($name:ident: $text:expr;)+) => { $(
        #[test]
        fn $name() {
            assert_message(stringify!($name), $text, &Overrides::default());
        }
    )+ };
}

macro_rules! jobs {
    ($($name:ident: $lines:expr;)+) => { $(
        #[test]
        fn $name() {
            assert_message(stringify!($name), &job_with($lines), &Overrides::default());
        }
    )+ };
}

// The file as a whole.
files! {
    a_good_file: &job_with("timeout = \"1h\"");
    an_empty_file: "";
    a_file_without_jobs: "[cluster]\nstore = \"local\"\n";
    several_problems_at_once: r#"
[cluster]
name = "bill ing"
stroe = "local"
replicas = 0

[defaults]
lease = "1s"

[jobs.backup]
shedule = "30 2 * * *"
command = "pg_dump app"
timeout = 60

[jobs."nightly report"]
schedule = "@daily"
command = ["ssh", "db1", "report"]
retries = -1
"#;
    unknown_tables: "[clusters]\nname = \"x\"\n[job.backup]\ncommand = [\"x\"]\n[colour]\nred = 1\n";
    keys_before_the_first_table: "store = \"local\"\nlease = \"30s\"\n";
    sections_that_are_no_tables: "cluster = \"local\"\njobs = [\"backup\"]\nlogs = 7\n";
    a_list_of_jobs: "[cluster]\nstore = \"local\"\n[[jobs]]\nname = \"x\"\n";
    a_job_that_is_no_table: "[cluster]\nstore = \"local\"\n[jobs]\nbackup = \"0 2 * * *\"\n";
    a_job_name_with_an_unquoted_dot: &job_with("[jobs.backup.nightly]\nschedule = \"@daily\"");
    a_byte_order_mark: "\u{feff}[cluster]\nstroe = \"local\"\n";
    windows_line_ends: "[cluster]\r\nstore = \"local\"\r\nreplica = 3\r\n";
}

// Syntax.
files! {
    a_value_without_quotes: "[cluster]\nname = billing\nstore = local\n\n[jobs.a]\nschedule = \"@daily\"\ncommand = [true]\n";
    a_string_that_is_not_closed: "[cluster]\nstore = \"local\nreplicas = 2\n";
    a_string_with_a_password_that_is_not_closed: "[cluster]\nstore = \"redis://:hunter2@redis:6379/0\nreplicas = 2\n";
    a_list_that_is_not_closed: "[cluster]\nstore = \"local\"\n[jobs.a]\ncommand = [\"x\", \"y\"\nschedule = \"@daily\"\n";
    a_table_header_that_is_not_closed: "[cluster\nstore = \"local\"\n";
    a_line_without_a_value: "[cluster]\nstore\nname = \"x\"\n";
    a_key_twice: "[cluster]\nstore = \"local\"\nstore = \"redis://h\"\n";
    a_table_twice: "[cluster]\nstore = \"local\"\n[jobs.a]\ncommand = [\"x\"]\n[jobs.a]\nshell = \"y\"\n";
    a_table_twice_with_the_same_keys: "[cluster]\nstore = \"local\"\n[jobs.a]\nschedule = \"@daily\"\ncommand = [\"x\"]\n[jobs.b]\nschedule = \"@daily\"\ncommand = [\"x\"]\n\n[ jobs.\"a\" ] # again\nschedule = \"@daily\"\ncommand = [\"y\"]\n";
    a_bad_escape: "[cluster]\nstore = \"local:C:\\data\"\n";
}

// [cluster]
files! {
    no_cluster: "[jobs.a]\nschedule = \"@daily\"\ncommand = [\"x\"]\n";
    no_store: "[cluster]\nname = \"billing\"\n[jobs.a]\nschedule = \"@daily\"\ncommand = [\"x\"]\n";
    no_name_with_redis: "[cluster]\nstore = \"redis://redis:6379/0\"\n";
    a_bad_cluster_name: "[cluster]\nname = \"billing team\"\nstore = \"redis://redis\"\n";
    a_name_that_is_a_number: "[cluster]\nname = 7\nstore = \"redis://redis\"\n";
    a_job_key_in_cluster: "[cluster]\nstore = \"local\"\nlease = \"30s\"\n";
    a_local_store_for_three_replicas: &job_with("").replace("\"local\"", "\"local\"\nreplicas = 3");
    replicas_in_quotes: "[cluster]\nstore = \"local\"\nreplicas = \"3\"\n";
}

// [cluster] store
macro_rules! stores {
    ($($name:ident: $store:expr;)+) => { $(
        #[test]
        fn $name() {
            let text = format!("[cluster]\nname = \"billing\"\nstore = {}\n[jobs.a]\nschedule = \"@daily\"\ncommand = [\"x\"]\n", $store);
            assert_message(stringify!($name), &text, &Overrides::default());
        }
    )+ };
}
stores! {
    a_store_with_a_typing_error: r#""redsi://redis:6379/0""#;
    a_store_of_another_kind: r#""mysql://app:hunter2@db/app""#;
    a_store_without_a_scheme: r#""redis.internal:6379""#;
    a_store_that_is_a_word: r#""memory""#;
    a_store_that_is_a_number: "6379";
    a_store_with_a_bad_port: r#""redis://app:hunter2@redis:63790000/0""#;
    a_store_with_a_password_and_no_host: r#""redis://:hunter2""#;
    a_store_with_a_bad_database: r#""redis://redis:6379/main""#;
    a_store_with_a_password_that_is_not_encoded: r#""redis://app:hunter2/x#y@redis:6379/0""#;
    a_store_with_a_user_and_no_password: r#""redis://hunter2@redis:6379/0""#;
    a_store_that_skips_verification: r#""rediss://redis:6379/0#insecure""#;
    a_store_with_two_hosts: r#""redis://a:6379,b:6379/0""#;
    a_socket_without_a_path: r#""redis+unix://redis.sock""#;
    a_sentinel_store: r#""redis+sentinel://a,b,c/main/0""#;
    a_sentinel_store_without_a_master: r#""redis+sentinel://a,b,c""#;
    a_cluster_store: r#""redis+cluster://a,b,c""#;
    a_quorum_store: r#"["redis://a", "redis://b", "redis://c"]"#;
    a_quorum_of_two: r#"["redis://:hunter2@a", "redis://:hunter2@b"]"#;
    a_quorum_with_something_else: r#"["redis://a", "redis://b", "local"]"#;
    a_store_with_a_missing_variable: r#""redis://:${REDIS_PASWORD}@redis:6379/0""#;
    a_store_with_a_missing_file: r#""redis://:${file:/nowhere/redis}@redis:6379/0""#;
    a_store_with_an_open_reference: r#""redis://:${REDIS_PASSWORD@redis:6379/0""#;
    a_store_whose_variable_is_no_url: r#""${REDIS_URL}""#;
    a_store_whose_password_comes_from_a_variable_and_port_is_bad: r#""redis://:${REDIS_PASSWORD}@redis:x/0""#;
}

#[test]
fn a_bad_store_given_by_flag() {
    let overrides = Overrides { store: Some("redis://:hunter2@redis:x/0"), ..Overrides::default() };
    assert_message("a_bad_store_given_by_flag", &job_with(""), &overrides);
}

#[test]
fn a_program_whose_processes_cannot_be_killed() {
    let overrides = Overrides { escapes: Some(|program| program == "sudo"), ..Overrides::default() };
    let text = "[cluster]\nstore = \"local\"\n\n[jobs.argv]\nschedule = \"@daily\"\n\
        command = [\"nice\", \"sudo\", \"backup\"]\n\n[jobs.shell]\nschedule = \"@daily\"\n\
        shell = \"sudo backup && sync\"\n\n[jobs.unprivileged]\nschedule = \"@daily\"\n\
        command = [\"sudo\", \"backup\"]\nno_new_privileges = true\n\n[jobs.other]\nschedule = \"@daily\"\n\
        command = [\"echo\", \"sudo\"]\n\n[jobs.behind]\nschedule = \"@daily\"\n\
        shell = \"cd / && (sudo backup)\"\n\n[jobs.script]\nschedule = \"@daily\"\n\
        command = [\"sh\", \"-c\", \"cd /; sudo backup\"]\n\n[jobs.words]\nschedule = \"@daily\"\n\
        shell = \"cd /; echo sudo\"\n";
    assert_message("a_program_whose_processes_cannot_be_killed", text, &overrides);
}

#[test]
fn what_a_job_needs_and_this_machine_does_not_have() {
    let machine = Machine { has_user: |name| name == "app", has_folder: |path| path == Path::new("/srv") };
    let overrides = Overrides { machine: Some(machine), ..Overrides::default() };
    let job = |name: &str, lines: &str| {
        format!("[jobs.{name}]\nschedule = \"@daily\"\ncommand = [\"x\"]\n{lines}\n\n")
    };
    let jobs = [
        job("good", "user = \"app\"\ncwd = \"/srv\""),
        job("bad", "user = \"nobdy\"\ncwd = \"/srv/none\""),
        job("elsewhere", "user = \"nobdy\"\nonly_on = [\"gpu\"]"),
    ];
    let text = format!("[cluster]\nstore = \"local\"\n\n[defaults]\nuser = \"bckup\"\n\n{}", jobs.concat());
    assert_message("what_a_job_needs_and_this_machine_does_not_have", &text, &overrides);
}

#[test]
fn an_unknown_table_is_headed_with_the_name_of_its_file() {
    let source = Source::new("/etc/cron/unknown.toml", "[cluster]\nstore = \"local\"\n[job.a]\n");
    let problems = load(&source, &Overrides::default(), &|_| None).expect_err("an unknown table");
    let shown = render(problems.as_slice(), &source, false);
    assert!(shown.starts_with("error: /etc/cron/unknown.toml: unknown table `job`\n"), "{shown}");
}

#[test]
fn of_many_problems_fifty_are_shown_and_how_many_more_there_are() {
    let jobs: String =
        (0..10_000).map(|n| format!("[jobs.j{n}]\nschedule = \"@daily\"\ncomand = [\"x\"]\n")).collect();
    let shown = messages(&format!("[cluster]\nstore = \"local\"\n{jobs}"), &Overrides::default());
    assert_eq!(shown.matches("unknown key `comand`").count(), 50);
    assert!(
        shown.ends_with("\n\n… and 9950 more, which are not shown\n\njobs.toml: 10000 errors\n"),
        "{shown}"
    );
}

// [jobs.NAME]
jobs! {
    no_new_privileges_that_are_no_flag: "no_new_privileges = \"yes\"";
    no_new_privileges_misspelled: "no_new_privs = true";
    an_unknown_job_key: "time_out = \"1h\"";
    a_key_by_another_name: "tz = \"UTC\"\nworkdir = \"/\"\nname = \"x\"";
    a_key_nobody_knows: "colour = \"red\"";
    a_cluster_key_in_a_job: "replicas = 3";
    a_bad_job_name: "[jobs.\"nightly backup\"]\nschedule = \"@daily\"\ncommand = [\"x\"]";
    a_lease_that_is_too_short: "lease = \"2s\"";
    a_duration_with_words: "timeout = \"5 minutes\"";
    a_duration_without_a_unit: "timeout = \"90\"";
    a_duration_beyond_all_bounds: "lease = \"3651d\"";
    a_duration_that_is_a_number: "kill_grace = 10";
    a_duration_that_is_a_boolean: "timeout = false";
    durations_of_zero: "timeout = \"0s\"\nstart_deadline = \"0s\"";
    both_command_and_shell: "shell = \"backup | gzip\"";
    an_overlap_that_nobody_knows: "overlap = \"skp\"";
    a_catch_up_that_is_a_boolean: "catch_up = true";
    an_on_interrupt_that_nobody_knows: "on_interrupt = \"retry\"";
    retries_below_zero: "retries = -1";
    retries_beyond_all_bounds: "retries = 99999999999\nmax_processes = 99999999999999999999";
    a_relative_cwd: "cwd = \"data/app\"";
    success_codes_out_of_range: "success_codes = [0, 256, \"1\"]";
    no_success_codes: "success_codes = []";
    success_codes_that_are_no_list: "success_codes = 0";
    an_enabled_in_quotes: "enabled = \"yes\"";
    an_empty_cwd: "cwd = \"\"";
    a_user_by_number: "user = \"1000\"\ngroup = 1000";
    a_user_with_a_group: "user = \"app:app\"";
    a_nul_in_a_value: "description = \"a\\u0000b\"";
    env_names_that_cannot_be: "[jobs.backup.env]\n\"\" = \"x\"\n\"A=B\" = \"x\"\nSOLOCRON_JOB = \"x\"";
    env_values_that_are_no_strings: "env = { PORT = 5432, TLS = true }";
    env_references_that_cannot_be: "env = { A = \"${B\", C = \"${D:-e}\", E = \"${file:pw}\" }";
    an_env_that_is_a_list: "env = [\"A=B\"]";
    a_job_key_below_the_env_header: "[jobs.backup.env]\nPGHOST = \"db\"\ntimeout = \"1h\"";
    dollars_in_argv: "[jobs.b]\nschedule = \"@daily\"\ncommand = [\"cp\", \"$SRC/a\", \"${DST}\"]";
    a_step_that_is_uneven: "[jobs.b]\nschedule = [\"0 3 * * *\", \"10,*/7 * * * *\"]\ncommand = [\"x\"]";
    a_password_in_argv: "[jobs.b]\nschedule = \"@daily\"\ncommand = [\"dump\", \"--db-password=hunter2\", \"postgres://app:hunter2@db/x\"]";
    a_password_in_a_shell_line: "[jobs.b]\nschedule = \"@daily\"\nshell = \"dump --token='hunter2 hunter2' --password=$PW\"";
    a_pipe_without_pipefail: "[jobs.b]\nschedule = \"@daily\"\nshell = \"pg_dump app | gzip > /backups/app.gz\"";
    work_in_a_container: "[jobs.b]\nschedule = \"@daily\"\ncommand = [\"docker\", \"run\", \"--rm\", \"report\"]";
    work_on_another_machine: "[jobs.b]\nschedule = \"@daily\"\nshell = \"ssh db1 vacuum\"";
}

// schedule, command and shell
files! {
    a_job_without_anything: "[cluster]\nstore = \"local\"\n[jobs.backup]\n";
    a_schedule_that_is_a_number: "[cluster]\nstore = \"local\"\n[jobs.a]\nschedule = 5\ncommand = [\"x\"]\n";
    an_empty_list_of_schedules: "[cluster]\nstore = \"local\"\n[jobs.a]\nschedule = []\ncommand = [\"x\"]\n";
    a_command_that_is_a_string: "[cluster]\nstore = \"local\"\n[jobs.a]\nschedule = \"@daily\"\ncommand = \"pg_dump -Fc app\"\n";
    a_command_that_is_a_shell_line: "[cluster]\nstore = \"local\"\n[jobs.a]\nschedule = \"@daily\"\ncommand = \"a > b; c\"\n";
    an_empty_command: "[cluster]\nstore = \"local\"\n[jobs.a]\nschedule = \"@daily\"\ncommand = []\n[jobs.b]\nschedule = \"@daily\"\ncommand = [\"\", \"x\"]\n";
    a_command_that_is_a_string_with_a_password: "[cluster]\nstore = \"local\"\n[jobs.a]\nschedule = \"@daily\"\ncommand = \"curl https://app:hunter2@api/x\"\n";
    a_command_with_a_number: "[cluster]\nstore = \"local\"\n[jobs.a]\nschedule = \"@daily\"\ncommand = [\"sleep\", 5]\n";
    a_shell_that_is_a_list: "[cluster]\nstore = \"local\"\n[jobs.a]\nschedule = \"@daily\"\nshell = [\"a\", \"b\"]\n";
}

// [defaults], [replica] and [logs]
jobs! {
    problems_in_defaults_are_reported_once: "[jobs.second]\nschedule = \"@daily\"\ncommand = [\"x\"]\n[defaults]\nlease = \"1s\"\nenv = { A = 1 }";
    defaults_for_what_each_job_must_say: "[defaults]\nschedule = \"@daily\"\nshell = \"x\"";
    an_unknown_default: "[defaults]\ntime_zone = \"UTC\"\nstore = \"local\"";
    http_keys_elsewhere: "[replica]\nlisten = \"127.0.0.1:7070\"\n[http]\ntoken = \"x\"\nmay = \"act\"";
    labels_that_are_none: "[replica]\nlabels = [\"gpu\", \"zone=eu\", \"\", 3]\n[defaults]\nonly_on = [\"a b\"]";
    replica_keys_with_bad_values: "[replica]\nlabels = \"gpu\"\nmax_running = 0\ndrain = \"soon\"";
    http_keys_with_bad_values: "[http]\nlisten = \"7070\"\nhosts = [\"https://cron.internal/x\", \"a b\"]\nurl = \"cron.internal\"";
    http_addresses_that_links_cannot_have: "[http]\nlisten = 7070\nhosts = \"cron\"\nurl = \"https://me:hunter2@cron.internal\"";
    tokens_that_are_refused: "[http.tokens]\nmaria = \"hunter2\"\n\"a b\" = { token = \"${file:/run/t}\", may = \"read\" }\nann = { token = \"hunter2\", may = \"admin\" }\nbob = { token = \"${TOKEN}\" }\neve = { may = \"acts\", token = \"${file:run/t}\", rights = 1 }";
    tokens_that_are_no_table: "[http]\ntokens = [\"hunter2\"]";
    log_limits_that_make_no_sense: "[logs]\nkeep = \"0s\"\nkeep_runs = 0\nmax_bytes = \"1.5GB\"\nmax_byte = 1";
    a_log_limit_of_no_bytes: "[logs]\nmax_bytes = \"0MB\"";
    a_log_limit_that_is_a_boolean: "[logs]\nmax_bytes = true";
}
