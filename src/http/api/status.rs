//! `/api/v1/status` and `/api/v1/replicas`: what `status --format json` prints.

use axum::body::Body;
use axum::http::Response;
use serde::Serialize;

use crate::http::board::BoardView;
use crate::http::route::table::AdmittedRequest;
use crate::http::state::HttpState;
use crate::view::status::{ReplicaView, StatusView};
use crate::view::text::time_format::Rfc3339;

use super::parameters::Parameters;
use super::reply::{ApiResult, json, settled, tagged};

/// What `status --format json` prints, and how old it is.
#[derive(Debug, Serialize)]
pub(super) struct StatusAnswer {
    /// The instant up to which all of it is known.
    as_of: Rfc3339,
    /// Whether the store answers; while it does not, all of it stands still.
    store_answers: bool,
    /// Whether the newest tick of each job was read. The first answer for many jobs comes before that.
    complete: bool,
    #[serde(flatten)]
    status: StatusView,
}

/// The replicas, and how old that is.
#[derive(Debug, Serialize)]
struct ReplicasAnswer {
    as_of: Rfc3339,
    replicas: Vec<ReplicaView>,
}

impl StatusAnswer {
    /// Returns the answer for these jobs.
    pub(super) fn of(shared: &HttpState, view: &BoardView) -> Self {
        let status = shared.board.expecting(|expected| StatusView::of(&view.snapshot, expected));
        let (as_of, store_answers) = (Rfc3339(view.as_of), !view.is_store_away);
        Self { as_of, store_answers, complete: view.is_complete, status }
    }
}

/// Answers with the state of the cluster and of every job.
pub(crate) async fn status(shared: &HttpState, call: &AdmittedRequest) -> Response<Body> {
    settled(whole(shared, call).await)
}

async fn whole(shared: &HttpState, call: &AdmittedRequest) -> ApiResult {
    Parameters::of(call, &[])?;
    let mut view = shared.board.view_all().await?;
    let now = view.snapshot.now;
    view.snapshot.jobs.retain(|job| job.is_of_now(now));
    tagged(call, &view.version, || json(&StatusAnswer::of(shared, &view)))
}

/// Answers with every replica that sent a heartbeat within the last hour.
pub(crate) async fn replicas(shared: &HttpState, call: &AdmittedRequest) -> Response<Body> {
    settled(all_replicas(shared, call).await)
}

async fn all_replicas(shared: &HttpState, call: &AdmittedRequest) -> ApiResult {
    Parameters::of(call, &[])?;
    // Whether the last runs of a silent replica are recorded is read from their jobs.
    let running = shared.board.listed_jobs();
    let view = shared.board.view(&running).await?;
    tagged(call, &view.version, || {
        let status = shared.board.expecting(|expected| StatusView::of(&view.snapshot, expected));
        json(&ReplicasAnswer { as_of: Rfc3339(view.as_of), replicas: status.replicas })
    })
}
