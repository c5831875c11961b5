/* runs_waiting.h: the runs that wait in the queue (session/history/run_queue.h), for `tinca runs`.
 */
#ifndef TINCA_CLI_RUNS_WAITING_H
#define TINCA_CLI_RUNS_WAITING_H

#include "cli/output.h"

#include "session/history/run_filter.h"
#include "session/history/run_queue.h"

/* Returns the place of the run in `directory` that waits to be resumed, or count. */
size_t runs_waiting_find(const struct queued_run *list, size_t count, const char *directory);

/* Writes the translated status "waiting, place 2". Returns `text`. */
char *runs_waiting_status(size_t place, char *text, size_t size);

/* Adds the member "queue" with the place, its process, its machine and since when it waits. */
bool runs_waiting_add_json(struct json *object, const struct queued_run *run, size_t place);

/* Appends the rows of the new runs that wait and match; returns how many. Those that wait to be
 * resumed have rows already. */
size_t runs_waiting_add_rows(struct table *table, const struct queued_run *list, size_t count,
                             const struct run_filter *filter);

/* Adds the new runs that wait and match, as objects without ID. */
bool runs_waiting_add_objects(struct json *list, const struct queued_run *queued, size_t count,
                              const struct run_filter *filter);

#endif
