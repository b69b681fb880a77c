//! What programs that watch a cluster are given, as their own tools see it: the rules, their tests, and the
//! text of a scrape.

mod promtool;
