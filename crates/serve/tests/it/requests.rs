//! Requests are answered, and limits hold.

use crate::support::{serve, serve_with};

#[test]
fn endpoints_answer_under_their_paths() {
    let served = serve();
    let about = served.get("/api/v1/about");
    assert_eq!((about.status, about.header("content-type")), (200, Some("application/json")));
    assert_eq!(about.json()["program"], "fenxi");
    assert_eq!(about.json()["read_only"], false);
    let wrong = served.get("/api/v1/about?nothing=1");
    assert_eq!(wrong.status, 400);
    assert!(wrong.json()["error"].as_str().unwrap().contains("`nothing`"));
    let missing = served.get("/api/v1/nothing");
    assert_eq!((missing.status, missing.json()["error"].as_str()), (404, Some("there is no /api/v1/nothing")));
    assert!(missing.json()["near"].is_null());
    assert_eq!(served.change("DELETE", "/api/v1/about", "").status, 405);
    assert_eq!(serve_with(|s| s.read_only = true).get("/api/v1/about").json()["read_only"], true);
}

#[test]
fn every_page_is_the_shell_and_names_files_that_are_there() {
    let served = serve();
    for page in ["/", "/run?run=a", "/database?run=a", "/compare?a=1&b=2", "/study", "/trend", "/ask", "/live"] {
        let shell = served.get(page);
        assert_eq!((shell.status, shell.header("content-type")), (200, Some("text/html; charset=utf-8")), "{page}");
        let text = shell.text();
        let addresses: Vec<&str> = text.split('"').filter(|part| part.starts_with("/assets/")).collect();
        assert!(addresses.len() >= 2, "{text}");
        for address in addresses {
            let asset = served.get(address);
            assert_eq!(asset.status, 200, "{address}");
            assert_eq!(asset.header("cache-control"), Some("public, max-age=31536000, immutable"));
            let tag = format!("If-None-Match: {}", asset.header("etag").unwrap());
            let again = served.request("GET", address, &[&tag], b"");
            assert_eq!((again.status, again.body.len()), (304, 0));
        }
    }
    assert_eq!(served.get("/assets/app.js").header("cache-control"), Some("no-cache"));
}

#[test]
fn paths_that_people_type_lead_to_the_pages_that_they_mean() {
    let served = serve();
    for (typed, page) in [
        ("/studies", "/study"),
        ("/boards", "/board"),
        ("/sql?q=SELECT+1", "/ask?q=SELECT+1"),
        ("/findings", "/run?run=@1#section-findings"),
        ("/findings?run=a", "/run?run=a#section-findings"),
        ("/runs", "/"),
    ] {
        let sent = served.get(typed);
        assert_eq!((sent.status, sent.header("location")), (303, Some(page)), "{typed}");
    }
    // A path that means nothing leads nowhere, and nothing leads to another server.
    assert_eq!(served.get("/study2").status, 404);
    assert_eq!(served.get("/sql?//example.com").header("location"), Some("/ask?//example.com"));
}

#[test]
fn whose_work_the_pages_are_is_told_under_an_address_that_they_name() {
    let served = serve();
    assert!(served.get("/").text().contains("<link rel=\"license\" href=\"/licenses\">"));
    let notices = served.get("/licenses");
    assert_eq!((notices.status, notices.header("content-type")), (200, Some("text/plain; charset=utf-8")));
    assert!(notices.text().contains("* preact ") && notices.text().contains("Permission is hereby granted"));
}

#[test]
fn answers_are_compressed_for_who_takes_it() {
    let served = serve();
    let plain = served.get("/assets/app.js");
    let packed = served.request("GET", "/assets/app.js", &["Accept-Encoding: gzip"], b"");
    assert_eq!(packed.header("content-encoding"), Some("gzip"));
    assert!(packed.body.len() * 2 < plain.body.len(), "{} of {}", packed.body.len(), plain.body.len());
}

#[test]
fn the_server_tells_how_it_is() {
    let served = serve();
    served.get("/api/v1/about");
    served.get("/nowhere/1");
    served.get("/nowhere/2");
    let text = served.get("/metrics").text();
    for line in [
        "fenxi_http_requests_total{endpoint=\"/api/v1/about\",status=\"200\"} 1",
        "fenxi_http_requests_total{endpoint=\"other\",status=\"404\"} 2",
        "fenxi_http_request_duration_seconds_count{endpoint=\"/api/v1/about\"} 1",
        "fenxi_queue 0",
        "fenxi_live_listeners 0",
    ] {
        assert!(text.lines().any(|l| l == line), "{line} in\n{text}");
    }
}

#[test]
fn a_server_ends_when_it_is_asked_to() {
    let mut served = serve();
    assert_eq!(served.get("/api/v1/about").status, 200);
    served.end();
    assert!(std::net::TcpStream::connect(served.address).is_err());
}
