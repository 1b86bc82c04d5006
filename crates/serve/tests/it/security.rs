//! One test for each promise of `docs/serving.md`.

use fenxi_serve::{ServeError, Server};
use fenxi_store::Store;

use crate::support::{TOKEN, serve, serve_with, settings, tokens};

#[test]
fn an_address_that_others_reach_is_refused_without_a_token() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open_or_create(dir.path().join("store")).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    for address in ["0.0.0.0:0", "[::]:0", "192.0.2.1:0", "[::ffff:192.0.2.1]:0"] {
        let mut settings = settings(&store, std::sync::Arc::new(|_: &str| ()));
        settings.listen.push(address.parse().unwrap());
        let refused = runtime.block_on(Server::bind(settings));
        assert!(matches!(refused, Err(ServeError::Open(_))), "{address}");
    }
    let mut with_token = settings(&store, std::sync::Arc::new(|_: &str| ()));
    with_token.listen = vec!["0.0.0.0:0".parse().unwrap()];
    with_token.access = tokens();
    assert!(runtime.block_on(Server::bind(with_token)).is_ok());
}

#[test]
fn a_name_that_was_made_to_point_here_is_refused() {
    let served = serve();
    let with_host = |host: &str| served.request("GET", "/api/v1/about", &[&format!("Host: {host}")], b"").status;
    assert_eq!(with_host("evil.example"), 403);
    assert_eq!(with_host("127.0.0.1.evil.example"), 403);
    assert_eq!(with_host("localhost.evil.example:7070"), 403);
    assert_eq!(served.raw(b"GET / HTTP/1.0\r\n\r\n").status, 403);
    assert_eq!((with_host("localhost"), with_host("LOCALHOST:99"), with_host("[::1]:7070")), (200, 200, 200));
    let named = serve_with(|s| s.names = vec!["perf.example".to_owned()]);
    assert_eq!(named.request("GET", "/api/v1/about", &["Host: perf.example"], b"").status, 200);
}

#[test]
fn a_request_names_one_host_that_is_one() {
    let served = serve();
    let with =
        |head: &str| served.raw(format!("GET /api/v1/about {head}\r\nConnection: close\r\n\r\n").as_bytes()).status;
    let own = served.address;
    assert_eq!(with(&format!("HTTP/1.1\r\nHost: {own}")), 200);
    assert_eq!(with(&format!("HTTP/1.1\r\nHost: {own}\r\nHost: {own}")), 400);
    assert_eq!(with(&format!("HTTP/1.1\r\nHost: {own}\r\nHost: evil.example")), 400);
    assert_eq!(with("HTTP/1.1\r\nX: 1"), 400);
    for wrong in
        ["[::1]]]", "[::1", "::1", "127.0.0.1:", "127.0.0.1:x", "127.0.0.1:70700", "a@127.0.0.1", "[127.0.0.1]"]
    {
        assert_eq!(with(&format!("HTTP/1.1\r\nHost: {wrong}")), 400, "{wrong}");
    }
    // The address of a request to a proxy is the one that counts, and both are the same.
    let at = |address: &str, host: &str| {
        served
            .raw(
                format!("GET http://{address}/api/v1/about HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n")
                    .as_bytes(),
            )
            .status
    };
    let own = own.to_string();
    assert_eq!((at(&own, &own), at("evil.example", &own), at(&own, "evil.example")), (200, 400, 400));
    assert_eq!(at("evil.example", "evil.example"), 403);
}

#[test]
fn what_another_origin_asks_is_refused_whatever_it_asks() {
    let served = serve();
    let own = format!("http://{}", served.address);
    let get = |target: &str, headers: &[&str]| served.request("GET", target, headers, b"").status;
    let from = |origin: &str| get("/api/v1/about", &[&format!("Origin: {origin}")]);
    assert_eq!((from(&own), from(&own.to_uppercase().replace("HTTP", "http"))), (200, 200));
    for foreign in ["http://evil.example", "null", "http://127.0.0.1:1", "file://", "", "\u{e9}", &own[7..]] {
        assert_eq!(from(foreign), 403, "{foreign}");
    }
    assert_eq!(get("/api/v1/about", &[&format!("Origin: {own}"), "Origin: http://evil.example"]), 403);
    assert_eq!((get("/", &["Origin: http://evil.example"]), get("/metrics", &["Origin: null"])), (403, 403));
    // A browser's report about the page that asks is believed only where it is one of the words for it.
    let site = |value: &str| get("/api/v1/about", &[&format!("Sec-Fetch-Site: {value}")]);
    assert_eq!((site("cross-site, none"), site("\u{e9}"), site("")), (403, 403, 403));
    // A page without a referrer sends its own forms with `null`.
    assert_eq!(get("/api/v1/about", &["Origin: null", "Sec-Fetch-Site: same-origin"]), 200);
    assert_eq!(
        get("/api/v1/about", &["Origin: null", "Sec-Fetch-Site: same-origin", "Sec-Fetch-Site: cross-site"]),
        403
    );
}

#[test]
fn a_token_in_an_address_is_not_written_to_the_log() {
    let served = serve_with(|s| s.access = tokens());
    let encoded: String = TOKEN.bytes().map(|b| format!("%{b:02x}")).collect();
    for target in [
        format!("/api/v1/about?token={TOKEN}"),
        format!("/api/v1/about?access_TOKEN={TOKEN}x&a=b"),
        format!("/api/v1/about?t%6fken={encoded}&a=b"),
        format!("/run?x={TOKEN}"),
        format!("/run?{TOKEN}"),
        format!("/{TOKEN}/x?a=b"),
        format!("/{encoded}"),
        format!("/login?next=%2Frun%3Ftoken%3D{TOKEN}x"),
        format!("/login?next=%252Frun%253Fpassword%253D{TOKEN}x"),
        format!("/run?pwd={TOKEN}x"),
        format!("/run?pass={TOKEN}x&key={TOKEN}x"),
        format!("/run?passphrase={TOKEN}x&sslpassword={TOKEN}x&apikey={TOKEN}x"),
    ] {
        served.get(&target);
    }
    served.get("/api/v1/sql?q=SELECT+author,+token%3D1+FROM+x");
    assert!(served.logged("author").contains("q=SELECT+author,+token%3D1+FROM+x"));
    let log = served.log.lock().unwrap();
    assert_eq!(log.len(), 13);
    assert!(log.iter().all(|line| !line.contains(&TOKEN[1..]) && !line.contains(&encoded)), "{log:#?}");
    assert!(log[1].contains("?access_TOKEN=[hidden]&a=b "), "{log:#?}");
}

#[test]
fn without_a_token_nobody_comes_in() {
    let served = serve_with(|s| s.access = tokens());
    let api = served.get("/api/v1/about");
    assert_eq!((api.status, api.header("www-authenticate")), (401, Some("Bearer")));
    assert_eq!(served.get("/metrics").status, 401);
    assert_eq!(served.get("/nothing").status, 401);
    assert_eq!(served.change("DELETE", "/api/v1/runs/x", "").status, 401);
    let page = served.get("/run?run=a&x=%22%3E");
    assert_eq!((page.status, page.header("location")), (303, Some("/login?next=%2Frun%3Frun%3Da%26x%3D%2522%253E")));
    let bearer =
        |token: &str| served.request("GET", "/api/v1/about", &[&format!("Authorization: Bearer {token}")], b"");
    assert_eq!(bearer(TOKEN).status, 200);
    assert_eq!(bearer("wrong").status, 401);
    assert_eq!(bearer(&TOKEN[1..]).status, 401);
}

#[test]
fn a_login_gives_a_strict_cookie_and_a_logout_takes_it() {
    let served = serve_with(|s| s.access = tokens());
    let form = served.get("/login?next=%2Frun%3Frun%3D%22%3E%3Cscript%3E");
    assert_eq!(form.status, 200);
    assert!(!form.text().contains("<script"), "{}", form.text());
    assert!(form.text().contains("value=\"/run?run=&quot;&gt;&lt;script&gt;\""), "{}", form.text());
    let wrong = served.request("POST", "/login", &[], b"token=nonsense&next=/ask");
    assert_eq!((wrong.status, wrong.header("set-cookie")), (401, None));
    let body = format!("token={TOKEN}&next=/ask?sql=1");
    let right = served.request("POST", "/login", &[], body.as_bytes());
    assert_eq!((right.status, right.header("location")), (303, Some("/ask?sql=1")));
    let cookie = right.header("set-cookie").unwrap();
    for part in ["HttpOnly", "SameSite=Strict", "Path=/", "Max-Age=604800"] {
        assert!(cookie.contains(part), "{cookie}");
    }
    assert!(!cookie.contains("Secure") && !cookie.contains(TOKEN), "{cookie}");
    let sent = format!("Cookie: other=1; {}", cookie.split(';').next().unwrap());
    let about = || served.request("GET", "/api/v1/about", &[&sent], b"").status;
    assert_eq!(about(), 200);
    assert_eq!(served.request("POST", "/logout", &[&sent], b"").status, 303);
    assert_eq!(about(), 401);
    served.logged("GET /api/v1/about 200");
    assert!(served.logged("POST /login 303").ends_with(" ann"));
}

#[test]
fn wrong_tokens_are_soon_no_longer_looked_at() {
    let served = serve_with(|s| s.access = tokens());
    let login = |token: &str| served.request("POST", "/login", &[], format!("token={token}").as_bytes()).status;
    for _ in 0..5 {
        assert_eq!(login("wrong"), 401);
    }
    assert_eq!((login("wrong"), login(TOKEN)), (429, 429));
    let bearer = served.request("GET", "/api/v1/about", &[&format!("Authorization: Bearer {TOKEN}")], b"");
    assert_eq!((bearer.status, bearer.header("retry-after")), (429, Some("2")));
}

#[test]
fn a_login_leads_to_no_other_server() {
    let served = serve_with(|s| s.access = tokens());
    for next in ["//evil.example", "https://evil.example", "/%5Cevil.example", "%2F%09%2Fevil.example"] {
        let body = format!("token={TOKEN}&next={next}");
        assert_eq!(served.request("POST", "/login", &[], body.as_bytes()).header("location"), Some("/"), "{next}");
    }
}

#[test]
fn pages_of_other_sites_change_and_ask_nothing() {
    let served = serve();
    let post = |headers: &[&str]| served.request("POST", "/api/v1/sql", headers, b"{\"q\":\"select 1\"}").status;
    assert_eq!(post(&[]), 403);
    assert_eq!(post(&["X-Fenxi: 1", "Origin: http://evil.example"]), 403);
    assert_eq!(post(&["X-Fenxi: 1", "Origin: null"]), 403);
    assert_eq!(post(&["X-Fenxi: 1", "Sec-Fetch-Site: cross-site"]), 403);
    assert_ne!(post(&["X-Fenxi: 1"]), 403);
    let site = |value: &str| served.request("GET", "/api/v1/about", &[&format!("Sec-Fetch-Site: {value}")], b"").status;
    assert_eq!((site("cross-site"), site("same-site"), site("same-origin"), site("none")), (403, 403, 200, 200));
    let guarded = serve_with(|s| s.access = tokens());
    let body = format!("token={TOKEN}");
    let from =
        |origin: &str| guarded.request("POST", "/login", &[&format!("Origin: {origin}")], body.as_bytes()).status;
    assert_eq!((from("http://evil.example"), from(&format!("http://{}", guarded.address))), (403, 303));
    // Coming from another site, a browser keeps a strict cookie back: the page goes on by itself once.
    let bounced = guarded.request("GET", "/run?run=%22%3Cb%3E", &["Sec-Fetch-Site: cross-site"], b"");
    assert!(bounced.text().contains("content=\"0;url=/run?run=%22%3Cb%3E\""), "{}", bounced.text());
}

#[test]
fn browsers_are_told_to_load_and_frame_nothing_else() {
    let served = serve();
    for target in ["/", "/api/v1/about", "/nothing", "/metrics", "/assets/app.js"] {
        let answer = served.get(target);
        let policy = answer.header("content-security-policy").unwrap();
        for part in [
            "default-src 'none'",
            "script-src 'self';",
            "connect-src 'self'",
            "frame-ancestors 'none'",
            "base-uri 'none'",
            "form-action 'self'",
            "img-src 'self' data: blob:",
            "style-src 'self'",
        ] {
            assert!(policy.contains(part), "{target}: {part} in {policy}");
        }
        assert!(!policy.contains("unsafe") && !policy.contains('*'), "{target}: {policy}");
        assert_eq!(answer.header("x-content-type-options"), Some("nosniff"));
        assert_eq!(answer.header("referrer-policy"), Some("no-referrer"));
        assert_eq!(answer.header("cross-origin-opener-policy"), Some("same-origin"));
        assert_eq!(answer.header("cross-origin-resource-policy"), Some("same-origin"));
        assert_eq!(answer.header("access-control-allow-origin"), None);
    }
    let shell = || served.get("/").text();
    assert_ne!(shell(), shell(), "the word that allows styles is good for one page");
    assert!(!shell().contains("<script>") && !shell().contains(" style="), "{}", shell());
}

#[test]
fn no_path_leads_out_of_the_assets() {
    let served = serve();
    for path in [
        "/assets/../../etc/passwd",
        "/assets/..%2f..%2fetc/passwd",
        "/assets/%2e%2e/%2e%2e/etc/passwd",
        "/assets/....//etc/passwd",
        "/assets//etc/passwd",
        "/assets/%00",
        "/assets/app.js%00.css",
        "/assets/",
        "/assets",
        "/../../etc/passwd",
        "/api/v1/../../etc/passwd",
        "//etc/passwd",
    ] {
        let answer = served.get(path);
        assert!([400, 404].contains(&answer.status), "{path}: {}", answer.status);
        assert!(!answer.text().contains("root:"), "{path}");
        assert!(!answer.text().contains("app.css"), "{path}: nothing is listed");
    }
}

#[test]
fn no_name_leads_out_of_the_store() {
    let served = serve();
    fs_err::write(served.store.path().join("secret.json"), "{}").unwrap();
    for name in ["../secret", "..%2Fsecret", "%2E%2E/secret", "../store", "%00", "a%00b", "/etc/passwd", "."] {
        for target in ["study?name=", "panel?run=@1&question=", "run?run=", "select?q=", "runs?where="] {
            let answer = served.get(&format!("/api/v1/{target}{name}"));
            assert!([200, 400, 404].contains(&answer.status), "{target}{name}: {} {}", answer.status, answer.text());
            assert!(!answer.text().contains("no record") && !answer.text().contains("root:"), "{}", answer.text());
        }
    }
}

#[test]
fn errors_and_logs_take_no_markup_and_no_new_lines() {
    let served = serve();
    let answer = served.get("/%3Cscript%3Ealert(1)%3C/script%3E");
    assert_eq!((answer.status, answer.header("content-type")), (404, Some("application/json")));
    let answer = served.get("/api/v1/about?%3Cb%3E%0a%1b[31m=%ff%00");
    assert_eq!((answer.status, answer.header("content-type")), (400, Some("application/json")));
    served
        .raw(format!("GET /a\\b\u{9b}x HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n\r\n", served.address).as_bytes());
    let log = served.log.lock().unwrap();
    assert!(log.iter().all(|line| line.bytes().all(|b| (b' '..0x7f).contains(&b))), "{log:?}");
}

#[test]
fn every_request_is_a_line() {
    let served = serve();
    served.get("/api/v1/about?a=b%0ac");
    let line = served.logged("/api/v1/about");
    let words: Vec<&str> = line.split(' ').collect();
    assert_eq!(words[..5], ["2025-11-21T10:00:00.000000Z", "127.0.0.1", "GET", "/api/v1/about?a=b%0ac", "400"]);
    assert!(words[5].parse::<f64>().is_ok() && words[6].parse::<u64>().is_ok_and(|n| n > 10), "{line}");
    assert_eq!((words[7], words.len()), ("-", 8));
}

#[test]
fn large_heads_and_bodies_are_refused() {
    let served = serve();
    let long = format!("/api/v1/about?a={}", "x".repeat(200 << 10));
    // 0: closed before everything was sent.
    assert!([0, 400, 414, 431].contains(&served.get(&long).status));
    let body = vec![b' '; 2 << 20];
    assert_eq!(served.request("POST", "/api/v1/sql", &["X-Fenxi: 1"], &body).status, 413);
    let guarded = serve_with(|s| s.access = tokens());
    assert_eq!(guarded.request("POST", "/login", &[], &vec![b'a'; 100 << 10]).status, 413);
}
