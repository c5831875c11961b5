/* import_run.h: the run folder that shows an imported log. An import writes it at once; a watch
 * keeps it equal to a log that grows, while other processes may show it.
 *
 * The folder is locked until the run is ended or freed. */
#ifndef TINCA_EXCHANGE_LOGS_IMPORT_RUN_H
#define TINCA_EXCHANGE_LOGS_IMPORT_RUN_H

#include "base/error.h"
#include "exchange/logs/import_log.h"

#include <stdbool.h>
#include <stdint.h>

struct import_run;

/* The memory of the process that trains, in bytes; 0: not known. */
struct import_memory {
    uint64_t resident, on_gpus;
};

/* Creates the folder of a run for the log, which has at least one point. `live`: it will grow. The
 * request is not copied and must stay as it is. Returns NULL with an error, and leaves no folder.
 */
struct import_run *import_run_create(const struct import_request *request,
                                     const struct imported_log *log, bool live,
                                     struct error *error);

/* Makes the journal equal to the log, of which times and means are completed here. What the log has
 * had before is appended to; a change of it rewrites the journal, and those who follow the run open
 * it again. New points get `memory`. Returns false with an error. */
bool import_run_update(struct import_run *run, struct imported_log *log,
                       struct import_memory memory, struct error *error);

/* Ends the run with the last update: writes its summary. `stopped`: the training did not reach its
 * end. Returns false with an error. */
bool import_run_end(struct import_run *run, const struct imported_log *log, bool stopped,
                    struct error *error);

/* Returns the run's ID and folder, which live as long as the run. */
const char *import_run_id(const struct import_run *run);
const char *import_run_directory(const struct import_run *run);

/* Frees the run. A folder that has no config.json yet goes, too. NULL is allowed. */
void import_run_free(struct import_run *run);

#endif
