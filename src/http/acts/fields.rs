//! The fields of an act, as an object of JSON or a form has them.

use axum::http::{StatusCode, header};
use serde_json::Value;

use crate::http::route::problem::ProblemDetails;
use crate::http::route::table::AdmittedRequest;

/// The fields of an act: names and texts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ActFields(Vec<(String, String)>);

/// What is wrong with a field. It never repeats the value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FieldProblem {
    /// The name of the field; empty for one that the act does not have.
    pub(crate) field: &'static str,
    /// What is wrong with it.
    pub(crate) what: String,
    /// What to write instead.
    pub(crate) help: String,
}

impl ActFields {
    /// Reads an object of JSON whose values are texts. What is null is absent.
    ///
    /// # Errors
    /// If the body is something else, or the address has parameters.
    pub(crate) fn of_json(call: &AdmittedRequest) -> Result<Self, ProblemDetails> {
        expect_no_parameters(call)?;
        let kind = call.header(header::CONTENT_TYPE).split(';').next().unwrap_or_default().trim();
        if !kind.eq_ignore_ascii_case("application/json") {
            let problem = ProblemDetails::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "the body is not JSON");
            return Err(problem.help("send `Content-Type: application/json` and an object, at least `{}`"));
        }
        let refused = || {
            ProblemDetails::new(StatusCode::BAD_REQUEST, "the body is no object of texts")
                .help("send an object of JSON whose values are texts, at least `{}`")
        };
        let Ok(Value::Object(object)) = serde_json::from_slice(&call.body) else { return Err(refused()) };
        let given = object.into_iter().filter(|(_, value)| !value.is_null());
        let text = |(name, value): (String, Value)| match value {
            Value::String(text) => Some((name, text)),
            _ => None,
        };
        given.map(text).collect::<Option<Vec<_>>>().map(Self).ok_or_else(refused)
    }

    /// Reads a form. What was left empty is absent.
    ///
    /// # Errors
    /// If the body is no form, or the address has parameters.
    pub(crate) async fn of_form(call: &AdmittedRequest) -> Result<Self, ProblemDetails> {
        expect_no_parameters(call)?;
        let mut fields = call.form().await.ok_or_else(|| {
            ProblemDetails::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "the body is no form")
                .help("programs use `/api/v1/jobs/JOB/ACT`")
        })?;
        fields.retain(|(_, text)| !text.trim().is_empty());
        Ok(Self(fields))
    }

    /// Returns the value of a field; `None` if it is absent.
    pub(crate) fn text(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(own, _)| own == name).map(|(_, text)| text.trim())
    }

    /// Removes a field, and returns its value.
    pub(crate) fn take(&mut self, name: &str) -> Option<String> {
        let at = self.0.iter().position(|(own, _)| own == name)?;
        Some(self.0.remove(at).1)
    }

    /// Fails if there is a field that is none of these.
    pub(super) fn expect_only(&self, known: &[&'static str]) -> Result<(), FieldProblem> {
        if self.0.iter().all(|(name, _)| known.contains(&name.as_str())) {
            return Ok(());
        }
        let help = match known {
            [] => "this act has none".to_owned(),
            _ => format!("this act has `{}`", known.join("`, `")),
        };
        Err(FieldProblem { field: "", what: "there is a field that the act does not have".to_owned(), help })
    }

    #[cfg(test)]
    pub(super) fn of_test(fields: &[(&str, &str)]) -> Self {
        Self(fields.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect())
    }
}

impl From<FieldProblem> for ProblemDetails {
    fn from(problem: FieldProblem) -> Self {
        let title = if problem.field.is_empty() { "unknown field" } else { "bad field" };
        Self::new(StatusCode::BAD_REQUEST, title).detail(problem.what).help(problem.help)
    }
}

/// Fails if the address has parameters: what an act needs stands in its body.
fn expect_no_parameters(call: &AdmittedRequest) -> Result<(), ProblemDetails> {
    if call.parameters().is_empty() {
        return Ok(());
    }
    Err(ProblemDetails::new(StatusCode::BAD_REQUEST, "unknown parameter")
        .help("an act takes none: use the body"))
}
