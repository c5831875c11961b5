/* Every command is idempotent, and of COMMAND_PAUSE and COMMAND_GO_ON only the last one counts, so
 * a word of bits is enough for a queue. It is never full. Sending is a compare-and-swap and a
 * wake_send, both async-signal-safe. The worker polls with one exchange per iteration. */
#include "session/record/commands.h"

#include <string.h>

static unsigned bit(enum run_command command)
{
    return 1u << command;
}

bool commands_create(struct command_box *box, struct error *error)
{
    atomic_init(&box->pending, 0);
    atomic_init(&box->rate_bits, 0);
    return wake_create(&box->wake) ||
           error_set_errno(error, "the run", NULL, "no semaphore could be made");
}

void commands_free(struct command_box *box)
{
    wake_free(&box->wake);
}

void commands_send(struct command_box *box, enum run_command command, double value)
{
    unsigned cancelled = command == COMMAND_PAUSE   ? bit(COMMAND_GO_ON)
                         : command == COMMAND_GO_ON ? bit(COMMAND_PAUSE)
                                                    : 0;
    if (command == COMMAND_LEARNING_RATE) {
        uint64_t bits;
        memcpy(&bits, &value, sizeof bits);
        atomic_store_explicit(&box->rate_bits, bits, memory_order_relaxed);
    }
    unsigned old = atomic_load_explicit(&box->pending, memory_order_relaxed);
    while (!atomic_compare_exchange_weak_explicit(&box->pending, &old,
                                                  (old & ~cancelled) | bit(command),
                                                  memory_order_release, memory_order_relaxed))
        ;
    wake_send(&box->wake);
}

struct commands commands_take(struct command_box *box)
{
    struct commands commands = {0};
    if (atomic_load_explicit(&box->pending, memory_order_relaxed) == 0)
        return commands;
    commands.set = atomic_exchange_explicit(&box->pending, 0, memory_order_acquire);
    uint64_t bits = atomic_load_explicit(&box->rate_bits, memory_order_relaxed);
    memcpy(&commands.learning_rate, &bits, sizeof bits);
    return commands;
}

void commands_wait(struct command_box *box)
{
    while (atomic_load_explicit(&box->pending, memory_order_relaxed) == 0)
        wake_wait(&box->wake);
}
