//! Requests of pages to a store, answered without HTTP (`endpoints/`), and a page with its answers as one
//! self-contained file (`saved/`).
//!
//! Nothing of a page is hard-wired: what a run's page shows are the questions of the store.
//! A file carries the answers of all requests of its page beside the program that draws them (built in `web/`,
//! committed in `web/dist/`). It needs no network, and everything that people named is shown as text, never as markup.

mod data;
pub mod db_report;
mod endpoints;
mod findings;
mod kept;
mod pack;
mod pages;
mod panel;
mod payload;
mod saved;
mod study_asks;

pub use endpoints::{ApiError, Context, ENDPOINTS, Endpoint, Kind, Param, Query, Reply, answer, schema};
pub use saved::{is_large, page_file, page_file_watched, page_of_runs, prepare};
pub use study_asks::study_asks;
