"""How people point at runs: as on the command line."""


class Unknown(KeyError):
    """No run answers to the selector."""

    def __str__(self):
        return self.args[0]


class Ambiguous(KeyError):
    """Several runs answer where one was asked for."""

    def __str__(self):
        return self.args[0]


def select(store, selector):
    """The runs that `selector` names, newest first."""
    if selector.startswith("@"):
        return _latest(store, selector)
    if "=" in selector:
        key, value = selector.split("=", 1)
        found = [run for run in store.runs() if {**run.params, **run.tags}.get(key) == value]
        return _some(found, selector)
    ids = store.ids()
    if selector in ids:
        return [store.run(selector)]
    begins = [id for id in ids if id.startswith(selector)] if selector else []
    # What looks like the beginning of an id and is one needs no look at other runs.
    if len(begins) == 1 and len(selector) >= 8 and selector[:8].isdigit():
        return [store.run(begins[0])]
    called = [run for run in store.runs() if run.name == selector]
    if called:
        return called
    if len(begins) > 1:
        raise Ambiguous(f"`{selector}` is the beginning of {len(begins)} runs: {', '.join(sorted(begins)[:5])}")
    return _some([store.run(id) for id in begins], selector)


def _latest(store, selector):
    text = selector[1:] or "1"
    if not text.isdigit() or int(text) == 0:
        raise Unknown(f"`{selector}` does not name a run: after `@` comes a number from 1 (the latest run)")
    place = int(text) - 1
    ids = sorted(store.ids(), reverse=True)
    if place >= len(ids):
        raise Unknown(f"`{selector}`: there are {len(ids)} runs in {store.path}")
    # Ids have the second; which of one second's runs began later, only their manifests know.
    second = ids[place][:15]
    before = sum(id[:15] > second for id in ids)
    peers = [store.run(id) for id in ids if id[:15] == second]
    peers.sort(key=lambda run: (run.manifest["start"], run.id), reverse=True)
    return [peers[place - before]]


def _some(found, selector):
    if not found:
        raise Unknown(f"no run in the store matches `{selector}`: `fenxi runs` lists them")
    return found
