//! Who sent a request that was admitted.

use crate::config::TokenRight;
use crate::job::TokenName;

use super::cookie::SessionCookie;

/// Who sent a request, and what that allows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Visitor {
    /// What the visitor may do; `None`: only what everybody may.
    pub(crate) may: Option<TokenRight>,
    /// How the visitor proved it.
    pub(crate) proof: VisitorProof,
}

/// How a visitor proved who it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum VisitorProof {
    /// It presented nothing.
    Nothing,
    /// It sent the token of this name.
    Token(TokenName),
    /// Its browser has logged in.
    Cookie(SessionCookie),
}

impl Visitor {
    /// Returns the name of the visitor's token.
    pub(crate) fn name(&self) -> Option<&TokenName> {
        match &self.proof {
            VisitorProof::Nothing => None,
            VisitorProof::Token(name) => Some(name),
            VisitorProof::Cookie(cookie) => Some(&cookie.name),
        }
    }

    /// Whether the visitor may see what jobs print: that needs a token, wherever it comes from.
    pub(crate) fn sees_output(&self) -> bool {
        self.name().is_some()
    }
}
