/* reads FILE drop|keep|mapped|drop-mapped [TIMES]: reads a file to its end, in parts of 64 KiB, or touches each of its pages; `drop` takes
 * it out of the page cache first. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	static char part[64 << 10];
	struct stat state;
	int file = open(argv[1], O_RDONLY);
	int times = argc > 3 ? atoi(argv[3]) : 1;
	if (file < 0 || fstat(file, &state))
		return 2;
	if (!strncmp(argv[2], "drop", 4) && (fsync(file) || posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED)))
		return 2;
	for (; times > 0; times--) {
		ssize_t n;
		lseek(file, 0, SEEK_SET);
		if (strstr(argv[2], "mapped")) {
			volatile char *at = mmap(NULL, state.st_size, PROT_READ, MAP_SHARED, file, 0);
			if (at == MAP_FAILED)
				return 2;
			for (off_t page = 0; page < state.st_size; page += 4096)
				(void)at[page];
			munmap((void *)at, state.st_size);
			continue;
		}
		while ((n = read(file, part, sizeof(part))) > 0) {
		}
		if (n < 0)
			return 3;
	}
	return 0;
}
