"""Runs of a Fenxi store as Arrow, Polars or pandas tables.

Tables are read from the store's files; comparisons, questions and SQL are the answers of the `fenxi` program.
"""

from ._program import Program, ProgramError
from ._selectors import Ambiguous, Unknown
from ._store import Run, Store, open, units

__all__ = ["Ambiguous", "Program", "ProgramError", "Run", "Store", "Unknown", "compare", "open", "units"]


def compare(a, b, *, store=None, **options):
    """Compares two groups of runs: selectors, or lists of them. See `Store.compare`."""
    store = store if isinstance(store, Store) else open(store)
    return store.compare(a, b, **options)
