/* internal.h: what the files of this folder share; no other folder includes it. */
#ifndef TINCA_CLI_INTERNAL_H
#define TINCA_CLI_INTERNAL_H

#include "base/error.h"
#include "base/host/host.h"
#include "base/json/json.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/runs_list.h"
#include "engine/cluster/cluster.h"
#include "exchange/logs/import.h"
#include "exchange/watch/watch.h"
#include "models/saved/error_analysis.h"
#include "models/saved/predictions_file.h"
#include "runs/folder/computed_with.h"
#include "runs/folder/journal.h"
#include "runs/folder/run_prune.h"
#include "runs/history/run_filter.h"
#include "runs/history/run_queue.h"
#include "runs/machine/machine_file.h"
#include "runs/machine/tuned_device.h"
#include "runs/record/run.h"
#include "runs/settings/config.h"
#include "studies/compare/advise.h"
#include "training/bench/bench.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* --- bench_cluster.c --- */

/* Tinca bench --cluster: how a training iteration scales over processes, measured and by the model
 * of training/bench/scaling.h. */

/* Measures with all ranks of the launcher, and prints the result on rank 0. `ranks` is the value of
 * --ranks. Returns the exit status. */
int bench_cluster_run(const struct run_config *config, struct bench_settings *settings,
                      size_t ranks, bool as_json);

/* --- completion.c --- */

/* A script of contrib/completion as a text. */
struct completion_script {
    const char *name; /* the file's: "_tinca" */
    const char *text;
};

/* The scripts for bash, zsh and fish, in this order (base/builtin_texts.sh). */
extern const struct completion_script completion_scripts[];
extern const size_t completion_script_count;

/* --- event_stream.c --- */

/* Prints a run's events on standard output while it trains, a line of JSON each: first {"event":
 * "run", "id", "directory"}, then the entries of the run's journal (an iteration has no "event"),
 * at last {"event": "result", "status", "error"}. */

struct event_stream {
    char *directory; /* of the run; NULL: not begun */
    struct journal_tail tail;
};

/* Prints the first line. Returns false with an error if out of memory. */
bool event_stream_begin(struct event_stream *stream, const struct run *run, struct error *error);

/* Prints the lines that have come since the last call. */
void event_stream_print(struct event_stream *stream);

/* Prints what is left and the last line, and frees the stream. */
void event_stream_end(struct event_stream *stream, const struct run *run);

/* --- runs_check.c --- */

/* Verifies the files of runs, for tinca runs --check. */

/* Checks the run that is named by its ID, the beginning of its ID, its name or its folder, or all
 * runs if `run` is NULL. Prints each problem, or one JSON document. Returns the exit status: 1 if
 * something is damaged. */
int runs_check(const char *run, bool as_json);

/* --- runs_groups.c --- */

/* The groups of seeds among listed runs (runs/history/seed_group.h), for tinca runs. Not thread-
 * safe. */

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

/* --- runs_storage.c --- */

/* Tinca runs --delete, --undelete, --empty-trash and --prune. Each function returns the exit
 * status. Not thread-safe. */

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

/* --- runs_waiting.c --- */

/* The runs that wait in the queue (runs/history/run_queue.h), for `tinca runs`. */

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

/* --- version.c --- */

/* The commit that the program was made of (build_commit.sh): "aa86f5c01234",
 * "aa86f5c01234-modified" if files differed from it; "": unknown. */
extern const char build_commit[];

/* Prints "tinca X.Y.Z", the licence, and a line for each part of the build: commit, compiler,
 * libraries, instruction sets, modules; the modules that are left out with the reason. `as_json`:
 * the same as one JSON document. Opens no device and no module. Returns the exit status. */
int version_print(bool as_json);

#endif
