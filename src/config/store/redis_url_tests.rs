use redis::{ConnectionAddr, IntoConnectionInfo};

use super::*;

#[test]
fn every_url_that_is_accepted_is_accepted_by_the_client_too() {
    for (url, host, port, db) in [
        ("redis://h", "h", 6379, 0),
        ("redis://redis.internal:7000/3", "redis.internal", 7000, 3),
        ("redis://user:p%40ss%2F@127.0.0.1:1/", "127.0.0.1", 1, 0),
        ("redis://:pass@[::1]:6379/1", "::1", 6379, 1),
    ] {
        let parsed = RedisUrl::parse(url).expect(url);
        let info = parsed.reveal().into_connection_info().expect(url);
        assert!(matches!(info.addr(), ConnectionAddr::Tcp(h, p) if h == host && *p == port), "{url}");
        assert_eq!(info.redis_settings().db(), db, "{url}");
    }
    for url in ["rediss://h:1/2", "redis+unix:///run/redis.sock?db=2&user=u&pass=p%20w"] {
        let info = RedisUrl::parse(url).expect(url).reveal().into_connection_info().expect(url);
        assert_eq!(info.redis_settings().db(), 2, "{url}");
    }
}

#[test]
fn neither_display_nor_debug_shows_the_password() {
    for (url, shown) in [
        ("redis://user:hunter2@h", "redis://user:***@h:6379/0"),
        ("redis://:hunter2@h:1/2", "redis://:***@h:1/2"),
        ("redis+unix:///r.sock?user=u&pass=hunter2", "redis+unix:///r.sock?user=u&pass=***"),
    ] {
        let url = RedisUrl::parse(url).expect(url);
        assert_eq!(url.to_string(), shown);
        assert_eq!(format!("{url:?}"), format!("RedisUrl({shown:?})"));
    }
}

#[test]
fn certificates_are_files_that_tls_alone_takes() {
    let url =
        RedisUrl::parse("rediss://u:hunter2@h/1?cacert=/etc/a%20b.pem&cert=/c.pem&key=/k.pem").expect("good");
    let client = Some(("/c.pem".into(), "/k.pem".into()));
    assert_eq!(url.certificates(), &CertificateFiles { cacert: Some("/etc/a b.pem".into()), client });
    assert_eq!(
        (url.reveal(), url.to_string().as_str()),
        ("rediss://u:hunter2@h/1", "rediss://u:***@h:6379/1")
    );
    for url in [
        "redis://h?cacert=/a",
        "rediss://h?cacert=a",
        "rediss://h?cacert",
        "rediss://h?cacert=/a&cacert=/b",
        "rediss://h?cert=/a",
        "rediss://h?key=/a",
        "rediss://h?insecure",
    ] {
        assert!(RedisUrl::parse(url).is_err(), "{url}");
    }
}

#[test]
fn a_password_is_shown_to_the_network_where_nothing_hides_it() {
    let shows = |url: &str| RedisUrl::parse(url).expect(url).shows_password();
    assert!(shows("redis://u:p@h") && shows("redis://:p@10.0.0.1/2"));
    for url in
        ["redis://h", "rediss://u:p@h", "redis://:p@localhost", "redis://:p@127.0.0.1:1", "redis://:p@[::1]"]
    {
        assert!(!shows(url), "{url}");
    }
}

#[test]
fn an_address_shows_a_remote_server_and_a_password_or_certificate_a_login() {
    let url = |url: &str| RedisUrl::parse(url).expect(url);
    for (text, is_elsewhere, has_login) in [
        ("redis://h", true, false),
        ("rediss://u:p@h", true, true),
        ("rediss://h?cert=/a&key=/b", true, true),
        ("redis://10.0.0.1/2", true, false),
        ("redis://:p@127.0.0.1:1", false, true),
        ("redis://localhost", false, false),
        ("redis+unix:///run/redis.sock", false, false),
    ] {
        let url = url(text);
        assert_eq!((url.is_elsewhere(), url.has_login()), (is_elsewhere, has_login), "{text}");
    }
}

#[test]
fn urls_that_would_connect_elsewhere_or_nowhere_are_refused() {
    for url in [
        "redis://",
        "redis://:6379",
        "redis://h:",
        "redis://h:0",
        "redis://h:65536",
        "redis://h:+1",
        "redis://h/x",
        "redis://h/-1",
        "redis://h/0/1",
        "redis://h?db=1",
        "rediss://h/#insecure",
        "redis://user@h",
        "redis://u:@h",
        "redis://u:p/w@h",
        "redis://u:p#w@h",
        "redis://u:p%w@h",
        "redis://u:p w@h",
        "redis://u:a:b@h",
        "redis://u:a@b@h",
        "redis://u:%ff@h",
        "redis://0.0.0.0",
        "redis://[::]",
        "redis://[::1",
        "redis://a,b",
        "redis://a b",
        "redis+unix://sock",
        "redis+unix:///s?x=1",
        "redis+unix:///s&pass=x",
        "redis+unix:///:pass@s",
    ] {
        assert!(RedisUrl::parse(url).is_err(), "{url}");
    }
}
