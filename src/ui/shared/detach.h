/* detach.h: leaves the runs and the sweep of this session running when the workbench quits.
 *
 * The active run saves a checkpoint and stops; then a background process without a terminal resumes
 * it, which gives the same bits. For each waiting run, and at last for the sweep, a background
 * process takes a place in the queue (run_queue.h), in their order. The sweep's present cell goes
 * on in its own process. The workbench quits only when all of them have taken over; otherwise it
 * says why and stays, and the saved run can be resumed. */
#ifndef TINCA_UI_SHARED_DETACH_H
#define TINCA_UI_SHARED_DETACH_H

#include "base/error.h"
#include "runs/history/queue_background.h"
#include "ui/shared/run_list.h"
#include "ui/shared/sweep_job.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

/* --- a command in the background --- */

/* This program with another command line, in a process without a terminal that outlives the
 * workbench. */

struct background_command { /* starts as {0} */
    char **words;           /* ends with NULL once there is a word */
    size_t count, capacity;
    bool failed;    /* memory was short; background_command_start reports it */
    pid_t process;  /* 0: not started */
    FILE *messages; /* its standard error, a file without a name; NULL: not started */
};

/* Starts the process in a session of its own. Returns false with an error. */
bool background_command_start(struct background_command *command, struct error *error);

enum detach_state {
    DETACH_NO,
    DETACH_STOPPING, /* the active run, or the start of a sweep's cell, is waited for */
    DETACH_RESUMING, /* `command` resumes the run */
    DETACH_QUEUEING, /* `command` takes a place in the queue */
    DETACH_DONE
};

struct detach { /* starts as {0} */
    enum detach_state state;
    char directory[512];               /* the run that a background process resumes; "": none */
    char save_path[512];               /* its --save; "": none */
    char sweep[SWEEP_NAME];            /* the name of the sweep that goes on; "": none */
    pid_t resuming;                    /* the process that has resumed the run */
    struct background_command command; /* the process that is to take over next */
    size_t waiting;                    /* waiting runs that were handed over */
    struct handover *looking;          /* finds out whether it has; NULL: not now */
    uint64_t until;                    /* clock_nanoseconds: when it must have taken over */
};

/* Begins: stops the active run, if there is one, and holds the waiting ones and the next cell of
 * the sweep back. Returns false if the run cannot take the command now. */
bool detach_begin(struct detach *detach, struct run_list *runs, const struct sweep_job *sweep);

/* Goes on, after each poll of the runs; sets the state to DETACH_DONE when everything has been
 * handed over. Returns false with an error, and ends the handover, when it fails. */
bool detach_step(struct detach *detach, struct run_list *runs, struct sweep_job *sweep,
                 struct error *error);

/* Returns whether the handover is in progress, so that keys must wait. */
bool detach_is_active(const struct detach *detach);

/* Writes what has been handed over and how to find it, in lines. Returns `text`. */
char *detach_text(const struct detach *detach, char *text, size_t size);

#endif
