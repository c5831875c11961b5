/* Everything here is read from /proc, sysconf and getrlimit each time it is asked for. Values that
 * a system without /proc does not give are 0, as the header says. */
#include "config.h"

#include "base/host/host.h"

#include "base/host/control_group.h"
#include "base/text.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#if HAVE_LINK_H
#include <link.h>
#endif
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#if HAVE_SYS_SYSCALL_H
#include <sys/syscall.h>
#endif
#include <sys/utsname.h>
#include <unistd.h>

/* Copies the text after "KEY ...:" of a file such as /proc/meminfo. Returns false if there is none.
 */
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

uint32_t host_cores_mark(void)
{
#if HAVE_SCHED_GETAFFINITY
    cpu_set_t set;
    uint32_t mark = 2166136261u; /* FNV-1a */
    CPU_ZERO(&set);
    if (sched_getaffinity(0, sizeof set, &set) != 0)
        return 0;
    for (size_t i = 0; i < CPU_SETSIZE; i++)
        if (CPU_ISSET(i, &set))
            mark = (mark ^ (uint32_t)i) * 16777619u;
    return mark;
#else
    return 1; /* processes may run on all cores */
#endif
}

size_t host_cores(void)
{
#if HAVE_SCHED_GETAFFINITY
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0 && CPU_COUNT(&set) > 0)
        return (size_t)CPU_COUNT(&set);
#endif
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
    static const char *const names[] = {
#define INSTRUCTION_SET(constant, name) [ISA_##constant] = #name,
#include "base/host/instruction_sets.inc"
    };
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

bool host_has_bf16(void)
{
#if defined(HAVE_BF16_KERNELS)
    return host_instruction_set() == ISA_AVX512 && __builtin_cpu_supports("avx512bf16");
#else
    return false;
#endif
}

void host_describe(struct host *host)
{
    *host = (struct host){.cores = host_cores(), .instruction_set = strongest()};
    if (gethostname(host->name, sizeof host->name - 1) != 0)
        snprintf(host->name, sizeof host->name, "localhost");
    struct utsname system;
    if (!find_line("/proc/cpuinfo", "model name", host->cpu, sizeof host->cpu) &&
        uname(&system) == 0)
        snprintf(host->cpu, sizeof host->cpu, "%s", system.machine);
    long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    host->memory_bytes = pages > 0 && page > 0 ? (uint64_t)pages * (uint64_t)page : 0;
}

/* --- available memory --- */

/* Lowers *available to the given amounts; if that lowers the amount without swap, `bound` becomes
 * the tightest bound. */
static void lower(struct available_memory *available, uint64_t without_swap, uint64_t with_swap,
                  enum memory_bound bound)
{
    if (without_swap < available->without_swap) {
        available->without_swap = without_swap;
        available->bound = bound;
    }
    available->with_swap = with_swap < available->with_swap ? with_swap : available->with_swap;
}

/* Returns a + b, or UINT64_MAX if that overflows. */
static uint64_t sum(uint64_t a, uint64_t b)
{
    return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

static void lower_to_limit(struct available_memory *available, int resource, uint64_t used)
{
    struct rlimit limit;
    if (getrlimit(resource, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY)
        return;
    const uint64_t most = (uint64_t)limit.rlim_cur, left = most > used ? most - used : 0;
    lower(available, left, left, BOUND_ULIMIT);
}

void host_available_memory(struct available_memory *available)
{
    *available = (struct available_memory){UINT64_MAX, UINT64_MAX, BOUND_UNKNOWN};
    struct control_group group;
    uint64_t free_bytes = kibibytes_of("/proc/meminfo", "MemAvailable");
    uint64_t swap = kibibytes_of("/proc/meminfo", "SwapFree");
    if (free_bytes)
        lower(available, free_bytes, sum(free_bytes, swap), BOUND_MACHINE);
    control_group_read("", &group);
    lower(available, group.free, sum(group.free, group.swap < swap ? group.swap : swap),
          BOUND_CONTROL_GROUP);
    lower_to_limit(available, RLIMIT_AS, kibibytes_of("/proc/self/status", "VmSize"));
    lower_to_limit(available, RLIMIT_DATA, kibibytes_of("/proc/self/status", "VmData"));
}

uint64_t host_available_bytes(void)
{
    struct available_memory available;
    host_available_memory(&available);
    return available.bound == BOUND_UNKNOWN ? 0 : available.without_swap;
}

/* --- memory of this process --- */

uint64_t host_process_memory(void)
{
    return kibibytes_of("/proc/self/status", "VmRSS");
}

uint64_t host_memory_of_process(long process)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%ld/status", process);
    return process > 0 ? kibibytes_of(path, "VmRSS") : 0;
}

uint64_t host_process_peak(void)
{
#if defined(__APPLE__) || defined(__FreeBSD__)
    struct rusage usage; /* in bytes on macOS, in KiB on FreeBSD */
#if defined(__APPLE__)
    const uint64_t unit = 1;
#else
    const uint64_t unit = 1024;
#endif
    return getrusage(RUSAGE_SELF, &usage) == 0 ? (uint64_t)usage.ru_maxrss * unit : 0;
#else
    return kibibytes_of("/proc/self/status", "VmHWM");
#endif
}

void host_process_reset_peak(void)
{
    FILE *file = fopen("/proc/self/clear_refs", "we");
    if (!file)
        return;
    fputs("5", file); /* resets the peak, see proc(5) */
    fclose(file);
}

/* --- parts of the program that are not in memory --- */

/* Returns the bytes of [begin, end) whose pages are not present, by /proc/self/pagemap. */
static uint64_t absent_bytes(FILE *pagemap, uintptr_t begin, uintptr_t end, uintptr_t page)
{
    uint64_t absent = 0, entry;
    if (fseeko(pagemap, (off_t)(begin / page * sizeof entry), SEEK_SET) != 0)
        return 0;
    for (uintptr_t at = begin / page * page; at < end; at += page)
        if (fread(&entry, sizeof entry, 1, pagemap) == 1 && !(entry >> 63))
            absent += page;
    return absent;
}

#if HAVE_DL_ITERATE_PHDR
/* Is called by dl_iterate_phdr. Adds the bytes of the program's read-only segments that are not in
 * memory to *context. Returns 1, so that only the first object, the program, is visited. */
static int count_program(struct dl_phdr_info *object, size_t size, void *context)
{
    (void)size;
    uint64_t *absent = context;
    const long page = sysconf(_SC_PAGESIZE);
    FILE *pagemap = page > 0 ? fopen("/proc/self/pagemap", "re") : NULL;
    for (size_t i = 0; pagemap && i < object->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &object->dlpi_phdr[i];
        const uintptr_t begin = object->dlpi_addr + part->p_vaddr;
        if (part->p_type == PT_LOAD && !(part->p_flags & PF_W))
            *absent += absent_bytes(pagemap, begin, begin + part->p_filesz, (uintptr_t)page);
    }
    if (pagemap)
        fclose(pagemap);
    return 1;
}
#endif

uint64_t host_unloaded_bytes(uintptr_t begin, uintptr_t end)
{
    const long page = sysconf(_SC_PAGESIZE);
    FILE *pagemap = page > 0 ? fopen("/proc/self/pagemap", "re") : NULL;
    const uint64_t absent = pagemap ? absent_bytes(pagemap, begin, end, (uintptr_t)page) : 0;
    if (pagemap)
        fclose(pagemap);
    return absent;
}

uint64_t host_program_unloaded_bytes(void)
{
    uint64_t absent = 0;
#if HAVE_DL_ITERATE_PHDR
    dl_iterate_phdr(count_program, &absent);
#endif
    return absent;
}

/* --- priority --- */

#ifdef SYS_sched_setattr

/* The first version of the kernel's struct sched_attr (sched_setattr(2)), which glibc 2.36 lacks.
 */
struct scheduling {
    uint32_t size, policy;
    uint64_t flags;
    int32_t nice;
    uint32_t priority;
    uint64_t slice, deadline, period; /* nanoseconds */
};

void host_prefer_low_latency(void)
{
    enum { RESET_ON_FORK = 1, SHORTEST_SLICE = 100000 };
    const struct scheduling wish = {.size = sizeof wish,
                                    .policy = SCHED_OTHER,
                                    .flags = RESET_ON_FORK,
                                    .nice = getpriority(PRIO_PROCESS, 0),
                                    .slice = SHORTEST_SLICE};
    const int saved = errno;
    syscall(SYS_sched_setattr, 0, &wish, 0); /* without it keys only wait longer on busy cores */
    errno = saved;
}

#else

void host_prefer_low_latency(void)
{
    /* only Linux lets a program choose its time slices */
}

#endif

enum { LOW_PRIORITY = 10 }; /* a nice value */

void host_yield_processor(void)
{
    DIR *threads = opendir("/proc/self/task");
    for (struct dirent *entry; threads && (entry = readdir(threads));)
        if (isdigit((unsigned char)entry->d_name[0]))
            setpriority(PRIO_PROCESS, (id_t)strtoul(entry->d_name, NULL, 10), LOW_PRIORITY);
    if (threads)
        closedir(threads);
    else
        setpriority(PRIO_PROCESS, 0,
                    LOW_PRIORITY); /* of the whole process, where threads have none */
    FILE *session = fopen("/proc/self/autogroup", "we");
    if (session) {
        fprintf(session, "%d", LOW_PRIORITY);
        fclose(session);
    }
}
