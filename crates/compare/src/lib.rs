//! Runs of a store put side by side: what is compared, comparisons, trends, the representative run.
