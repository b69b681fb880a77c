//! Waits for the effect of an act, and shows on stderr what is waited for: the cluster or, during an outage,
//! the store.

use tokio::time::{Instant, sleep};

use crate::cli::print::output::Screen;
use crate::operate::OperateError;
use crate::operate::outage::OutageWait;
use crate::operate::wait::{ClusterWait, LOOK_EVERY};

/// Waits for the effect.
pub(super) async fn wait_for<W: ClusterWait>(
    wait: &mut W,
    screen: &mut Screen<'_>,
) -> Result<W::Effect, OperateError> {
    let effect = loop {
        let was_away = wait.outage().is_under_way();
        if !was_away {
            screen.wait(&wait.awaits(Instant::now()));
        }
        match wait.step().await {
            Ok(None) => {}
            Ok(Some(effect)) => break Ok(effect),
            Err(error) => break Err(error),
        }
        show_outage(wait.outage(), was_away, screen);
        sleep(LOOK_EVERY).await;
    };
    screen.end_wait();
    effect
}

/// Calls `ask` until the store answers, and waits out its outages.
pub(super) async fn ask<T, A: Future<Output = Result<T, OperateError>>>(
    screen: &mut Screen<'_>,
    ask: impl Fn() -> A,
) -> Result<T, OperateError> {
    let mut outage = OutageWait::default();
    loop {
        if let Some(answer) = wait_out(&mut outage, ask().await, screen)? {
            return Ok(answer);
        }
        sleep(LOOK_EVERY).await;
    }
}

/// Returns what the store answered, or `None` during an outage, which is shown: the caller may then ask
/// again. Fails if the outage has lasted too long, and on any other failure.
pub(super) fn wait_out<T>(
    outage: &mut OutageWait,
    answer: Result<T, OperateError>,
    screen: &mut Screen<'_>,
) -> Result<Option<T>, OperateError> {
    let was_away = outage.is_under_way();
    let answer = outage.wait_out(answer, Instant::now())?;
    show_outage(outage, was_away, screen);
    Ok(answer)
}

/// Shows an outage, or that it is over.
fn show_outage(outage: &OutageWait, was_away: bool, screen: &mut Screen<'_>) {
    if outage.is_under_way() {
        screen.wait(&outage.to_string());
    } else if was_away {
        screen.end_wait();
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn too_late<T>() -> Result<T, OperateError> {
        Err(OperateError::TooLate { label: "redis://a".into() })
    }

    #[tokio::test(start_paused = true)]
    async fn each_outage_is_told_once() {
        let mut said = Vec::new();
        let mut screen = Screen::plain(std::io::sink(), &mut said);
        let mut outage = OutageWait::default();
        for _ in 0..2 {
            for _ in 0..3 {
                let answer = wait_out(&mut outage, too_late::<u8>(), &mut screen);
                assert_eq!(answer, Ok(None));
                tokio::time::advance(Duration::from_secs(20)).await;
            }
            assert_eq!(wait_out(&mut outage, Ok(1), &mut screen), Ok(Some(1)));
        }
        drop(screen);
        let said = String::from_utf8(said).expect("text");
        assert_eq!(said, "the store does not answer: waiting for it, 1m at most\n".repeat(2));
    }

    /// A wait whose steps are given.
    struct Steps(OutageWait, Vec<Result<Option<u8>, OperateError>>);

    impl ClusterWait for Steps {
        type Effect = u8;
        type Progress = &'static str;

        fn progress(&self, _: Instant) -> &'static str {
            "waiting for a replica"
        }

        fn outage(&self) -> &OutageWait {
            &self.0
        }

        async fn step(&mut self) -> Result<Option<u8>, OperateError> {
            let step = self.1.pop().expect("another step");
            Ok(self.0.wait_out(step, Instant::now())?.flatten())
        }
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_waited_for_is_told_until_the_effect_is_there() {
        let mut steps = vec![Ok(Some(7))];
        for step in [Ok(None), too_late(), Ok(None)] {
            // More than a second of each.
            steps.extend(std::iter::repeat_n(step, 8));
        }
        let mut said = Vec::new();
        let mut screen = Screen::plain(std::io::sink(), &mut said);
        let effect = wait_for(&mut Steps(OutageWait::default(), steps), &mut screen).await;
        assert_eq!(effect, Ok(7));
        drop(screen);
        let said = String::from_utf8(said).expect("text");
        let told = [
            "waiting for a replica",
            "the store does not answer: waiting for it, 1m at most",
            "waiting for a replica",
        ];
        assert_eq!(said.lines().collect::<Vec<_>>(), told);
    }
}
