/* Makes system calls as 32-bit programs do: 100 getpid, 50 close of what is not open; and 10 of the 64-bit call that has
 * getpid's 32-bit number (writev), of nothing. */
#include <sys/syscall.h>
#include <unistd.h>

static long call(long number, long argument)
{
	long result;
	__asm__ volatile("int $0x80" : "=a"(result) : "a"(number), "b"(argument) : "memory", "r8", "r9", "r10", "r11");
	return result;
}

int main(void)
{
	enum { CLOSE = 6, GETPID = 20, NO_FILE = -1 };
	for (int i = 0; i < 100; i++)
		if (call(GETPID, 0) != getpid())
			return 1;
	for (int i = 0; i < 50; i++)
		call(CLOSE, NO_FILE);
	for (int i = 0; i < 10; i++)
		syscall(SYS_writev, 1, 0, 0);
	return 0;
}
