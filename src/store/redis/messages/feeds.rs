//! Feeds as stored on the server: capped streams whose entries have one field.

use redis::{FromRedisValue, Value};

use crate::store::redis::records::{RedisStore, of_shared_key};
use crate::store::redis::scripts;
use crate::store::{Diagnosis, FailureCause, Feed, FeedId, FeedLine, LONGEST_LINE, StoreError, Wake};

/// The field of an entry; the script repeats the name.
const FIELD: &[u8] = b"text";

/// At most this many lines are read by one request, 2 MiB if they are long.
const LINES_TOGETHER: usize = 250;

impl RedisStore {
    /// Appends a line, and sends a wake.
    pub(crate) async fn append_line(&self, feed: Feed, text: &str) -> Result<(), StoreError> {
        feed.check(text)?;
        let key = self.keys.feed(feed);
        let args = [
            text.into(),
            feed.kept().to_string().into_bytes(),
            self.keys.wakes().into_bytes(),
            Wake::Feed(feed).to_string().into_bytes(),
        ];
        let appended = self.run_script(scripts::append(), std::slice::from_ref(&key), &args).await;
        appended.map(|_| ()).map_err(|error| of_shared_key(&key, error))
    }

    /// Returns at most `count` of the newest lines after this one, oldest first.
    pub(crate) async fn newest_lines(
        &self,
        feed: Feed,
        after: Option<FeedId>,
        count: usize,
    ) -> Result<Vec<FeedLine>, StoreError> {
        let (key, count) = (self.keys.feed(feed), count.min(feed.kept()));
        let mut lines: Vec<FeedLine> = Vec::new();
        while lines.len() < count {
            let wanted = (count - lines.len()).min(LINES_TOGETHER);
            let page = self.page(&key, after, lines.last().map(|line| line.id), wanted).await?;
            let is_last = page.len() < wanted;
            lines.extend(page);
            if is_last {
                break;
            }
        }
        lines.reverse();
        Ok(lines)
    }

    /// Returns at most the `wanted` newest lines between these two, newest first.
    async fn page(
        &self,
        key: &str,
        after: Option<FeedId>,
        before: Option<FeedId>,
        wanted: usize,
    ) -> Result<Vec<FeedLine>, StoreError> {
        // The ids themselves are left out.
        let bound = |id: Option<FeedId>, open: &str| id.map_or(open.to_owned(), |id| format!("({id}"));
        let args = [
            bound(before, "+").into_bytes(),
            bound(after, "-").into_bytes(),
            wanted.to_string().into_bytes(),
            (FIELD.len() + LONGEST_LINE).to_string().into_bytes(),
        ];
        let keys = [key.to_owned()];
        let answer = self.run_script(scripts::newest(), &keys, &args).await;
        page_of(key, wanted, answer.map_err(|error| of_shared_key(key, error))?)
    }
}

/// Parses the entries of a stream, no more than this many.
fn page_of(key: &str, wanted: usize, answer: Value) -> Result<Vec<FeedLine>, StoreError> {
    let Value::Array(rows) = answer else {
        return Err(malformed(format!("the store's answer about `{key}` is no list of lines")));
    };
    if rows.len() > wanted {
        let found = rows.len();
        return Err(malformed(format!(
            "the store gave {found} lines of `{key}`, at most {wanted} were asked for"
        )));
    }
    rows.into_iter().map(|row| line(key, row)).collect()
}

/// Parses one entry.
fn line(key: &str, row: Value) -> Result<FeedLine, StoreError> {
    let no_line = || malformed(format!("the store's answer about `{key}` holds what is no line"));
    let (id, fields): (String, Vec<Vec<u8>>) =
        FromRedisValue::from_redis_value(row).map_err(|_| no_line())?;
    let id: FeedId = id.parse().map_err(|()| no_line())?;
    let text = match &fields[..] {
        [name, text] if name == FIELD && text.len() <= LONGEST_LINE => {
            Some(String::from_utf8_lossy(text).into_owned())
        }
        _ => None,
    };
    Ok(FeedLine { id, text })
}

fn malformed(sentence: String) -> StoreError {
    StoreError::Refused(Diagnosis::of(FailureCause::WrongType, sentence))
}

/// Entry point for fuzzers.
#[cfg(feature = "test-switches")]
pub(crate) fn try_reading(value: Value) {
    if let Ok(lines) = page_of("feed", LINES_TOGETHER, value) {
        assert!(
            lines.len() <= LINES_TOGETHER
                && lines.iter().all(|line| line.id.to_string().parse() == Ok(line.id))
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bulk(text: &[u8]) -> Value {
        Value::BulkString(text.to_vec())
    }

    fn row(id: &str, fields: &[&[u8]]) -> Value {
        Value::Array(vec![
            bulk(id.as_bytes()),
            Value::Array(fields.iter().map(|field| bulk(field)).collect()),
        ])
    }

    #[test]
    fn entries_are_read_in_their_order() {
        let answer = Value::Array(vec![row("2-0", &[b"text", b"b"]), row("1-7", &[b"text", b"a\xff"])]);
        let lines = page_of("k", 2, answer).expect("two lines");
        let read: Vec<_> = lines.iter().map(|line| (line.id.to_string(), line.text.as_deref())).collect();
        assert_eq!(read, [("2-0".to_owned(), Some("b")), ("1-7".to_owned(), Some("a\u{fffd}"))]);
        assert_eq!(page_of("k", 2, Value::Array(Vec::new())), Ok(Vec::new()));
    }

    #[test]
    fn an_entry_of_another_program_has_no_text() {
        let long = vec![b'x'; LONGEST_LINE + 1];
        let foreign: [&[&[u8]]; 5] =
            [&[b"other", b"a"], &[b"text", b"a", b"b", b"c"], &[b"text", &long], &[b"104857600"], &[]];
        for fields in foreign {
            let answer = Value::Array(vec![row("1-1", fields), row("1-0", &[b"text", b"a"])]);
            let lines = page_of("k", 2, answer).expect("two lines");
            assert_eq!((&lines[0].text, lines[0].id.second), (&None, 1));
            assert_eq!(lines[1].text.as_deref(), Some("a"));
        }
    }

    #[test]
    fn what_is_too_much_or_no_line_is_refused_with_its_key() {
        let ours = || row("1-0", &[b"text", b"a"]);
        for (answer, words) in [
            (Value::Nil, "about `k` is no list"),
            (Value::Array(vec![ours(), ours(), ours()]), "gave 3 lines of `k`, at most 2"),
            (Value::Array(vec![Value::Int(1)]), "`k` holds what is no line"),
            (Value::Array(vec![row("x", &[b"text", b"a"])]), "`k` holds what is no line"),
        ] {
            let refused = page_of("k", 2, answer).expect_err(words).to_string();
            assert!(refused.contains(words), "{refused}");
        }
    }
}
