#!/usr/bin/env python3
"""What `fenxi trace plockstat` costs the observed programs: two threads that pass a lock between them, and one that takes a
free one, with and without, in turns.

Settings: BENCH_ROUNDS (5).
"""

import contextlib
import statistics
import subprocess

from common import FENXI, fresh, measure, need, report, setting
from observers import Observer

PROGRAM = r"""
#include <linux/futex.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
static int word, rounds;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static void turn(int me)
{
	for (int i = 0; i < rounds; i++) {
		while (__atomic_load_n(&word, __ATOMIC_ACQUIRE) != me)
			syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, !me, 0, 0, 0);
		__atomic_store_n(&word, !me, __ATOMIC_RELEASE);
		syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1, 0, 0, 0);
	}
}
static void *other(void *unused) { turn(1); return unused; }
int main(int argc, char **argv)
{
	struct timespec a, b;
	pthread_t thread;
	rounds = atoi(argv[2]);
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &a);
	if (!strcmp(argv[1], "pass")) {
		pthread_create(&thread, 0, other, 0);
		turn(0);
		pthread_join(thread, 0);
	} else {
		for (int i = 0; i < rounds; i++) {
			pthread_mutex_lock(&lock);
			pthread_mutex_unlock(&lock);
		}
	}
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &b);
	printf("%f\n", ((b.tv_sec - a.tv_sec) * 1e9 + (b.tv_nsec - a.tv_nsec)) / rounds);
}
"""


def main():
    need("cc", "a C compiler")
    need(FENXI, "run `make build`")
    rounds = setting("BENCH_ROUNDS", 5)
    folder = fresh("plockstat")
    source, program = folder / "pass.c", folder / "pass"
    source.write_text(PROGRAM)
    measure(["cc", "-O2", "-pthread", "-o", program, source])
    kinds = {"alone": None, "plockstat": ["trace", "plockstat", "1"], "plockstat --holds": ["trace", "plockstat", "--holds", "1"]}
    works = {"pass": ("a lock passed between two threads", 100000), "free": ("a free lock taken and released", 300000)}
    found = {(work, kind): [] for work in works for kind in kinds}
    for _ in range(rounds):
        for kind, options in kinds.items():
            with Observer([FENXI, *options]) if options else contextlib.nullcontext():
                for work, (_, times) in works.items():
                    # On one CPU, passing needs no interrupt of another's sleep, which would hide what is measured.
                    text = subprocess.run(["taskset", "-c", "0", program, work, str(times)], check=True, text=True,
                                          stdout=subprocess.PIPE).stdout
                    found[work, kind].append(float(text))
    rows = []
    for work, (what, _) in works.items():
        before = statistics.median(found[work, "alone"])
        for kind in kinds:
            median = statistics.median(found[work, kind])
            rows.append([what, kind, f"{median:.0f}", f"{median - before:+.0f}"])
    report("plockstat", "Locks under trace plockstat", ["", "", "CPU ns each", "more"], rows,
           [f"Medians of {rounds} rounds in turns, on one CPU; CPU time of the program, so that others who run meanwhile do not count."])


if __name__ == "__main__":
    main()
