//! Slips as stored on the server: hashes with a ttl, whose fields number the texts from 1.

use std::collections::BTreeSet;
use std::time::Duration;

use redis::{FromRedisValue, Value};

use crate::store::redis::records::{RedisStore, of_shared_key};
use crate::store::redis::scripts;
use crate::store::{
    Diagnosis, FailureCause, LONGEST_TTL, SLIP_BYTES, SLIP_TEXTS, Slip, SlipLoad, StoreError, Wake,
};

/// What became of a text.
#[derive(Debug, PartialEq, Eq)]
enum LeftText {
    /// It was left.
    Left,
    /// It was left, and replaced a key of another type.
    Replaced,
    /// It does not fit beside what the slip holds.
    Full(SlipLoad),
}

impl RedisStore {
    /// Leaves a text, and sends a wake.
    pub(crate) async fn leave_text(&self, slip: &Slip, text: &str, ttl: Duration) -> Result<(), StoreError> {
        slip.check(text)?;
        let key = self.keys.slip(slip);
        let ttl_ms = ttl.min(LONGEST_TTL).as_millis().max(1);
        let args = [
            text.into(),
            ttl_ms.to_string().into_bytes(),
            SLIP_BYTES.to_string().into_bytes(),
            SLIP_TEXTS.to_string().into_bytes(),
            self.keys.wakes().into_bytes(),
            Wake::Slip(slip.clone()).to_string().into_bytes(),
        ];
        let answer = self.run_script(scripts::leave(), std::slice::from_ref(&key), &args).await;
        match left_text(&key, answer.map_err(|error| of_shared_key(&key, error))?)? {
            LeftText::Left => Ok(()),
            LeftText::Replaced => {
                self.was_of_another_type(key);
                Ok(())
            }
            LeftText::Full(held) => Err(slip.full(held, text)),
        }
    }

    /// Returns and removes what was left, oldest first. In a key of another type, nothing was left.
    pub(crate) async fn collect_texts(&self, slip: &Slip) -> Result<Vec<String>, StoreError> {
        let key = self.keys.slip(slip);
        let args = [SLIP_BYTES, SLIP_TEXTS].map(|most| most.to_string().into_bytes());
        match self.run_script(scripts::collect(), std::slice::from_ref(&key), &args).await {
            Ok(answer) => texts_of(&key, answer),
            Err(error) if error.cause() == Some(&FailureCause::WrongType) => {
                self.was_of_another_type(key);
                Ok(Vec::new())
            }
            Err(error) => Err(error),
        }
    }

    /// Logs that another program had replaced a slip.
    fn was_of_another_type(&self, key: String) {
        self.foreign.found(&self.label, BTreeSet::from([(key, String::new())]));
    }
}

/// Parses the answer to a text.
fn left_text(key: &str, answer: Value) -> Result<LeftText, StoreError> {
    let numbers = Vec::<i64>::from_redis_value(answer).unwrap_or_else(|_| vec![-1]);
    let sizes: Result<Vec<usize>, _> = numbers.into_iter().map(usize::try_from).collect();
    match sizes.as_deref() {
        Ok([]) => Ok(LeftText::Left),
        Ok([1]) => Ok(LeftText::Replaced),
        Ok([bytes, texts]) => Ok(LeftText::Full(SlipLoad { bytes: *bytes, texts: *texts })),
        _ => Err(StoreError::Unknown(format!("the store's answer about `{key}` cannot be read").into())),
    }
}

/// Parses what a slip held: its texts, or its size alone if solocron did not fill it.
fn texts_of(key: &str, answer: Value) -> Result<Vec<String>, StoreError> {
    let foreign = |what: String| {
        let sentence = format!("`{key}` held {what}, which solocron did not write: it was removed");
        StoreError::Refused(Diagnosis::of(FailureCause::WrongType, sentence))
    };
    let Value::Array(parts) = answer else { return Err(foreign("what is no list".to_owned())) };
    if let [Value::Int(bytes), Value::Int(fields)] = &parts[..] {
        return Err(foreign(format!("{bytes} bytes of text in {fields} fields")));
    }
    let count = parts.len();
    let texts = Vec::<Vec<u8>>::from_redis_value(Value::Array(parts))
        .map_err(|_| foreign(format!("{count} values")))?;
    let bytes = texts.iter().map(Vec::len).sum::<usize>();
    if bytes > SLIP_BYTES || count > SLIP_TEXTS {
        return Err(foreign(format!("{bytes} bytes of text in {count} fields")));
    }
    Ok(texts.iter().map(|text| String::from_utf8_lossy(text).into_owned()).collect())
}

/// Entry point for fuzzers.
#[cfg(feature = "test-switches")]
pub(crate) fn try_reading(value: Value) {
    // Each is parsed or refused.
    let _ = left_text("slip", value.clone());
    if let Ok(texts) = texts_of("slip", value) {
        assert!(texts.len() <= SLIP_TEXTS);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(texts: &[&[u8]]) -> Value {
        Value::Array(texts.iter().map(|text| Value::BulkString(text.to_vec())).collect())
    }

    fn sizes(bytes: i64, texts: i64) -> Value {
        Value::Array(vec![Value::Int(bytes), Value::Int(texts)])
    }

    #[test]
    fn texts_are_read_in_the_order_in_which_they_were_left() {
        let texts = texts_of("k", list(&[b"", b"b\xff", b"c"])).expect("three texts");
        assert_eq!(texts, ["", "b\u{fffd}", "c"]);
        assert_eq!(texts_of("k", list(&[])), Ok(Vec::new()));
    }

    #[test]
    fn what_no_replica_left_is_refused_with_its_key_and_size() {
        let (long, many) = (vec![b'x'; SLIP_BYTES + 1], vec![&b"1"[..]; SLIP_TEXTS + 1]);
        for (answer, words) in [
            (Value::Nil, "`k` held what is no list"),
            (sizes(104_857_600, 1), "`k` held 104857600 bytes of text in 1 fields"),
            (sizes(0, 70_000), "`k` held 0 bytes of text in 70000 fields"),
            (Value::Array(vec![Value::Nil, Value::Int(1)]), "`k` held 2 values"),
            (list(&[&long]), "`k` held 65537 bytes of text in 1 fields"),
            (list(&many), "`k` held 257 bytes of text in 257 fields"),
        ] {
            let refused = texts_of("k", answer).expect_err(words).to_string();
            assert!(refused.contains(words) && refused.contains("did not write"), "{refused}");
        }
    }

    #[test]
    fn the_answer_to_a_text_says_whether_it_was_left() {
        assert_eq!(left_text("k", Value::Array(Vec::new())), Ok(LeftText::Left));
        assert_eq!(left_text("k", Value::Array(vec![Value::Int(1)])), Ok(LeftText::Replaced));
        let full = LeftText::Full(SlipLoad { bytes: 9, texts: 1 });
        assert_eq!(left_text("k", sizes(9, 1)), Ok(full));
        for answer in [sizes(-1, 1), Value::Array(vec![Value::Int(2)]), Value::Int(2), list(&[b"x"])] {
            let refused = left_text("k", answer).expect_err("it is no answer").to_string();
            assert!(refused.contains("`k`"), "{refused}");
        }
    }
}
