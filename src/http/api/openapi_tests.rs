//! The description of the API and the routes agree.

use std::collections::BTreeSet;

use axum::http::Method;
use serde_json::Value;

use crate::http::route::table::{RouteAccess, routes};

use super::reply::OPENAPI;

fn description() -> Value {
    serde_json::from_str(OPENAPI).expect("JSON")
}

#[test]
fn every_route_for_programs_is_described_and_nothing_else_is() {
    let is_for_programs =
        |path: &str| path.starts_with("/api/") || ["/healthz", "/readyz", "/metrics"].contains(&path);
    let served: BTreeSet<(String, String)> = routes()
        .iter()
        .filter(|route| is_for_programs(route.path))
        .map(|route| (route.path.to_owned(), route.method.as_str().to_lowercase()))
        .collect();
    let document = description();
    let paths = document["paths"].as_object().expect("paths");
    let described: BTreeSet<(String, String)> = paths
        .iter()
        .flat_map(|(path, calls)| {
            let methods = calls.as_object().expect("calls").keys().cloned();
            methods.map(|method| (path.clone(), method))
        })
        .collect();
    assert_eq!(served, described);
}

#[test]
fn what_is_open_to_everybody_is_described_so() {
    let document = description();
    for route in routes() {
        let call = &document["paths"][route.path][route.method.as_str().to_lowercase()];
        if call.is_object() {
            let is_open = call["security"].as_array().is_some_and(Vec::is_empty);
            let needs_no_token = matches!(route.access, RouteAccess::Open | RouteAccess::Login);
            assert_eq!(is_open, needs_no_token, "{}", route.path);
        }
    }
}

#[test]
fn every_variable_part_of_a_path_is_a_parameter() {
    for (path, calls) in description()["paths"].as_object().expect("paths") {
        let parts: BTreeSet<&str> =
            path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}')).collect();
        for call in calls.as_object().expect("calls").values() {
            let parameters = call["parameters"].as_array().cloned().unwrap_or_default();
            let named = parameters.iter().filter(|parameter| parameter["in"] == "path");
            let named: BTreeSet<&str> = named.filter_map(|parameter| parameter["name"].as_str()).collect();
            assert_eq!(parts, named, "{path}");
        }
    }
}

#[test]
fn no_body_of_a_request_holds_what_a_job_runs_or_when() {
    let document = description();
    let mut bodies = 0;
    for (path, calls) in document["paths"].as_object().expect("paths") {
        for call in calls.as_object().expect("calls").values().filter(|call| call["requestBody"].is_object())
        {
            bodies += 1;
            let schema = &call["requestBody"]["content"]["application/json"]["schema"];
            assert_eq!(schema["additionalProperties"], false, "{path}");
            let fields: BTreeSet<&str> =
                schema["properties"].as_object().expect("properties").keys().map(String::as_str).collect();
            let known = BTreeSet::from(["tick", "for", "reason", "run", "confirm"]);
            assert!(fields.is_subset(&known), "{path}: {fields:?}");
        }
    }
    assert_eq!(bodies, 5);
}

#[test]
fn what_changes_something_needs_the_right_to_act_and_is_no_get() {
    for route in routes() {
        let is_login = ["/login", "/logout"].contains(&route.path);
        let changes = route.method != Method::GET && !is_login;
        assert_eq!(changes, route.access == RouteAccess::Act, "{} {}", route.method, route.path);
    }
}
