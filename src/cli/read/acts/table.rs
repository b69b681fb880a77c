//! What `acts` prints for people: one line per act. The usual is left out: acts that come from the command line do not say so.

use crate::cli::print::style::TextStyle;
use crate::cli::print::table::{Cell, Table};
use crate::job::JobName;
use crate::operate::audit::{ActNote, FROM_COMMAND_LINE};
use crate::view::job::NOT_IN_FILE;
use crate::view::text::time_format::utc;

/// The columns that are left out first if the terminal is too narrow.
const OPTIONAL: [&str; 2] = ["FROM", "WHY"];

/// Returns the table, for a terminal of this width.
pub(crate) fn text(
    notes: &[ActNote],
    is_one_job: bool,
    is_absent: &dyn Fn(&JobName) -> bool,
    columns: Option<usize>,
) -> String {
    let job = |name: &JobName| match is_absent(name) {
        true => format!("{name} ({NOT_IN_FILE})"),
        false => name.to_string(),
    };
    let mut table = Table::new(&["AT (UTC)", "BY", "FROM", "ACT", "JOB", "RESULT", "WHY"]);
    for note in notes {
        table.row(vec![
            Cell::plain(utc(note.at)),
            Cell::plain(&note.by),
            Cell::maybe(Some(&note.from).filter(|from| *from != FROM_COMMAND_LINE)),
            Cell::plain(note.act),
            Cell::maybe((!is_one_job).then(|| job(&note.job))),
            Cell::new(&note.result, style(&note.result)),
            Cell::maybe(note.why.as_ref()),
        ]);
    }
    table.fit(columns, &OPTIONAL);
    table.render()
}

/// Returns the style of what came of an act.
fn style(result: &str) -> TextStyle {
    if result.starts_with("refused: ") {
        TextStyle::Warning
    } else if result.starts_with("failed: ") {
        TextStyle::Bad
    } else {
        TextStyle::Plain
    }
}
