//! Which cookies are valid: their own, on the same address and in the same cluster, while the token is what it was.

use crate::config::{BaseUrl, TokenRight};
use crate::http::access::token::{TokenBook, TokenText};

use super::*;

const NOW: UtcMillis = UtcMillis(1_795_176_000_000);
const TOKENS: [&str; 2] =
    ["mmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmm", "gggggggggggggggggggggggggggggggggggggggggggggg"];

/// Options with the tokens `maria`, which has this text, and `grafana`.
fn options(maria: &str) -> HttpOptions {
    let named = |name: &str, may, text: &str| {
        let name = TokenName::parse(name).expect("a name");
        TokenText::parse(text).unwrap_or_else(|error| panic!("{}", error.what)).named(name, may)
    };
    let tokens = vec![named("maria", TokenRight::Act, maria), named("grafana", TokenRight::Read, TOKENS[1])];
    HttpOptions {
        cluster: "billing".to_owned(),
        tokens: TokenBook::new(tokens).expect("they differ"),
        ..HttpOptions::default()
    }
}

fn own() -> SocketAddr {
    "127.0.0.1:7070".parse().expect("an address")
}

fn headers(pairs: &[(header::HeaderName, &str)]) -> HeaderMap {
    let mut headers = HeaderMap::new();
    for (name, value) in pairs {
        headers.append(name, value.parse().expect("a value"));
    }
    headers
}

fn scope(options: &HttpOptions, own: SocketAddr, host: &str) -> CookieScope {
    CookieScope::of(options, own, &headers(&[(header::HOST, host)]))
}

/// What a browser that logged in as `maria` sends back, as `NAME=VALUE`.
fn sent(options: &HttpOptions, scope: &CookieScope, cookie: &SessionCookie) -> String {
    let token = options.tokens.named(&cookie.name).expect("a token");
    let set = cookie.header(token, scope, NOW).expect("a header");
    set.to_str().expect("a text").split(';').next().expect("a value").to_owned()
}

/// The name for which a cookie is valid at this time.
fn opened(sent: &str, options: &HttpOptions, scope: &CookieScope, now: UtcMillis) -> Option<String> {
    let headers = headers(&[(header::COOKIE, sent)]);
    let found = SessionCookie::of_request(&headers, options, scope, now);
    found.map(|(_, token)| token.name.to_string())
}

fn maria() -> SessionCookie {
    SessionCookie::begin(TokenName::parse("maria").expect("a name"), NOW)
}

#[test]
fn a_cookie_is_valid_for_an_hour() {
    let options = options(TOKENS[0]);
    let scope = scope(&options, own(), "localhost:7070");
    let sent = sent(&options, &scope, &maria());
    for (seconds, is_valid) in [(0, true), (3_599, true), (3_600, false), (86_400, false)] {
        let now = NOW.plus(Duration::from_secs(seconds));
        assert_eq!(opened(&sent, &options, &scope, now).is_some(), is_valid, "{seconds}");
    }
    assert_eq!(opened(&sent, &options, &scope, NOW.minus(Duration::from_secs(120))), None, "of the future");
    let others = format!("a=b; theme=dark; {sent}; c=d");
    assert_eq!(opened(&others, &options, &scope, NOW).as_deref(), Some("maria"));
}

#[test]
fn a_cookie_of_another_address_cluster_name_or_token_is_not_valid() {
    let options = options(TOKENS[0]);
    let here = scope(&options, own(), "localhost:7070");
    let sent = sent(&options, &here, &maria());
    let other = "127.0.0.1:7071".parse().expect("an address");
    let elsewhere = CookieScope { name: here.name.clone(), ..scope(&options, other, "localhost:7070") };
    assert_eq!(opened(&sent, &options, &elsewhere, NOW), None, "another address");
    let named = scope(&options, own(), "10.0.0.2:7070");
    assert_eq!(opened(&sent, &options, &named, NOW), None, "the same address on another machine");
    assert!(opened(&sent, &options, &scope(&options, own(), "LOCALHOST:7070"), NOW).is_some());
    let cluster = CookieScope { cluster: "shop".to_owned(), ..here.clone() };
    assert_eq!(opened(&sent, &options, &cluster, NOW), None, "another cluster");
    let changed = self::options("nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn");
    assert_eq!(opened(&sent, &changed, &here, NOW), None, "the token was changed");
    let removed = HttpOptions { cluster: "billing".to_owned(), ..HttpOptions::default() };
    assert_eq!(opened(&sent, &removed, &here, NOW), None, "the token was removed");
    let renamed = sent.replace("=maria.", "=grafana.");
    assert_ne!(renamed, sent);
    assert_eq!(opened(&renamed, &options, &here, NOW), None, "the name of another token");
}

#[test]
fn while_a_token_is_replaced_cookies_of_both_are_valid() {
    let (old, both) = (options(TOKENS[0]), options(&format!("{}\n{}", "n".repeat(46), TOKENS[0])));
    let scope = scope(&old, own(), "localhost:7070");
    assert!(opened(&sent(&old, &scope, &maria()), &both, &scope, NOW).is_some());
    assert!(opened(&sent(&both, &scope, &maria()), &both, &scope, NOW).is_some());
    assert_eq!(opened(&sent(&both, &scope, &maria()), &old, &scope, NOW), None);
}

#[test]
fn a_cookie_that_was_changed_or_is_none_is_not_valid() {
    let options = options(TOKENS[0]);
    let scope = scope(&options, own(), "localhost:7070");
    let sent = sent(&options, &scope, &maria());
    let later = sent.replacen(&maria().until.0.to_string(), &NOW.plus(RENEWED_FOR).0.to_string(), 1);
    assert_ne!(later, sent);
    for wrong in [
        later,
        sent.to_uppercase(),
        format!("{sent}0"),
        sent[..sent.len() - 1].to_owned(),
        "solocron_7070=".to_owned(),
        "solocron_7070=maria.1.2.3".to_owned(),
        format!("solocron_7070=maria.{}.{}.{}", NOW.0, NOW.0 + 1, "0".repeat(64)),
        format!("solocron_7070={}", "a".repeat(5_000)),
        sent.replacen("solocron_7070", "solocron_7071", 1),
        sent.replacen("maria", "..", 1),
    ] {
        assert_eq!(opened(&wrong, &options, &scope, NOW), None, "{wrong}");
    }
}

#[test]
fn the_attributes_keep_a_cookie_from_scripts_and_other_sites() {
    let plain = options(TOKENS[0]);
    let url = |is_https, authority: &str| BaseUrl {
        is_https,
        authority: authority.to_owned(),
        path: String::new(),
    };
    let secure = HttpOptions { url: Some(url(true, "cron.example.org")), ..plain.clone() };
    let proxied = HttpOptions { url: Some(url(false, "cron.internal:8080")), ..plain.clone() };
    for (options, host, begin, end) in [
        (&plain, "localhost:7070", "solocron_7070=maria.", "; SameSite=Strict"),
        (&secure, "cron.example.org", "__Host-solocron=maria.", "; SameSite=Strict; Secure"),
        (&secure, "127.0.0.1:7070", "solocron_7070=maria.", "; SameSite=Strict"),
        (&proxied, "cron.internal:8080", "solocron_8080=maria.", "; SameSite=Strict"),
    ] {
        let scope = scope(options, own(), host);
        let token = options.tokens.named(&maria().name).expect("a token");
        let set = maria().header(token, &scope, NOW).expect("a header");
        let set = set.to_str().expect("a text");
        assert!(set.starts_with(begin), "{set}");
        assert!(set.ends_with(&format!("; Path=/; Max-Age=3600; HttpOnly{end}")), "{set}");
        assert!(!set.contains(TOKENS[0]), "{set}");
        let cleared = scope.clear().expect("a header");
        let cleared = cleared.to_str().expect("a text");
        assert!(cleared.contains("=; Path=/; Max-Age=0; HttpOnly; SameSite=Strict"), "{cleared}");
    }
}

#[test]
fn behind_one_url_a_login_is_valid_on_every_replica() {
    let url = BaseUrl { is_https: true, authority: "cron.example.org".to_owned(), path: String::new() };
    let options = HttpOptions { url: Some(url), ..options(TOKENS[0]) };
    let [one, other] = ["10.0.0.1:7070", "10.0.0.2:7071"].map(|own| own.parse().expect("an address"));
    let sent = sent(&options, &scope(&options, one, "cron.example.org"), &maria());
    let there = scope(&options, other, "cron.example.org");
    assert!(opened(&sent, &options, &there, NOW).is_some());
    assert_eq!(opened(&sent, &options, &scope(&options, other, "10.0.0.2:7071"), NOW), None);
}

#[test]
fn a_stream_ends_before_its_cookie_can_no_longer_be_renewed() {
    let minutes = |minutes: u64| NOW.plus(Duration::from_secs(60 * minutes));
    assert_eq!(maria().streams_until(), minutes(55));
    assert!(maria().renewed(maria().streams_until()).is_some(), "whoever connects again stays logged in");
    let last = SessionCookie { until: minutes(480), ..maria() };
    assert_eq!(last.streams_until(), minutes(480));
}

#[test]
fn a_login_is_renewed_by_pages_for_eight_hours() {
    let minutes = |minutes: u64| NOW.plus(Duration::from_secs(60 * minutes));
    assert_eq!(maria().renewed(minutes(4)), None, "it is young");
    let renewed = maria().renewed(minutes(30)).expect("renewed");
    assert_eq!((renewed.since, renewed.until), (NOW, minutes(90)));
    let late = SessionCookie { until: minutes(460), ..maria() };
    assert_eq!(late.renewed(minutes(450)).expect("renewed").until, minutes(480), "eight hours");
    let last = SessionCookie { until: minutes(480), ..maria() };
    assert_eq!(last.renewed(minutes(479)), None);
}
