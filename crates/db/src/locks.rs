//! The waits-for graph of a server at a moment: roots, depths, and how many wait behind each.

use std::collections::{BTreeMap, BTreeSet};

use fenxi_model::{Rows, catalog::db_lock};

use crate::reading::About;

/// A session that waits, and one that it waits for.
#[derive(Clone, Debug, Default)]
pub struct Edge {
    /// Who waits.
    pub waiter: i64,
    /// The waiting session; 0 for a prepared transaction.
    pub blocker: i64,
    /// Locked object.
    pub lock: Option<String>,
    /// Mode asked for.
    pub mode: Option<String>,
    /// Mode of the blocker.
    pub blocker_mode: Option<String>,
    /// True if the blocker holds the lock; otherwise it is ahead in the queue.
    pub direct: Option<bool>,
    /// Database.
    pub database: Option<String>,
    /// Table.
    pub relation: Option<String>,
    /// Index.
    pub index_name: Option<String>,
    /// Seconds waited.
    pub waited_s: Option<f64>,
}

/// Session in the blocking graph.
#[derive(Clone, Debug, Default)]
pub struct Party {
    /// State.
    pub state: String,
    /// Application.
    pub application: String,
    /// Seconds in its state.
    pub state_age_s: Option<f64>,
    /// Age of its transaction in seconds.
    pub transaction_age_s: Option<f64>,
    /// Its statement.
    pub digest: Option<String>,
}

/// Edges of a moment.
#[derive(Debug, Default)]
pub struct Graph {
    edges: BTreeMap<(i64, i64), Edge>,
}

impl Graph {
    /// Adds an edge. Of two between the same sessions the one whose blocker holds the lock is kept.
    pub fn add(&mut self, edge: Edge) {
        let place = (edge.waiter, edge.blocker);
        match self.edges.get(&place) {
            Some(known) if known.direct >= edge.direct => {}
            _ => {
                self.edges.insert(place, edge);
            }
        }
    }

    /// Those that a session waits for: holders where there are any, else those ahead of it.
    fn blockers(&self, waiter: i64) -> Vec<i64> {
        let of = self.edges.range((waiter, i64::MIN)..=(waiter, i64::MAX)).map(|(_, edge)| edge);
        let (holders, others): (Vec<&Edge>, Vec<&Edge>) = of.partition(|edge| edge.direct == Some(true));
        let chosen = if holders.is_empty() { others } else { holders };
        chosen.into_iter().map(|edge| edge.blocker).collect()
    }

    /// The root above a session and the steps to it. A deadlock has none: it ends where it closes.
    fn root(&self, waiter: i64) -> (i64, u32) {
        let (mut at, mut steps, mut seen) = (waiter, 0, BTreeSet::from([waiter]));
        while let Some(next) = self.blockers(at).into_iter().next() {
            steps += 1;
            at = next;
            if !seen.insert(next) {
                break;
            }
        }
        (at, steps)
    }

    /// How many wait for a session, directly or not.
    fn behind(&self, blocker: i64) -> usize {
        let mut found = BTreeSet::new();
        let mut open = vec![blocker];
        while let Some(at) = open.pop() {
            for edge in self.edges.values().filter(|edge| edge.blocker == at) {
                if edge.waiter != blocker && found.insert(edge.waiter) {
                    open.push(edge.waiter);
                }
            }
        }
        found.len()
    }

    /// Adds a row for each edge; `who` knows the sessions.
    pub fn tell(&self, about: &About<'_>, rows: &mut Rows, who: &dyn Fn(i64) -> Option<Party>) {
        for edge in self.edges.values() {
            let (root, depth) = self.root(edge.waiter);
            let (waiter, blocker) = (who(edge.waiter).unwrap_or_default(), who(edge.blocker));
            let blocker = blocker.unwrap_or_default();
            let some = crate::sample::some;
            rows.row(&db_lock::TABLE, about.interval.t, about.interval.dt)
                .str(db_lock::server, about.server)
                .i64(db_lock::waiter, edge.waiter)
                .i64(db_lock::blocker, edge.blocker)
                .i64(db_lock::root, root)
                .f64(db_lock::depth, f64::from(depth))
                .f64(db_lock::behind, self.behind(edge.waiter) as f64)
                .str(db_lock::lock, edge.lock.as_deref())
                .str(db_lock::mode, edge.mode.as_deref())
                .str(db_lock::blocker_mode, edge.blocker_mode.as_deref())
                .str(db_lock::direct, edge.direct.map(|direct| if direct { "yes" } else { "no" }))
                .str(db_lock::database, edge.database.as_deref())
                .str(db_lock::relation, edge.relation.as_deref())
                .str(db_lock::index_name, edge.index_name.as_deref())
                .f64(db_lock::waited_s, edge.waited_s)
                .str(db_lock::application, some(&waiter.application))
                .str(db_lock::digest, waiter.digest.as_deref())
                .str(db_lock::blocker_state, some(&blocker.state))
                .f64(db_lock::blocker_state_age_s, blocker.state_age_s)
                .f64(db_lock::blocker_transaction_age_s, blocker.transaction_age_s)
                .str(db_lock::blocker_application, some(&blocker.application))
                .str(db_lock::blocker_digest, blocker.digest.as_deref());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn graph(edges: &[(i64, i64, bool)]) -> Graph {
        let mut graph = Graph::default();
        for (waiter, blocker, direct) in edges {
            graph.add(Edge { waiter: *waiter, blocker: *blocker, direct: Some(*direct), ..Edge::default() });
        }
        graph
    }

    #[test]
    fn a_chain_has_one_root_and_all_stand_behind_it() {
        // 3 waits for 2, which waits for 1; 4 is behind 3 in the queue for what 2 holds.
        let graph = graph(&[(2, 1, true), (3, 2, true), (4, 2, true), (4, 3, false)]);
        assert_eq!([graph.root(2), graph.root(3), graph.root(4)], [(1, 1), (1, 2), (1, 2)]);
        assert_eq!([graph.behind(1), graph.behind(2), graph.behind(3), graph.behind(4)], [3, 2, 1, 0]);
    }

    #[test]
    fn a_cycle_ends() {
        let graph = graph(&[(1, 2, true), (2, 1, true)]);
        assert_eq!(graph.root(1), (1, 2));
        assert_eq!(graph.behind(1), 1);
    }
}
