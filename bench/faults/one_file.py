"""Processes append to one file; before, each has its own."""

import pathlib

from programs import SECONDS, compiled

TITLE = "processes write to one file"
FINDINGS = {"kernel-lock-waits"}
WRITERS = r"""
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
static double now(void) { struct timespec t; clock_gettime(CLOCK_MONOTONIC, &t); return t.tv_sec + t.tv_nsec / 1e9; }
int main(int n, char **words) {
    (void)n; int shared = atoi(words[2]); double end = now() + atof(words[3]); static char block[65536];
    for (int i = 0; i < 10; i++) if (fork() == 0) {
        char path[400]; snprintf(path, sizeof path, "%s-%d", words[1], shared ? 0 : i);
        int file = open(path, O_CREAT | O_WRONLY, 0600);
        for (long at = 0; now() < end; at = (at + 1) % 300) if (pwrite(file, block, sizeof block, at * sizeof block) < 0) _exit(1);
        unlink(path); _exit(0);
    }
    for (int i = 0; i < 10; i++) wait(0);
}
"""


def writers(shared):
    return [compiled("one_file", WRITERS), str(pathlib.Path.home() / ".cache" / "fenxi-one-file"), shared, SECONDS]


LOADS = {"ten": (lambda: writers("0"), lambda: writers("1"))}
