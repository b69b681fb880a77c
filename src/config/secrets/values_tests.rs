use super::*;

fn hidden(text: &str) -> Vec<&str> {
    find(text).into_iter().map(|(_, value)| &text[value]).collect()
}

#[test]
fn every_value_of_env_is_one_wherever_it_stands() {
    for (text, values) in [
        ("env = { A = \"one\", B = 5, C = 'two' }\nshell = \"three\"", vec!["one", "two"]),
        ("env.A = \"one\"\njobs.x.env.B = 'two'\n\"env\".C = \"three\"", vec!["one", "two", "three"]),
        (
            "[jobs.x.env]\nA = \"one\" # not this\nB = \"two\"\n[jobs.y]\nshell = \"three\"",
            vec!["one", "two"],
        ),
        ("[defaults]\nenv = {\n  A = \"one\",\n}\ntimezone = \"UTC\"", vec!["one"]),
        ("env = { A = \"\"\"one\ntwo\"\"\" }", vec!["one\ntwo"]),
        ("env = { A = \"on\\\"e\" }", vec!["on\\\"e"]),
        // With mistakes.
        ("env = { A = \"one\n[jobs.y]\nshell = \"three\"", vec!["one"]),
        ("env = { A = one, B = two }\nshell = \"three\"", vec!["one, B = two }"]),
        ("env = { A = \"one\" \nB = \"two\"", vec!["one", "two"]),
    ] {
        assert_eq!(hidden(text), values, "{text}");
    }
}

#[test]
fn so_is_every_value_of_a_key_that_is_named_like_a_secret() {
    for (text, values) in [
        ("[cluster]\npassword = \"one\"", vec!["one"]),
        ("Api-Token = 'one'", vec!["one"]),
        ("\"redis key\" = \"one\"", vec!["one"]),
        ("secrets = [\"one\", \"two\"]", vec!["one", "two"]),
        ("password = one # two", vec!["one # two"]),
        ("the key `db_pass = \"one\"` isn't known", vec!["one"]),
        ("# password = \"one\"", vec!["one"]),
        ("password_file = ${X}", vec!["${X}"]),
    ] {
        assert_eq!(hidden(text), values, "{text}");
    }
}

#[test]
fn what_is_given_as_a_store_is_looked_at_as_a_url_also_in_a_list() {
    for (text, values) in [
        ("store = \"u:one@h\"", vec!["u:one@h"]),
        ("store = ['u:one@h',\n 'redis:/u:two@h']\nname = \"b\"", vec!["u:one@h", "redis:/u:two@h"]),
        ("cluster = { name = \"x\", store = \"u:one@h", vec!["u:one@h"]),
    ] {
        assert_eq!(hidden(text), values, "{text}");
    }
}

#[test]
fn nothing_else_is() {
    for text in [
        "variable `A=B` in `env` has a `=` in its name",
        "redis+unix:///x?pass=1",
        "the token of a job = x",
        "[jobs.a]\nshell = \"it's = 'x'\"\ncommand = [\"env\", \"A=b\"]\nretries = 3",
        "# the keys of a job don't = [",
        "[jobs.env-check]\nshell = \"x\"",
        "max_processes = 5\nkeep = \"14d\"",
        "",
        "\u{feff}é = \"",
    ] {
        assert_eq!(find(text), [], "{text}");
    }
}

#[test]
fn a_line_of_any_length_is_read_once() {
    let comments = "# ".repeat(200_000);
    assert_eq!(find(&comments), []);
    let list = format!("command = [{}]", "\"x\", ".repeat(200_000));
    assert_eq!(find(&list), []);
    assert_eq!(hidden(&format!("{comments}password = \"one\"")), ["one"]);
}
