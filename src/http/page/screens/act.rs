//! Acts by forms. A form that was filled in badly, and an act that was refused, are answered with the form on a page of its
//! own; what was done is told on the page of the job.

use std::sync::Arc;

use askama::Template;
use axum::body::Body;
use axum::http::{HeaderValue, Response, StatusCode, header};

use crate::http::acts::{ActFields, AdmittedAct, FieldProblem, WantedAct, act_of, perform, silent_lock};
use crate::http::api::known;
use crate::http::board::Unread;
use crate::http::page::answer::{error_page, html, plain_page, see_other};
use crate::http::page::job::{ActForm, FormGrounds};
use crate::http::page::shell::{HtmlSentence, PageTitle, rendered};
use crate::http::route::problem::ProblemDetails;
use crate::http::route::table::AdmittedRequest;
use crate::http::state::HttpState;
use crate::job::{NodeName, RunId, TokenName};
use crate::operate::audit::ActKind;
use crate::view::job::KnownJob;
use crate::view::text::time_format::span;

use super::context::PageContext;
use super::screen::{job_of, no_such_page};

#[derive(Template)]
#[template(path = "act-page.html")]
struct ActPage<'a> {
    base: &'a str,
    name: &'a str,
    title: &'static str,
    wrong: &'a str,
    help: &'a str,
    about: &'a [String],
    form: Option<ActForm>,
}

/// What the page of an act is about.
struct ActSubject {
    act: ActKind,
    job: KnownJob,
    context: PageContext,
}

/// What the page of an act shows.
#[derive(Default)]
struct ActSight {
    status: StatusCode,
    wrong: String,
    help: String,
    /// What will happen.
    about: Vec<String>,
    form: Option<ActForm>,
    retry_after: Option<u64>,
}

/// Answers with the form of an act, and with what will happen.
pub(super) async fn act_form(shared: Arc<HttpState>, call: AdmittedRequest) -> Response<Body> {
    let subject = match ActSubject::of(&shared, &call).await {
        Ok(subject) => subject,
        Err(problem) => return error_page(problem, &shared.options.borrow(), &call.parts.headers),
    };
    let sight = match subject.context.read_only() {
        Some(why) => ActSight { about: vec![why.to_owned()], ..ActSight::default() },
        None => subject.sight(&shared, call.visitor.name()).await,
    };
    subject.page(&sight)
}

/// Does what a form wants of a job.
pub(super) async fn act(shared: Arc<HttpState>, call: AdmittedRequest) -> Response<Body> {
    let subject = ActSubject::of(&shared, &call).await;
    let (subject, mut fields) = match (subject, ActFields::of_form(&call).await) {
        (Ok(subject), Ok(fields)) => (subject, fields),
        (Err(problem), _) | (_, Err(problem)) => {
            return error_page(problem, &shared.options.borrow(), &call.parts.headers);
        }
    };
    let order = match subject.act {
        ActKind::Trigger => fields.take("order").and_then(|order| order.parse().ok()),
        _ => None,
    };
    let order = order.unwrap_or_else(RunId::new);
    let grounds =
        FormGrounds { zone: subject.zone(), order, run: fields.text("run").and_then(|run| run.parse().ok()) };
    let wanted = match WantedAct::read(subject.act, &fields, &subject.job, order, shared.store_now()) {
        Ok(wanted) => wanted,
        Err(problem) => return subject.page(&badly_filled(subject.act, &grounds, &fields, &problem)),
    };
    let Some(wanted) = AdmittedAct::of(&call, subject.job.clone(), wanted) else {
        let problem = ProblemDetails::new(StatusCode::UNAUTHORIZED, "token needed");
        return error_page(problem, subject.context.options(), &call.parts.headers);
    };
    match perform(&shared, wanted).await {
        Ok(_) => see_other(&format!("{}/jobs/{}#acts", subject.context.base(), subject.job.name)),
        Err(problem) => {
            let is_asked_again = matches!(subject.act, ActKind::Trigger | ActKind::Pause);
            // It is the same order: where the store has it although its reply was lost, it runs once.
            let form = is_asked_again.then(|| ActForm::whole(subject.act, &grounds).filled(&fields, None));
            subject.page(&ActSight { form, ..ActSight::refused(problem) })
        }
    }
}

/// Returns what the page shows of a form with something wrong in it.
fn badly_filled(
    act: ActKind,
    grounds: &FormGrounds<'_>,
    fields: &ActFields,
    problem: &FieldProblem,
) -> ActSight {
    let form = ActForm::whole(act, grounds).filled(fields, Some(problem));
    let is_shown = form.fields.iter().any(|field| !field.wrong.is_empty());
    let (wrong, help) = match is_shown {
        true => Default::default(),
        false => (problem.what.clone(), problem.help.clone()),
    };
    ActSight { status: StatusCode::BAD_REQUEST, wrong, help, form: Some(form), ..ActSight::default() }
}

impl ActSight {
    /// Returns what the page shows of an act that was refused.
    fn refused(problem: ProblemDetails) -> Self {
        let ProblemDetails { status, title, detail, help, retry_after } = problem;
        let wrong = detail.unwrap_or_else(|| title.to_owned());
        Self { status, wrong, help: help.unwrap_or_default(), retry_after, ..Self::default() }
    }
}

impl ActSubject {
    /// Returns what a request is about.
    async fn of(shared: &HttpState, call: &AdmittedRequest) -> Result<Self, ProblemDetails> {
        let (act, job) = act_of(call.route).zip(job_of(call)).ok_or_else(no_such_page)?;
        let (job, context) = (known(shared, &job).await?, PageContext::of(shared, call));
        Ok(Self { act, job, context })
    }

    /// Returns the zone of the job's schedule.
    fn zone(&self) -> &str {
        self.job.definition.spec().map_or("UTC", |spec| spec.schedule.zone_name())
    }

    fn page(&self, sight: &ActSight) -> Response<Body> {
        let title = match self.act {
            ActKind::Trigger => "Run once:",
            ActKind::Pause => "Pause",
            ActKind::Resume => "Resume",
            ActKind::Kill => "Stop the run of",
            ActKind::Unlock | ActKind::UnlockMark => "Release the lock of",
        };
        let (context, name) = (&self.context, self.job.name.as_str());
        let ActSight { wrong, help, about, .. } = sight;
        let body =
            ActPage { base: context.base(), name, title, wrong, help, about, form: sight.form.clone() };
        let page_title = PageTitle { text: name, nav: "" };
        let page = plain_page(context.options(), context.base(), page_title, rendered(&body));
        let mut response = html(sight.status, page);
        if let Some(seconds) = sight.retry_after {
            response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        response
    }

    /// Returns what the page shows to somebody who may act.
    async fn sight(&self, shared: &HttpState, by: Option<&TokenName>) -> ActSight {
        let record = match shared.board.view_one(&self.job.name).await {
            Ok(view) if view.is_store_away => return ActSight::refused(Unread::Store.into()),
            Ok(view) => view.snapshot.jobs.into_iter().next().and_then(|job| job.record),
            Err(unread) => return ActSight::refused(unread.into()),
        };
        let order = self.context.next_order(&self.job.name, record.as_ref());
        let running = record.as_ref().filter(|record| record.is_running());
        let mut grounds =
            FormGrounds { zone: self.zone(), order, run: running.and_then(|record| record.run) };
        let about = match self.act {
            ActKind::Trigger => {
                "It runs once, on the replica that takes it first, under the job's lock. Scheduled ticks are not affected."
                    .to_owned()
            }
            ActKind::Pause => {
                "Its ticks are skipped on every replica. A run that goes on is not stopped.".to_owned()
            }
            ActKind::Resume => "Its ticks run again.".to_owned(),
            ActKind::Kill => match grounds.run {
                Some(run) => self.kill_in_words(run, running.and_then(|record| record.owner.as_ref())),
                None => return ActSight { about: vec!["It is not running.".to_owned()], ..ActSight::default() },
            },
            ActKind::Unlock | ActKind::UnlockMark => {
                let Some(by) = by.cloned() else { return ActSight::refused(no_such_page()) };
                match silent_lock(shared, self.job.clone(), by).await {
                    Ok(lock) => {
                        grounds.run = lock.run();
                        lock.risk()
                    }
                    Err(problem) => return ActSight { status: StatusCode::OK, ..ActSight::refused(problem) },
                }
            }
        };
        let about = about.lines().map(str::to_owned).collect();
        let form = Some(ActForm::whole(self.act, &grounds));
        ActSight { about, form, ..ActSight::default() }
    }

    /// Says what stopping a run does.
    fn kill_in_words(&self, run: RunId, owner: Option<&NodeName>) -> String {
        let on = owner.map_or_else(String::new, |node| format!(" on {node}"));
        let grace = self
            .job
            .definition
            .spec()
            .map_or_else(|| "its kill_grace".to_owned(), |spec| span(spec.kill_grace));
        format!("Run {run}{on} gets SIGTERM, and SIGKILL after {grace}. It is recorded as killed.")
    }
}
