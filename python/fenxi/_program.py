"""The `fenxi` program, for what is computed rather than read."""

import json
import os
import subprocess


class ProgramError(RuntimeError):
    """The program could not answer; the text is its own."""


class Program:
    """Runs `fenxi` on one store. `FENXI` names another program than the one on the PATH."""

    def __init__(self, store, program=None):
        self.store = store
        self.program = program or os.environ.get("FENXI") or "fenxi"

    def output(self, *args, may_exit=(0,)):
        """What a command prints, as bytes."""
        command = [self.program, *args, "--store", self.store, "--quiet"]
        try:
            done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, check=False)
        except FileNotFoundError:
            raise ProgramError(f"there is no program `{self.program}`: install it, or name it with FENXI=/path/to/fenxi") from None
        if done.returncode not in may_exit:
            raise ProgramError(done.stderr.decode(errors="replace").strip() or f"{command} ended with {done.returncode}")
        return done.stdout

    def json(self, *args, may_exit=(0,)):
        """What a command prints with `--json`: a list of its lines."""
        return [json.loads(line) for line in self.output(*args, may_exit=may_exit).splitlines() if line.strip()]
