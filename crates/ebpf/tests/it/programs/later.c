/* As a program (LATER not defined): uses the CPU for 0.1 s, then loads the library that it is given and calls its `in_library`, which
   uses the CPU for as many milliseconds as given. As a library, that function. */
#include <stdlib.h>
#include <time.h>

volatile unsigned long sink;

static double used(void)
{
	struct timespec t;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

__attribute__((noinline, noclone)) void burn(double enough)
{
	double until = used() + enough;
	do {
		for (long i = 0; i < 200000; i++)
			sink += i * i;
	} while (used() < until);
	sink++;
}

#ifdef LATER
__attribute__((noinline, noclone)) void in_library(double enough)
{
	burn(enough);
	sink++;
}
#else
#include <dlfcn.h>

int main(int argc, char **argv)
{
	void *library;
	void (*function)(double);
	burn(0.1);
	library = dlopen(argv[1], RTLD_NOW);
	function = library ? (void (*)(double))dlsym(library, "in_library") : 0;
	if (!function)
		return 1;
	function(atoi(argv[2]) / 1e3);
	sink++;
	return 0;
}
#endif
