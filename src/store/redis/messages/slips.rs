//! Slips as stored on the server: hashes with a ttl, whose fields number the texts from 1.

use std::time::Duration;

use redis::{FromRedisValue, Value};

use crate::store::redis::records::{RedisStore, of_shared_key};
use crate::store::redis::scripts;
use crate::store::{
    Diagnosis, FailureCause, LONGEST_TTL, SLIP_BYTES, SLIP_TEXTS, Slip, SlipLoad, StoreError, Wake,
};

/// A slip that solocron filled has no more bytes, with the numbers of its texts.
const MOST_BYTES: usize = SLIP_BYTES + SLIP_TEXTS * 3;

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
        match load_of(&key, answer.map_err(|error| of_shared_key(&key, error))?)? {
            None => Ok(()),
            Some(held) => Err(slip.full(held, text)),
        }
    }

    /// Returns and removes what was left, oldest first.
    pub(crate) async fn collect_texts(&self, slip: &Slip) -> Result<Vec<String>, StoreError> {
        let key = self.keys.slip(slip);
        let args = [MOST_BYTES.to_string().into_bytes()];
        let answer = self.run_script(scripts::collect(), std::slice::from_ref(&key), &args).await;
        texts_of(&key, answer.map_err(|error| of_shared_key(&key, error))?)
    }
}

/// Parses the answer to a text: nothing if it was left, or what the slip holds if it was not.
fn load_of(key: &str, answer: Value) -> Result<Option<SlipLoad>, StoreError> {
    let numbers = Vec::<i64>::from_redis_value(answer).unwrap_or_else(|_| vec![-1]);
    let sizes: Result<Vec<usize>, _> = numbers.into_iter().map(usize::try_from).collect();
    match sizes.as_deref() {
        Ok([]) => Ok(None),
        Ok([bytes, texts]) => Ok(Some(SlipLoad { bytes: *bytes, texts: *texts })),
        _ => Err(StoreError::Unknown(format!("the store's answer about `{key}` cannot be read").into())),
    }
}

/// Parses what a slip held: numbers and texts, or its size alone if that is too large.
fn texts_of(key: &str, answer: Value) -> Result<Vec<String>, StoreError> {
    let foreign = |what: String| {
        let sentence = format!("`{key}` held {what}, which solocron did not write: it was removed");
        StoreError::Refused(Diagnosis::of(FailureCause::WrongType, sentence))
    };
    let Value::Array(parts) = answer else { return Err(foreign("what is no list".to_owned())) };
    if let [Value::Int(bytes)] = &parts[..] {
        return Err(foreign(format!("{bytes} bytes")));
    }
    let count = parts.len();
    let mut fields = Vec::<Vec<u8>>::from_redis_value(Value::Array(parts))
        .map_err(|_| foreign(format!("{count} values")))?
        .into_iter();
    let bytes = fields.as_slice().iter().map(Vec::len).sum::<usize>();
    let (mut texts, size) = (Vec::with_capacity(count / 2), format!("{bytes} bytes in {} fields", count / 2));
    while let Some(number) = fields.next() {
        let number = std::str::from_utf8(&number).ok().and_then(|number| number.parse::<u32>().ok());
        let (Some(number), Some(text)) = (number, fields.next()) else { return Err(foreign(size)) };
        texts.push((number, String::from_utf8_lossy(&text).into_owned()));
    }
    if bytes > MOST_BYTES || texts.len() > SLIP_TEXTS {
        return Err(foreign(size));
    }
    texts.sort_by_key(|(number, _)| *number);
    Ok(texts.into_iter().map(|(_, text)| text).collect())
}

/// Entry point for fuzzers.
#[cfg(feature = "test-switches")]
pub(crate) fn try_reading(value: Value) {
    // Each is parsed or refused.
    let _ = load_of("slip", value.clone());
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

    #[test]
    fn texts_are_read_in_the_order_in_which_they_were_left() {
        let texts = texts_of("k", list(&[b"10", b"c", b"2", b"b\xff", b"1", b""])).expect("three texts");
        assert_eq!(texts, ["", "b\u{fffd}", "c"]);
        assert_eq!(texts_of("k", list(&[])), Ok(Vec::new()));
    }

    #[test]
    fn what_no_replica_left_is_refused_with_its_key_and_size() {
        let (long, many) = (vec![b'x'; MOST_BYTES], vec![&b"1"[..]; SLIP_TEXTS * 2 + 2]);
        for (answer, words) in [
            (Value::Nil, "`k` held what is no list"),
            (Value::Array(vec![Value::Int(104_857_600)]), "`k` held 104857600 bytes"),
            (Value::Array(vec![Value::Nil, Value::Int(1)]), "`k` held"),
            (list(&[b"x", b"text"]), "`k` held 5 bytes in 1 fields"),
            (list(&[b"1"]), "`k` held 1 bytes in 0 fields"),
            (list(&[b"\xff", b"a"]), "`k` held 2 bytes in 1 fields"),
            (list(&[b"1", &long]), "bytes in 1 fields"),
            (list(&many), "514 bytes in 257 fields"),
        ] {
            let refused = texts_of("k", answer).expect_err(words).to_string();
            assert!(refused.contains(words) && refused.contains("did not write"), "{refused}");
        }
    }

    #[test]
    fn the_answer_to_a_text_says_whether_it_was_left() {
        let held = |bytes, texts| Value::Array(vec![Value::Int(bytes), Value::Int(texts)]);
        assert_eq!(load_of("k", Value::Array(Vec::new())), Ok(None));
        assert_eq!(load_of("k", held(9, 1)), Ok(Some(SlipLoad { bytes: 9, texts: 1 })));
        for answer in [held(-1, 1), Value::Int(1), list(&[b"x"])] {
            let refused = load_of("k", answer).expect_err("it is no answer").to_string();
            assert!(refused.contains("`k`"), "{refused}");
        }
    }
}
