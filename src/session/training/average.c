/* The exponential moving average of the weights (--ema), which is validated and saved in their
 * place. Its memory is the preparation's, since evaluators and samples read it. A checkpoint has
 * the averages of learnable parameters; running statistics are those of the weights. */
#include "session/training/observer.h"

#include "engine/weights/weights_average.h"

static bool open_average(void *state, struct trainer *trainer)
{
    struct preparation *prepared = &trainer->prepared;
    (void)state;
    if (prepared->average.values && !trainer->resumption.file.file)
        weights_average_begin(&prepared->average, &prepared->weights);
    return true;
}

static void after_step(void *state, struct trainer *trainer)
{
    (void)state;
    prepare_average(&trainer->prepared, trainer->moment.iteration);
}

static void list_arrays(void *state, const struct trainer *trainer,
                        struct checkpoint_arrays *arrays)
{
    const struct weights *average = &trainer->prepared.average;
    (void)state;
    for (size_t p = 0; average->values && p < average->graph->parameter_count; p++)
        if (average->graph->parameters[p].learnable)
            checkpoint_add_array(arrays, "average.", &average->graph->parameters[p],
                                 average->values);
}

static void restore(void *state, struct trainer *trainer)
{
    struct preparation *prepared = &trainer->prepared;
    (void)state;
    if (prepared->average.values)
        weights_average_restore(&prepared->average, &prepared->weights);
}

const struct observer observer_average = {.name = "average",
                                          .open = open_average,
                                          .after_step = after_step,
                                          .list_arrays = list_arrays,
                                          .restore = restore};
