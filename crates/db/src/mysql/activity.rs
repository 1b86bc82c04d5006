//! Activity of a session of MySQL or MariaDB, by its command and its state.
//!
//! A wait for a row's lock is no state: the transaction shows it (`LOCK WAIT`), whatever the session's state is.

use crate::activity as class;

/// States that begin with one of these words are of a class.
struct States {
    begins: &'static [&'static str],
    class: &'static str,
}

const STATES: &[States] = &[
    States {
        begins: &[
            "Waiting for table metadata lock",
            "Waiting for table level lock",
            "Waiting for backup lock",
            "Waiting for global read lock",
            "Waiting for schema metadata lock",
            "Waiting for stored function metadata lock",
            "Waiting for stored procedure metadata lock",
            "Waiting for trigger metadata lock",
            "Waiting for event metadata lock",
            "Waiting for commit lock",
            "User lock",
            "Waiting for user lock",
            "Waiting for lock",
        ],
        class: class::LOCK,
    },
    States {
        begins: &[
            "Commit",
            "commit",
            "starting commit",
            "Waiting for semi-sync",
            "Waiting for prior transaction to commit",
            "Waiting for handler commit",
            "waiting for handler commit",
            "wsrep",
            "committing",
            // Executed, and waiting for the log that another session flushes for the group.
            "Updating status",
        ],
        class: class::COMMIT,
    },
    States {
        begins: &["Waiting for table flush", "Waiting for query cache lock", "Waiting on cond", "Waiting for INSERT"],
        class: class::CONCURRENCY,
    },
    States {
        begins: &["Writing to net", "Reading from net", "Sending to client", "Receiving from client"],
        class: class::CLIENT,
    },
    States {
        begins: &["Copying to tmp table on disk", "converting HEAP to", "Creating sort index on disk"],
        class: class::USER_IO,
    },
    States { begins: &["User sleep"], class: class::TIMEOUT },
    States { begins: &["Waiting for delayed", "Waiting until MASTER_DELAY"], class: class::PACING },
];

/// Commands of replication, which are always there.
const REPLICATION: &[&str] = &["Binlog Dump", "Binlog Dump GTID", "Slave_IO", "Slave_SQL", "Slave_worker"];

/// States of replication that has nothing to do.
const WAITS: &[&str] =
    &["Waiting for", "Master has sent all", "Source has sent all", "Slave has read all", "Replica has read all"];

/// Activity of a session.
pub fn of(command: &str, state: &str) -> &'static str {
    let begins = |words: &[&str]| words.iter().any(|word| state.starts_with(word));
    if REPLICATION.contains(&command) {
        return if begins(WAITS) { class::IDLE } else { class::REPLICATION };
    }
    match command {
        "Sleep" | "Daemon" => class::IDLE,
        // A login that waits for its client.
        "Connect" => class::PROTOCOL,
        _ => STATES.iter().find(|states| begins(states.begins)).map_or(class::CPU, |states| states.class),
    }
}

/// The class of a wait in the words that we use where the server has none.
pub fn wait_class(activity: &str) -> &'static str {
    match activity {
        class::LOCK => "Lock",
        class::COMMIT => "Commit",
        class::CONCURRENCY => "Concurrency",
        class::CLIENT => "Client",
        class::USER_IO => "IO",
        class::TIMEOUT => "Timeout",
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_is_work_unless_it_names_a_wait() {
        for (command, state, expected) in [
            ("Query", "Sending data", class::CPU),
            ("Execute", "", class::CPU),
            ("Query", "Statistics", class::CPU),
            ("Query", "Updating", class::CPU),
            ("Query", "Waiting for table metadata lock", class::LOCK),
            ("Query", "User lock", class::LOCK),
            ("Query", "User sleep", class::TIMEOUT),
            ("Execute", "Commit", class::COMMIT),
            ("Query", "waiting for handler commit", class::COMMIT),
            ("Query", "Writing to net", class::CLIENT),
            ("Query", "Waiting for table flush", class::CONCURRENCY),
            ("Sleep", "", class::IDLE),
            ("Daemon", "InnoDB purge coordinator", class::IDLE),
            ("Connect", "login", class::PROTOCOL),
            ("Binlog Dump", "Master has sent all binlog to slave; waiting for more updates", class::IDLE),
            ("Slave_SQL", "Executing event", class::REPLICATION),
            ("Slave_IO", "Waiting for master to send event", class::IDLE),
        ] {
            assert_eq!(of(command, state), expected, "{command}: {state}");
        }
    }
}
