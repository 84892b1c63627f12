/* Moves the wall clock of one process: LD_PRELOAD it with BULLRUSH_CLOCK=<file>. The first 8 bytes of the file are an
 * offset in ms.
 * The monotonic clock stays as it is, as when a machine's clock is set. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static volatile int64_t *offset_ms;

__attribute__((constructor)) static void open_offset(void) {
  const char *path = getenv("BULLRUSH_CLOCK");
  int file = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
  if (file < 0) return;
  void *page = mmap(NULL, sizeof(int64_t), PROT_READ, MAP_SHARED, file, 0);
  close(file);
  if (page != MAP_FAILED) offset_ms = page;
}

static void move(int64_t *seconds, int64_t *fraction, int64_t second) {
  int64_t ms = offset_ms ? *offset_ms : 0;
  *seconds += ms / 1000;
  *fraction += ms % 1000 * (second / 1000);
  if (*fraction < 0) { *fraction += second; --*seconds; }
  if (*fraction >= second) { *fraction -= second; ++*seconds; }
}

int clock_gettime(clockid_t clock, struct timespec *time) {
  static int (*real)(clockid_t, struct timespec *);
  if (!real) real = dlsym(RTLD_NEXT, "clock_gettime");
  int result = real(clock, time);
  if (!result && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) {
    int64_t seconds = time->tv_sec, fraction = time->tv_nsec;
    move(&seconds, &fraction, 1000000000);
    time->tv_sec = seconds;
    time->tv_nsec = fraction;
  }
  return result;
}

int gettimeofday(struct timeval *restrict time, void *restrict zone) {
  (void)zone;
  struct timespec now;
  int result = clock_gettime(CLOCK_REALTIME, &now);
  time->tv_sec = now.tv_sec;
  time->tv_usec = now.tv_nsec / 1000;
  return result;
}

time_t time(time_t *place) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  if (place) *place = now.tv_sec;
  return now.tv_sec;
}
