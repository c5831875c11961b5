#include "base/host.h"

#include "base/text.h"

#include <ctype.h>
#include <dirent.h>
#include <inttypes.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

/* The value after "KEY ...:" in a file such as /proc/meminfo; false when there is none. */
static bool find_line(const char *path, const char *key, char *value, size_t size)
{
    FILE *file = fopen(path, "re");
    if (!file)
        return false;
    char line[512];
    bool found = false;
    size_t length = strlen(key);
    while (!found && fgets(line, sizeof line, file)) {
        const char *colon = strchr(line, ':');
        if (strncmp(line, key, length) != 0 || !colon)
            continue;
        colon++;
        while (isspace((unsigned char)*colon))
            colon++;
        snprintf(value, size, "%.*s", (int)strcspn(colon, "\n"), colon);
        found = true;
    }
    fclose(file);
    return found;
}

static uint64_t kibibytes_of(const char *path, const char *key)
{
    char value[64];
    return find_line(path, key, value, sizeof value) ? strtoull(value, NULL, 10) * 1024 : 0;
}

static size_t usable_cores(void)
{
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0 && CPU_COUNT(&set) > 0)
        return (size_t)CPU_COUNT(&set);
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    return online > 0 ? (size_t)online : 1;
}

static enum instruction_set strongest(void)
{
#if defined(__x86_64__)
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq"))
        return ISA_AVX512;
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        return ISA_AVX2;
#endif
    return ISA_GENERIC;
}

const char *instruction_set_name(enum instruction_set set)
{
    static const char *const names[] = {"generic", "avx2", "avx512"};
    return names[set];
}

enum instruction_set host_instruction_set(void)
{
    enum instruction_set best = strongest();
    const char *wanted = getenv("TINCA_CPU");
    for (enum instruction_set set = ISA_GENERIC; wanted && set < best; set++)
        if (strcmp(wanted, instruction_set_name(set)) == 0)
            return set;
    return best;
}

void host_describe(struct host *host)
{
    *host = (struct host){.cores = usable_cores(), .instruction_set = strongest()};
    if (gethostname(host->name, sizeof host->name - 1) != 0)
        snprintf(host->name, sizeof host->name, "localhost");
    struct utsname system;
    if (!find_line("/proc/cpuinfo", "model name", host->cpu, sizeof host->cpu) &&
        uname(&system) == 0)
        snprintf(host->cpu, sizeof host->cpu, "%s", system.machine);
    long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    host->memory_bytes = pages > 0 && page > 0 ? (uint64_t)pages * (uint64_t)page : 0;
}

struct least {
    uint64_t bytes;
    enum memory_bound bound;
};

static void lower(struct least *least, uint64_t bytes, enum memory_bound bound)
{
    if (bytes < least->bytes)
        *least = (struct least){bytes, bound};
}

static bool read_number(const char *path, uint64_t *value)
{
    FILE *file = fopen(path, "re");
    if (!file)
        return false;
    bool read = fscanf(file, "%" SCNu64, value) == 1; /* "max" is no number: no limit */
    fclose(file);
    return read;
}

static void lower_to_limit(struct least *least, int resource, uint64_t used)
{
    struct rlimit limit;
    if (getrlimit(resource, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
        lower(least, limit.rlim_cur > used ? limit.rlim_cur - used : 0, BOUND_ULIMIT);
}

uint64_t host_memory_free(void)
{
    enum memory_bound unused;
    return host_memory_free_by(&unused);
}

uint64_t host_memory_free_by(enum memory_bound *bound)
{
    struct least least = {UINT64_MAX, BOUND_UNKNOWN};
    uint64_t limit, used;
    uint64_t available = kibibytes_of("/proc/meminfo", "MemAvailable");
    if (available)
        lower(&least, available, BOUND_MACHINE);
    if (read_number("/sys/fs/cgroup/memory.max", &limit) &&
        read_number("/sys/fs/cgroup/memory.current", &used))
        lower(&least, limit > used ? limit - used : 0, BOUND_CONTROL_GROUP);
    lower_to_limit(&least, RLIMIT_AS, kibibytes_of("/proc/self/status", "VmSize"));
    lower_to_limit(&least, RLIMIT_DATA, kibibytes_of("/proc/self/status", "VmData"));
    *bound = least.bound;
    return least.bound == BOUND_UNKNOWN ? 0 : least.bytes;
}

uint64_t host_process_memory(void)
{
    return kibibytes_of("/proc/self/status", "VmRSS");
}

uint64_t host_process_peak(void)
{
    return kibibytes_of("/proc/self/status", "VmHWM");
}

/* --- priority --- */

enum { PATIENT = 10 };

void host_yield_processor(void)
{
    DIR *threads = opendir("/proc/self/task");
    for (struct dirent *entry; threads && (entry = readdir(threads));)
        if (isdigit((unsigned char)entry->d_name[0]))
            setpriority(PRIO_PROCESS, (id_t)strtoul(entry->d_name, NULL, 10), PATIENT);
    if (threads)
        closedir(threads);
    FILE *session = fopen("/proc/self/autogroup", "we");
    if (session) {
        fprintf(session, "%d", PATIENT);
        fclose(session);
    }
}
