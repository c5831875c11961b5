#include "base/host/host_load.h"

#include "base/clock.h"
#include "base/host/control_group.h"
#include "base/host/host.h"

#include <glob.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

/* A file of /proc or /sys, whose size cannot be asked for; NULL: not there. Owned by the caller. */
static char *read_whole(const char *path)
{
    char *text = NULL;
    size_t size = 0;
    FILE *file = fopen(path, "re");
    if (!file)
        return NULL;
    ssize_t length = getdelim(&text, &size, '\0', file);
    fclose(file);
    if (length >= 0)
        return text;
    free(text);
    return NULL;
}

static bool read_count(const char *path, uint64_t *value)
{
    char *text = read_whole(path), *end = NULL;
    bool read = false;
    if (text && text[0] >= '0' && text[0] <= '9') { /* "max" is no number */
        *value = strtoull(text, &end, 10);
        read = end != text;
        if (*end == 'K')
            *value *= 1024;
        else if (*end == 'M')
            *value *= 1024 * 1024;
    }
    free(text);
    return read;
}

/* --- the processor --- */

static bool has_word(const char *words, const char *word)
{
    size_t length = strlen(word);
    for (const char *at = words; (at = strstr(at, word)); at += length)
        if ((at == words || at[-1] == ' ') && (at[length] == ' ' || !at[length]))
            return true;
    return false;
}

static void read_sets(char *sets, size_t size)
{
    static const char *const wanted[] = {
        "sse2",     "sse4_2",   "avx",      "f16c",        "fma",         "avx2",        "avx512f",
        "avx512bw", "avx512dq", "avx512vl", "avx512_vnni", "avx512_bf16", "avx512_fp16", "amx_tile",
        "amx_int8", "amx_bf16", "asimd",    "fphp",        "sve",         "sve2"};
    char *text = read_whole("/proc/cpuinfo");
    char *line = text ? strstr(text, "\nflags") : NULL;
    line = text && !line ? strstr(text, "\nFeatures") : line;
    line = line ? strchr(line, ':') : NULL;
    size_t used = 0;
    sets[0] = '\0';
    if (line) {
        line += strspn(line, ": \t");
        line[strcspn(line, "\n")] = '\0';
    }
    for (size_t i = 0; line && i < sizeof wanted / sizeof *wanted && used < size; i++)
        if (has_word(line, wanted[i]))
            used += (size_t)snprintf(sets + used, size - used, "%s%s", used ? " " : "", wanted[i]);
    free(text);
}

static void read_cache(size_t index, uint64_t *caches)
{
    static const char folder[] = "/sys/devices/system/cpu/cpu0/cache/index";
    char path[96];
    uint64_t level, bytes;
    snprintf(path, sizeof path, "%s%zu/type", folder, index);
    char *type = read_whole(path);
    bool holds_data = type && strncmp(type, "Instruction", 11) != 0;
    free(type);
    snprintf(path, sizeof path, "%s%zu/level", folder, index);
    if (!holds_data || !read_count(path, &level) || level < 1 || level > HOST_CACHES)
        return;
    snprintf(path, sizeof path, "%s%zu/size", folder, index);
    if (read_count(path, &bytes))
        caches[level - 1] = bytes;
}

void host_describe_processor(struct host_processor *processor)
{
    *processor = (struct host_processor){0};
    read_sets(processor->sets, sizeof processor->sets);
    for (size_t i = 0; i < 8; i++)
        read_cache(i, processor->caches);
}

static uint64_t limit_of(int resource)
{
    struct rlimit limit;
    bool known = getrlimit(resource, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
    return known ? limit.rlim_cur : UINT64_MAX;
}

bool host_addresses_are_limited(void)
{
    return limit_of(RLIMIT_AS) != UINT64_MAX || limit_of(RLIMIT_DATA) != UINT64_MAX;
}

void host_read_limits(struct host_limits *limits)
{
    struct control_group group;
    control_group_read("", &group);
    *limits = (struct host_limits){group.limit, limit_of(RLIMIT_AS), limit_of(RLIMIT_DATA)};
}

/* --- the load --- */

/* user nice system idle iowait irq softirq steal; guest time is in user already. */
static struct host_ticks read_ticks(const char *numbers)
{
    struct host_ticks ticks = {0};
    char *end;
    for (int i = 0; i < 8; i++) {
        uint64_t value = strtoull(numbers, &end, 10);
        if (end == numbers)
            break;
        numbers = end;
        ticks.all += value;
        if (i != 3 && i != 4)
            ticks.busy += value;
    }
    return ticks;
}

size_t host_parse_ticks(const char *text, struct host_ticks *whole, struct host_ticks *cores)
{
    size_t count = 0;
    for (const char *line = text; line && strncmp(line, "cpu", 3) == 0;) {
        char *end;
        if (line[3] == ' ')
            *whole = read_ticks(line + 3);
        else {
            size_t core = strtoull(line + 3, &end, 10);
            if (end != line + 3 && core < HOST_MAX_CORES) {
                cores[core] = read_ticks(end);
                count = core + 1 > count ? core + 1 : count;
            }
        }
        line = strchr(line, '\n');
        line = line ? line + 1 : NULL;
    }
    return count;
}

static double share(struct host_ticks before, struct host_ticks now)
{
    if (before.all == 0 || now.all <= before.all || now.busy < before.busy)
        return NAN;
    return (double)(now.busy - before.busy) / (double)(now.all - before.all);
}

/* utime + stime of this process; the name before them may hold spaces. */
static bool read_process_ticks(uint64_t *ticks)
{
    char *text = read_whole("/proc/self/stat");
    const char *after = text ? strrchr(text, ')') : NULL;
    uint64_t user, kernel;
    bool read = after && sscanf(after + 1,
                                " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %" SCNu64 " %" SCNu64,
                                &user, &kernel) == 2;
    if (read)
        *ticks = user + kernel;
    free(text);
    return read;
}

static bool is_processor(const char *name)
{
    static const char *const names[] = {"coretemp",    "k10temp",      "zenpower",
                                        "cpu_thermal", "x86_pkg_temp", "cpu-thermal"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strncmp(name, names[i], strlen(names[i])) == 0)
            return true;
    return false;
}

/* The reading beside the first file of `pattern` that names the processor, in degrees. */
static double temperature_beside(const char *pattern, const char *reading)
{
    glob_t found;
    double degrees = NAN;
    if (glob(pattern, 0, NULL, &found) != 0)
        return NAN;
    for (size_t i = 0; i < found.gl_pathc && isnan(degrees); i++) {
        char path[512];
        uint64_t value;
        char *name = read_whole(found.gl_pathv[i]);
        const char *slash = strrchr(found.gl_pathv[i], '/');
        snprintf(path, sizeof path, "%.*s/%s", (int)(slash - found.gl_pathv[i]), found.gl_pathv[i],
                 reading);
        if (name && is_processor(name) && read_count(path, &value))
            degrees = (double)value / 1000;
        free(name);
    }
    globfree(&found);
    return degrees;
}

static double read_temperature(void)
{
    double degrees = temperature_beside("/sys/class/hwmon/hwmon*/name", "temp1_input");
    return isnan(degrees) ? temperature_beside("/sys/class/thermal/thermal_zone*/type", "temp")
                          : degrees;
}

static uint64_t memory_line(const char *text, const char *key)
{
    const char *line = text ? strstr(text, key) : NULL;
    return line ? strtoull(line + strlen(key), NULL, 10) * 1024 : 0;
}

static void read_memory(struct host_load *load)
{
    char *text = read_whole("/proc/meminfo");
    load->memory_total = memory_line(text, "MemTotal:");
    load->memory_available = memory_line(text, "MemAvailable:");
    load->memory_process = host_process_memory();
    free(text);
}

static void read_load(struct host_sampler *sampler, struct host_load *load, bool first)
{
    struct host_sampler before = *sampler;
    uint64_t ticks = 0;
    long hertz = sysconf(_SC_CLK_TCK);
    char *text = read_whole("/proc/stat");
    memset(sampler->cores, 0, sizeof sampler->cores);
    load->cores = text ? host_parse_ticks(text, &sampler->whole, sampler->cores) : 0;
    free(text);
    load->whole = share(before.whole, sampler->whole);
    for (size_t i = 0; i < load->cores; i++)
        load->busy[i] = (float)share(before.cores[i], sampler->cores[i]);
    if (!read_process_ticks(&ticks))
        return;
    if (!first && hertz > 0 && load->seconds > 0 && ticks >= before.process_ticks)
        load->process = (double)(ticks - before.process_ticks) / (double)hertz / load->seconds;
    sampler->process_ticks = ticks;
}

void host_sample(struct host_sampler *sampler, struct host_load *load)
{
    uint64_t now = clock_nanoseconds();
    bool first = sampler->taken == 0;
    *load = (struct host_load){.seconds = first ? 0 : clock_seconds(sampler->taken, now),
                               .process = NAN};
    sampler->taken = now;
    read_load(sampler, load, first);
    read_memory(load);
    load->temperature = read_temperature();
}
