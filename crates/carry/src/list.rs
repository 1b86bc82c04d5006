//! A page of a bucket's list, as S3 writes it.

use quick_xml::{Reader, events::Event};

/// The element that is the whole of a page.
const ROOT: &[u8] = b"ListBucketResult";

/// One page of a list.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Listing {
    /// Keys and sizes.
    pub objects: Vec<(String, u64)>,
    /// Continuation token of the next page.
    pub next: Option<String>,
}

impl Listing {
    /// Reads a page; the error has the reason.
    pub(crate) fn parse(text: &str) -> Result<Listing, String> {
        let mut reader = Reader::from_str(text);
        let (mut listing, mut key, mut at) = (Listing::default(), String::new(), String::new());
        let (mut value, mut is_whole, mut has_more) = (String::new(), false, false);
        loop {
            match reader.read_event().map_err(|e| format!("it cannot be read: {e}"))? {
                Event::Start(start) => {
                    at = String::from_utf8_lossy(start.local_name().as_ref()).into_owned();
                    value.clear();
                }
                Event::Text(text) => value += &text.decode().map_err(|e| format!("it cannot be read: {e}"))?,
                Event::GeneralRef(name) => value += entity(&String::from_utf8_lossy(&name)),
                Event::End(end) => {
                    match end.local_name().as_ref() {
                        b"Key" if at == "Key" => key = std::mem::take(&mut value),
                        b"Size" if at == "Size" => {
                            let size = value.trim().parse().map_err(|_| format!("{key:?} has the size {value:?}"))?;
                            listing.objects.push((std::mem::take(&mut key), size));
                        }
                        b"IsTruncated" => has_more = value.trim() == "true",
                        b"NextContinuationToken" => listing.next = Some(std::mem::take(&mut value)),
                        ROOT => is_whole = true,
                        _ => {}
                    }
                    at.clear();
                }
                Event::Eof if !is_whole => return Err("it is no list, or cut short".to_owned()),
                Event::Eof if has_more && listing.next.is_none() => {
                    return Err("it goes on, and does not say where".to_owned());
                }
                Event::Eof => return Ok(listing),
                _ => {}
            }
        }
    }
}

fn entity(name: &str) -> &'static str {
    match name {
        "amp" => "&",
        "lt" => "<",
        "gt" => ">",
        "quot" => "\"",
        "apos" => "'",
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::Listing;

    #[test]
    fn a_list_is_read_with_its_next_page() {
        let text = "<?xml version=\"1.0\"?><ListBucketResult xmlns=\"x\"><Name>b</Name><Prefix>p</Prefix>\
                    <Contents><Key>p/runs/run=a&amp;b/run.json</Key><ETag>&quot;e&quot;</ETag><Size>12</Size></Contents>\
                    <Contents><Key>p/x</Key><Size>0</Size></Contents><IsTruncated>true</IsTruncated>\
                    <NextContinuationToken>t/1=</NextContinuationToken></ListBucketResult>";
        let objects = vec![("p/runs/run=a&b/run.json".to_owned(), 12), ("p/x".to_owned(), 0)];
        assert_eq!(Listing::parse(text), Ok(Listing { objects, next: Some("t/1=".to_owned()) }));
        let wrong = |text: &str| Listing::parse(text).unwrap_err();
        assert!(
            wrong("<ListBucketResult><Key>k</Key><Size>x</Size></ListBucketResult>").contains("has the size \"x\"")
        );
        assert!(wrong("<ListBucketResult><IsTruncated>true</IsTruncated></ListBucketResult>").contains("it goes on"));
        for cut in (1..text.len()).filter(|cut| text.is_char_boundary(*cut)) {
            assert!(Listing::parse(&text[..cut]).is_err(), "{}", &text[..cut]);
        }
        for other in ["", "hello", "{\"a\": 1}", "<html><body>Sign in</body></html>"] {
            assert!(Listing::parse(other).is_err(), "{other}");
        }
    }
}
