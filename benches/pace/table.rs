//! Medians, and how they compare with the floor of the same workload, or with the same contender beside a busy loop.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde_json::json;

use crate::contender::Contender;
use crate::measure::Figures;
use crate::workload::Workload;

/// Everything that was measured.
#[derive(Default)]
pub(crate) struct Table {
    /// In the order of the first round: workload, what it is, contender, name of the figure.
    rows: Vec<(&'static str, &'static str, Contender, &'static str)>,
    values: BTreeMap<(&'static str, Contender, &'static str), Vec<f64>>,
}

impl Table {
    /// Takes in one measurement.
    pub(crate) fn add(&mut self, workload: &Workload, contender: Contender, figures: Figures) {
        for (name, value) in figures {
            let values = self.values.entry((workload.name, contender, name)).or_default();
            if values.is_empty() {
                self.rows.push((workload.name, workload.what, contender, name));
            }
            values.push(value);
        }
    }

    fn median(&self, workload: &'static str, contender: Contender, name: &'static str) -> Option<f64> {
        let mut values = self.values.get(&(workload, contender, name))?.clone();
        values.sort_by(f64::total_cmp);
        Some(values[values.len() / 2])
    }

    /// A median, and its ratio to the floor's where that has one, or to that of the workload it is compared to.
    fn cell(&self, row: &(&'static str, &'static str, Contender, &'static str)) -> (f64, Option<f64>) {
        let (workload, _, contender, name) = *row;
        let median = self.median(workload, contender, name).unwrap_or(f64::NAN);
        let base = Workload::all().iter().find(|other| other.name == workload).and_then(Workload::base);
        let floor = match base {
            Some(base) => self.median(base, contender, name),
            None => self.median(workload, Contender::Floor, name),
        };
        let floor = floor.filter(|floor| *floor > 0.0);
        let is_late = name.starts_with("late, ") && contender != Contender::Floor;
        (median, floor.filter(|_| is_late).map(|floor| median / floor))
    }

    /// For people.
    pub(crate) fn markdown(&self) -> String {
        let mut text =
            "| workload | contender | | median | ÷ floor, or ÷ busy loop |\n|---|---|---|---|---|\n"
                .to_owned();
        for row in &self.rows {
            let (median, ratio) = self.cell(row);
            let ratio = ratio.map_or_else(String::new, |ratio| format!("{ratio:.2}"));
            let (workload, what, contender, name) = row;
            writeln!(text, "| {workload}: {what} | {contender} | {name} | {median:.2} | {ratio} |")
                .expect("text can be written to");
        }
        text
    }

    /// For machines.
    pub(crate) fn json(&self) -> String {
        let row = |row: &(&'static str, &'static str, Contender, &'static str)| {
            let (median, ratio) = self.cell(row);
            let all = &self.values[&(row.0, row.2, row.3)];
            json!({
                "workload": row.0, "contender": row.2.to_string(), "figure": row.3, "median": median,
                "ratio_to_floor": ratio, "all": all,
            })
        };
        serde_json::to_string_pretty(&self.rows.iter().map(row).collect::<Vec<_>>())
            .expect("numbers and texts")
    }
}
