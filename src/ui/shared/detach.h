/* detach.h: leaves the runs of this session running when the workbench quits.
 *
 * The active run saves a checkpoint and stops; then a background process without a terminal resumes
 * it, which gives the same bits. For each waiting run a background process takes a place in the
 * queue (run_queue.h), in their order. The workbench quits only when all of them have taken over;
 * otherwise it says why and stays, and the saved run can be resumed. */
#ifndef TINCA_UI_SHARED_DETACH_H
#define TINCA_UI_SHARED_DETACH_H

#include "ui/shared/run_list.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

enum detach_state { DETACH_NO, DETACH_STOPPING, DETACH_STARTED, DETACH_DONE };

struct detach { /* starts as {0} */
    enum detach_state state;
    char directory[512]; /* the run that a background process resumes; "": none */
    char save_path[512]; /* its --save; "": none */
    pid_t process;       /* the background process */
    FILE *messages;      /* its standard error; NULL: none */
    size_t waiting;      /* waiting runs that were handed over */
    uint64_t until;      /* clock_nanoseconds: when it must have taken over */
};

/* Begins: stops the active run, if there is one, and holds the waiting ones back. Returns false if
 * the run cannot take the command now. */
bool detach_begin(struct detach *detach, struct run_list *runs);

/* Goes on, after each poll of the runs; sets the state to DETACH_DONE when all runs have been
 * handed over. Returns false with an error, and ends the handover, when it fails. */
bool detach_step(struct detach *detach, struct run_list *runs, struct error *error);

/* Returns whether the handover is in progress, so that keys must wait. */
bool detach_is_active(const struct detach *detach);

/* Writes what has been handed over and how to find it, in lines. Returns `text`. */
char *detach_text(const struct detach *detach, char *text, size_t size);

#endif
