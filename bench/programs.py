"""Programs that injected faults run: compiled from C, or Python and shell as they are."""

import os
import pathlib
import subprocess
import sys
import tempfile

from common import Skipped

SECONDS = os.environ.get("BENCH_SECONDS", "6")
FOLDER = pathlib.Path(tempfile.gettempdir()) / f"fenxi-programs-{os.getuid()}"


def compiled(name, source, *flags):
    """A C program; compiled once."""
    FOLDER.mkdir(exist_ok=True)
    text, program = FOLDER / f"{name}.c", FOLDER / name
    if not program.exists() or not text.exists() or text.read_text() != source:
        text.write_text(source)
        try:
            subprocess.run(["cc", "-O1", "-o", program, text, "-lpthread", *flags], check=True, capture_output=True)
        except (OSError, subprocess.CalledProcessError) as error:
            raise Skipped(f"no C compiler: {error}") from error
    return str(program)


def python(source, *arguments, seconds=SECONDS):
    """Words that run a Python program; it finds how long it is to last in the environment."""
    return [sys.executable, "-c", f"import time\nend = time.monotonic() + {seconds}\n{source}", *arguments]


def shell(source, seconds=SECONDS):
    """Words that run a shell script, over and over until the time is up."""
    return ["bash", "-c", f"end=$((SECONDS+{seconds})); while [ $SECONDS -lt $end ]; do {source}; done"]
