//! Schedules sources on absolute deadlines, measures their own cost, feeds the store.
