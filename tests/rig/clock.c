/*
 * clock.c - a clock that the tests move
 *
 * Preloaded into weir: every clock it reads is ahead by what stands in the file that
 * WEIR_TEST_CLOCK names, nanoseconds as the machine writes an int64; the clocks that
 * can be set, by a second number there, too.  What the kernel times itself (a wait in
 * epoll) is not shortened: who moves the clock wakes weir.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define NS INT64_C(1000000000)

static const int64_t *ahead;

__attribute__((constructor)) static void
find_clock(void)
{
	const char *path = getenv("WEIR_TEST_CLOCK");
	int fd = path != NULL ? open(path, O_RDONLY | O_CLOEXEC) : -1;
	void *at;

	if (fd < 0)
		return;
	at = mmap(NULL, 2 * sizeof(*ahead), PROT_READ, MAP_SHARED, fd, 0);
	if (at != MAP_FAILED)
		ahead = at;
	close(fd);
}

static int64_t
ahead_of(clockid_t id)
{
	bool is_wall = id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE;

	return __atomic_load_n(&ahead[0], __ATOMIC_RELAXED) +
	       (is_wall ? __atomic_load_n(&ahead[1], __ATOMIC_RELAXED) : 0);
}

/* By the system call: no function of the C library is looked up, and a sanitizer that
 * is not ready yet is not asked. */
int
clock_gettime(clockid_t id, struct timespec *ts)
{
	long result = syscall(SYS_clock_gettime, id, ts);
	int64_t ns;

	if (result != 0 || ahead == NULL || id == CLOCK_PROCESS_CPUTIME_ID ||
	    id == CLOCK_THREAD_CPUTIME_ID)
		return (int)result;
	ns = ts->tv_sec * NS + ts->tv_nsec + ahead_of(id);
	ts->tv_sec = ns / NS;
	ts->tv_nsec = ns % NS;
	return 0;
}

int
gettimeofday(struct timeval *restrict tv, void *restrict zone)
{
	struct timespec ts;

	(void)zone;
	clock_gettime(CLOCK_REALTIME, &ts);
	tv->tv_sec = ts.tv_sec;
	tv->tv_usec = ts.tv_nsec / 1000;
	return 0;
}

time_t
time(time_t *to)
{
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	if (to != NULL)
		*to = ts.tv_sec;
	return ts.tv_sec;
}

/* The kernel waits by its own clock, so the end of a wait is told in that one. */
int
pthread_cond_timedwait(pthread_cond_t *restrict cond, pthread_mutex_t *restrict mutex,
    const struct timespec *restrict end)
{
	static int (*wait)(pthread_cond_t *, pthread_mutex_t *, const struct timespec *);
	struct timespec own = *end;
	int64_t ns;

	if (wait == NULL)
		*(void **)&wait = dlsym(RTLD_NEXT, "pthread_cond_timedwait");
	if (ahead != NULL) {
		ns = own.tv_sec * NS + own.tv_nsec -
		     __atomic_load_n(ahead, __ATOMIC_RELAXED);
		own.tv_sec = ns / NS;
		own.tv_nsec = ns % NS;
	}
	return wait(cond, mutex, &own);
}
