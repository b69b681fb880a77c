//! Checks values against the schemas of the API's description: the part of JSON Schema that it uses.

use serde_json::Value;

/// What is wrong with a value by this schema of the document, with the place of each problem.
pub(crate) fn problems(document: &Value, schema: &Value, value: &Value) -> Vec<String> {
    let mut found = Vec::new();
    check(document, schema, value, "", &mut found);
    found
}

fn check(document: &Value, schema: &Value, value: &Value, place: &str, found: &mut Vec<String>) {
    if let Some(path) = schema["$ref"].as_str() {
        let target = document.pointer(path.trim_start_matches('#')).expect("a schema of the document");
        return check(document, target, value, place, found);
    }
    if let Some(choices) = schema["oneOf"].as_array() {
        let fits = choices.iter().filter(|choice| problems(document, choice, value).is_empty()).count();
        if fits != 1 {
            found.push(format!("{place}: fits {fits} of the choices: {value}"));
        }
        return;
    }
    let types: Vec<&str> = match &schema["type"] {
        Value::String(one) => vec![one],
        Value::Array(all) => all.iter().filter_map(Value::as_str).collect(),
        _ => panic!("a schema without a type: {schema}"),
    };
    if !types.iter().any(|kind| is_of(kind, value)) {
        found.push(format!("{place}: is no {types:?}: {value}"));
    }
    if let Some(words) = schema["enum"].as_array()
        && !words.contains(value)
    {
        found.push(format!("{place}: is none of {words:?}: {value}"));
    }
    if let (Some(items), Some(values)) = (schema.get("items"), value.as_array()) {
        for (at, item) in values.iter().enumerate() {
            check(document, items, item, &format!("{place}/{at}"), found);
        }
    }
    if let (Some(properties), Some(fields)) = (schema["properties"].as_object(), value.as_object()) {
        for name in schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str) {
            if !fields.contains_key(name) {
                found.push(format!("{place}: lacks `{name}`"));
            }
        }
        for (name, field) in fields {
            match properties.get(name) {
                Some(schema) => check(document, schema, field, &format!("{place}/{name}"), found),
                None => found.push(format!("{place}: `{name}` is not described")),
            }
        }
    }
}

fn is_of(kind: &str, value: &Value) -> bool {
    match kind {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "integer" => value.is_i64() || value.is_u64(),
        "boolean" => value.is_boolean(),
        "null" => value.is_null(),
        _ => panic!("a type that is not used: {kind}"),
    }
}

#[test]
fn what_does_not_fit_a_schema_is_found() {
    let document = serde_json::json!({ "s": {
        "type": "object", "required": ["a"],
        "properties": { "a": { "type": ["integer", "null"] }, "b": { "type": "array", "items": { "type": "string" } } },
    } });
    let schema = serde_json::json!({ "$ref": "#/s" });
    for (value, count) in [
        (serde_json::json!({ "a": 1, "b": ["x"] }), 0),
        (serde_json::json!({ "a": null }), 0),
        (serde_json::json!({}), 1),
        (serde_json::json!({ "a": "1", "b": [1], "c": 0 }), 3),
        (serde_json::json!([]), 1),
    ] {
        assert_eq!(problems(&document, &schema, &value).len(), count, "{value}");
    }
}
