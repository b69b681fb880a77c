/* LD_PRELOAD: a wall clock that is off by CLOCK_SKEW_MS milliseconds, for one process and what it starts. Timers that
   wait for a wall-clock instant are moved by as much, as on a machine whose clock is wrong. CLOCK_OFFSET_FILE names a
   file that holds further milliseconds in its first eight bytes, and may be written to while the process runs: the clock
   then steps. The next eight hold by how many millionths the clock runs faster, and the last eight since when, in
   nanoseconds of CLOCK_BOOTTIME; both may be absent. Two more say the same of CLOCK_BOOTTIME itself, which a time daemon slews
   as well. A timer that is armed already keeps its instant. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#define MAX_FD 4096
static char realtime_timer[MAX_FD], boottime_timer[MAX_FD];

struct clock {
    long long offset_ms, faster_ppm, since_ns, boot_faster_ppm, boot_since_ns;
};

static const volatile struct clock *clock_file;

__attribute__((constructor)) static void map_offset(void) {
    const char *name = getenv("CLOCK_OFFSET_FILE");
    int file = name ? open(name, O_RDONLY | O_CLOEXEC) : -1;
    if (file >= 0) {
        void *mapped = mmap(NULL, sizeof *clock_file, PROT_READ, MAP_SHARED, file, 0);
        clock_file = mapped == MAP_FAILED ? NULL : mapped;
        close(file);
    }
}

static long long gained_ns(void) {
    long long ppm = clock_file ? clock_file->faster_ppm : 0;
    struct timespec now;
    if (!ppm || syscall(SYS_clock_gettime, CLOCK_BOOTTIME, &now)) {
        return 0;
    }
    return (now.tv_sec * 1000000000LL + now.tv_nsec - clock_file->since_ns) / 1000000LL * ppm;
}

static long long skew_ns(void) {
    const char *ms = getenv("CLOCK_SKEW_MS");
    return ((ms ? atoll(ms) : 0) + (clock_file ? clock_file->offset_ms : 0)) * 1000000LL + gained_ns();
}

static void shift(struct timespec *time, long long by) {
    long long all = time->tv_sec * 1000000000LL + time->tv_nsec + by;
    time->tv_sec = all / 1000000000LL;
    time->tv_nsec = all % 1000000000LL;
}

/* How long the boot clock has been slewed when it shows, or would show without that, this instant. */
static long long slewed_for(const struct timespec *time) {
    long long all = time->tv_sec * 1000000000LL + time->tv_nsec;
    long long since = clock_file && clock_file->boot_faster_ppm ? clock_file->boot_since_ns : all;
    return all > since ? all - since : 0;
}

int clock_gettime(clockid_t clock, struct timespec *now) {
    int failed = syscall(SYS_clock_gettime, clock, now);
    if (!failed && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) {
        shift(now, skew_ns());
    }
    if (!failed && clock == CLOCK_BOOTTIME && slewed_for(now)) {
        shift(now, slewed_for(now) / 1000000LL * clock_file->boot_faster_ppm);
    }
    return failed;
}

int gettimeofday(struct timeval *now, void *zone) {
    struct timespec exact;
    (void)zone;
    clock_gettime(CLOCK_REALTIME, &exact);
    now->tv_sec = exact.tv_sec;
    now->tv_usec = exact.tv_nsec / 1000;
    return 0;
}

time_t time(time_t *out) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (out) {
        *out = now.tv_sec;
    }
    return now.tv_sec;
}

int timerfd_create(int clock, int flags) {
    int fd = syscall(SYS_timerfd_create, clock, flags);
    if (fd >= 0 && fd < MAX_FD) {
        realtime_timer[fd] = clock == CLOCK_REALTIME;
        boottime_timer[fd] = clock == CLOCK_BOOTTIME;
    }
    return fd;
}

int timerfd_settime(int fd, int flags, const struct itimerspec *at, struct itimerspec *before) {
    struct itimerspec moved = *at;
    int armed = at->it_value.tv_sec || at->it_value.tv_nsec;
    if (armed && flags & TFD_TIMER_ABSTIME && fd >= 0 && fd < MAX_FD && realtime_timer[fd]) {
        shift(&moved.it_value, -skew_ns());
        if (moved.it_value.tv_sec < 0 || (!moved.it_value.tv_sec && moved.it_value.tv_nsec <= 0)) {
            moved.it_value.tv_sec = 0;
            moved.it_value.tv_nsec = 1;
        }
    }
    if (armed && flags & TFD_TIMER_ABSTIME && fd >= 0 && fd < MAX_FD && boottime_timer[fd] && slewed_for(&moved.it_value)) {
        long long shown = slewed_for(&moved.it_value), pace = 1000000LL + clock_file->boot_faster_ppm;
        shift(&moved.it_value, shown / pace * 1000000LL - shown);
    }
    return syscall(SYS_timerfd_settime, fd, flags, &moved, before);
}
