//! Responses of an execution, and the batches in them.

use std::{
    io::Cursor,
    panic::{AssertUnwindSafe, catch_unwind},
};

use arrow_array::RecordBatch;
use arrow_ipc::reader::StreamReader;
use arrow_schema::SchemaRef;

use crate::connect::{
    ConnectError,
    proto::{Fields, Malformed, Value},
};

/// Content of one response of an execution.
#[derive(Debug, Default)]
pub(crate) struct Response<'a> {
    /// Its number, from which an execution can be taken up again.
    pub id: Option<String>,
    /// The server's own name of the session; another one is another server.
    pub server: Option<String>,
    /// Rows.
    pub rows: Option<Rows<'a>>,
    /// True if it was the last one.
    pub is_complete: bool,
}

/// Rows as they were sent.
#[derive(Debug, Default)]
pub(crate) struct Rows<'a> {
    /// How many are declared.
    pub count: u64,
    /// How many came before, where the server sends it.
    pub offset: Option<u64>,
    /// An Arrow IPC stream.
    pub data: &'a [u8],
}

impl<'a> Response<'a> {
    pub(crate) fn of(bytes: &'a [u8]) -> Result<Response<'a>, ConnectError> {
        let text = |bytes: &[u8]| Some(String::from_utf8_lossy(bytes).into_owned());
        let mut response = Response::default();
        for field in Fields::of(bytes) {
            match field.map_err(malformed)? {
                (2, Value::Bytes(rows)) => response.rows = Some(Rows::of(rows)?),
                (13, Value::Bytes(id)) => response.id = text(id),
                (14, Value::Bytes(_)) => response.is_complete = true,
                (15, Value::Bytes(server)) => response.server = text(server),
                _ => {}
            }
        }
        Ok(response)
    }
}

impl<'a> Rows<'a> {
    fn of(bytes: &'a [u8]) -> Result<Rows<'a>, ConnectError> {
        let mut rows = Rows::default();
        for field in Fields::of(bytes) {
            match field.map_err(malformed)? {
                (1, Value::Number(count)) => rows.count = count,
                (2, Value::Bytes(data)) => rows.data = data,
                (3, Value::Number(offset)) => rows.offset = Some(offset),
                // Parts of a batch come only to who asks for them.
                (5, Value::Number(parts)) if parts > 1 => return Err(bad("a batch came in parts")),
                _ => {}
            }
        }
        Ok(rows)
    }

    /// Its batches, as many rows as were announced, after `before` others.
    pub(crate) fn batches(&self, before: u64) -> Result<(SchemaRef, Vec<RecordBatch>), ConnectError> {
        if let Some(offset) = self.offset.filter(|offset| *offset != before) {
            return Err(bad(&format!("a batch begins with row {offset} where row {before} was due")));
        }
        // The reader was written for streams that are right, and makes room for what a message announces; a server is not
        // believed.
        if !announces_what_is_there(self.data) {
            return Err(bad("a batch announces more than came"));
        }
        let read = catch_unwind(AssertUnwindSafe(|| {
            let reader = StreamReader::try_new(Cursor::new(self.data), None)?;
            let schema = reader.schema();
            Ok((schema, reader.collect::<Result<Vec<_>, _>>()?))
        }));
        let read: Result<_, arrow_schema::ArrowError> = read.map_err(|_| bad("its batches are wrong"))?;
        let (schema, batches) = read.map_err(|e| bad(&e.to_string()))?;
        let rows = batches.iter().map(|batch| batch.num_rows() as u64).sum::<u64>();
        if rows != self.count {
            return Err(bad(&format!("{rows} rows came where {} were announced", self.count)));
        }
        Ok((schema, batches))
    }
}

/// Whether each message of an Arrow stream has its declared length: four bytes of ones, the length of its metadata, these, and a body.
fn announces_what_is_there(mut data: &[u8]) -> bool {
    loop {
        let Some((head, rest)) = data.split_first_chunk::<4>() else { return data.is_empty() };
        let (length, rest) = if *head == [0xff; 4] {
            let Some((length, rest)) = rest.split_first_chunk::<4>() else { return false };
            (i32::from_le_bytes(*length), rest)
        } else {
            (i32::from_le_bytes(*head), rest)
        };
        if length == 0 {
            return true;
        }
        let Some((metadata, rest)) = usize::try_from(length).ok().and_then(|n| rest.split_at_checked(n)) else {
            return false;
        };
        let Ok(message) = arrow_ipc::root_as_message(metadata) else { return false };
        let Some(after) = usize::try_from(message.bodyLength()).ok().and_then(|n| rest.get(n..)) else { return false };
        data = after;
    }
}

pub(crate) fn malformed(_: Malformed) -> ConnectError {
    bad("a message is wrong")
}

pub(crate) fn bad(what: &str) -> ConnectError {
    ConnectError::Malformed(what.to_owned())
}

#[cfg(test)]
mod tests {
    use super::Response;
    use crate::connect::proto::Message;
    use arrow_array::{Int64Array, RecordBatch};
    use arrow_ipc::writer::StreamWriter;
    use std::sync::Arc;

    fn stream(n: i64) -> Vec<u8> {
        let column = Arc::new(Int64Array::from_iter_values(0..n));
        let batch = RecordBatch::try_from_iter([("a", column as _)]).unwrap();
        let mut writer = StreamWriter::try_new(Vec::new(), &batch.schema()).unwrap();
        writer.write(&batch).unwrap();
        writer.into_inner().unwrap()
    }

    fn response(count: u64, offset: u64, data: &[u8]) -> Vec<u8> {
        let rows = Message::default().number(1, count).bytes(2, data).number(3, offset);
        Message::default().text(13, "r1").message(2, rows).into_bytes()
    }

    #[test]
    fn a_batch_has_the_rows_that_were_announced_and_follows_the_one_before() {
        let data = stream(3);
        let bytes = response(3, 7, &data);
        let read = Response::of(&bytes).unwrap();
        assert_eq!((read.id.as_deref(), read.is_complete), (Some("r1"), false));
        assert_eq!(read.rows.as_ref().unwrap().batches(7).unwrap().1[0].num_rows(), 3);
        assert!(read.rows.unwrap().batches(4).unwrap_err().to_string().contains("row 7 where row 4"));
        let bytes = response(4, 0, &data);
        let wrong = Response::of(&bytes).unwrap().rows.unwrap().batches(0).unwrap_err();
        assert!(wrong.to_string().contains("3 rows came where 4"), "{wrong}");
    }

    #[test]
    fn what_was_cut_or_changed_is_an_error_and_no_panic() {
        let data = stream(3);
        for end in 0..data.len() - 8 {
            let bytes = response(3, 0, &data[..end]);
            assert!(Response::of(&bytes).unwrap().rows.unwrap().batches(0).is_err(), "{end}");
        }
        for place in 0..data.len() {
            let mut data = data.clone();
            data[place] ^= 0x41;
            let bytes = response(3, 0, &data);
            // An error or other values; nothing else.
            let _ = Response::of(&bytes).unwrap().rows.unwrap().batches(0);
        }
    }
}
