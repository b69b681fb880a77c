//! Which of the two formats an HTTP client gets. Pure.

/// A format of exposition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExpositionFormat {
    /// The text format of Prometheus, version 0.0.4.
    Text,
    /// OpenMetrics, version 1.0.0.
    OpenMetrics,
}

/// A range of media types in an `Accept` header, with its weight in thousandths.
struct MediaRange<'a> {
    media_type: &'a str,
    version: Option<&'a str>,
    weight: u32,
}

impl ExpositionFormat {
    /// Returns the format for a client with this `Accept` header: OpenMetrics if the client names it, and
    /// does not prefer the text format. A client that names neither gets the text format.
    pub fn accepted(accept: &str) -> Self {
        let ranges: Vec<MediaRange<'_>> = accept.split(',').filter_map(MediaRange::parse).collect();
        let weight = |format: Self| {
            let named = ranges.iter().filter(|range| range.names(format));
            named.map(|range| range.weight).max()
        };
        let any = ranges.iter().filter(|range| ["text/*", "*/*"].contains(&range.media_type));
        let text = weight(Self::Text).or(any.map(|range| range.weight).max()).unwrap_or(0);
        match weight(Self::OpenMetrics) {
            Some(weight) if weight > 0 && weight >= text => Self::OpenMetrics,
            _ => Self::Text,
        }
    }

    /// Returns the value of the `Content-Type` header.
    pub fn content_type(self) -> &'static str {
        match self {
            Self::Text => "text/plain; version=0.0.4; charset=utf-8",
            Self::OpenMetrics => "application/openmetrics-text; version=1.0.0; charset=utf-8",
        }
    }

    fn media_type(self) -> &'static str {
        match self {
            Self::Text => "text/plain",
            Self::OpenMetrics => "application/openmetrics-text",
        }
    }

    fn version(self) -> &'static str {
        match self {
            Self::Text => "0.0.4",
            Self::OpenMetrics => "1.0.0",
        }
    }
}

impl<'a> MediaRange<'a> {
    /// Parses one range; `None` if its weight cannot be read.
    fn parse(text: &'a str) -> Option<Self> {
        let mut parts = text.split(';').map(str::trim);
        let media_type = parts.next()?;
        let mut range = Self { media_type, version: None, weight: 1_000 };
        for (name, value) in parts.filter_map(|part| part.split_once('=')) {
            match name.trim_end() {
                name if name.eq_ignore_ascii_case("q") => range.weight = weight(value.trim())?,
                name if name.eq_ignore_ascii_case("version") => {
                    range.version = Some(value.trim().trim_matches('"'))
                }
                _ => {}
            }
        }
        Some(range)
    }

    /// Whether the range names this format, and no other version of it.
    fn names(&self, format: ExpositionFormat) -> bool {
        let is_version = self.version.is_none_or(|version| version == format.version());
        is_version && self.media_type.eq_ignore_ascii_case(format.media_type())
    }
}

/// Parses a weight from 0 to 1, and returns it in thousandths.
fn weight(text: &str) -> Option<u32> {
    let weight = text.parse::<f64>().ok().filter(|weight| (0.0..=1.0).contains(weight))?;
    Some((weight * 1_000.0).round() as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_gets_openmetrics_if_it_names_it_and_does_not_prefer_the_text_format() {
        const OPEN: ExpositionFormat = ExpositionFormat::OpenMetrics;
        const TEXT: ExpositionFormat = ExpositionFormat::Text;
        for (accept, format) in [
            ("", TEXT),
            ("*/*", TEXT),
            ("text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8", TEXT),
            ("application/*", TEXT),
            ("application/openmetrics-text", OPEN),
            ("Application/OpenMetrics-Text; Version=1.0.0", OPEN),
            ("application/openmetrics-text;version=\"1.0.0\"", OPEN),
            ("application/openmetrics-text;version=0.0.1", TEXT),
            ("application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5,*/*;q=0.1", OPEN),
            ("application/openmetrics-text;version=1.0.0;q=0.4,text/plain;version=0.0.4;q=0.5", TEXT),
            ("text/plain;version=0.0.4,application/openmetrics-text", OPEN),
            ("application/openmetrics-text;q=0.3,*/*;q=0.9", TEXT),
            ("application/openmetrics-text;q=0", TEXT),
            ("application/openmetrics-text;q=many", TEXT),
            // Prometheus 2.42 and 3.
            (
                "application/openmetrics-text;version=1.0.0,\
                 application/openmetrics-text;version=0.0.1;q=0.75,\
                 text/plain;version=0.0.4;q=0.5,*/*;q=0.1",
                OPEN,
            ),
            (
                "application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.5,\
                 application/openmetrics-text;version=0.0.1;q=0.4,\
                 text/plain;version=1.0.0;escaping=allow-utf-8;q=0.3,\
                 text/plain;version=0.0.4;q=0.2,*/*;q=0.1",
                OPEN,
            ),
        ] {
            assert_eq!(ExpositionFormat::accepted(accept), format, "{accept}");
        }
    }
}
