//! `unlock --mark`: sets back marks that lie in the future, where a clock that was ahead has put them.

use crate::cli::args::global::GlobalArgs;
use crate::cli::args::operate::UnlockArgs;
use crate::cli::exit::{Exit, Failure};
use crate::cli::print::output::Screen;
use crate::cli::session::target::ClusterTarget;
use crate::operate::acts::mark::{MarkAhead, MarkLook};
use crate::operate::audit::{ActKind, ActResult};
use crate::time::{SystemClock, UtcMillis};
use crate::view::text::time_format::{from_now, span, utc};

use super::audit::CommandAct;
use super::connect::connect_all;
use super::unlock::ask;

/// What is told of a mark that does not lie in the future.
const NOT_AHEAD: &str = "its mark does not lie in the future";

/// Sets the marks back, once the operator has confirmed it. A mark that does not lie in the future stays as it is.
pub(super) async fn set_back(
    args: &UnlockArgs,
    global: &GlobalArgs,
    screen: &mut Screen<'_>,
) -> Result<Exit, Failure> {
    let (mut ahead, mut is_refused) = (Vec::new(), false);
    let place = ClusterTarget::find(&args.place, global, screen)?;
    for operator in connect_all(&args.jobs, &place, global, screen).await? {
        let (job, act) = (&operator.job.name, CommandAct::of(&operator, ActKind::UnlockMark));
        match MarkLook::of(operator.clone(), &SystemClock).await? {
            MarkLook::Ahead(mark) => ahead.push(mark),
            MarkLook::StoreBehind { mark, now, wall } => {
                is_refused = true;
                let why = store_is_behind(mark, now, wall);
                act.note(ActResult::Refused(&why), screen).await;
                screen.say(&format!("`{job}`: {why}\n  help: set the clocks right (NTP), then try again\n"));
            }
            MarkLook::NotAhead if args.all => {}
            MarkLook::NotAhead => {
                act.note(ActResult::Done(&NOT_AHEAD), screen).await;
                screen.say(&format!("`{job}`: {NOT_AHEAD}\n"));
            }
        }
    }
    if ahead.is_empty() && !is_refused {
        screen.print("no mark lies in the future: nothing was changed\n")?;
        return Ok(Exit::Done);
    }
    if !ahead.is_empty() && !args.force {
        ask(&question(&ahead), screen)?;
    }
    for mark in &ahead {
        let set = mark.set_back(&SystemClock).await;
        CommandAct::of(&mark.operator, ActKind::UnlockMark).note_result(&set, screen).await;
        screen.print(&format!("`{}`: {}\n", mark.operator.job.name, set?))?;
    }
    if is_refused {
        return Err(Failure::failed("not every mark was set back: the store's clock is behind"));
    }
    Ok(Exit::Done)
}

/// Returns why a mark is not set back that lies in the future only by the store's clock.
fn store_is_behind(mark: UtcMillis, now: UtcMillis, wall: UtcMillis) -> String {
    format!(
        "its mark of {} UTC is not set back: it is in the future only by the store's clock, which is {} behind this machine's, \
         so ticks would run twice",
        utc(mark),
        span(wall.since(now)),
    )
}

fn question(ahead: &[MarkAhead]) -> String {
    let line = |MarkAhead { operator, mark, now }: &MarkAhead| {
        format!("`{}`: ticks up to {} UTC ({})\n", operator.job.name, utc(*mark), from_now(*mark, *now))
    };
    let lines: String = ahead.iter().map(line).collect();
    format!(
        "{lines}count as done, because a clock was ahead. Those that already ran would run again at their time.\n\
         set the marks back? [y/N] "
    )
}
