//! The packet and message mix of a load, as it is shown and kept in a file.

use serde::{Deserialize, Serialize};

/// The layer of messages between a driver and its server.
pub const MESSAGES: &str = "messages";

/// Traffic of one layer of a host: mean rates and sizes. None where they are not known.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Layer {
    /// The host that it is seen from.
    pub host: Option<String>,
    /// `packets` of an interface, `segments` of TCP, or `messages` of a driver: requests go out, replies come in.
    pub layer: String,
    /// The interface, protocol or driver.
    pub name: String,
    /// Sent per second.
    pub out_per_s: Option<f64>,
    /// Mean bytes of one that is sent.
    pub out_bytes: Option<f64>,
    /// Received per second.
    pub in_per_s: Option<f64>,
    /// Mean bytes of one that is received.
    pub in_bytes: Option<f64>,
    /// Connections that are open.
    pub connections: Option<f64>,
    /// Connections opened per second, in both directions.
    pub opens_per_s: Option<f64>,
    /// Utilisation of the link, in percent.
    pub util: Option<f64>,
}

/// A mix.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Mix {
    /// The run that it was seen in.
    pub run: Option<String>,
    /// Its layers.
    pub layer: Vec<Layer>,
}

/// Messages to be exchanged.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Messages {
    /// Bytes of a request, and of its reply.
    pub request_bytes: usize,
    /// As `request_bytes`.
    pub reply_bytes: usize,
    /// Requests per second that were seen, if any were.
    pub seen_per_s: Option<f64>,
}

impl Mix {
    /// Reads a file.
    ///
    /// # Errors
    /// In words, with the line: what is wrong with it.
    pub fn parse(text: &str) -> Result<Mix, String> {
        toml::from_str(text).map_err(|error| error.to_string().trim_end().to_owned())
    }

    /// As a file.
    pub fn to_toml(&self) -> String {
        // Tables of texts and numbers are always written.
        toml::to_string(self).unwrap_or_default()
    }

    /// Its messages of which the sizes are known, and of these the most frequent.
    pub fn messages(&self) -> Option<Messages> {
        let known = self.layer.iter().filter(|layer| layer.layer == MESSAGES).filter_map(|layer| {
            let bytes = |bytes: Option<f64>| {
                bytes.filter(|bytes| *bytes >= 0.5 && *bytes < 1e9).map(|bytes| bytes.round() as usize)
            };
            let seen_per_s = layer.out_per_s.filter(|per_s| *per_s > 0.0 && per_s.is_finite());
            Some(Messages { request_bytes: bytes(layer.out_bytes)?, reply_bytes: bytes(layer.in_bytes)?, seen_per_s })
        });
        known.max_by(|a, b| a.seen_per_s.unwrap_or(0.0).total_cmp(&b.seen_per_s.unwrap_or(0.0)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mix_survives_its_file_and_unknown_sizes_are_no_messages() {
        let layer = |layer: &str, out_bytes| Layer {
            layer: layer.to_owned(),
            name: "x".to_owned(),
            out_per_s: Some(10.0),
            out_bytes,
            in_bytes: Some(8192.4),
            ..Layer::default()
        };
        let mix = Mix {
            run: None,
            layer: vec![layer("packets", Some(1.0)), layer(MESSAGES, None), layer(MESSAGES, Some(60.0))],
        };
        assert_eq!(Mix::parse(&mix.to_toml()), Ok(mix.clone()));
        let messages = Messages { request_bytes: 60, reply_bytes: 8192, seen_per_s: Some(10.0) };
        assert_eq!(mix.messages(), Some(messages));
        assert_eq!(Mix { layer: mix.layer[..2].to_vec(), ..mix }.messages(), None);
        for wrong in ["x", "[[layer]]\nname = 1", "[[layer]]\nwhat = 'x'", "layer = 3"] {
            assert!(Mix::parse(wrong).unwrap_err().contains("line 1") || wrong.contains("[["), "{wrong}");
        }
    }
}
