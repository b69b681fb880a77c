//! All samples of one moment, and their text, which is written piece by piece.

use crate::metrics::catalogue::{self, CATALOGUE, MetricFamily};
use crate::metrics::exposition::{Exposition, ExpositionFormat};
use crate::metrics::job::{JOB_FAMILIES, JobFamily, JobPart, JobRow, SeriesMode};
use crate::metrics::samples::{Samples, numbers};

/// A piece is sent as soon as it is this long, in bytes.
pub(super) const PIECE: usize = 64 << 10;

/// So many jobs are written between two looks at the length of the piece.
const JOBS_AT_A_TIME: usize = 64;

/// The samples of one moment.
#[derive(Debug)]
pub struct Scrape {
    samples: Vec<Samples>,
    jobs: Vec<JobRow>,
}

impl Scrape {
    /// Returns a scrape of these samples and jobs.
    pub(crate) fn of(mut samples: Vec<Samples>, jobs: JobPart) -> Self {
        let JobPart { mode, rows } = jobs;
        let modes = [SeriesMode::All, SeriesMode::Trouble, SeriesMode::None];
        let flags = modes.map(|one| f64::from(u8::from(one == mode)));
        samples.push(numbers(&catalogue::JOB_SERIES, &flags));
        Self { samples, jobs: rows }
    }

    /// Returns the text, piece by piece: thousands of jobs make several megabytes.
    pub fn into_pieces(self, format: ExpositionFormat) -> ScrapePieces {
        ScrapePieces { scrape: self, text: Exposition::new(format), family: 0, job: 0, is_over: false }
    }
}

/// The text of a scrape, in pieces of some 64 KiB.
#[derive(Debug)]
pub struct ScrapePieces {
    scrape: Scrape,
    text: Exposition,
    /// The place of the next metric in the catalogue, and that of the next job of that metric.
    family: usize,
    job: usize,
    is_over: bool,
}

impl ScrapePieces {
    /// Writes a metric, or some jobs of one.
    fn write(&mut self, family: &'static MetricFamily) {
        match JOB_FAMILIES.iter().find(|jobs| jobs.family == family) {
            Some(jobs) => self.write_jobs(jobs),
            None => self.write_samples(family),
        }
    }

    fn write_samples(&mut self, family: &'static MetricFamily) {
        self.text.begin(family);
        let of_family = self.scrape.samples.iter().filter(|(other, _)| *other == family);
        for sample in of_family.flat_map(|(_, samples)| samples) {
            self.text.sample(family, sample);
        }
        self.family += 1;
    }

    fn write_jobs(&mut self, jobs: &JobFamily) {
        if self.job == 0 {
            self.text.begin(jobs.family);
        }
        let next = self.scrape.jobs.iter().skip(self.job).take(JOBS_AT_A_TIME);
        for row in next {
            for (label, number) in (jobs.samples)(row).into_iter().flatten() {
                let labels = [row.job.as_str()].into_iter().chain(label);
                self.text.number(jobs.family, labels, number);
            }
        }
        self.job += JOBS_AT_A_TIME;
        if self.job >= self.scrape.jobs.len() {
            (self.family, self.job) = (self.family + 1, 0);
        }
    }
}

impl Iterator for ScrapePieces {
    type Item = String;

    fn next(&mut self) -> Option<String> {
        while self.text.len() < PIECE && !self.is_over {
            match CATALOGUE.get(self.family) {
                Some(family) => self.write(family),
                None => {
                    self.text.end();
                    self.is_over = true;
                }
            }
        }
        Some(self.text.take()).filter(|piece| !piece.is_empty())
    }
}
