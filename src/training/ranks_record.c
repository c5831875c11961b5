/* Records the work of the ranks in their iterations (ranks_work.h), if there are several. */
#include "training/observer.h"

static void begin(void *state, struct trainer *trainer)
{
    ranks_record_begin(state, trainer->run, &trainer->work);
}

static void after_iteration(void *state, struct trainer *trainer, struct iteration *iteration)
{
    ranks_record_step(state, trainer->moment.iteration, iteration->now);
}

static void end(void *state, struct trainer *trainer, enum run_status status, bool writes)
{
    (void)status;
    if (writes)
        ranks_record_end(state, trainer->moment.iteration);
}

static void close_record(void *state, struct trainer *trainer)
{
    (void)trainer;
    ranks_record_free(state);
}

const struct observer observer_ranks = {.name = "ranks",
                                        .state_bytes = sizeof(struct ranks_record),
                                        .begin = begin,
                                        .after_iteration = after_iteration,
                                        .end = end,
                                        .close = close_record};
