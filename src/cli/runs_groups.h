/* runs_groups.h: the groups of seeds among listed runs (session/seeds/seed_group.h), for tinca
 * runs. Not thread-safe. */
#ifndef TINCA_CLI_RUNS_GROUPS_H
#define TINCA_CLI_RUNS_GROUPS_H

#include "base/json/json.h"
#include "cli/output.h"
#include "cli/runs_list.h"

struct runs_group;

struct runs_groups { /* starts as {0} */
    struct runs_group *list;
    size_t count, capacity;
    bool failed; /* memory was short */
};

/* Adds a listed run to its group; returns false if it belongs to none. */
bool runs_groups_add(struct runs_groups *groups, const struct listed_run *run);

/* Appends a row for each group to the table of tinca runs, with `disk` also the space that its runs
 * take. `filtered`: a group may have runs that are not listed. Returns their number. */
size_t runs_groups_add_rows(struct runs_groups *groups, struct table *table, bool disk,
                            bool filtered);

/* Adds an object for each group. Returns false if memory runs out. */
bool runs_groups_add_objects(struct runs_groups *groups, struct json *list);

void runs_groups_free(struct runs_groups *groups);

#endif
