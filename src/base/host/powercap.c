/* Each zone is a folder: intel-rapl:0 is a package of the processor, intel-rapl:0:1 a part of it.
 * Processors of AMD have the same names. A package counts its cores and caches; its memory has a
 * counter of its own or none. The zone psys, which counts the whole computer, and the zones
 * intel-rapl-mmio, which repeat the packages, are left out. */
#include "base/host/powercap.h"

#include "base/language.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const char default_folder[] = "/sys/class/powercap";

/* Reads the first line of a file without its end; returns false, with errno, if that fails. */
static bool read_line(const char *path, char *line, size_t size)
{
    FILE *file = fopen(path, "re");
    if (!file)
        return false;
    errno = EIO;
    const bool read = fgets(line, (int)size, file);
    const int code = errno;
    fclose(file);
    errno = code;
    if (read)
        line[strcspn(line, "\n")] = '\0';
    return read;
}

static bool read_number(const char *path, uint64_t *number)
{
    char line[32];
    if (!read_line(path, line, sizeof line))
        return false;
    const bool is_number = sscanf(line, "%" SCNu64, number) == 1;
    errno = EINVAL;
    return is_number;
}

static bool refuse_counter(const char *path, struct error *error)
{
    if (errno == EACCES || errno == EPERM)
        return error_set(error, ERROR_SYSTEM, path,
                         "as root: chmod a+r /sys/class/powercap/*/energy_uj",
                         "only root may read the energy counter");
    return error_set_errno(error, path, NULL, "the energy counter cannot be read");
}

static bool is_counted(const char *name)
{
    return strncmp(name, "package-", 8) == 0 || strcmp(name, "dram") == 0;
}

/* Adds the counter of a zone, unless the zone is not counted. Returns false with an error. */
static bool add_zone(struct powercap *powercap, const char *folder, const char *zone,
                     struct error *error)
{
    struct powercap_counter *counter = &powercap->counters[powercap->count];
    char path[POWERCAP_PATH_SIZE], name[64];
    const int length = snprintf(path, sizeof path, "%s/%s/name", folder, zone);
    if (length < 0 || (size_t)length >= sizeof path || powercap->count == POWERCAP_MAX ||
        !read_line(path, name, sizeof name) || !is_counted(name))
        return true;
    snprintf(path, sizeof path, "%s/%s/max_energy_range_uj", folder, zone);
    if (!read_number(path, &counter->range))
        counter->range = 0;
    snprintf(counter->path, sizeof counter->path, "%.200s/%.32s/energy_uj", folder, zone);
    if (!read_number(counter->path, &counter->last))
        return refuse_counter(counter->path, error);
    powercap->count++;
    return true;
}

bool powercap_open(struct powercap *powercap, const char *folder, struct error *error)
{
    const char *path = folder ? folder : default_folder;
    DIR *directory = opendir(path);
    bool good = true;
    powercap->count = 0;
    for (struct dirent *entry; good && directory && (entry = readdir(directory));)
        if (strncmp(entry->d_name, "intel-rapl:", 11) == 0)
            good = add_zone(powercap, path, entry->d_name, error);
    if (directory)
        closedir(directory);
    if (good && powercap->count == 0)
        return error_set(error, ERROR_UNSUPPORTED, path, NULL,
                         "this machine has no energy counters, as most virtual machines");
    return good;
}

bool powercap_read(struct powercap *powercap, double *joules, struct error *error)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < powercap->count; i++) {
        struct powercap_counter *counter = &powercap->counters[i];
        uint64_t now;
        if (!read_number(counter->path, &now))
            return refuse_counter(counter->path, error);
        if (now < counter->last && counter->range < counter->last)
            return error_set(error, ERROR_SYSTEM, counter->path, NULL,
                             "the energy counter has started again, and its range is not known");
        sum += now >= counter->last ? now - counter->last : counter->range - counter->last + now;
        counter->last = now;
    }
    *joules = 1e-6 * (double)sum;
    return true;
}
