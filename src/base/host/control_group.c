/* /proc/self/cgroup tells the group's path within its hierarchy, /proc/self/mountinfo where that is
 * mounted, and which part of it: a container sees its own group as the root. */
#include "base/host/control_group.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What the two versions call the same things. NULL: it has none. */
struct hierarchy {
    const char *type, *option; /* of the mount: file system, and what its options hold */
    const char *limit, *used, *idle;
    const char *swap_limit, *swap_used;
    bool swap_counts_memory; /* the swap files count memory and swap together */
};

static const struct hierarchy version_1 = {"cgroup",
                                           "memory",
                                           "memory.limit_in_bytes",
                                           "memory.usage_in_bytes",
                                           "total_inactive_file ",
                                           "memory.memsw.limit_in_bytes",
                                           "memory.memsw.usage_in_bytes",
                                           true};
static const struct hierarchy version_2 = {"cgroup2",
                                           "",
                                           "memory.max",
                                           "memory.current",
                                           "inactive_file ",
                                           "memory.swap.max",
                                           "memory.swap.current",
                                           false};

/* Version 1 writes "none" as the largest multiple of a page. */
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

/* "max", and a file that is not there, say `otherwise`. */
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

/* The group at `path` (which is shortened) below `mount`, and all above it. */
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

/* --- finding it --- */

/* "4:memory,cpu:/path" of version 1, "0::/path" of version 2. */
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

/* What the mount shows of the hierarchy begins at `origin`: the rest of `path` behind that. */
static void cut_origin(char *path, const char *origin)
{
    size_t length = strcmp(origin, "/") == 0 ? 0 : strlen(origin);
    if (strncmp(path, origin, length) == 0 && (path[length] == '/' || !path[length]))
        memmove(path, path + length, strlen(path + length) + 1);
    else /* outside of what is seen here: at least what is mounted counts */
        path[0] = '\0';
    if (strcmp(path, "/") == 0 || strstr(path, "/.."))
        path[0] = '\0';
}

/* A line: ID PARENT DEVICE ORIGIN MOUNT OPTIONS [FIELDS] - TYPE SOURCE OPTIONS */
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

static void read_hierarchy(const char *root, const struct hierarchy *hierarchy,
                           struct control_group *group)
{
    char path[PATH_MAX], origin[PATH_MAX], mount[PATH_MAX], folder[3 * PATH_MAX];
    if (!read_path(root, hierarchy, path) || !find_mount(root, hierarchy, origin, mount))
        return;
    cut_origin(path, origin);
    snprintf(folder, sizeof folder, "%s%s", root, mount);
    count_up(hierarchy, folder, path, group);
}

void control_group_read(const char *root, struct control_group *group)
{
    *group = (struct control_group){UINT64_MAX, UINT64_MAX, UINT64_MAX};
    read_hierarchy(root, &version_1, group);
    read_hierarchy(root, &version_2, group);
}
