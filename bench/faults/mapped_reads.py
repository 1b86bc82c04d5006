"""Random reads of a mapped file that the page cache does not hold; before, it holds it."""

import pathlib

from programs import SECONDS, compiled, python

TITLE = "a mapped file is read from disk"
FINDINGS = {"cache-too-small", "programs-wait-disk", "reads-past-cache", "major-faults", "disk-saturated"}
READS = r"""
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>
static double now(void) { struct timespec t; clock_gettime(CLOCK_MONOTONIC, &t); return t.tv_sec + t.tv_nsec / 1e9; }
int main(int n, char **words) {
    (void)n; size_t size = 256u << 20; int cold = atoi(words[2]); double end = now() + atof(words[3]); volatile long sum = 0;
    int file = open(words[1], O_CREAT | O_RDWR | O_TRUNC, 0600); char *block = malloc(1 << 20); memset(block, 7, 1 << 20);
    for (size_t i = 0; i < size; i += 1 << 20) if (write(file, block, 1 << 20) < 0) return 1;
    fsync(file); unlink(words[1]);
    char *area = mmap(0, size, PROT_READ, MAP_SHARED, file, 0); madvise(area, size, MADV_RANDOM);
    for (unsigned long i = 0; now() < end; i++) {
        if (cold && i % 1000 == 0) { madvise(area, size, MADV_DONTNEED); posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED); }
        sum += area[(i * 2654435761u) % size];
    }
    return 0;
}
"""
MAPPED = """
import mmap, os, random, sys
path = os.path.join(os.path.expanduser("~"), ".cache", "fenxi-mapped-reads")
size = 128 << 20
with open(path, "wb") as file: file.write(bytes(size)); file.flush(); os.fsync(file.fileno())
file = os.open(path, os.O_RDONLY); os.unlink(path)
area = mmap.mmap(file, size, prot=mmap.PROT_READ); area.madvise(mmap.MADV_RANDOM)
while time.monotonic() < end:
    if sys.argv[1] == "cold": area.madvise(mmap.MADV_DONTNEED); os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
    for _ in range(500): area[random.randrange(size)]
"""


def reads(cold):
    return [compiled("mapped_reads", READS), str(pathlib.Path.home() / ".cache" / "fenxi-mapped"), cold, SECONDS]


LOADS = {
    "C": (lambda: reads("0"), lambda: reads("1")),
    "Python": (lambda: python(MAPPED, "warm"), lambda: python(MAPPED, "cold")),
}
