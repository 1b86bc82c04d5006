//! Outputs of several hosts in one text, with the host in front of each line or above each part.

formats! {
    by_host,
}
