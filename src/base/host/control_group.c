/* /proc/self/cgroup gives the path of the group within its hierarchy. /proc/self/mountinfo gives
 * the folder where the hierarchy is mounted, and the path within the hierarchy that is mounted
 * there: a container sees its group as the root. The limits of the group and of each ancestor up to
 * that root are read from files in their folders. */
#include "base/host/control_group.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The names that the two versions of the interface give to the same things. */
struct hierarchy {
    const char *type, *option; /* the mount's file system, and an option it must have */
    const char *limit, *used, *idle;
    const char *swap_limit, *swap_used;
    bool swap_counts_memory; /* the two files of swap count memory and swap together */
    const char *events;      /* has a line "oom_kill N" */
};

static const struct hierarchy version_1 = {
    .type = "cgroup",
    .option = "memory",
    .limit = "memory.limit_in_bytes",
    .used = "memory.usage_in_bytes",
    .idle = "total_inactive_file ",
    .swap_limit = "memory.memsw.limit_in_bytes",
    .swap_used = "memory.memsw.usage_in_bytes",
    .swap_counts_memory = true,
    .events = "memory.oom_control",
};
static const struct hierarchy version_2 = {
    .type = "cgroup2",
    .option = "",
    .limit = "memory.max",
    .used = "memory.current",
    .idle = "inactive_file ",
    .swap_limit = "memory.swap.max",
    .swap_used = "memory.swap.current",
    .events = "memory.events",
};

/* Version 1 reports "no limit" as a value close to 2^63: from here on a value means no limit. */
static const uint64_t NO_LIMIT = UINT64_C(1) << 62;

static uint64_t less(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static uint64_t left_of(uint64_t limit, uint64_t used)
{
    return limit == UINT64_MAX ? UINT64_MAX : limit > used ? limit - used : 0;
}

/* --- files --- */

static FILE *open_in(const char *folder, const char *name)
{
    char path[PATH_MAX];
    int length = snprintf(path, sizeof path, "%s/%s", folder, name);
    return length > 0 && (size_t)length < sizeof path ? fopen(path, "re") : NULL;
}

/* Returns the number in a file, or `otherwise` if the file is missing or contains "max". */
static uint64_t read_number(const char *folder, const char *name, uint64_t otherwise)
{
    uint64_t value;
    FILE *file = open_in(folder, name);
    if (!file)
        return otherwise;
    bool read = fscanf(file, "%" SCNu64, &value) == 1 && value < NO_LIMIT;
    fclose(file);
    return read ? value : otherwise;
}

/* Returns the bytes of file pages that the kernel can drop at once. */
static uint64_t read_idle(const char *folder, const char *key)
{
    char line[128];
    uint64_t value = 0;
    FILE *file = open_in(folder, "memory.stat");
    while (file && fgets(line, sizeof line, file))
        if (strncmp(line, key, strlen(key)) == 0)
            value = strtoull(line + strlen(key), NULL, 10);
    if (file)
        fclose(file);
    return value;
}

/* --- one group --- */

static void count_group(const struct hierarchy *hierarchy, const char *folder,
                        struct control_group *group)
{
    uint64_t limit = read_number(folder, hierarchy->limit, UINT64_MAX);
    uint64_t used = read_number(folder, hierarchy->used, 0);
    uint64_t idle = read_idle(folder, hierarchy->idle);
    uint64_t swap = left_of(read_number(folder, hierarchy->swap_limit, UINT64_MAX),
                            read_number(folder, hierarchy->swap_used, 0));
    uint64_t left = left_of(limit, used > idle ? used - idle : 0);
    if (hierarchy->swap_counts_memory && swap != UINT64_MAX)
        swap = swap > left ? swap - left : 0;
    group->limit = less(group->limit, limit);
    group->free = less(group->free, left);
    group->swap = less(group->swap, swap);
}

/* Lowers *group to the limits of the group at `path` below `mount` and of each ancestor. Overwrites
 * `path`. */
static void count_up(const struct hierarchy *hierarchy, const char *mount, char *path,
                     struct control_group *group)
{
    for (;;) {
        char folder[4 * PATH_MAX];
        snprintf(folder, sizeof folder, "%s%s", mount, path);
        count_group(hierarchy, folder, group);
        char *slash = strrchr(path, '/');
        if (!slash)
            return;
        *slash = '\0';
    }
}

/* --- finding the group --- */

/* Reads the group's path from a line "4:memory,cpu:/path" (version 1) or "0::/path" (version 2). */
static bool read_path(const char *root, const struct hierarchy *hierarchy, char *path)
{
    char line[PATH_MAX + 128], controllers[128];
    bool found = false;
    FILE *file = open_in(root, "proc/self/cgroup");
    while (file && !found && fgets(line, sizeof line, file)) {
        char *first = strchr(line, ':'), *second = first ? strchr(first + 1, ':') : NULL;
        if (!second)
            continue;
        snprintf(controllers, sizeof controllers, ",%.*s,", (int)(second - first - 1), first + 1);
        found = hierarchy->option[0] ? strstr(controllers, ",memory,") != NULL
                                     : strcmp(controllers, ",,") == 0;
        if (found)
            snprintf(path, PATH_MAX, "%.*s", (int)strcspn(second + 1, "\n"), second + 1);
    }
    if (file)
        fclose(file);
    return found;
}

/* Makes `path` relative to the root of the mount, which is the path `origin` of the hierarchy. */
static void cut_origin(char *path, const char *origin)
{
    size_t length = strcmp(origin, "/") == 0 ? 0 : strlen(origin);
    if (strncmp(path, origin, length) == 0 && (path[length] == '/' || !path[length]))
        memmove(path, path + length, strlen(path + length) + 1);
    else /* the group is outside the mounted part: count at least the mounted root */
        path[0] = '\0';
    if (strcmp(path, "/") == 0 || strstr(path, "/.."))
        path[0] = '\0';
}

/* Finds the mount in lines ID PARENT DEVICE ORIGIN MOUNT OPTIONS [FIELDS] - TYPE SOURCE OPTIONS. */
static bool find_mount(const char *root, const struct hierarchy *hierarchy, char *origin,
                       char *mount)
{
    char line[3 * PATH_MAX], type[32], options[512];
    bool found = false;
    FILE *file = open_in(root, "proc/self/mountinfo");
    while (file && !found && fgets(line, sizeof line, file)) {
        const char *rest = strstr(line, " - ");
        found = rest && sscanf(line, "%*s %*s %*s %4095s %4095s", origin, mount) == 2 &&
                sscanf(rest, " - %31s %*s %511s", type, options) == 2 &&
                strcmp(type, hierarchy->type) == 0 && strstr(options, hierarchy->option);
    }
    if (file)
        fclose(file);
    return found;
}

/* Finds the folder where the hierarchy is mounted, and the group's path below it, of PATH_MAX
 * bytes.
 */
static bool find_group(const char *root, const struct hierarchy *hierarchy,
                       char folder[3 * PATH_MAX], char *path)
{
    char origin[PATH_MAX], mount[PATH_MAX];
    if (!read_path(root, hierarchy, path) || !find_mount(root, hierarchy, origin, mount))
        return false;
    cut_origin(path, origin);
    snprintf(folder, 3 * PATH_MAX, "%s%s", root, mount);
    return true;
}

static void read_hierarchy(const char *root, const struct hierarchy *hierarchy,
                           struct control_group *group)
{
    char path[PATH_MAX], folder[3 * PATH_MAX];
    if (find_group(root, hierarchy, folder, path))
        count_up(hierarchy, folder, path, group);
}

static uint64_t read_kills(const char *root, const struct hierarchy *hierarchy)
{
    char path[PATH_MAX], folder[3 * PATH_MAX], group[4 * PATH_MAX], line[128];
    uint64_t kills = 0;
    if (!find_group(root, hierarchy, folder, path))
        return 0;
    snprintf(group, sizeof group, "%s%s", folder, path);
    FILE *file = open_in(group, hierarchy->events);
    while (file && fgets(line, sizeof line, file) && sscanf(line, "oom_kill %" SCNu64, &kills) != 1)
        continue;
    if (file)
        fclose(file);
    return kills;
}

uint64_t control_group_memory_kills(const char *root)
{
    return read_kills(root, &version_1) + read_kills(root, &version_2);
}

void control_group_read(const char *root, struct control_group *group)
{
    *group = (struct control_group){UINT64_MAX, UINT64_MAX, UINT64_MAX};
    read_hierarchy(root, &version_1, group);
    read_hierarchy(root, &version_2, group);
}
