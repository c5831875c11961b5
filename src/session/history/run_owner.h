/* run_owner.h: the process that has a run, as a bystander sees it.
 *
 * The run's lock says which process it is. Numbers of processes are used again, and a folder may be
 * shared between machines: only a process of this machine that really has the lock's file open is
 * ever sent a signal. */
#ifndef TINCA_SESSION_HISTORY_RUN_OWNER_H
#define TINCA_SESSION_HISTORY_RUN_OWNER_H

#include "base/error.h"

#include <stdbool.h>

struct run_owner {
    long process;   /* 0: not known */
    char host[128]; /* its machine; "": not known */
    bool here;      /* it runs on this machine, and is the same user's */
    bool alone;     /* here, and without a terminal: nobody can watch or stop it there */
};

/* False when nobody has the run; `owner` then is what its lock says of the last one. */
bool run_owner_find(const char *directory, struct run_owner *owner);

/* Asks the process of a run to finish the iteration, to save, and to end (SIGTERM). */
bool run_owner_stop(const char *directory, struct error *error);

#endif
