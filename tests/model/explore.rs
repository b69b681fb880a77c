//! The checker's view of a setting: its worlds, what can happen in them, and what must always hold.

use std::time::{Duration, Instant};

use stateright::{Checker, HasDiscoveries, Model, Property};

use crate::action::Action;
use crate::promise;
use crate::setting::Setting;
use crate::trace::trace;
use crate::world::World;

/// An exploration that is not over by then is none.
const LIMIT: Duration = Duration::from_secs(3_600);

impl Model for Setting {
    type State = World;
    type Action = Action;

    fn init_states(&self) -> Vec<World> {
        vec![World::new(self)]
    }

    fn actions(&self, world: &World, actions: &mut Vec<Action>) {
        world.possible(self, actions);
    }

    fn next_state(&self, world: &World, action: Action) -> Option<World> {
        let mut next = world.clone();
        next.apply(self, action);
        (next != *world).then_some(next)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        let mut all = vec![
            Property::always(promise::ONE_RUN, promise::one_run),
            Property::always(promise::OWN_RUN, promise::own_run),
            Property::always(promise::ONE_RUN_OF_ONE, promise::one_run_of_one),
            Property::always(promise::ONCE, promise::once),
            Property::always(promise::FENCES, promise::fences),
            Property::always(promise::SKIPS, promise::skips),
            Property::always(promise::RECOVERS, promise::recovers),
        ];
        all.retain(|property| self.promised.is_empty() || self.promised.contains(&property.name));
        all
    }
}

/// Explores a setting to its end, and finds no history that breaks a promise.
pub(crate) fn holds(what: &str, setting: Setting) {
    let began = now();
    let explored = setting.checker().timeout(LIMIT).spawn_dfs().join();
    println!("{what}: {} worlds in {:.1?}", explored.unique_state_count(), began.elapsed());
    if let Some((promise, path)) = explored.discoveries().into_iter().next() {
        panic!("{what}: not `{promise}`\n{}", trace(path));
    }
    assert!(explored.is_done(), "{what}: not all was explored");
}

/// Explores a setting, nearest worlds first, until it finds a history that breaks the promise.
pub(crate) fn finds(what: &str, promise: &'static str, setting: Setting) {
    let began = now();
    let only = HasDiscoveries::AnyOf([promise].into());
    let explored = setting.checker().timeout(LIMIT).finish_when(only).spawn_bfs().join();
    let worlds = explored.unique_state_count();
    let path = explored.discovery(promise).unwrap_or_else(|| panic!("{what}: nothing in {worlds} worlds"));
    println!("{what}: not `{promise}`, {worlds} worlds in {:.1?}\n{}", began.elapsed(), trace(path));
}

#[expect(clippy::disallowed_methods, reason = "how long an exploration took is only said")]
fn now() -> Instant {
    Instant::now()
}
