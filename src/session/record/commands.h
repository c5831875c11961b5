/* commands.h: the queue of commands from the user to the worker of a run. Internal to session/. */
#ifndef TINCA_SESSION_RECORD_COMMANDS_H
#define TINCA_SESSION_RECORD_COMMANDS_H

#include "base/threads/wake.h"
#include "session/record/run.h"

#include <stdatomic.h>

struct command_box {
    atomic_uint pending; /* one bit per command */
    _Atomic uint64_t rate_bits;
    struct wake wake;
};

struct commands {
    unsigned set; /* one bit per command */
    double learning_rate;
};

/* Creates an empty queue. Returns false with an error. */
bool commands_create(struct command_box *box, struct error *error);
void commands_free(struct command_box *box);

/* Sends a command; `value` is the rate of COMMAND_LEARNING_RATE. Any thread and any signal handler
 * may call it. */
void commands_send(struct command_box *box, enum run_command command, double value);

/* Returns the pending commands and clears them; only the worker calls it. */
struct commands commands_take(struct command_box *box);
/* Waits until a command is pending; only the worker calls it. */
void commands_wait(struct command_box *box);

/* Returns whether the command is among those taken. */
static inline bool commands_have(const struct commands *commands, enum run_command command)
{
    return commands->set >> command & 1;
}

#endif
