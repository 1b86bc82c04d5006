//! Embedded front-end files: one list.

use axum::{
    body::Bytes,
    extract::{Path, RawQuery, State},
    http::{HeaderMap, HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};

use crate::{app::Shared, reply::Failure};

/// Where the files are.
pub(crate) const FOLDER: &str = "/assets/";

/// Where the notices are that go with them.
pub(crate) const LICENSES: &str = "/licenses";

/// What the shell does with a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Use {
    /// Runs it.
    Script,
    /// Is styled by it.
    Style,
    /// Names it, for the front end to load when it needs it.
    Later,
    /// Nothing: other pages use it.
    Apart,
}

/// One file of the front end.
pub(crate) struct Asset {
    name: &'static str,
    content_type: &'static str,
    bytes: &'static [u8],
    used: Use,
}

macro_rules! built {
    ($name:literal, $content_type:literal, $used:expr) => {
        Asset {
            name: $name,
            content_type: $content_type,
            bytes: include_bytes!(concat!("../../../web/dist/", $name)),
            used: $used,
        }
    };
}

/// Every file.
const ASSETS: &[Asset] = &[
    built!("app.js", "text/javascript; charset=utf-8", Use::Script),
    built!("app.css", "text/css; charset=utf-8", Use::Style),
    built!("editor.js", "text/javascript; charset=utf-8", Use::Later),
    Asset {
        name: "login.css",
        content_type: "text/css; charset=utf-8",
        bytes: include_bytes!("login.css"),
        used: Use::Apart,
    },
];

/// The files with their hashes.
pub(crate) struct Assets(Vec<(&'static Asset, String)>);

impl Assets {
    pub(crate) fn new() -> Assets {
        let hashed = |asset: &'static Asset| (asset, blake3::hash(asset.bytes).to_hex()[..16].to_owned());
        Assets(ASSETS.iter().map(hashed).collect())
    }

    /// Addresses of the files of one use, with their hash: under one address there is only ever one content.
    pub(crate) fn addresses(&self, used: Use) -> impl Iterator<Item = (&'static str, String)> {
        let of_use = self.0.iter().filter(move |(asset, _)| asset.used == used);
        of_use.map(|(asset, hash)| (asset.name, format!("{FOLDER}{}?v={hash}", asset.name)))
    }

    /// The address of one file.
    pub(crate) fn address(&self, name: &str) -> String {
        let hash = self.0.iter().find(|(asset, _)| asset.name == name).map_or("", |(_, hash)| hash);
        format!("{FOLDER}{name}?v={hash}")
    }
}

/// `GET /assets/{name}`: names are looked up in the list and nowhere else.
pub(crate) async fn get(
    State(shared): State<Shared>,
    Path(name): Path<String>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Result<Response, Failure> {
    let found = shared.assets.0.iter().find(|(asset, _)| asset.name == name);
    let (asset, hash) = found.ok_or_else(|| Failure::unknown("there is no such file"))?;
    let tag = format!("\"{hash}\"");
    let kept = if query.is_some_and(|q| q == format!("v={hash}")) {
        "public, max-age=31536000, immutable"
    } else {
        "no-cache"
    };
    let given = headers.get(header::IF_NONE_MATCH).and_then(|v| v.to_str().ok()).unwrap_or_default();
    let known = given.split(',').any(|t| t.trim().trim_start_matches("W/") == tag);
    let mut head = HeaderMap::new();
    head.insert(header::CACHE_CONTROL, HeaderValue::from_static(kept));
    head.insert(header::CONTENT_TYPE, HeaderValue::from_static(asset.content_type));
    if let Ok(tag) = HeaderValue::from_str(&tag) {
        head.insert(header::ETAG, tag);
    }
    let (status, body) = if known {
        (StatusCode::NOT_MODIFIED, Bytes::new())
    } else {
        (StatusCode::OK, Bytes::from_static(asset.bytes))
    };
    Ok((status, head, body).into_response())
}

/// `GET /licenses`: whose work this is, and under which terms.
pub(crate) async fn licenses() -> Response {
    crate::reply::reply(StatusCode::OK, "text/plain; charset=utf-8", fenxi_model::NOTICES)
}
