//! The parameters of an address. Those that a call does not have are refused, so that no filter is overlooked.

use std::ops::RangeInclusive;
use std::str::FromStr;

use axum::http::StatusCode;

use crate::http::route::problem::ProblemDetails;
use crate::http::route::table::AdmittedRequest;

/// The parameters of a call.
#[derive(Debug)]
pub(super) struct Parameters(Vec<(String, String)>);

impl Parameters {
    /// Reads the parameters, which are among these.
    ///
    /// # Errors
    /// If there is another one.
    pub(super) fn of(call: &AdmittedRequest, known: &[&str]) -> Result<Self, ProblemDetails> {
        let given = call.parameters();
        if given.iter().all(|(name, _)| known.contains(&name.as_str())) {
            return Ok(Self(given));
        }
        let help = match known {
            [] => "this call takes none".to_owned(),
            _ => format!("this call takes `{}`", known.join("`, `")),
        };
        Err(ProblemDetails::new(StatusCode::BAD_REQUEST, "unknown parameter").help(help))
    }

    /// Returns the value of a parameter; `None` if it is absent or empty.
    pub(super) fn text(&self, name: &str) -> Option<&str> {
        self.0
            .iter()
            .find(|(own, _)| own == name)
            .map(|(_, value)| value.as_str())
            .filter(|text| !text.is_empty())
    }

    /// Returns the value of a parameter that is read like this; `None` if it is absent or empty. `expected` completes the
    /// sentence of the error: `expected a number from 1 to 100`.
    ///
    /// # Errors
    /// If it cannot be read.
    pub(super) fn read<T>(
        &self,
        name: &'static str,
        expected: &str,
        read: impl Fn(&str) -> Option<T>,
    ) -> Result<Option<T>, ProblemDetails> {
        let Some(text) = self.text(name) else { return Ok(None) };
        read(text).map(Some).ok_or_else(|| bad(name, expected))
    }

    /// Whether a parameter is there: `?raw`, `?raw=true`.
    ///
    /// # Errors
    /// If its value is neither `true` nor `false`.
    pub(super) fn flag(&self, name: &'static str) -> Result<bool, ProblemDetails> {
        let Some((_, value)) = self.0.iter().find(|(own, _)| own == name) else { return Ok(false) };
        match value.as_str() {
            "" | "true" => Ok(true),
            "false" => Ok(false),
            _ => Err(bad(name, "`true`, `false`, or nothing")),
        }
    }

    /// Returns the words of a parameter, which may be there several times, and have several words with commas.
    ///
    /// # Errors
    /// If one cannot be read.
    pub(super) fn words<T>(
        &self,
        name: &'static str,
        expected: &str,
        read: impl Fn(&str) -> Option<T>,
    ) -> Result<Vec<T>, ProblemDetails> {
        let values = self.0.iter().filter(|(own, _)| own == name).flat_map(|(_, value)| value.split(','));
        let words = values.map(str::trim).filter(|word| !word.is_empty());
        words.map(|word| read(word).ok_or_else(|| bad(name, expected))).collect()
    }

    /// Returns a number within these bounds; `usual` if it is absent.
    ///
    /// # Errors
    /// If it is none, or out of bounds.
    pub(super) fn number(
        &self,
        name: &'static str,
        bounds: RangeInclusive<usize>,
        usual: usize,
    ) -> Result<usize, ProblemDetails> {
        let expected = format!("a number from {} to {}", bounds.start(), bounds.end());
        let read = |text: &str| usize::from_str(text).ok().filter(|number| bounds.contains(number));
        Ok(self.read(name, &expected, read)?.unwrap_or(usual))
    }
}

fn bad(name: &'static str, expected: &str) -> ProblemDetails {
    let detail = format!("`{name}` has a value that it cannot have");
    ProblemDetails::new(StatusCode::BAD_REQUEST, "bad parameter")
        .detail(detail)
        .help(format!("expected {expected}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parameters(query: &str, known: &[&str]) -> Result<Parameters, ProblemDetails> {
        Parameters::of(
            &AdmittedRequest::of_test("/api/v1/history", &format!("/api/v1/history?{query}")),
            known,
        )
    }

    #[test]
    fn a_parameter_that_a_call_does_not_have_is_refused_with_those_that_it_has() {
        let refused = parameters("jobs=a", &["job", "n"]).expect_err("it is unknown");
        assert_eq!(
            refused,
            ProblemDetails::new(StatusCode::BAD_REQUEST, "unknown parameter")
                .help("this call takes `job`, `n`")
        );
        assert!(parameters("", &[]).is_ok());
    }

    #[test]
    fn numbers_are_within_their_bounds() {
        for (query, number) in [("", Some(20)), ("n=", Some(20)), ("n=1", Some(1)), ("n=1000", Some(1_000))] {
            let found = parameters(query, &["n"]).expect("known").number("n", 1..=1_000, 20);
            assert_eq!(found.ok(), number, "{query}");
        }
        for query in ["n=0", "n=1001", "n=-1", "n=x", "n=1,2"] {
            let found = parameters(query, &["n"]).expect("known").number("n", 1..=1_000, 20);
            assert_eq!(found, Err(bad("n", "a number from 1 to 1000")), "{query}");
        }
    }

    #[test]
    fn a_flag_is_set_by_its_name_alone() {
        for (query, flag) in [("", Ok(false)), ("raw", Ok(true)), ("raw=", Ok(true)), ("raw=true", Ok(true))]
            .into_iter()
            .chain([("raw=false", Ok(false)), ("raw=1", Err(bad("raw", "`true`, `false`, or nothing")))])
        {
            assert_eq!(parameters(query, &["raw"]).expect("known").flag("raw"), flag, "{query}");
        }
    }

    #[test]
    fn words_come_repeated_or_with_commas() {
        let words = |query| {
            let read = |word: &str| (word != "bad").then(|| word.to_owned());
            parameters(query, &["is"]).expect("known").words("is", "a word", read)
        };
        assert_eq!(words("is=a,b&is=c"), Ok(vec!["a".into(), "b".into(), "c".into()]));
        assert_eq!(words("is=,"), Ok(vec![]));
        assert_eq!(words("is=a,bad"), Err(bad("is", "a word")));
    }
}
