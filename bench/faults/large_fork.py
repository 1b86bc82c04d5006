"""A process with much memory forks for each step, as one that saves a snapshot does; before, it has little."""

from programs import SECONDS, compiled, python

TITLE = "a large process forks"
FINDINGS = {"large-forks"}
# Who copies page tables is the fork: its name has to be there.
SENTENCE = "fork"
FORKS = r"""
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
static double now(void) { struct timespec t; clock_gettime(CLOCK_MONOTONIC, &t); return t.tv_sec + t.tv_nsec / 1e9; }
int main(int n, char **words) {
    (void)n; size_t size = (size_t)atoi(words[1]) << 20; double end = now() + atof(words[2]); char *area = malloc(size); memset(area, 1, size);
    while (now() < end) {
        pid_t child = fork(); if (child == 0) _exit(0);
        for (size_t i = 0; i < size / 8; i += 4096) area[i]++;
        waitpid(child, 0, 0); usleep(2000);
    }
    return 0;
}
"""
SNAPSHOTS = """
import os, sys
area = bytearray(int(sys.argv[1]) << 20)
for i in range(0, len(area), 4096): area[i] = 1
while time.monotonic() < end:
    child = os.fork()
    if child == 0: os._exit(0)
    for i in range(0, len(area) // 16, 4096): area[i] = 2
    os.waitpid(child, 0); time.sleep(0.002)
"""
LOADS = {
    "C": (lambda: [compiled("large_fork", FORKS), "1", SECONDS], lambda: [compiled("large_fork", FORKS), "800", SECONDS]),
    "Python": (lambda: python(SNAPSHOTS, "1"), lambda: python(SNAPSHOTS, "500")),
}
