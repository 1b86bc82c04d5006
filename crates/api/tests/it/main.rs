//! The API and files of pages, over made-up runs.

mod api;
mod report;
mod schema;
mod synthetic;
