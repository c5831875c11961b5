/* detach.h: leaves the runs of this session running when the workbench quits.
 *
 * The active run saves a checkpoint and stops; then a background process without a terminal resumes
 * it, which gives the same bits. For each waiting run a background process takes a place in the
 * queue (run_queue.h), in their order. The workbench quits only when all of them have taken over;
 * otherwise it says why and stays, and the saved run can be resumed. */
#ifndef TINCA_UI_APP_DETACH_H
#define TINCA_UI_APP_DETACH_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

struct app;

enum detach_state { DETACH_NO, DETACH_STOPPING, DETACH_STARTED };

struct detach { /* starts as {0} */
    enum detach_state state;
    char directory[512]; /* the run that a background process resumes; "": none */
    char save_path[512]; /* its --save; "": none */
    pid_t process;       /* the background process */
    FILE *messages;      /* its standard error; NULL: none */
    uint64_t until;      /* clock_nanoseconds: when it must have taken over */
};

/* Begins: stops the active run, if there is one, and holds the waiting ones back. */
void detach_begin(struct app *app);

/* Goes on; the loop calls it after each poll of the runs. Sets app->closing and app->farewell when
 * all runs have been handed over. */
void detach_step(struct app *app);

/* Returns whether the handover is in progress, so that keys must wait. */
bool detach_is_active(const struct app *app);

#endif
