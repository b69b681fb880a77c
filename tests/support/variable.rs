//! What an environment variable asks of a test.

/// Reads a variable; `None` if it is not set, or empty. One that cannot be read fails the test.
pub(crate) fn variable<T>(name: &str, read: impl Fn(&str) -> Option<T>) -> Option<T> {
    let text = std::env::var(name).ok().filter(|text| !text.is_empty())?;
    Some(read(&text).unwrap_or_else(|| panic!("{name} is `{text}`, which cannot be read")))
}
