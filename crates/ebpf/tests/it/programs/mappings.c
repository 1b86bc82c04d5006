/* Writes to pages of a file through mappings at one and the same address: 64 pages of a private one, 48 of a shared one, 32 of
 * a private one again, put over the shared one; then reads 16 of a shared one, each beyond what is mapped beside another. */
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { PAGE = 4096, PAGES = 4096, APART = 64 };

static volatile char *map(void *at, int file, int how)
{
	volatile char *memory = mmap(at, PAGES * PAGE, PROT_READ | PROT_WRITE, how | (at ? MAP_FIXED : 0), file, 0);
	/* Pages come one by one: a fault in a larger piece of the cache maps all of it (Linux 6.18). */
	if (memory != MAP_FAILED)
		madvise((void *)memory, PAGES * PAGE, MADV_RANDOM);
	return memory;
}

static void write_to(volatile char *memory, int pages)
{
	for (int i = 0; i < pages; i++)
		memory[i * PAGE] = 1;
}

int main(int argc, char **argv)
{
	int file = argc > 1 ? open(argv[1], O_RDWR) : -1;
	volatile char *memory, sum = 0;
	if (file < 0 || fsync(file) || posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED))
		return 1;
	memory = map(0, file, MAP_PRIVATE);
	if (memory == MAP_FAILED)
		return 1;
	write_to(memory, 64);
	munmap((void *)memory, PAGES * PAGE);
	if (map((void *)memory, file, MAP_SHARED) != memory)
		return 1;
	write_to(memory, 48);
	if (map((void *)memory, file, MAP_PRIVATE) != memory)
		return 1;
	write_to(memory, 32);
	if (argc > 2) {
		map((void *)memory, file, MAP_SHARED);
		for (int i = 1; i <= 16; i++)
			sum += memory[i * APART * PAGE];
	}
	return sum & 0;
}
