//! The pages and the API of a store over HTTP.
