//! Tables for people: no borders, one line per row, and no column that is empty in every row.

use comfy_table::presets::NOTHING;

use super::style::TextStyle;

/// Spaces between two columns.
const GAP: u16 = 2;

/// One cell: a short text and its style.
#[derive(Debug, Clone)]
pub(crate) struct Cell {
    text: String,
    style: TextStyle,
}

/// A table under construction.
#[derive(Debug)]
pub(crate) struct Table {
    rows: Vec<Vec<Cell>>,
}

impl Cell {
    /// Returns a cell in this style. Control characters, which only a foreign writer can have put in, are shown as `?`.
    pub(crate) fn new(text: impl ToString, style: TextStyle) -> Self {
        let text = text.to_string().replace(char::is_control, "?");
        Self { text, style }
    }

    /// Returns a cell without a special meaning.
    pub(crate) fn plain(text: impl ToString) -> Self {
        Self::new(text, TextStyle::Plain)
    }

    /// Returns a cell that is empty for `None`.
    pub(crate) fn maybe(text: Option<impl ToString>) -> Self {
        text.map_or_else(|| Self::plain(""), Self::plain)
    }
}

impl Table {
    /// Returns a table with these headings, in capitals.
    pub(crate) fn new(headings: &[&str]) -> Self {
        Self { rows: vec![headings.iter().map(|heading| Cell::new(heading, TextStyle::Strong)).collect()] }
    }

    /// Adds a row: as many cells as there are headings.
    pub(crate) fn row(&mut self, cells: Vec<Cell>) {
        self.rows.push(cells);
    }

    /// Leaves out columns by their headings, in this order, until the table fits a terminal of this width.
    pub(crate) fn fit(&mut self, columns: Option<usize>, optional: &[&str]) {
        let Some(most) = columns else { return };
        self.drop_empty_columns();
        for heading in optional {
            let at = self.rows[0].iter().position(|cell| cell.text == *heading);
            if let (Some(at), true) = (at, self.width() > most) {
                self.rows.iter_mut().for_each(|row| drop(row.remove(at)));
            }
        }
    }

    /// Returns the largest width of a line.
    fn width(&self) -> usize {
        let of_column = |column: usize| self.rows.iter().map(|row| row[column].text.chars().count()).max();
        let widths = (0..self.rows[0].len()).filter_map(of_column);
        widths.map(|width| width + usize::from(GAP)).sum::<usize>().saturating_sub(usize::from(GAP))
    }

    /// Returns the table as lines of text, each with its newline.
    pub(crate) fn render(mut self) -> String {
        self.drop_empty_columns();
        let mut layout = comfy_table::Table::new();
        layout.load_style(NOTHING);
        for row in &self.rows {
            layout.add_row(row.iter().map(|cell| cell.text.as_str()));
        }
        for column in layout.column_iter_mut() {
            column.set_padding((0, GAP));
        }
        let widths: Vec<usize> =
            layout.column_max_content_widths().iter().map(|width| usize::from(width + GAP)).collect();
        let lines: Vec<String> = layout.lines().collect();
        lines.iter().zip(&self.rows).map(|(line, row)| painted(line, row, &widths)).collect()
    }

    fn drop_empty_columns(&mut self) {
        let used: Vec<bool> = (0..self.rows[0].len())
            .map(|column| self.rows.iter().skip(1).any(|row| !row[column].text.is_empty()))
            .collect();
        for row in &mut self.rows {
            let mut used = used.iter();
            row.retain(|_| *used.next().expect("every row has as many cells as there are headings"));
        }
    }
}

/// Returns the laid-out line with the styles of its cells. The layout counts escape sequences as text, so they are added last.
fn painted(line: &str, row: &[Cell], widths: &[usize]) -> String {
    let mut left = line.chars();
    let mut shown = String::new();
    for (cell, width) in row.iter().zip(widths) {
        let text: String = left.by_ref().take(*width).collect();
        let (text, padding) = text.split_at(text.trim_end().len());
        shown.push_str(&cell.style.paint(text));
        shown.push_str(padding);
    }
    shown.truncate(shown.trim_end().len());
    shown + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_line_up_with_and_without_colours_and_empty_ones_are_left_out() {
        let mut table = Table::new(&["JOB", "NOTE", "OUTCOME", "NODE"]);
        table.row(vec![
            Cell::plain("a"),
            Cell::plain(""),
            Cell::new("failed ×12", TextStyle::Bad),
            Cell::plain("n1"),
        ]);
        table.row(vec![
            Cell::plain("backup"),
            Cell::plain(""),
            Cell::new("ok", TextStyle::Good),
            Cell::plain(""),
        ]);
        let shown = table.render();
        assert!(shown.contains("\u{1b}["), "{shown}");
        assert_eq!(
            anstream::adapter::strip_str(&shown).to_string(),
            "JOB     OUTCOME     NODE\na       failed ×12  n1\nbackup  ok\n"
        );
    }

    #[test]
    fn a_narrow_terminal_gets_no_column_that_it_can_do_without() {
        let shown = |columns| {
            let mut table = Table::new(&["JOB", "LATE", "EMPTY", "RUN"]);
            table.row(["backup", "3s", "", "0193"].map(Cell::plain).into());
            table.fit(columns, &["LATE", "RUN"]);
            let shown = table.render();
            anstream::adapter::strip_str(&shown).to_string()
        };
        let whole = "JOB     LATE  RUN\nbackup  3s    0193\n";
        assert_eq!((shown(None).as_str(), shown(Some(18)).as_str()), (whole, whole));
        assert_eq!(shown(Some(17)), "JOB     RUN\nbackup  0193\n");
        assert_eq!(shown(Some(1)), "JOB\nbackup\n", "and no more than that");
    }

    #[test]
    fn foreign_text_cannot_move_the_cursor() {
        assert_eq!(Cell::plain("a\u{1b}[2J\nb").text, "a?[2J?b");
    }
}
