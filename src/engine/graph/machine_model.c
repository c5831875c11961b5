#include "engine/graph/machine_model.h"

#include <math.h>

const char *const machine_figure_names[MACHINE_FIGURES + 1] = {
    [MACHINE_HAND_OVER] = "hand_over",
    [MACHINE_TASK] = "task",
    [MACHINE_OPERATION] = "vector_operation",
    [MACHINE_CONV_1] = "conv_multiply_add_1",
    [MACHINE_CONV_2] = "conv_multiply_add_2",
    [MACHINE_PRODUCT_1] = "winograd_multiply_add_1",
    [MACHINE_PRODUCT_2] = "winograd_multiply_add_2",
    [MACHINE_TRANSFORM] = "winograd_transform",
    [MACHINE_READ] = "read_byte",
};

/* The fixed rules: they take a quarter of a nanosecond for each unit of work and some hundred
 * nanoseconds for handing it over. */
enum { WORK_TO_SHARE = 1 << 12, WORK_TO_BALANCE = 1 << 17 };

/* TASKS_A_THREAD: tasks for each thread of a step that is worth balancing. BALANCE: how many times
 * longer a thread's part must take than taking the additional tasks, since starting a task costs a
 * kernel some ten times as much as the pool. */
enum { TASKS_A_THREAD = 4, BALANCE = 1024 };

bool machine_figure_is_plausible(enum machine_figure figure, double seconds)
{
    if (figure == MACHINE_HAND_OVER && isnan(seconds))
        return true;
    return seconds > 0 && seconds < 1; /* NaN is refused, too */
}

bool machine_model_is_plausible(const struct machine_model *model)
{
    bool plausible = true;
    for (size_t i = 0; i < MACHINE_FIGURES; i++)
        plausible &= machine_figure_is_plausible((enum machine_figure)i, model->seconds[i]);
    return plausible;
}

double machine_reading(const struct machine_model *model, double bytes)
{
    return bytes > MACHINE_CACHE_BYTES ? bytes * model->seconds[MACHINE_READ] : 0;
}

/* Returns the tasks by the fixed rules. */
static size_t tasks_by_amount(size_t amount, size_t threads)
{
    if (amount < WORK_TO_SHARE)
        return 1;
    return amount < WORK_TO_BALANCE ? threads : TASKS_A_THREAD * threads;
}

size_t machine_tasks(const struct machine_model *model, enum machine_figure unit, size_t amount,
                     size_t threads)
{
    if (threads == 1)
        return 1;
    if (!model || !model->measured || isnan(model->seconds[MACHINE_HAND_OVER]))
        return tasks_by_amount(amount, threads);
    const double alone = (double)amount * model->seconds[unit], part = alone / (double)threads;
    if (alone <= part + model->seconds[MACHINE_HAND_OVER])
        return 1;
    const double more_tasks = (TASKS_A_THREAD - 1) * model->seconds[MACHINE_TASK];
    return part < BALANCE * more_tasks ? threads : TASKS_A_THREAD * threads;
}
