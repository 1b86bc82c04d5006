//! One file per command.

pub mod ask;
pub mod average;
pub mod compare;
pub mod formats;
pub mod import;
pub mod live;
pub mod manual;
pub mod memstat;
pub mod mpstat;
pub mod nicstat;
pub mod pstime;
pub mod record;
pub mod report;
pub mod representative;
pub mod rm;
pub mod runs;
pub mod saved;
pub mod show;
pub mod sql;
pub mod study;
pub mod tables;
pub mod tag;
pub mod trend;
pub mod util;
pub mod verify;
pub mod window;
