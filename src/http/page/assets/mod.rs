//! The files that pages refer to. Their addresses contain a hash of what is in them, so that browsers keep them for good,
//! and a new release has new ones.

use std::sync::LazyLock;

use axum::body::Body;
use axum::http::{HeaderMap, HeaderValue, Response, StatusCode, header};
use sha2::{Digest, Sha256};

/// So many characters of a hash stand in an address.
const HASH: usize = 12;

/// A file.
#[derive(Debug)]
struct Asset {
    kind: &'static str,
    text: &'static str,
    address: String,
    etag: String,
}

/// All files.
#[derive(Debug)]
pub(crate) struct PageAssets {
    files: [Asset; 3],
    /// The addresses of the style sheet, the script and the icon.
    pub(crate) addresses: [String; 3],
}

/// Every file, with its address.
pub(crate) static ASSETS: LazyLock<PageAssets> = LazyLock::new(|| {
    let files = [
        asset("page", "css", "text/css; charset=utf-8", include_str!("page.css")),
        asset("page", "js", "text/javascript; charset=utf-8", include_str!("page.js")),
        asset("icon", "svg", "image/svg+xml", include_str!("icon.svg")),
    ];
    let [style, script, icon] = &files;
    let addresses = [style.address.clone(), script.address.clone(), icon.address.clone()];
    PageAssets { files, addresses }
});

fn asset(name: &str, extension: &str, kind: &'static str, text: &'static str) -> Asset {
    let hash: String = Sha256::digest(text.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect();
    let hash = hash.get(..HASH).unwrap_or(&hash);
    Asset { kind, text, address: format!("/assets/{name}.{hash}.{extension}"), etag: format!("\"{hash}\"") }
}

/// Answers with the file of this name; `None` if there is none.
pub(crate) fn asset_answer(name: &str, headers: &HeaderMap) -> Option<Response<Body>> {
    let file = ASSETS.files.iter().find(|file| file.address.strip_prefix("/assets/") == Some(name))?;
    let has_it =
        headers.get(header::IF_NONE_MATCH).is_some_and(|etag| etag.as_bytes() == file.etag.as_bytes());
    let mut response = Response::new(if has_it { Body::empty() } else { Body::from(file.text) });
    if has_it {
        *response.status_mut() = StatusCode::NOT_MODIFIED;
    }
    let own = response.headers_mut();
    own.insert(header::CONTENT_TYPE, HeaderValue::from_static(file.kind));
    own.insert(header::CACHE_CONTROL, HeaderValue::from_static("public, max-age=31536000, immutable"));
    own.insert(header::ETAG, HeaderValue::from_str(&file.etag).ok()?);
    Some(response)
}

#[cfg(test)]
impl PageAssets {
    /// Returns every file: its address, and what is in it.
    pub(crate) fn texts(&self) -> impl Iterator<Item = (&str, &str)> {
        self.files.iter().map(|file| (file.address.as_str(), file.text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_small() {
        let [style, script, icon] = &ASSETS.files;
        for (file, most) in [(style, 9_500), (script, 10 << 10), (icon, 1 << 10)] {
            assert!(file.text.len() <= most, "{} has {} bytes", file.address, file.text.len());
        }
    }

    #[test]
    fn a_file_is_kept_for_good_under_an_address_of_its_own() {
        let [style, ..] = &ASSETS.addresses;
        let name = style.strip_prefix("/assets/").expect("a path");
        let answer = asset_answer(name, &HeaderMap::new()).expect("a file");
        assert_eq!(answer.status(), StatusCode::OK);
        let cache = answer.headers()[header::CACHE_CONTROL].to_str().expect("a text");
        assert!(cache.contains("immutable"), "{cache}");
        let mut headers = HeaderMap::new();
        headers.insert(header::IF_NONE_MATCH, answer.headers()[header::ETAG].clone());
        let again = asset_answer(name, &headers).expect("a file");
        assert_eq!(again.status(), StatusCode::NOT_MODIFIED);
        for other in ["page.css", "page.000000000000.css", "", "..", "../Cargo.toml"] {
            assert!(asset_answer(other, &HeaderMap::new()).is_none(), "{other}");
        }
    }

    #[test]
    fn no_file_refers_to_another_server_or_makes_code_of_text() {
        for file in &ASSETS.files {
            let text = file.text.replace("http://www.w3.org/2000/svg", "");
            for word in ["http:", "https:", "//cdn", "@import", "eval(", "Function(", "innerHTML ="] {
                let is_template = word == "innerHTML =" && text.contains("template.innerHTML =");
                assert!(!text.contains(word) || is_template, "{} contains {word}", file.address);
            }
        }
    }
}
