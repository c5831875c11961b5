/* Reads the counters of the kernel as files of /proc; what cannot be read is not known. */
#include "base/host/host_contention.h"

#include "base/clock.h"

#include <dirent.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

/* Reads the second number of a thread's schedstat: the nanoseconds that it waited for a processor.
 */
static bool read_wait(const char *thread, uint64_t *waited)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/self/task/%.20s/schedstat", thread);
    FILE *file = fopen(path, "re");
    const bool read = file && fscanf(file, "%*u %" SCNu64, waited) == 1;
    if (file)
        fclose(file);
    return read;
}

/* Adds up what the threads waited. Returns false if the kernel does not count it. A thread that
 * ends meanwhile is left out. */
static bool read_waits(uint64_t *waited)
{
    DIR *threads = opendir("/proc/self/task");
    bool any = false;
    *waited = 0;
    for (const struct dirent *entry; threads && (entry = readdir(threads));) {
        uint64_t own;
        if (entry->d_name[0] == '.' || !read_wait(entry->d_name, &own))
            continue;
        *waited += own;
        any = true;
    }
    if (threads)
        closedir(threads);
    return any;
}

/* Reads the line "cpu" of /proc/stat: user nice system idle iowait irq softirq steal. */
static bool read_steal(uint64_t *stolen, uint64_t *ticks)
{
    enum { COLUMNS = 8 };
    uint64_t columns[COLUMNS] = {0};
    FILE *file = fopen("/proc/stat", "re");
    bool read = file && fscanf(file, "cpu") == 0;
    for (int i = 0; read && i < COLUMNS; i++)
        read = fscanf(file, "%" SCNu64, &columns[i]) == 1;
    if (file)
        fclose(file);
    *ticks = 0;
    for (int i = 0; i < COLUMNS; i++)
        *ticks += columns[i];
    *stolen = columns[COLUMNS - 1];
    return read;
}

static uint64_t computed_time(void)
{
    struct rusage usage;
    if (getrusage(RUSAGE_SELF, &usage) != 0)
        return 0;
    const struct timeval *user = &usage.ru_utime, *kernel = &usage.ru_stime;
    return ((uint64_t)user->tv_sec + (uint64_t)kernel->tv_sec) * 1000000000u +
           ((uint64_t)user->tv_usec + (uint64_t)kernel->tv_usec) * 1000u;
}

void host_contention_read(struct host_contention *now)
{
    *now = (struct host_contention){.taken = clock_nanoseconds(), .computed = computed_time()};
    now->knows_wait = read_waits(&now->waited);
    now->knows_steal = read_steal(&now->stolen, &now->ticks);
}

/* Returns the growth of a counter divided by `whole`; 0 if it did not grow. */
static double growth(uint64_t part_before, uint64_t part_after, double whole)
{
    return part_after > part_before && whole > 0 ? (double)(part_after - part_before) / whole : 0;
}

double host_contention_share(const struct host_contention *before,
                             const struct host_contention *after, bool busy_thread)
{
    const double wall = (double)(after->taken - before->taken);
    double share = 0;
    if (before->knows_wait && after->knows_wait)
        share = fmax(share, growth(before->waited, after->waited, wall));
    if (before->knows_steal && after->knows_steal && after->ticks > before->ticks)
        share = fmax(share,
                     growth(before->stolen, after->stolen, (double)(after->ticks - before->ticks)));
    if (busy_thread && wall > 0)
        share = fmax(share, 1 - growth(before->computed, after->computed, wall));
    return share;
}
