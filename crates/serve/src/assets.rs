//! Embedded front-end files: one list.

mod get;

pub(crate) use get::{get, licenses};

/// Where the files are.
pub(crate) const FOLDER: &str = "/assets/";

/// Where the notices are that go with them.
pub(crate) const LICENSES: &str = "/licenses";

/// Use of a file by the shell.
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
