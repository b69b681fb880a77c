//! `unlock --mark`: sets back marks that lie in the future, where a clock that was ahead has put them.

use crate::cli::args::global::GlobalArgs;
use crate::cli::args::operate::UnlockArgs;
use crate::cli::exit::{Exit, Failure};
use crate::cli::print::output::Screen;
use crate::cli::session::target::ClusterTarget;
use crate::lease::{Act, Answer};
use crate::time::{Clock, SystemClock, UtcMillis};
use crate::view::time_format::{from_now, span, utc};

use super::client::Operator;
use super::unlock::ask;

/// Sets the marks back, once the operator has confirmed it. A mark that does not lie in the future stays as it is.
pub(super) async fn set_back(
    args: &UnlockArgs,
    global: &GlobalArgs,
    screen: &mut Screen<'_>,
) -> Result<Exit, Failure> {
    let (mut ahead, mut is_refused) = (Vec::new(), false);
    let place = ClusterTarget::find(&args.place, global, screen)?;
    for operator in Operator::connect_all(&args.jobs, &place, global, screen).await? {
        let (now, wall) = (operator.pulse().await?.now, SystemClock.utc());
        let record = operator.known_record().await?.filter(|record| record.lies_ahead(now));
        match record {
            Some(record) if record.lies_ahead(wall) => ahead.push((operator, record.mark, now)),
            Some(record) => {
                is_refused = true;
                screen.say(&store_is_behind(&operator, record.mark, now, wall));
            }
            None if args.all => {}
            None => screen.say(&format!("`{}`: its mark does not lie in the future\n", operator.job.name)),
        }
    }
    if ahead.is_empty() && !is_refused {
        screen.print("no mark lies in the future: nothing was changed\n")?;
        return Ok(Exit::Done);
    }
    if !ahead.is_empty() && !args.force {
        ask(&question(&ahead), screen)?;
    }
    for (operator, mark, _) in &ahead {
        let said = match operator.act(&Act::SetMark { wall: SystemClock.utc() }).await? {
            Answer::Noted => format!("its mark of {} UTC is set back to now", utc(*mark)),
            _ => "its mark no longer lies in the future".to_owned(),
        };
        screen.print(&format!("`{}`: {said}\n", operator.job.name))?;
    }
    if is_refused {
        return Err(Failure::failed("not every mark was set back: the store's clock is behind"));
    }
    Ok(Exit::Done)
}

/// Returns the message for a mark that lies in the future only by the store's clock.
fn store_is_behind(operator: &Operator, mark: UtcMillis, now: UtcMillis, wall: UtcMillis) -> String {
    format!(
        "`{}`: its mark of {} UTC is not set back: it is in the future only by the store's clock, which is {} behind this machine's, \
         so ticks would run twice\n  help: set the clocks right (NTP), then try again\n",
        operator.job.name,
        utc(mark),
        span(wall.since(now)),
    )
}

fn question(ahead: &[(Operator, UtcMillis, UtcMillis)]) -> String {
    let line = |(operator, mark, now): &(Operator, UtcMillis, UtcMillis)| {
        format!("`{}`: ticks up to {} UTC ({})\n", operator.job.name, utc(*mark), from_now(*mark, *now))
    };
    let lines: String = ahead.iter().map(line).collect();
    format!(
        "{lines}count as done, because a clock was ahead. Those that already ran would run again at their time.\n\
         set the marks back? [y/N] "
    )
}
