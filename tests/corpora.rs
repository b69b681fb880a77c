//! Inputs that were found by trying, each read once more: see `make fuzz`.

use std::path::Path;

use solocron::fuzz::TARGETS;

#[test]
fn what_was_found_by_trying_is_read_or_refused() {
    for (name, read) in TARGETS {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpora").join(name);
        let files =
            std::fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
        let inputs: Vec<Vec<u8>> = files
            .map(|file| std::fs::read(file.expect("it is there").path()).expect("it can be read"))
            .collect();
        assert!(!inputs.is_empty(), "{name}");
        inputs.iter().for_each(|input| read(input));
    }
}
