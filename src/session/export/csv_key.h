/* csv_key.h: the columns of the studies' CSV files that identify a run. Internal to
 * session/export/.
 *
 * The studies' key is network,mode,batch. If several runs of a table have the same key, further
 * columns hold the settings in which they differ, or the ID if all settings are equal. They follow
 * the studies' columns, so that programs that know only those can ignore them.
 */
#ifndef TINCA_SESSION_EXPORT_CSV_KEY_H
#define TINCA_SESSION_EXPORT_CSV_KEY_H

#include "session/config/config.h"
#include "session/record/run.h"

#include <stdio.h>

struct csv_key {
    bool *varies; /* [config_field_count] */
    bool with_id;
};

/* Finds the settings that distinguish the `count` runs of a table. csv_key_free frees them. */
bool csv_key_create(struct csv_key *key, struct run *const *runs, size_t count,
                    struct error *error);

/* Frees the columns. */
void csv_key_free(struct csv_key *key);

/* Writes ",lr,seed": the names of the further columns. */
void csv_key_write_names(const struct csv_key *key, FILE *stream);

enum { CSV_KEY_SIZE = 128 };
/* Writes the studies' key of a run, "lenet,CPU,016", to `text`. Returns `text`. */
char *csv_key_print(const struct run *run, char text[CSV_KEY_SIZE]);

/* Writes ",0.1,3": a run's further columns. */
void csv_key_write_further(const struct csv_key *key, const struct run *run, FILE *stream);

#endif
