//! Where everything of a timeline is drawn.

use std::fmt;

use askama::filters::HtmlSafe;

use crate::http::page::shell::run_link;
use crate::view::timeline::{
    Arrow, ArrowPoint, AxisMark, Band, BandKind, BandLanes, BarEnd, Lane, LaneKind, MarkShape, PICTURE_WIDTH,
    Picture, TimelineMark,
};

use super::compact::{CompactStrip, strips};

/// The height of a row of marks.
const ROW: usize = 18;

/// What a lane has above and below its rows, together.
const EDGES: usize = 6;

/// The height of a bar.
pub(super) const BAR: usize = 12;

/// What is below the lanes: the times.
const AXIS: usize = 20;

/// So many bytes a mark takes without its words.
const BYTES_OF_MARK: usize = 130;

/// So much room a label needs.
const LABEL: u16 = 70;

/// So much room each letter of the words beside a mark needs.
const LETTER_BESIDE: u16 = 6;

/// So much room letters need above the line on which they stand.
const LETTERS: usize = 12;

/// Nearer to an edge than this, a text begins or ends at its place instead of being around it.
const EDGE: u16 = 25;

/// A place along the time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Percent(pub(super) u16);

impl fmt::Display for Percent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let hundredths = u32::from(self.0) * 10_000 / u32::from(PICTURE_WIDTH);
        match (hundredths / 100, hundredths % 100) {
            (whole, 0) => write!(f, "{whole}%"),
            (whole, part) if part % 10 == 0 => write!(f, "{whole}.{}%", part / 10),
            (whole, part) => write!(f, "{whole}.{part:02}%"),
        }
    }
}

// It writes digits, a point and a percent sign.
impl HtmlSafe for Percent {}

/// The label of a lane.
#[derive(Debug)]
pub(crate) struct LaneLabel {
    pub(crate) name: String,
    /// The path of its page, below the base of links.
    pub(crate) link: Option<String>,
    pub(crate) rows: u8,
    pub(crate) note: String,
    pub(crate) summary: String,
}

/// A mark that is drawn by itself.
#[derive(Debug)]
pub(crate) struct DrawnMark {
    pub(crate) link: String,
    pub(crate) title: String,
    /// The class of its shape.
    pub(crate) class: &'static str,
    pub(crate) x: Percent,
    /// `None` for a mark without a width.
    pub(crate) width: Option<Percent>,
    pub(crate) y: usize,
    /// The sign at its end, or the mark itself if it has no width, and where it is.
    pub(crate) sign: Option<(&'static str, Percent)>,
    /// Where its tick was, if it began late.
    pub(crate) tick: Option<Percent>,
    /// Whether it stands for several ticks that did not run: its width is a thin line.
    pub(crate) is_bracket: bool,
    /// The words beside it, and where they begin.
    pub(crate) text: Option<(String, Percent)>,
}

/// What stands behind the marks.
#[derive(Debug)]
pub(crate) struct DrawnBand {
    pub(crate) class: &'static str,
    /// A word in it; empty if its look says enough.
    pub(crate) label: &'static str,
    pub(crate) title: String,
    pub(crate) x: Percent,
    /// `None` for a line.
    pub(crate) width: Option<Percent>,
    pub(crate) y: usize,
    pub(crate) height: usize,
}

/// An arrow from where a run was cut short to where its job runs next.
#[derive(Debug)]
pub(crate) struct DrawnArrow {
    pub(crate) title: String,
    /// The words beside it; empty within a lane, where they would lie upon the runs.
    pub(crate) text: String,
    /// Where their letters stand.
    pub(crate) text_y: usize,
    pub(crate) from: (Percent, usize),
    pub(crate) to: (Percent, usize),
}

/// A time below the lanes.
#[derive(Debug)]
pub(crate) struct DrawnTime {
    pub(crate) x: Percent,
    /// Where the text is beside its place: `start`, `middle`, `end`.
    pub(crate) anchor: &'static str,
    pub(crate) text: String,
}

/// A timeline, ready to be written.
#[derive(Debug)]
pub(crate) struct TimelineDrawing {
    pub(crate) labels: Vec<LaneLabel>,
    /// The lines between the lanes.
    pub(crate) borders: Vec<usize>,
    pub(crate) bands: Vec<DrawnBand>,
    pub(crate) strips: Vec<CompactStrip>,
    pub(crate) marks: Vec<DrawnMark>,
    pub(crate) arrows: Vec<DrawnArrow>,
    pub(crate) times: Vec<DrawnTime>,
    pub(crate) now: Percent,
    /// The height of the lanes, and of everything.
    pub(crate) lanes_height: usize,
    pub(crate) height: usize,
    pub(crate) zone: String,
    /// What a reader should know of, in words.
    pub(crate) words: Vec<String>,
}

/// Where the lanes begin.
#[derive(Debug)]
pub(super) struct LaneTops(Vec<usize>);

impl LaneTops {
    fn of(lanes: &[Lane]) -> Self {
        let mut tops = vec![0];
        for lane in lanes {
            tops.push(tops.last().copied().unwrap_or_default() + EDGES + usize::from(lane.rows) * ROW);
        }
        Self(tops)
    }

    /// Returns the height of all lanes.
    fn height(&self) -> usize {
        self.0.last().copied().unwrap_or_default()
    }

    fn top(&self, lane: usize) -> usize {
        self.0.get(lane).copied().unwrap_or_default()
    }

    /// Returns the upper edge of the bars in a row of a lane.
    pub(super) fn bar(&self, lane: usize, row: u8) -> usize {
        self.top(lane) + EDGES / 2 + usize::from(row) * ROW + (ROW - BAR) / 2
    }
}

impl TimelineDrawing {
    /// Returns the drawing of a picture. Its marks are drawn one by one, the ones that matter first, until they take
    /// about this many bytes; the rest is drawn without links and titles.
    pub(crate) fn of(picture: &Picture, budget: usize) -> Self {
        let tops = LaneTops::of(&picture.lanes);
        let mut order: Vec<&TimelineMark> = picture.marks.iter().collect();
        order.sort_by_key(|mark| rank(mark));
        let mut left = budget;
        let fits = |mark: &&&TimelineMark| {
            let bytes = BYTES_OF_MARK + mark.title.len() + mark.job.as_str().len();
            let has_room = left >= bytes;
            left = left.saturating_sub(bytes);
            has_room
        };
        let single = order.iter().take_while(fits).count();
        let (single, packed) = order.split_at(single);
        let mut marks: Vec<DrawnMark> = single.iter().map(|mark| drawn(mark, picture, &tops)).collect();
        marks.sort_by_key(|mark| (mark.y, mark.x));
        Self {
            labels: picture.lanes.iter().map(label).collect(),
            borders: (1..=picture.lanes.len()).map(|lane| tops.top(lane)).collect(),
            bands: picture.bands.iter().map(|band| drawn_band(band, &picture.lanes, &tops)).collect(),
            strips: strips(packed, &picture.lanes, &tops),
            marks,
            arrows: picture.arrows.iter().map(|arrow| drawn_arrow(arrow, &tops)).collect(),
            times: picture.axis.marks.iter().map(time).collect(),
            now: Percent(picture.axis.now_x),
            lanes_height: tops.height(),
            height: tops.height() + AXIS,
            zone: picture.axis.zone.clone(),
            words: words(picture),
        }
    }
}

/// Returns how much a mark matters: what did not go well first.
fn rank(mark: &TimelineMark) -> u8 {
    match &mark.shape {
        MarkShape::Run { end: BarEnd::Plain, .. } => 2,
        MarkShape::Coming { .. } => 3,
        MarkShape::Run { end: BarEnd::Open, .. } => 1,
        MarkShape::Run { .. } | MarkShape::DidNotRun { .. } | MarkShape::Reserved => 0,
    }
}

/// Returns the class of a mark's shape.
pub(super) fn class(mark: &TimelineMark) -> &'static str {
    match &mark.shape {
        MarkShape::Run { end, .. } => end.as_str(),
        MarkShape::DidNotRun { outcome, .. } => outcome.as_str(),
        MarkShape::Reserved => "reserved",
        MarkShape::Coming { .. } => "coming",
    }
}

fn label(lane: &Lane) -> LaneLabel {
    let link = match &lane.kind {
        LaneKind::Job(job) => Some(format!("/jobs/{job}")),
        LaneKind::Replica(_) | LaneKind::OtherReplicas => Some("/replicas".to_owned()),
        LaneKind::DidNotRun => None,
    };
    LaneLabel {
        name: lane.name.clone(),
        link,
        rows: lane.rows,
        note: lane.note.clone().unwrap_or_default(),
        summary: lane.summary.clone(),
    }
}

fn drawn(mark: &TimelineMark, picture: &Picture, tops: &LaneTops) -> DrawnMark {
    let end = mark.x + mark.width;
    let (sign, tick, text) = match &mark.shape {
        MarkShape::Run { end: BarEnd::Plain, tick_x } => (None, *tick_x, None),
        MarkShape::Run { end: shape, tick_x } => (Some((shape.as_str(), Percent(end))), *tick_x, None),
        MarkShape::DidNotRun { outcome, folded } => {
            let letters = folded.iter().flat_map(|text| text.chars()).count();
            let room =
                u16::try_from(letters).map_or(u16::MAX, |letters| letters.saturating_mul(LETTER_BESIDE));
            let beside = end..end.saturating_add(room);
            let is_in_the_way = |other: &TimelineMark| {
                (other.lane, other.row) == (mark.lane, mark.row)
                    && other.x > mark.x
                    && beside.contains(&other.x)
            };
            let has_room = beside.end < PICTURE_WIDTH && !picture.marks.iter().any(is_in_the_way);
            let text = folded.clone().filter(|_| has_room).map(|text| (text, Percent(end)));
            (Some((outcome.as_str(), Percent(mark.x))), None, text)
        }
        MarkShape::Reserved | MarkShape::Coming { .. } => (None, None, None),
    };
    DrawnMark {
        link: mark.run.map_or_else(|| format!("/jobs/{}", mark.job), |run| run_link(&mark.job, run)),
        title: mark.title.clone(),
        class: class(mark),
        x: Percent(mark.x),
        width: (mark.width > 0).then_some(Percent(mark.width)),
        y: tops.bar(mark.lane, mark.row),
        sign,
        tick: tick.map(Percent),
        is_bracket: matches!(mark.shape, MarkShape::DidNotRun { .. }),
        text,
    }
}

fn drawn_band(band: &Band, lanes: &[Lane], tops: &LaneTops) -> DrawnBand {
    let (first, last) = match band.lanes {
        BandLanes::All => (0, lanes.len()),
        BandLanes::One(lane) => (lane, lane + 1),
    };
    DrawnBand {
        class: match band.kind {
            BandKind::StoreAway => "away",
            BandKind::StoreChanged | BandKind::ClockStepped => "changed",
            BandKind::Paused => "paused",
            BandKind::Silent => "silent",
            BandKind::Draining => "draining",
            BandKind::Unread => "unread",
        },
        label: match band.kind {
            _ if band.width < LABEL => "",
            BandKind::StoreAway if band.lanes == BandLanes::All => "store away",
            BandKind::Unread => "not read",
            _ => "",
        },
        title: band.text.clone(),
        x: Percent(band.x),
        width: (band.width > 0).then_some(Percent(band.width)),
        y: tops.top(first),
        height: tops.top(last).saturating_sub(tops.top(first)),
    }
}

fn drawn_arrow(arrow: &Arrow, tops: &LaneTops) -> DrawnArrow {
    let place = |point: ArrowPoint| (Percent(point.x), tops.bar(point.lane, point.row) + BAR / 2);
    let from = place(arrow.from);
    DrawnArrow {
        title: arrow.title.clone(),
        text: if arrow.from.lane == arrow.to.lane { String::new() } else { arrow.text.clone() },
        text_y: from.1.saturating_sub(2).max(LETTERS),
        from,
        to: place(arrow.to),
    }
}

fn time(mark: &AxisMark) -> DrawnTime {
    let anchor = match mark.x {
        0..EDGE => "start",
        x if x > PICTURE_WIDTH - EDGE => "end",
        _ => "middle",
    };
    DrawnTime { x: Percent(mark.x), anchor, text: mark.text.clone() }
}

/// At most so many sentences are written below.
const MOST_WORDS: usize = 40;

/// Returns what happened besides runs that succeeded, in sentences.
fn words(picture: &Picture) -> Vec<String> {
    let marks = picture.marks.iter().filter(|mark| rank(mark) < 2).map(|mark| &mark.title);
    let bands = picture.bands.iter().map(|band| &band.text);
    let arrows = picture.arrows.iter().map(|arrow| &arrow.title);
    bands.chain(arrows).chain(marks).take(MOST_WORDS).cloned().collect()
}
