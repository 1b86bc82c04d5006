//! The description of the API lists what there is.

use std::path::Path;

use serde_json::Value;

use crate::support::serve;

#[test]
fn the_committed_description_is_what_the_program_gives() {
    let path = Path::new("../../docs/reference/openapi.json");
    let committed = fs_err::read_to_string(path).unwrap();
    assert!(
        committed == fenxi_serve::openapi(),
        "stale: `fenxi serve --openapi > docs/reference/openapi.json`, then `make reference`, and commit both"
    );
}

#[test]
fn every_path_of_the_description_is_there() {
    let served = serve();
    let description: Value = served.get("/api/v1/openapi.json").json();
    let paths = description["paths"].as_object().unwrap();
    assert!(paths.len() > 10);
    for (path, methods) in paths {
        let target = path.replace("{id}", "nothing").replace("{name}", "nothing");
        for (method, described) in methods.as_object().unwrap() {
            if target == "/api/v1/live" {
                continue;
            }
            let answer = served.change(&method.to_uppercase(), &target, "{}");
            let status = answer.status.to_string();
            assert!(described["responses"].as_object().unwrap().contains_key(&status), "{method} {path}: {status}");
            assert!(!answer.text().starts_with("{\"error\":\"there is no /api"), "{method} {path}");
            for parameter in described["parameters"].as_array().unwrap() {
                assert!(parameter["description"].as_str().unwrap().len() > 3, "{method} {path}: {parameter}");
            }
        }
    }
}
