//! Requests for the files of the front end.

use axum::{
    body::Bytes,
    extract::{Path, RawQuery, State},
    http::{HeaderMap, HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};

use crate::{
    reply::{Failure, reply},
    shared::Shared,
};

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
    reply(StatusCode::OK, "text/plain; charset=utf-8", fenxi_model::NOTICES)
}
