/* export_groups.h: the groups of seeds among the runs of a session file. */
#ifndef TINCA_SESSION_EXPORT_EXPORT_GROUPS_H
#define TINCA_SESSION_EXPORT_EXPORT_GROUPS_H

#include "base/error.h"
#include "base/json/json.h"
#include "session/record/run.h"

/* Returns whether any of the runs belongs to a group of seeds. */
bool export_has_groups(struct run *const *runs, size_t count);

/* Adds a member for each group to `object`: its runs, and mean, standard deviation and 95 %
 * interval of their results. Returns false if out of memory. */
bool export_add_groups(struct run *const *runs, size_t count, struct json *object,
                       struct error *error);

#endif
