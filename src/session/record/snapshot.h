/* snapshot.h: one struct run_snapshot, written by one thread and copied by any number of others.
 * Internal to session/. */
#ifndef TINCA_SESSION_RECORD_SNAPSHOT_H
#define TINCA_SESSION_RECORD_SNAPSHOT_H

#include "session/values/run_snapshot.h"

#include <stdatomic.h>

enum { SNAPSHOT_WORDS = (sizeof(struct run_snapshot) + sizeof(uint64_t) - 1) / sizeof(uint64_t) };

struct snapshot_cell {
    atomic_uint sequence; /* odd while it is being written */
    _Atomic uint64_t words[SNAPSHOT_WORDS];
};

/* Publishes a snapshot. Only one thread may call it; it never waits. */
void snapshot_publish(struct snapshot_cell *cell, const struct run_snapshot *snapshot);

/* Copies the snapshot, once more if the writer changed it meanwhile. Any thread may call it. */
void snapshot_read(const struct snapshot_cell *cell, struct run_snapshot *snapshot);

#endif
