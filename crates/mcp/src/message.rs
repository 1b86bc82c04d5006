//! Messages of JSON-RPC 2.0, one a line.

use std::io::{self, BufRead, Read};

use serde_json::{Value, json};

/// The longest line that is read; no request of a client needs more.
const LONGEST: u64 = 1 << 20;

/// JSON-RPC: the line is no JSON.
pub(crate) const NOT_JSON: i64 = -32700;
/// JSON-RPC: the JSON is no request.
pub(crate) const NO_REQUEST: i64 = -32600;
/// JSON-RPC: there is no such method.
pub(crate) const NO_METHOD: i64 = -32601;
/// JSON-RPC: the parameters are wrong.
pub(crate) const WRONG_PARAMS: i64 = -32602;
/// Model Context Protocol: there is no such resource.
pub(crate) const NO_RESOURCE: i64 = -32002;
/// The server failed, or has too much to do.
pub(crate) const FAILED: i64 = -32603;

/// A request or a notification.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Message {
    /// None for a notification, which is not answered.
    pub id: Option<Value>,
    pub method: String,
    pub params: Value,
}

/// The content of a line.
#[derive(Debug, PartialEq)]
pub(crate) enum Line {
    Message(Message),
    /// An answer to a request of ours, of which there are none, or an empty line.
    Nothing,
    /// The error to answer to a line that is no message.
    Wrong(Value),
    /// The client has closed its end.
    End,
}

/// Reads the next line.
pub(crate) fn read(input: &mut impl BufRead) -> io::Result<Line> {
    let mut line = Vec::new();
    if Read::take(&mut *input, LONGEST).read_until(b'\n', &mut line)? == 0 {
        return Ok(Line::End);
    }
    if line.last() != Some(&b'\n') && line.len() as u64 == LONGEST {
        input.skip_until(b'\n')?;
        return Ok(Line::Wrong(error(&Value::Null, NOT_JSON, &format!("a line has more than {LONGEST} bytes"))));
    }
    Ok(parse(&line))
}

fn parse(line: &[u8]) -> Line {
    if line.trim_ascii().is_empty() {
        return Line::Nothing;
    }
    let mut value: Value = match serde_json::from_slice(line) {
        Ok(value) => value,
        Err(e) => return Line::Wrong(error(&Value::Null, NOT_JSON, &format!("the line is no JSON: {e}"))),
    };
    let id = value.get("id").filter(|id| id.is_string() || id.is_number()).cloned();
    let Some(method) = value.get("method").and_then(Value::as_str).map(str::to_owned) else {
        let is_answer = value.get("result").is_some() || value.get("error").is_some();
        let wrong = || Line::Wrong(error(&id.unwrap_or_default(), NO_REQUEST, "the message has no `method`"));
        return if is_answer { Line::Nothing } else { wrong() };
    };
    let params = value.get_mut("params").map(Value::take).unwrap_or_else(|| json!({}));
    Line::Message(Message { id, method, params })
}

/// The answer to request `id`.
pub(crate) fn result(id: &Value, result: Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "result": result })
}

/// Why there is no answer to request `id`.
pub(crate) fn error(id: &Value, code: i64, message: &str) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "error": { "code": code, "message": message } })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{LONGEST, Line, Message, parse, read};

    #[test]
    fn a_line_is_a_request_a_notification_or_wrong() {
        let message = |id, method: &str| Line::Message(Message { id, method: method.to_owned(), params: json!({}) });
        assert_eq!(parse(br#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#), message(Some(json!(1)), "ping"));
        assert_eq!(parse(br#"{"jsonrpc":"2.0","method":"notifications/x"}"#), message(None, "notifications/x"));
        assert_eq!(parse(br#"{"jsonrpc":"2.0","id":4,"result":{}}"#), Line::Nothing);
        assert_eq!(parse(b" \n"), Line::Nothing);
        for wrong in ["{", "[]", "7", r#"{"id":1}"#, "\u{fffd}\0"] {
            assert!(matches!(parse(wrong.as_bytes()), Line::Wrong(_)), "{wrong}");
        }
    }

    #[test]
    fn a_line_that_is_too_long_is_refused_and_the_next_one_read() {
        let mut text = vec![b'x'; LONGEST as usize + 10];
        text.extend(b"\n{\"id\":1,\"method\":\"ping\"}\n");
        let mut input = &text[..];
        assert!(matches!(read(&mut input).unwrap(), Line::Wrong(_)));
        assert!(matches!(read(&mut input).unwrap(), Line::Message(_)));
        assert_eq!(read(&mut input).unwrap(), Line::End);
    }
}
