"""Programs that injected faults run: compiled from C, or Python and shell as they are."""

import os
import pathlib
import subprocess
import sys
import tempfile

from common import Skipped

SECONDS = os.environ.get("BENCH_SECONDS", "6")
FOLDER = pathlib.Path(tempfile.gettempdir()) / f"fenxi-programs-{os.getuid()}"


def built(name, source, command):
    """Writes a program's text into `FOLDER` and runs the compiler there, once for each text."""
    FOLDER.mkdir(exist_ok=True)
    text = FOLDER / name
    if text.exists() and text.read_text() == source:
        return
    text.write_text(source)
    try:
        subprocess.run(command, check=True, capture_output=True, cwd=FOLDER)
    except BaseException as error:
        # Without its program the text must not look like one that is built.
        text.unlink()
        if isinstance(error, (OSError, subprocess.CalledProcessError)):
            raise Skipped(f"no {command[0]}: {error}") from error
        raise


def compiled(name, source, *flags):
    """A C program; compiled once."""
    built(f"{name}.c", source, ["cc", "-O1", "-o", name, f"{name}.c", "-lpthread", *flags])
    return str(FOLDER / name)


def python(source, *arguments, seconds=SECONDS):
    """Words that run a Python program; it finds how long it is to last in the environment."""
    return [sys.executable, "-c", f"import time\nend = time.monotonic() + {seconds}\n{source}", *arguments]


def shell(source, seconds=SECONDS):
    """Words that run a shell script, over and over until the time is up."""
    return ["bash", "-c", f"end=$((SECONDS+{seconds})); while [ $SECONDS -lt $end ]; do {source}; done"]
