"""`fenxi store push` and `pull` against a local S3-compatible server (moto): s3_push.py FENXI STORE WORK."""

import json
import logging
import os
import pathlib
import shutil
import subprocess
import sys
import urllib.request

from moto.server import ThreadedMotoServer


def main(fenxi, recorded, work):
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    store = f"{work}/pushed"
    shutil.copytree(recorded, store)
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0)
    server.start()
    host, port = server.get_host_and_port()
    environment = {
        **os.environ,
        "AWS_ENDPOINT_URL": f"http://{host}:{port}",
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test",
        "AWS_REGION": "us-east-1",
    }

    def run(store, *args, fails=False):
        done = subprocess.run([fenxi, *args, "--store", store], env=environment, capture_output=True, text=True, check=False)
        assert (done.returncode != 0) == fails, (args, done)
        return done.stderr if fails else done.stdout

    def told(*args, store=store):
        return json.loads(run(store, *args, "--json"))

    error = run(store, "push", "s3://perf/team", fails=True)
    assert "NoSuchBucket" in error, error
    make = urllib.request.Request(f"http://{host}:{port}/perf", method="PUT")
    urllib.request.urlopen(make).read()
    n_runs = len(list(pathlib.Path(store, "runs").iterdir()))
    assert told("push", "s3://perf/team", "--dry-run")["runs"] == n_runs
    first = told("push", "s3://perf/team")
    assert first["runs"] == n_runs and first["files"] > 5 * n_runs, first
    again = told("push", "s3://perf/team")
    assert (again["runs"], again["files"]) == (0, 0), again
    copy = f"{work}/pulled"
    pulled = told("pull", "s3://perf/team", store=copy)
    assert pulled["runs"] == n_runs, pulled
    ask = ["sql", "-f", "csv", "SELECT run, count(*), sum(usr) FROM cpu GROUP BY run ORDER BY run"]
    assert run(copy, *ask) == run(store, *ask)
    run(copy, "verify")
    run(store, "compact", "--quiet")
    compacted = told("push", "s3://perf/team")
    assert compacted["removed_files"] > n_runs, compacted
    once_more = f"{work}/again"
    assert told("pull", "s3://perf/team", store=once_more)["runs"] == n_runs
    assert run(once_more, *ask) == run(store, *ask)
    server.stop()
    print(f"push: {n_runs} runs, {first['files']} files, {first['bytes']} bytes to S3 and back, also compacted")


main(*sys.argv[1:4])
