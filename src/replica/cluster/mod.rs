//! What a replica knows of the others and of the store: heartbeats, which replicas are live, whether their files and
//! clocks differ.

pub(super) mod capacity;
mod clock_skew;
mod config_drift;
pub(super) mod down;
pub(super) mod heartbeat;
mod joining;
pub(super) mod roster;
pub(super) mod store_audit;
pub(super) mod store_health;
pub(super) mod unschedulable;
