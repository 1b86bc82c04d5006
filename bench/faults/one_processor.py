"""A runtime that is set to use one processor, or an event loop that computes; before, all processors."""

import os

from programs import FOLDER, SECONDS, built

TITLE = "a runtime uses one processor"
FINDINGS = {"one-thread-saturated", "one-cpu-saturated"}
SENTENCE = "one cpu"
GO = """
package main
import ("os"; "strconv"; "sync"; "time")
func main() {
	seconds, _ := strconv.ParseFloat(os.Args[1], 64); end := time.Now().Add(time.Duration(seconds * 1e9)); var all sync.WaitGroup; var total [4]int
	for n := range 4 { all.Add(1); go func() { defer all.Done(); for time.Now().Before(end) { for i := 0; i < 100000; i++ { total[n] += i ^ (total[n] >> 3) } } }() }
	all.Wait()
}
"""
NODE = """
const { Worker, isMainThread, workerData } = require('worker_threads');
const end = Date.now() + 1000 * process.argv[2];
const work = () => { let text = JSON.stringify(Array.from({ length: 2000 }, (_, i) => ({ i, name: 'n' + i }))); return JSON.parse(text).length; };
if (!isMainThread) { while (Date.now() < workerData) work(); }
else if (process.argv[3] === 'workers') for (let i = 0; i < 4; i++) new Worker(__filename, { workerData: end });
else { const step = () => { if (Date.now() < end) { work(); setImmediate(step); } }; for (let i = 0; i < 4; i++) step(); }
"""


def go(processors):
    built("one_processor.go", GO, ["go", "build", "-o", "one-processor", "one_processor.go"])
    return ["env", f"GOMAXPROCS={processors}", str(FOLDER / "one-processor"), SECONDS]


def node(kind):
    built("one_processor.js", NODE, ["node", "--check", "one_processor.js"])
    return ["node", str(FOLDER / "one_processor.js"), SECONDS, kind]


LOADS = {
    "Go": (lambda: go(os.cpu_count()), lambda: go(1)),
    "node": (lambda: node("workers"), lambda: node("loop")),
}
