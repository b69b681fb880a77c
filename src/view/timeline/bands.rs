//! What stands behind the marks: a store that does not answer, a replica that is silent or drains, a job that
//! is paused, ticks that were not read.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use crate::job::{JobName, NodeName, quoted};
use crate::lease::Pausing;
use crate::store::{LIVE_FOR, Peer};
use crate::time::UtcMillis;
use crate::view::text::time_format::span;

use super::facts::{LaneOrder, NewsKind, TimelineFacts, TimelineJob, TimelineNews};
use super::layout::LanePlan;
use super::picture::{Band, BandKind, BandLanes};
use super::window::{PICTURE_WIDTH, TimeWindow};

/// More bands are not drawn, besides those of what was not read; those at the right remain.
const MOST_BANDS: usize = 100;

/// What several replicas tell within this time is one event of the store.
const SAME_EVENT: Duration = Duration::from_secs(10);

/// A time in which a replica did not reach the store.
#[derive(Debug, Clone, Copy)]
struct Outage {
    from: UtcMillis,
    to: UtcMillis,
}

/// Returns the bands of a timeline, from the left to the right.
pub(super) fn bands(
    facts: &TimelineFacts<'_>,
    plan: &LanePlan<'_>,
    order: LaneOrder,
    window: &TimeWindow,
) -> Vec<Band> {
    let mut news: Vec<&TimelineNews> = facts.news.iter().filter(|news| news.at <= window.now()).collect();
    news.sort_by_key(|news| news.at);
    let mut bands = store_away(facts.peers, &news, plan, window);
    bands.extend(store_changed(&news, window));
    match order {
        LaneOrder::ByReplica => {
            bands.extend(facts.peers.iter().flat_map(|peer| of_replica(peer, &news, plan, window)));
            bands.extend(clocks_stepped(&news, plan, window));
        }
        LaneOrder::ByJob => bands.extend(paused(facts, plan, window)),
    }
    bands.sort_by_key(|band| band.x);
    bands.drain(..bands.len().saturating_sub(MOST_BANDS));
    let mut all = unread(facts, plan, order, window);
    all.append(&mut bands);
    all
}

/// Returns the part of a band that the window shows; `None` if it shows none of it.
fn band(
    from: UtcMillis,
    to: UtcMillis,
    lanes: BandLanes,
    kind: BandKind,
    window: &TimeWindow,
    text: impl FnOnce() -> String,
) -> Option<Band> {
    let is_line = matches!(kind, BandKind::StoreChanged | BandKind::ClockStepped);
    let (x, width) = match is_line {
        true => (window.x(from), 0),
        false => {
            let x = window.x(from).min(PICTURE_WIDTH - 1);
            (x, window.x(to).saturating_sub(x).max(1))
        }
    };
    (from <= to && window.shows(from, to)).then(|| Band { lanes, x, width, kind, text: text() })
}

/// Returns when the store was away: for all lanes while at least half of the replicas did not reach it, else
/// for those that did not.
fn store_away(peers: &[Peer], news: &[&TimelineNews], plan: &LanePlan<'_>, window: &TimeWindow) -> Vec<Band> {
    let outages = outages(news, window.now());
    let mut edges: Vec<UtcMillis> =
        outages.values().flatten().flat_map(|outage| [outage.from, outage.to]).collect();
    edges.sort_unstable();
    edges.dedup();
    // Of each stretch without an edge: who was away. `None` stands for all.
    let mut away = BTreeMap::<Option<&NodeName>, Vec<Outage>>::new();
    for stretch in edges.windows(2) {
        let &[from, to] = stretch else { continue };
        let is_away = |all: &&Vec<Outage>| all.iter().any(|outage| outage.from <= from && to <= outage.to);
        let nodes: BTreeSet<&NodeName> =
            outages.iter().filter(|(_, all)| is_away(all)).map(|(node, _)| *node).collect();
        let was_up = |peer: &&Peer| peer.beat.started <= to && peer.at.plus(LIVE_FOR) >= from;
        let voters = peers.iter().filter(was_up).map(|peer| &peer.beat.node).chain(nodes.iter().copied());
        let voters: BTreeSet<&NodeName> = voters.collect();
        let who: Vec<Option<&NodeName>> = match 2 * nodes.len() >= voters.len() && !nodes.is_empty() {
            true => vec![None],
            false => nodes.into_iter().map(Some).collect(),
        };
        for node in who {
            join(away.entry(node).or_default(), Outage { from, to });
        }
    }
    let bands = away.into_iter().flat_map(|(node, all)| all.into_iter().map(move |outage| (node, outage)));
    bands.filter_map(|(node, outage)| away_band(node, outage, plan, window)).collect()
}

/// Adds a stretch to those before it; joins it with the last one if it follows right after that.
fn join(all: &mut Vec<Outage>, outage: Outage) {
    match all.last_mut() {
        Some(last) if last.to == outage.from => last.to = outage.to,
        _ => all.push(outage),
    }
}

fn away_band(
    node: Option<&NodeName>,
    outage: Outage,
    plan: &LanePlan<'_>,
    window: &TimeWindow,
) -> Option<Band> {
    let (lanes, whose) = match node {
        None => (BandLanes::All, String::new()),
        Some(node) => (BandLanes::One(plan.of_replica(node)?), format!("{node}: ")),
    };
    let Outage { from, to } = outage;
    let (since, until) = (window.clock(from), window.clock(to));
    let lasted = match (to >= window.now(), since == until) {
        (true, _) => "to now".to_owned(),
        (false, true) => format!("for {}", span(to.since(from))),
        (false, false) => format!("to {until}"),
    };
    let text = || format!("{whose}store away, {since} {lasted}");
    band(from, to, lanes, BandKind::StoreAway, window, text)
}

/// Returns for each replica when it did not reach the store. The news are in the order of time.
fn outages<'a>(news: &[&'a TimelineNews], now: UtcMillis) -> BTreeMap<&'a NodeName, Vec<Outage>> {
    let mut since = BTreeMap::<&NodeName, UtcMillis>::new();
    let mut outages = BTreeMap::<&NodeName, Vec<Outage>>::new();
    for TimelineNews { node, at, what } in news {
        match what {
            NewsKind::StoreLost => {
                since.entry(node).or_insert(*at);
            }
            NewsKind::StoreReached => {
                if let Some(from) = since.remove(node) {
                    outages.entry(node).or_default().push(Outage { from, to: *at });
                }
            }
            _ => {}
        }
    }
    for (node, from) in since {
        outages.entry(node).or_default().push(Outage { from, to: now });
    }
    outages
}

/// Returns a line for each change of the store. What several replicas tell of it is one line.
fn store_changed(news: &[&TimelineNews], window: &TimeWindow) -> Vec<Band> {
    let mut last = BTreeMap::<&str, UtcMillis>::new();
    let mut lines = Vec::new();
    for news in news {
        let NewsKind::StoreChanged(what) = &news.what else { continue };
        let before = last.insert(what, news.at);
        if before.is_none_or(|before| news.at.since(before) > SAME_EVENT) {
            let text = || format!("{}, {}", quoted(what), window.clock(news.at));
            lines.extend(band(news.at, news.at, BandLanes::All, BandKind::StoreChanged, window, text));
        }
    }
    lines
}

fn clocks_stepped(news: &[&TimelineNews], plan: &LanePlan<'_>, window: &TimeWindow) -> Vec<Band> {
    let stepped = news.iter().filter(|news| news.what == NewsKind::ClockStepped);
    let line = |news: &&TimelineNews| {
        let lane = BandLanes::One(plan.of_replica(&news.node)?);
        let text = || format!("{}: clock stepped, {}", news.node, window.clock(news.at));
        band(news.at, news.at, lane, BandKind::ClockStepped, window, text)
    };
    stepped.filter_map(line).collect()
}

/// Returns the bands of a replica: while it is silent, and while it drains.
fn of_replica(peer: &Peer, news: &[&TimelineNews], plan: &LanePlan<'_>, window: &TimeWindow) -> Vec<Band> {
    let node = &peer.beat.node;
    let Some(lane) = plan.of_replica(node).map(BandLanes::One) else { return Vec::new() };
    let silent_from = peer.at.plus(LIVE_FOR);
    let text = || format!("{node}: no heartbeat since {}", window.clock(peer.at));
    let silent = (silent_from < window.now())
        .then(|| band(silent_from, window.now(), lane, BandKind::Silent, window, text));
    let told = || news.iter().rev().find(|news| news.what == NewsKind::Draining && news.node == *node);
    // That it drains is sure only from its last heartbeat on, unless it told when it began.
    let from = || told().map(|news| news.at).filter(|at| *at >= peer.beat.started).unwrap_or(peer.at);
    let draining = peer.beat.draining.then(|| {
        let until = silent_from.min(window.now());
        band(from(), until, lane, BandKind::Draining, window, || {
            format!("{node}: draining since {}", window.clock(from()))
        })
    });
    silent.into_iter().chain(draining).flatten().collect()
}

/// Returns for each job when it was or will be paused.
fn paused(facts: &TimelineFacts<'_>, plan: &LanePlan<'_>, window: &TimeWindow) -> Vec<Band> {
    let of_job = |job: &TimelineJob<'_>| {
        let Pausing { until, at, by, .. } = job.pausing.as_ref()?;
        let (lane, until) = (plan.of_job(job.name)?, (*until)?);
        let end = match until {
            Pausing::UNTIL_RESUMED => "until it is resumed".to_owned(),
            _ => format!("to {}", window.clock(until)),
        };
        let whose = if by.is_empty() { String::new() } else { format!(" by {}", quoted(by)) };
        band(*at, until, BandLanes::One(lane), BandKind::Paused, window, || {
            format!("`{}`: paused{whose}, {} {end}", job.name, window.clock(*at))
        })
    };
    facts.jobs.iter().filter_map(of_job).collect()
}

/// Returns the stretches at the left whose ticks were not read: of each job, or one for all lanes.
fn unread<'a>(
    facts: &TimelineFacts<'a>,
    plan: &LanePlan<'_>,
    order: LaneOrder,
    window: &TimeWindow,
) -> Vec<Band> {
    let stretch = |lanes: BandLanes, until: UtcMillis, what: String| {
        band(window.from(), until, lanes, BandKind::Unread, window, || {
            format!("{what} before {}: older than the entries that were read", window.clock(until))
        })
    };
    match order {
        LaneOrder::ByJob => {
            let of_job = |job: &TimelineJob<'_>| {
                let (lane, until) = (plan.of_job(job.name)?, unread_until(job, window)?);
                stretch(BandLanes::One(lane), until, format!("`{}`: not shown", job.name))
            };
            facts.jobs.iter().filter_map(of_job).collect()
        }
        LaneOrder::ByReplica => {
            let until = |job: &TimelineJob<'a>| Some((unread_until(job, window)?, job.name));
            let mut jobs: Vec<(UtcMillis, &JobName)> = facts.jobs.iter().filter_map(until).collect();
            jobs.sort_by_key(|(until, name)| (Reverse(*until), *name));
            let Some((until, name)) = jobs.first() else { return Vec::new() };
            let what = match jobs.len() - 1 {
                0 => format!("`{name}`: not shown"),
                1 => format!("`{name}` and another job: not all is shown"),
                others => format!("`{name}` and {others} other jobs: not all is shown"),
            };
            stretch(BandLanes::All, *until, what).into_iter().collect()
        }
    }
}

/// Returns the instant before which ticks of a job are in the window and were not read; `None` if there are none, by its
/// schedule.
fn unread_until(job: &TimelineJob<'_>, window: &TimeWindow) -> Option<UtcMillis> {
    let until = job.read_from?.min(window.now());
    let before = UtcMillis(window.from().0.saturating_sub(1));
    let first = job.spec.and_then(|spec| spec.schedule.next_after(before));
    let is_missing = first.is_none_or(|first| first.instant() < until);
    (until > window.from() && is_missing).then_some(until)
}
