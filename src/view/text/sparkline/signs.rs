//! A sparkline as letters, for terminals.

use super::bars::{SparkBar, SparkForm, Sparkline};

/// The signs of bars, lowest first.
const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// The same for terminals that have letters only.
const DIGITS: [char; 8] = ['1', '2', '3', '4', '5', '6', '7', '8'];

/// With which signs a sparkline is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SparkSigns {
    /// `▁▂▃▄▅▆▇█` for runs, `↻ ✗ □ ◇ ◆ ?` for the rest.
    Unicode,
    /// `1` to `8` for runs, `r x k s m ?` for the rest.
    Ascii,
}

impl SparkSigns {
    /// Returns the sign of a tick with this form; that of a run depends on its height.
    fn sign(self, bar: SparkBar) -> char {
        let (bars, others) = match self {
            Self::Unicode => (&BARS, ['↻', '✗', '□', '◇', '◆', '?']),
            Self::Ascii => (&DIGITS, ['r', 'x', 'k', 's', 'm', '?']),
        };
        let [rerun, failed, killed, skipped, missed, unknown] = others;
        match bar.form {
            SparkForm::Ran => {
                bars.get(usize::from(bar.height.saturating_sub(1))).copied().unwrap_or(bars[bars.len() - 1])
            }
            SparkForm::Rerun => rerun,
            SparkForm::Failed => failed,
            SparkForm::Killed => killed,
            SparkForm::Skipped => skipped,
            SparkForm::Missed => missed,
            SparkForm::Unknown => unknown,
        }
    }
}

impl Sparkline {
    /// Returns one sign for each tick, the newest last; at most 60.
    pub fn terminal(&self, signs: SparkSigns) -> String {
        self.bars.iter().map(|bar| signs.sign(*bar)).collect()
    }
}
