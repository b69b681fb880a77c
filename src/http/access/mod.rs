//! Who may send which request: the host that it names, the token that it carries, and the rights of the route.

pub(super) mod client_slots;
pub(super) mod cookie;
pub(super) mod gate;
pub(super) mod headers;
pub(super) mod host;
pub(super) mod origin;
pub(super) mod throttle;
pub(super) mod token;
pub(super) mod visitor;
