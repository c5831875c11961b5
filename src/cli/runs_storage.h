/* runs_storage.h: tinca runs --delete, --undelete, --empty-trash and --prune. Each function returns
 * the exit status. Not thread-safe. */
#ifndef TINCA_CLI_RUNS_STORAGE_H
#define TINCA_CLI_RUNS_STORAGE_H

#include "cli/runs_list.h"

#include "session/storage/run_prune.h"

/* Deletes the runs of the list, which move to the trash. Asks on a terminal unless `yes`; without a
 * terminal and without `yes` it fails. Deletes nothing if one of them is on or waits. */
int runs_delete(const struct runs_list *list, bool yes, bool as_json);

/* Deletes weights of the runs of the list that are no longer needed (run_prune.h), for good. Asks
 * like runs_delete. Leaves runs that are on or wait alone, and says so. */
int runs_prune(const struct runs_list *list, enum run_keep keep, bool yes, bool as_json);

/* Restores the runs of the last deletion. */
int runs_undelete(void);

/* Removes all deleted runs for good. */
int runs_empty_trash(void);

#endif
