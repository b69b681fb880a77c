//! How commands print: on stdout and stderr, in colour or not, as tables, as log lines.

pub(super) mod alternate_screen;
pub(super) mod escapes;
pub(super) mod log_writer;
pub(super) mod logging;
pub(super) mod output;
pub(super) mod style;
pub(super) mod table;
pub(super) mod wait_line;
