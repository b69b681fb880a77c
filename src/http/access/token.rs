//! Tokens: who holds one, and what it allows. Only digests are kept, so that no copy of the memory contains a token.

use std::fmt;

use sha2::{Digest, Sha256};

use crate::config::{TokenRight, UnusableFile};
use crate::job::TokenName;

/// The fewest characters of a token: 32 random bytes in base64 without padding.
const SHORTEST: usize = 43;

/// The most characters of a token; what a request presents is cut off there.
const LONGEST: usize = 512;

/// The most tokens in one file: the new one and the one that it replaces.
const MOST: usize = 2;

/// The SHA-256 digest of a token.
pub(crate) type TokenDigest = [u8; 32];

/// A token with the name and the right of its holder.
#[derive(Clone, PartialEq, Eq)]
pub struct NamedToken {
    /// Its name, by which acts are logged.
    pub name: TokenName,
    /// What it allows.
    pub may: TokenRight,
    digests: Vec<TokenDigest>,
}

/// What the file of a token contains.
#[derive(Clone)]
pub struct TokenText(Vec<String>);

/// Every token that is valid now.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TokenBook(Vec<NamedToken>);

/// Two names have the same token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SameToken {
    /// The one.
    pub first: TokenName,
    /// The other.
    pub second: TokenName,
}

impl SameToken {
    /// Returns the problem with the second one.
    pub fn problem(&self) -> UnusableFile {
        let what = format!("is the same as token `{}`", self.first);
        UnusableFile { what, help: "give each its own: `openssl rand -base64 32`".to_owned() }
    }
}

impl fmt::Debug for NamedToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NamedToken").field("name", &self.name).field("may", &self.may).finish_non_exhaustive()
    }
}

impl NamedToken {
    /// Returns the digests of the tokens that are valid under this name, the newest first.
    pub(crate) fn digests(&self) -> &[TokenDigest] {
        &self.digests
    }
}

impl TokenText {
    /// Reads the lines of a token's file. There are one or two, the newest first.
    ///
    /// # Errors
    /// What is wrong with the file.
    pub fn parse(text: &str) -> Result<Self, UnusableFile> {
        let refuse = |what: String, help: &str| Err(UnusableFile { what, help: help.to_owned() });
        let lines: Vec<String> =
            text.lines().map(str::trim).filter(|line| !line.is_empty()).map(str::to_owned).collect();
        let make = "make one: `openssl rand -base64 32`";
        match lines.len() {
            0 => return refuse("is empty".to_owned(), make),
            1..=MOST => {}
            many => {
                return refuse(format!("has {many} lines, expected at most {MOST}"), "keep the newest");
            }
        }
        for line in &lines {
            let (length, odd) = (line.len(), line.chars().any(|c| !c.is_ascii_graphic()));
            if odd {
                return refuse("has a character that no token has".to_owned(), make);
            }
            if length < SHORTEST {
                return refuse(format!("has {length} characters, expected at least {SHORTEST}"), make);
            }
            if length > LONGEST {
                return refuse(format!("has {length} characters, expected at most {LONGEST}"), make);
            }
        }
        Ok(Self(lines))
    }

    /// Returns the tokens under this name.
    pub fn named(&self, name: TokenName, may: TokenRight) -> NamedToken {
        NamedToken { name, may, digests: self.0.iter().map(|token| digest(token)).collect() }
    }
}

impl TokenBook {
    /// Returns a book of these tokens.
    ///
    /// # Errors
    /// The names of two that are the same.
    pub fn new(tokens: Vec<NamedToken>) -> Result<Self, SameToken> {
        for (at, token) in tokens.iter().enumerate() {
            let is_same =
                |other: &&NamedToken| other.digests.iter().any(|digest| token.digests.contains(digest));
            if let Some(other) = tokens.iter().take(at).find(is_same) {
                return Err(SameToken { first: other.name.clone(), second: token.name.clone() });
            }
        }
        Ok(Self(tokens))
    }

    /// Whether there are none: then nobody may act.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the token of this name.
    pub(crate) fn named(&self, name: &TokenName) -> Option<&NamedToken> {
        self.0.iter().find(|token| token.name == *name)
    }

    /// Returns the token that a request presents. Takes as long whichever it is, and for one that is wrong.
    pub(crate) fn find(&self, presented: &str) -> Option<&NamedToken> {
        self.find_by(presented, |known, presented| is_same(known, presented))
    }

    /// Returns the same by this comparison. It compares every digest, also after the right one.
    fn find_by(
        &self,
        presented: &str,
        is_same: impl Fn(&TokenDigest, &TokenDigest) -> bool,
    ) -> Option<&NamedToken> {
        let presented = digest(presented.get(..LONGEST).unwrap_or(presented));
        let mut found = None;
        for token in &self.0 {
            for known in &token.digests {
                if is_same(known, &presented) {
                    found = Some(token);
                }
            }
        }
        found
    }
}

/// Whether two digests are the same. It reads all of their bytes, wherever they differ.
fn is_same<'d>(ours: impl IntoIterator<Item = &'d u8>, theirs: impl IntoIterator<Item = &'d u8>) -> bool {
    let bytes = ours.into_iter().zip(theirs);
    bytes.fold(0, |sum, (ours, theirs)| sum | (ours ^ theirs)) == 0
}

fn digest(token: &str) -> TokenDigest {
    Sha256::digest(token.as_bytes()).into()
}

#[cfg(test)]
mod tests {
    use std::cell::{Cell, RefCell};

    use super::*;

    const NEW: &str = "abcdefghijklmnopqrstuvwxyz0123456789ABCDEFG=";
    const OLD: &str = "abcdefghijklmnopqrstuvwxyz0123456789abcdefg=";

    fn named(name: &str, may: TokenRight, text: &str) -> NamedToken {
        let name = TokenName::parse(name).expect("a name");
        TokenText::parse(text).unwrap_or_else(|error| panic!("{}", error.what)).named(name, may)
    }

    #[test]
    fn a_token_and_the_one_that_it_replaces_are_both_found_and_no_other() {
        let book = TokenBook::new(vec![
            named("maria", TokenRight::Act, &format!("{NEW}\n{OLD}\n")),
            named("grafana", TokenRight::Read, &NEW.repeat(2)),
        ]);
        let book = book.expect("they differ");
        let found = |token: &str| book.find(token).map(|token| (token.name.as_str().to_owned(), token.may));
        assert_eq!(found(NEW), Some(("maria".to_owned(), TokenRight::Act)));
        assert_eq!(found(OLD), Some(("maria".to_owned(), TokenRight::Act)));
        assert_eq!(found(&NEW.repeat(2)), Some(("grafana".to_owned(), TokenRight::Read)));
        for wrong in ["", &NEW[1..], &NEW.to_uppercase(), "maria"] {
            assert_eq!(found(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn each_token_right_or_wrong_is_compared_by_its_hash_with_every_token() {
        let third = NEW.repeat(2);
        let book = TokenBook::new(vec![
            named("maria", TokenRight::Act, &format!("{NEW}\n{OLD}\n")),
            named("grafana", TokenRight::Read, &third),
        ]);
        let book = book.expect("they differ");
        let all = [NEW, OLD, third.as_str()].map(digest);
        // One shares its beginning with a right token, one only a byte, one nothing.
        for presented in [NEW, OLD, &third, &NEW[..43], "a", ""] {
            let compared = RefCell::new(Vec::new());
            let found = book.find_by(presented, |known, theirs| {
                assert_eq!(*theirs, digest(presented));
                compared.borrow_mut().push(*known);
                is_same(known, theirs)
            });
            assert_eq!(compared.into_inner(), all, "{presented}");
            assert_eq!(found, book.find(presented), "{presented}");
        }
    }

    #[test]
    fn two_hashes_are_read_to_their_end_wherever_they_differ() {
        let ours = digest(NEW);
        for differs_at in [None, Some(0), Some(15), Some(31)] {
            let (mut theirs, read) = (ours, Cell::new(0));
            differs_at.into_iter().for_each(|at: usize| theirs[at] ^= 1);
            let counted = ours.iter().inspect(|_| read.set(read.get() + 1));
            assert_eq!(is_same(counted, &theirs), differs_at.is_none(), "{differs_at:?}");
            assert_eq!(read.get(), ours.len(), "{differs_at:?}");
        }
    }

    #[test]
    fn a_file_that_holds_no_good_token_is_refused_with_the_reason() {
        let (three, long) = (format!("{NEW}\n{NEW}\n{NEW}"), NEW.repeat(20));
        for (text, reason) in [
            ("", "is empty"),
            ("\n \n", "is empty"),
            ("hunter2", "has 7 characters, expected at least 43"),
            (three.as_str(), "has 3 lines"),
            (long.as_str(), "expected at most 512"),
            ("abcdefghijklmnopqrstuvwxyz 0123456789 ABCDEFG=", "a character that no token has"),
        ] {
            let Err(error) = TokenText::parse(text) else { panic!("{text}") };
            assert!(error.what.contains(reason), "{error:?}");
        }
    }

    #[test]
    fn two_names_with_one_token_are_refused() {
        let twice = TokenBook::new(vec![
            named("maria", TokenRight::Act, NEW),
            named("ann", TokenRight::Read, &format!("{OLD}\n{NEW}")),
        ]);
        let SameToken { first, second } = twice.expect_err("the same token");
        assert_eq!((first.as_str(), second.as_str()), ("maria", "ann"));
    }

    #[test]
    fn no_debug_output_contains_a_token() {
        let shown = format!("{:?}", named("maria", TokenRight::Act, NEW));
        assert!(shown.contains("maria") && !shown.contains(NEW) && !shown.contains("digests"), "{shown}");
    }
}
