/* Two loads whose places are known, for so many seconds: `compute` runs mix_rows_of_test, anything else copies 1 MiB at a time from
   a file in the page cache. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define BLOCK (1 << 20)
#define BLOCKS 32

volatile unsigned long mixed;

__attribute__((noinline)) void mix_rows_of_test(void)
{
	for (int i = 0; i < 10000000; i++)
		mixed = mixed * 31 + i;
}

static void copy(char *block, int file)
{
	for (int i = 0; i < BLOCKS; i++)
		if (pread(file, block, BLOCK, (off_t)i * BLOCK) != BLOCK)
			exit(2);
}

int main(int argc, char **argv)
{
	time_t end = time(NULL) + atoi(argv[2]);
	char *block = calloc(1, BLOCK);
	int file;
	if (argc > 3) {
		file = open(argv[3], O_RDWR | O_CREAT | O_TRUNC, 0600);
		for (int i = 0; i < BLOCKS; i++)
			if (write(file, block, BLOCK) != BLOCK)
				return 1;
	}
	while (time(NULL) < end)
		if (!strcmp(argv[1], "compute"))
			mix_rows_of_test();
		else
			copy(block, file);
	return 0;
}
