"""All work comes to one of several threads or processes; before, all share it."""

from programs import compiled, python, shell, SECONDS

TITLE = "one thread does all the work"
FINDINGS = {"one-thread-saturated", "one-cpu-saturated"}
QUEUE = r"""
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
static int serial; static double end;
static double now(void) { struct timespec t; clock_gettime(CLOCK_MONOTONIC, &t); return t.tv_sec + t.tv_nsec / 1e9; }
static void *work(void *of) {
    volatile long sum = 0; long number = (long)of;
    while (now() < end) {
        if (serial && number) { usleep(20000); continue; }
        for (int i = 0; i < 200000; i++) sum += i;
        if (!serial) usleep(3000);
    }
    return 0;
}
int main(int n, char **words) {
    (void)n; serial = atoi(words[1]); end = now() + atof(words[2]);
    pthread_t all_of[3];
    for (long i = 0; i < 3; i++) pthread_create(&all_of[i], 0, work, (void *)i);
    for (int i = 0; i < 3; i++) pthread_join(all_of[i], 0);
}
"""
STAGES = """
import os, sys
# The second stage of a pipeline; with `slow` it takes much longer for the same lines.
slow = sys.argv[1] == "slow"
into, out = os.pipe()
if os.fork() == 0:
    os.close(out)
    while (text := os.read(into, 65536)): sum(text) if not slow else [sum(text) for _ in range(400)]
    os._exit(0)
os.close(into)
while time.monotonic() < end:
    os.write(out, b"x" * 4096)
    if not slow: time.sleep(0.002)
os.close(out)
os.wait()
"""
LOADS = {
    "threads": (lambda: [compiled("one_thread", QUEUE), "0", SECONDS], lambda: [compiled("one_thread", QUEUE), "1", SECONDS]),
    "pipeline": (lambda: python(STAGES, "fast"), lambda: python(STAGES, "slow")),
}
