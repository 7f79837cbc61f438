/* A wall clock that jumps: preloaded into the server by clock.rs, which writes seconds into the file that CLOCK_SHIFT names.
 * The monotonic clock stays. A wait until a wall-clock time ends when that time comes or is jumped over, as in the
 * kernel: it is waited for in short pieces, which a condition variable's user must take for spurious wakeups. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static volatile int64_t *shift_s;
static int (*wait_until)(pthread_cond_t *, pthread_mutex_t *, const struct timespec *);

__attribute__((constructor)) static void begin(void) {
    static int64_t none;
    const char *path = getenv("CLOCK_SHIFT");
    int file = path ? open(path, O_RDONLY) : -1;
    void *mapped = file < 0 ? MAP_FAILED : mmap(NULL, sizeof none, PROT_READ, MAP_SHARED, file, 0);
    shift_s = mapped == MAP_FAILED ? &none : mapped;
    wait_until = dlsym(RTLD_NEXT, "pthread_cond_timedwait");
}

int clock_gettime(clockid_t id, struct timespec *at) {
    int failed = (int)syscall(SYS_clock_gettime, id, at);
    if (!failed && shift_s && (id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE)) at->tv_sec += *shift_s;
    return failed;
}

int gettimeofday(struct timeval *restrict at, void *restrict zone) {
    struct timespec now;
    (void)zone;
    if (clock_gettime(CLOCK_REALTIME, &now)) return -1;
    at->tv_sec = now.tv_sec;
    at->tv_usec = now.tv_nsec / 1000;
    return 0;
}

time_t time(time_t *at) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (at) *at = now.tv_sec;
    return now.tv_sec;
}

int pthread_cond_timedwait(pthread_cond_t *restrict cond, pthread_mutex_t *restrict mutex, const struct timespec *restrict until) {
    const int64_t first_wall_clock_s = 1000000000, piece_ns = 50000000, second_ns = 1000000000;
    struct timespec now, piece;
    if (until->tv_sec < first_wall_clock_s) return wait_until(cond, mutex, until); /* by the monotonic clock */
    clock_gettime(CLOCK_REALTIME, &now);
    int64_t left_s = until->tv_sec - now.tv_sec;
    if (left_s < 0 || (left_s == 0 && until->tv_nsec <= now.tv_nsec)) return ETIMEDOUT;
    int64_t left_ns = left_s > 1 ? piece_ns : left_s * second_ns + until->tv_nsec - now.tv_nsec;
    if (left_ns > piece_ns) left_ns = piece_ns;
    syscall(SYS_clock_gettime, CLOCK_REALTIME, &piece);
    piece.tv_nsec += left_ns;
    if (piece.tv_nsec >= second_ns) piece.tv_sec++, piece.tv_nsec -= second_ns;
    int ended = wait_until(cond, mutex, &piece);
    return ended == ETIMEDOUT ? 0 : ended;
}
