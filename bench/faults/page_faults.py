"""Memory that is asked for, used once and given back; before, it is kept."""

from programs import SECONDS, compiled, python

TITLE = "memory is mapped anew for each use"
FINDINGS = {"page-faults"}
BUFFERS = r"""
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
static double now(void) { struct timespec t; clock_gettime(CLOCK_MONOTONIC, &t); return t.tv_sec + t.tv_nsec / 1e9; }
int main(int n, char **words) {
    (void)n; int anew = atoi(words[1]); double end = now() + atof(words[2]); size_t size = 8 << 20; char *kept = 0;
    while (now() < end) {
        if (!kept) { kept = mmap(0, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0); madvise(kept, size, MADV_NOHUGEPAGE); }
        memset(kept, 1, size);
        if (anew) { munmap(kept, size); kept = 0; }
    }
}
"""
SLICES = """
import mmap, sys
def fresh():
    area = mmap.mmap(-1, 16 << 20)
    area.madvise(mmap.MADV_NOHUGEPAGE)
    return area
text, area = b"x" * (16 << 20), fresh()
while time.monotonic() < end:
    if sys.argv[1] == "anew": area.close(); area = fresh()
    area.seek(0); area.write(text)
"""
LOADS = {
    "C": (lambda: [compiled("page_faults", BUFFERS), "0", SECONDS], lambda: [compiled("page_faults", BUFFERS), "1", SECONDS]),
    "Python": (lambda: python(SLICES, "kept"), lambda: python(SLICES, "anew")),
}
