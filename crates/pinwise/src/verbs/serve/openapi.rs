//! The description of what the server answers, for programs (OpenAPI 3.1).

use axum::http::header;
use axum::response::{IntoResponse, Response};

const DESCRIPTION: &str = include_str!("openapi.json");

/// The description itself.
pub(super) async fn answer() -> Response {
    ([(header::CONTENT_TYPE, "application/json")], DESCRIPTION).into_response()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use serde_json::Value;

    use super::*;
    use crate::verbs::serve::router;

    /// What changes the machine: the routes below `/api/changes`.
    const CHANGING: [&str; 4] =
        ["/api/changes/plan", "/api/changes/apply", "/api/changes/confirm", "/api/changes/undo"];

    fn description() -> Value {
        serde_json::from_str(DESCRIPTION).unwrap()
    }

    /// Every operation with its path and its method.
    fn operations(description: &Value) -> Vec<(&str, &str, &Value)> {
        let paths = description["paths"].as_object().unwrap();
        paths
            .iter()
            .flat_map(|(path, item)| {
                let operations = item.as_object().unwrap();
                operations.iter().map(move |(method, operation)| (path.as_str(), method.as_str(), operation))
            })
            .collect()
    }

    #[test]
    fn it_has_what_every_description_has() {
        let description = description();
        assert!(description["openapi"].as_str().unwrap().starts_with("3.1."));
        assert_eq!(description["info"]["version"], env!("CARGO_PKG_VERSION"));
        assert!(description["info"]["title"].is_string());
        let known = ["openapi", "info", "security", "paths", "components"];
        assert!(description.as_object().unwrap().keys().all(|key| known.contains(&key.as_str())));
    }

    #[test]
    fn it_has_each_route_and_no_other() {
        let description = description();
        let described: BTreeSet<(&str, &str)> =
            operations(&description).into_iter().map(|(path, method, _)| (path, method)).collect();
        let reading = router::paths().map(|path| (path, "get"));
        let routes: BTreeSet<(&str, &str)> = reading.chain(CHANGING.map(|path| (path, "post"))).collect();
        assert_eq!(described, routes);
    }

    #[test]
    fn each_operation_says_what_it_is_and_what_it_answers() {
        let description = description();
        let mut ids = BTreeSet::new();
        for (path, method, operation) in operations(&description) {
            assert!(operation["summary"].is_string(), "{method} {path}");
            assert!(ids.insert(operation["operationId"].as_str().unwrap()), "{method} {path}");
            let answers = operation["responses"].as_object().unwrap();
            assert!(answers.contains_key("200") && answers.contains_key("default"), "{method} {path}");
            let parameters = operation["parameters"].as_array().map_or(&[][..], Vec::as_slice);
            let in_path = parameters.iter().filter(|parameter| parameter["in"] == "path").count();
            assert_eq!(in_path, path.matches('{').count(), "{method} {path}");
        }
    }

    #[test]
    fn each_reference_leads_to_something() {
        fn references<'a>(value: &'a Value, found: &mut Vec<&'a str>) {
            match value {
                Value::Object(members) => members.iter().for_each(|(name, member)| match member.as_str() {
                    Some(text) if name == "$ref" => found.push(text),
                    _ => references(member, found),
                }),
                Value::Array(items) => items.iter().for_each(|item| references(item, found)),
                _ => {}
            }
        }
        let description = description();
        let mut found = Vec::new();
        references(&description, &mut found);
        assert!(!found.is_empty());
        for reference in found {
            let pointer = reference.strip_prefix('#').unwrap();
            assert!(description.pointer(pointer).is_some(), "{reference}");
        }
    }
}
