//! Pictures of every page, for people who look at them: `make screens`.

use std::path::{Path, PathBuf};

use crate::phone::PHONE;
use crate::stage::{MARIA, REFUSED, Stage};
use crate::webdriver::Browser;

/// Names the folder. If there are pages in it already, which a test of the library has written, they are pictured, too.
const FOLDER: &str = "SOLOCRON_SCREENS";

/// How wide the pages are.
const WIDTHS: [u32; 2] = [1280, PHONE];

/// The first bytes of a PNG file.
const PNG: &[u8] = b"\x89PNG";

/// Takes a picture of the whole page in each width.
fn take(browser: &Browser, folder: &Path, name: &str) {
    for width in WIDTHS {
        browser.resize(width, 800);
        let picture = browser.picture(true);
        assert!(picture.starts_with(PNG) && picture.len() > 2_000, "{name}: {} bytes", picture.len());
        std::fs::write(folder.join(format!("{name}-{width}.png")), picture).expect("a writable folder");
    }
}

#[test]
fn pictures_of_every_page_can_be_taken_in_both_themes_and_widths() {
    let temporary = tempfile::tempdir().expect("a folder");
    let named = std::env::var_os(FOLDER).map(PathBuf::from);
    let folder = named.as_deref().unwrap_or(temporary.path());
    let mut stage = Stage::start_with_tokens();
    stage.break_payout();
    stage.wait_for_failure();
    let browser = Browser::start();
    browser.open(&stage.page("/login"));
    take(&browser, folder, "real-login");
    browser.type_into("#login input[name=token]", MARIA);
    browser.click("#login button");
    browser.wait_until("a failed run", || {
        (browser.count("#job-payout.failing td a[href*='/runs/']") > 0).then_some(())
    });
    let run = browser.script("return document.querySelector(\"#job-payout td a[href*='/runs/']\").href");
    let run = run.as_str().expect("an address");
    let pages = [("home", "/"), ("job", "/jobs/payout"), ("replicas", "/replicas"), ("absent", "/nowhere")];
    let pages = pages.map(|(name, path)| (name, stage.page(path)));
    for (name, url) in pages.iter().chain([&("run", run.to_owned())]) {
        browser.open(url);
        for theme in ["light", "dark"] {
            browser.script(&format!("document.documentElement.dataset.theme = '{theme}'"));
            take(&browser, folder, &format!("real-{name}-{theme}"));
        }
    }
    stage.expect_clean(browser, &[REFUSED]);
    picture_files(folder);
}

/// Takes pictures of the pages in a folder.
fn picture_files(folder: &Path) {
    let browser = Browser::start();
    for file in std::fs::read_dir(folder).expect("a folder").flatten().map(|file| file.path()) {
        if file.extension().is_some_and(|extension| extension == "html") {
            browser.open(&format!("file://{}", file.display()));
            take(&browser, folder, &file.file_stem().expect("a name").to_string_lossy());
        }
    }
    // Browsers load no script from a file.
    browser.expect_clean(&[], &["file:///"]);
}
