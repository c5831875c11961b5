/* queued_run.h: what waits at a place of the queue (run_queue.h). It is the content of the place's
 * file, so that every process can list what waits. */
#ifndef TINCA_SESSION_HISTORY_QUEUED_RUN_H
#define TINCA_SESSION_HISTORY_QUEUED_RUN_H

#include "session/config/config.h"

#include <stdbool.h>
#include <stdint.h>

enum queued_kind {
    QUEUED_TRAIN,  /* a new run */
    QUEUED_RESUME, /* the run of `directory` */
    QUEUED_SWEEP   /* the next cell of a sweep */
};

struct queued_run {
    uint64_t place; /* the number of its place; 0: none */
    bool known;     /* false: its file cannot be read, and nothing but `place` is valid */
    enum queued_kind kind;
    bool in_workbench;        /* a workbench waits, which computes and shows other runs as well */
    long process;             /* that waits */
    char host[128];           /* its machine */
    char since[24];           /* RFC 3339 */
    char directory[512];      /* of the run that is resumed; "": a new run */
    char sweep[64];           /* the sweep's name; "": it is no cell of a sweep */
    struct run_config config; /* of the run that begins */
};

/* Returns the word of the file and of `tinca runs --json`: "train", "resume" or "sweep". */
const char *queued_kind_name(enum queued_kind kind);

/* Returns a new run with this configuration that waits. The paths in it become absolute, if that is
 * possible. */
struct queued_run queued_run_new(const struct run_config *config);

/* Returns a run that waits to be resumed. `changes` NULL: its settings stay. Returns one that is
 * not known if its configuration cannot be read. */
struct queued_run queued_run_resumed(const char *directory, const struct run_config *changes);

/* Writes a run, with this process, its machine and the present time, into a place's empty file.
 * Returns false with an error. */
bool queued_run_write(int descriptor, const struct queued_run *run, struct error *error);

/* Reads a place's file, and sets run->known to whether that was possible. */
void queued_run_read(struct queued_run *run, const char *path);

#endif
