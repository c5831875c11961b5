/* commands.h: what the user asked of a run and the worker has not seen yet. Internal to session/.
 */
#ifndef TINCA_SESSION_RECORD_COMMANDS_H
#define TINCA_SESSION_RECORD_COMMANDS_H

#include "session/record/run.h"

#include <semaphore.h>
#include <stdatomic.h>

struct command_box {
    atomic_uint pending; /* a bit a command */
    _Atomic uint64_t rate_bits;
    sem_t wake;
};

struct commands {
    unsigned set; /* a bit a command */
    double learning_rate;
};

bool commands_create(struct command_box *box, struct error *error);
void commands_free(struct command_box *box);

/* Any thread; from signal handlers too. */
void commands_send(struct command_box *box, enum run_command command, double value);

/* The worker: takes all that is pending. */
struct commands commands_take(struct command_box *box);
/* ... and waits until something is. */
void commands_wait(struct command_box *box);

static inline bool commands_have(const struct commands *commands, enum run_command command)
{
    return commands->set >> command & 1;
}

#endif
