//! From where a browser sends a request, as far as it says. Other pages can make a browser send requests here; browsers
//! tell that in headers which pages cannot set. Over plain HTTP to another machine they tell nothing.

use axum::http::request::Parts;
use axum::http::{HeaderMap, Method, Uri, header};

/// From where a request comes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RequestOrigin {
    /// From a page of this server.
    Same,
    /// From the user: an address that was typed, a bookmark, or a link on another page.
    Navigation,
    /// From a page of another server, which the user does not see.
    Foreign,
    /// It does not say: no browser, or one over plain HTTP.
    Untold,
}

impl RequestOrigin {
    /// Returns from where a request comes.
    pub(crate) fn of(parts: &Parts) -> Self {
        let headers = &parts.headers;
        let says = |name: &str, value: &str| only(headers, name).as_deref() == Some(value);
        let mut given = headers.get_all("sec-fetch-site").iter();
        let (first, second) = (given.next(), given.next());
        let Some(site) = first.filter(|_| second.is_none()) else {
            return if first.is_none() { Self::Untold } else { Self::Foreign };
        };
        let is_document = says("sec-fetch-mode", "navigate") && says("sec-fetch-dest", "document");
        match site.to_str() {
            Ok("same-origin") => Self::Same,
            Ok("none") => Self::Navigation,
            Ok("same-site" | "cross-site") if parts.method == Method::GET && is_document => Self::Navigation,
            _ => Self::Foreign,
        }
    }

    /// Whether a request that changes who the browser is comes from a page of this server: as the browser tells, or,
    /// where it tells nothing else, by its `Origin`.
    pub(crate) fn is_own_form(parts: &Parts) -> bool {
        match Self::of(parts) {
            Self::Same => true,
            Self::Navigation | Self::Foreign => false,
            Self::Untold => names_own_host(&parts.headers),
        }
    }
}

/// Whether `Origin` names the host of the request.
fn names_own_host(headers: &HeaderMap) -> bool {
    let origin = only(headers, header::ORIGIN.as_str()).and_then(|origin| origin.parse::<Uri>().ok());
    let authority = origin.as_ref().and_then(Uri::authority);
    let host = only(headers, header::HOST.as_str());
    authority.zip(host).is_some_and(|(authority, host)| authority.as_str().eq_ignore_ascii_case(&host))
}

/// Returns the value of a header that is there once.
fn only(headers: &HeaderMap, name: &str) -> Option<String> {
    let mut given = headers.get_all(name).iter();
    let first = given.next().filter(|_| given.next().is_none())?;
    first.to_str().ok().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use axum::http::Request;

    use super::*;

    fn parts(method: Method, headers: &[(&str, &str)]) -> Parts {
        let mut request = Request::builder().method(method).uri("/").header("host", "localhost:7070");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        request.body(()).expect("a request").into_parts().0
    }

    #[test]
    fn a_browser_tells_from_where_a_request_comes() {
        const DOCUMENT: [(&str, &str); 2] = [("sec-fetch-mode", "navigate"), ("sec-fetch-dest", "document")];
        let site = |value| [&[("sec-fetch-site", value)][..], &DOCUMENT].concat();
        for (method, headers, origin) in [
            (Method::GET, vec![], RequestOrigin::Untold),
            (Method::GET, vec![("sec-fetch-site", "same-origin")], RequestOrigin::Same),
            (Method::POST, vec![("sec-fetch-site", "same-origin")], RequestOrigin::Same),
            (Method::GET, vec![("sec-fetch-site", "none")], RequestOrigin::Navigation),
            (Method::GET, site("cross-site"), RequestOrigin::Navigation),
            (Method::GET, site("same-site"), RequestOrigin::Navigation),
            (Method::POST, site("cross-site"), RequestOrigin::Foreign),
            (Method::GET, vec![("sec-fetch-site", "cross-site")], RequestOrigin::Foreign),
            (Method::GET, vec![("sec-fetch-site", "same-site")], RequestOrigin::Foreign),
            (Method::GET, vec![("sec-fetch-site", "other")], RequestOrigin::Foreign),
            (
                Method::GET,
                vec![("sec-fetch-site", "same-origin"), ("sec-fetch-site", "none")],
                RequestOrigin::Foreign,
            ),
        ] {
            assert_eq!(RequestOrigin::of(&parts(method.clone(), &headers)), origin, "{method} {headers:?}");
        }
    }

    #[test]
    fn where_a_browser_tells_nothing_the_origin_must_be_the_host() {
        for (headers, is_own) in [
            (vec![], false),
            (vec![("origin", "http://localhost:7070")], true),
            (vec![("origin", "http://localhost:7071")], false),
            (vec![("origin", "https://evil.example")], false),
            (vec![("origin", "null")], false),
            (vec![("sec-fetch-site", "same-origin")], true),
            (vec![("sec-fetch-site", "none"), ("origin", "http://localhost:7070")], false),
            (vec![("sec-fetch-site", "cross-site"), ("origin", "http://localhost:7070")], false),
        ] {
            assert_eq!(RequestOrigin::is_own_form(&parts(Method::POST, &headers)), is_own, "{headers:?}");
        }
    }
}
