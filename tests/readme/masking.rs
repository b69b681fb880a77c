//! What of an output differs from one time to the next: instants, durations, ids, and which replica it was.

/// A screen without what differs, its lines in no order: which replica comes first is chance.
pub(crate) fn masked(screen: &str) -> Vec<String> {
    let mut lines: Vec<String> = screen.lines().map(line).filter(|line| !line.is_empty()).collect();
    lines.sort();
    lines
}

/// A line, with one blank between its words; `5ms/9ms` of replicas that have started a run is left out.
fn line(text: &str) -> String {
    let mut words: Vec<&str> = Vec::new();
    let are_spans =
        |text: &str| text.split_once('/').is_some_and(|(one, other)| is_span(one) && is_span(other));
    for text in text.split_whitespace().filter(|text| !are_spans(text)) {
        let before = words.last().copied();
        match word(text) {
            SPAN if before == Some(SPAN) => {}
            SPAN if before == Some("in") => *words.last_mut().expect("there is one") = SPAN,
            "ago" if before == Some(SPAN) => {}
            word => words.push(word),
        }
    }
    words.join(" ")
}

const SPAN: &str = "<span>";

/// A word, or what it stands for.
fn word(text: &str) -> &str {
    let bare = text.trim_end_matches([',', ';', ':']);
    let value = bare.split_once('=').map_or(bare, |(_, value)| value);
    let name = &bare[..bare.len() - value.len()];
    let masked = match value {
        "now" => SPAN,
        _ if is_span(value) => SPAN,
        _ if is_run(value) => "<run>",
        _ if is_made_of(value, ":.") && value.contains(':') => "<time>",
        _ if is_made_of(value, "-") && value.contains('-') => "<date>",
        _ if is_node(value) => "<node>",
        _ if is_history(value) => "<history>",
        _ => return text,
    };
    match name {
        "peer=" | "holder=" | "silent=" | "took=" | "tick=" | "run=" => "<a field>",
        "" => masked,
        _ => text,
    }
}

/// `17s`, `5.5s`, `350ms`, `9s163ms`.
fn is_span(text: &str) -> bool {
    let is_part = |c: char| c.is_ascii_digit() || matches!(c, '.' | 'm' | 's' | 'h' | 'd');
    text.starts_with(|c: char| c.is_ascii_digit())
        && text.ends_with(['s', 'm', 'h', 'd'])
        && text.chars().all(is_part)
}

fn is_made_of(text: &str, signs: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_digit())
        && text.chars().all(|c| c.is_ascii_digit() || signs.contains(c))
}

/// An id, or its beginning: `01a2155a-122f`.
fn is_run(text: &str) -> bool {
    let is_part = |c: char| c.is_ascii_hexdigit() || c == '-';
    text.len() >= 13 && text.chars().all(is_part) && text.as_bytes()[8] == b'-'
}

/// `▄◇▅`: as many signs as ticks were decided.
fn is_history(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c == '◇' || ('▁'..='█').contains(&c))
}

/// `n1` of the quick start, `vm-1` of `run --replicas`.
fn is_node(text: &str) -> bool {
    ["n", "vm-"]
        .iter()
        .any(|name| text.strip_prefix(name).is_some_and(|rest| matches!(rest, "1" | "2" | "3")))
}

#[test]
fn what_differs_is_masked_and_the_rest_is_not() {
    for (left, right) in [
        ("n1  live  42s  now  0.1.0  3e7ae631", "n3  live   1m 24s  1s ago  0.1.0  3e7ae631  6ms/1.2s"),
        ("report  in 17s  succeeded  2s ago  n3", "report  now  succeeded  12s ago  n1"),
        ("report  ▄▅▁  in 17s", "report  ▄  in 2s"),
        (
            "11-26 01:04:00  01:04:07  report  interrupted (node_lost)  n3  0ms  4.2s",
            "01-01 00:00:30  00:01:00  report  interrupted (node_lost)  n1  12ms 11s",
        ),
        (
            "01:04:17.238 UTC WARN  replica is down: no heartbeat peer=n3 silent=4s running=report",
            "23:59:59.001 UTC WARN  replica is down: no heartbeat peer=n1 silent=5s1ms running=report",
        ),
        ("report  n2 for 4.3s  01a21559-ee5d", "report  n1 for 900ms  01a21550-da1c"),
    ] {
        assert_eq!(masked(left), masked(right));
    }
    for (left, right) in [
        ("n1  live  42s", "n1  down  42s"),
        ("report  succeeded", "report  failed"),
        ("n1  live  report", "n1  live"),
        ("report  ▄▅▁  in 17s", "report  ▄✗  in 2s"),
        ("3 replicas", "2 replicas"),
        ("0.1.0  3e7ae631", "0.1.0  3e7ae632"),
    ] {
        assert_ne!(masked(left), masked(right));
    }
}
