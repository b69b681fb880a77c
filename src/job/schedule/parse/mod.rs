//! Parses cron expressions: fields, lists, ranges, steps, names, nicknames and `H`.

pub(super) mod expression;
pub(super) mod field;
mod interval;
pub(super) mod item;
mod nickname;
pub(super) mod piece;
pub(super) mod slot;
