//! One table of the file, read key by key. A wrong key is reported and then treated as absent. An unknown key is
//! reported with the one that was probably meant.

use std::ops::Range;

use toml::de::DeTable;

use crate::config::report::findings::Findings;
use crate::config::report::problem::Problem;
use crate::config::report::suggest;
use crate::config::values;
use crate::config::values::placed::Placed;
use crate::config::values::{Checked, Raw};

use super::keys;
use super::keys::Key;

/// One table of the file.
#[derive(Debug, Clone)]
pub(crate) struct Section<'d> {
    /// Its name in messages: ``job `backup` `` or `[cluster]`.
    pub(crate) title: String,
    /// Its header; `None` if the table is absent.
    pub(crate) span: Option<Range<usize>>,
    table: Option<&'d DeTable<'d>>,
    /// Whether the table is absent, but may be present in the wrong shape: under a misspelt name, or not as a table.
    may_be_misspelt: bool,
}

impl<'d> Section<'d> {
    /// Returns the section of this table.
    pub(crate) fn new(title: impl Into<String>, span: Range<usize>, table: &'d DeTable<'d>) -> Self {
        Self { title: title.into(), span: Some(span), table: Some(table), may_be_misspelt: false }
    }

    /// Returns the table `name` at the top of the file. It is empty if it is absent, or is not a table, which is
    /// reported.
    pub(crate) fn top(root: &'d DeTable<'d>, name: &str, findings: &mut Findings) -> Self {
        let title = format!("[{name}]");
        let absent =
            |may_be_misspelt| Self { title: title.clone(), span: None, table: None, may_be_misspelt };
        let Some((key, raw)) = root.get_key_value(name) else {
            return absent(
                root.keys().any(|key| suggest::nearest(key.get_ref(), &keys::tables()) == Some(name)),
            );
        };
        match raw.get_ref().as_table() {
            Some(table) => Self::new(title.clone(), raw.span(), table),
            None => {
                let problem = Problem::error(format!("`{name}` is {}, expected a table", values::kind(raw)));
                let help = match name {
                    "jobs" => "write one table for each job: `[jobs.NAME]`".to_owned(),
                    _ => format!("write its keys under `{title}`"),
                };
                findings.add(problem.at(key.span()).help(help));
                absent(true)
            }
        }
    }

    /// Whether the table is absent, but may be present in the wrong shape.
    pub(crate) fn may_be_misspelt(&self) -> bool {
        self.may_be_misspelt
    }

    /// Whether syntax mistakes may have changed this table, whose name is `name`, or may hide it.
    pub(crate) fn is_touched(&self, name: &str, text: &str, findings: &Findings) -> bool {
        match &self.span {
            Some(span) => findings.touch(text, name, span),
            None => self.may_be_misspelt || findings.may_hide(text, name),
        }
    }

    /// Whether the key is present, right or wrong.
    pub(crate) fn has(&self, key: &str) -> bool {
        self.place_of(key).is_some()
    }

    /// Whether a key is absent, and none of the unknown keys, which are reported anyway, is probably meant as this one.
    pub(crate) fn lacks(&self, key: &str, known: &[&str]) -> bool {
        let meant = |(other, ..): (&str, Range<usize>, &Raw<'d>)| {
            !known.contains(&other) && suggest::nearest(other, known) == Some(key)
        };
        !self.has(key) && !self.may_be_misspelt && !self.entries().any(meant)
    }

    /// Returns the place of the key itself.
    pub(crate) fn place_of(&self, key: &str) -> Option<Range<usize>> {
        self.table?.get_key_value(key).map(|(key, _)| key.span())
    }

    /// Returns the TOML value.
    pub(crate) fn raw(&self, key: &str) -> Option<&'d Raw<'d>> {
        self.table?.get(key)
    }

    /// Iterates over keys with their places and values, in the order of their names.
    pub(crate) fn entries(&self) -> impl Iterator<Item = (&'d str, Range<usize>, &'d Raw<'d>)> + use<'d> {
        self.table
            .into_iter()
            .flat_map(|table| table.iter().map(|(key, raw)| (key.get_ref().as_ref(), key.span(), raw)))
    }

    /// Reads the value of a key. What is wrong with it is reported, and the key is then treated as absent.
    pub(crate) fn read<T>(
        &self,
        key: &str,
        findings: &mut Findings,
        read: impl FnOnce(&Raw<'d>) -> Checked<T>,
    ) -> Option<Placed<T>> {
        let raw = self.raw(key)?;
        match read(raw) {
            Ok(value) => Some(Placed { value, span: raw.span() }),
            Err(refusals) => {
                for refusal in refusals {
                    let problem = Problem::error(format!("{}: `{key}`{}", self.title, refusal.what));
                    let problem = problem.at(refusal.span.unwrap_or(raw.span())).help(refusal.help);
                    findings.add(refusal.note.into_iter().fold(problem, Problem::note));
                }
                None
            }
        }
    }

    /// The value of a key; where it is absent or wrong, the default of the table of keys.
    pub(crate) fn read_or_default<T>(
        &self,
        key: &str,
        findings: &mut Findings,
        read: impl Fn(&Raw<'_>) -> Checked<T>,
    ) -> T {
        self.read(key, findings, &read).map_or_else(|| default(key, read), |placed| placed.value)
    }

    /// Reports every key that is not among the known ones.
    pub(crate) fn refuse_unknown(&self, known: &[&str], findings: &mut Findings) {
        for (key, span, raw) in self.entries().filter(|(key, ..)| !known.contains(key)) {
            let what = if raw.get_ref().is_table() { "table" } else { "key" };
            let problem = Problem::error(format!("{}: unknown {what} `{key}`", self.title)).at(span);
            findings.add(problem.help(self.help_for(key, raw, known)));
        }
    }

    fn help_for(&self, key: &str, raw: &Raw<'_>, known: &[&str]) -> String {
        let job = self.title.strip_prefix("job `").map(|job| job.trim_end_matches('`'));
        if let (Some(_), "name") = (job, key) {
            return "take it out: a job's name is that of its table, `[jobs.NAME]`".to_owned();
        }
        let is_known_here = |ours: &&str| known.contains(ours);
        if let Some(ours) = keys::synonym(key).filter(is_known_here) {
            return format!("did you mean `{ours}`?");
        }
        if let Some(known) = keys::find(key) {
            return format!("`{key}` belongs under {}", known.home.title());
        }
        if let Some(near) = suggest::nearest(key, known) {
            return format!("did you mean `{near}`?");
        }
        if let (Some(job), true) = (job, raw.get_ref().is_table()) {
            return format!("if the job's name has a dot in it, quote it: `[jobs.\"{job}.{key}\"]`");
        }
        format!("known here: {}", known.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", "))
    }
}

/// The default of a key, read as a file would be.
fn default<T>(key: &str, read: impl Fn(&Raw<'_>) -> Checked<T>) -> T {
    let text = keys::find(key).and_then(Key::default_line).expect("a key with a default");
    let table = DeTable::parse(&text).expect("a default is TOML");
    let raw = table.get_ref().get(key).expect("it was just written");
    read(raw).expect("a default is a value of its key")
}
