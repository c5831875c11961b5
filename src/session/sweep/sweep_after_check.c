/* What is known to fail is found before the first cell is trained: an order of steps that no model
 * can take, and a teacher that is no model. */
#include "session/sweep/sweep_after.h"

#include "session/model/model_file.h"
#include "session/models/technique_step.h"

#include <string.h>

static bool is_kind(const char *step, const char *kind)
{
    const size_t length = strlen(kind);
    return strncmp(step, kind, length) == 0 && (!step[length] || step[length] == ':');
}

/* Channels, factors and ranges are found from weights of float32, which a quantized model has no
 * longer. */
static bool check_order(const char *chain, const struct technique_chain *steps, struct error *error)
{
    bool quantized = false;
    for (size_t i = 0; i < steps->count; i++) {
        const char *step = steps->steps[i];
        if (quantized &&
            (is_kind(step, "quantize") || is_kind(step, "prune") || is_kind(step, "factorize")))
            return error_set(error, ERROR_USAGE, chain, "put quantize last",
                             "%s cannot follow quantize, after which the weights are integers",
                             step);
        quantized |= is_kind(step, "quantize");
    }
    return true;
}

static bool check_teacher(const char *path, struct error *error)
{
    struct model teacher = {0};
    const bool described = model_file_describe(&teacher, path, error);
    model_free(&teacher);
    return described;
}

bool sweep_chain_check(const char *chain, struct error *error)
{
    struct technique_chain steps;
    if (!technique_chain_read(&steps, chain, error) || !check_order(chain, &steps, error))
        return false;
    for (size_t i = 0; i < steps.count; i++)
        if (is_kind(steps.steps[i], "distill") &&
            !check_teacher(steps.steps[i] + strlen("distill:"), error))
            return false;
    return true;
}

/* Returns whether a cell waits for the result of a chain. */
static bool is_wanted(const struct sweep *sweep, size_t number)
{
    struct sweep_after_result result;
    for (size_t i = 0; i < sweep->count; i++) {
        const enum sweep_state state = sweep->cells[i].state;
        sweep_after_read(sweep, i, number, &result);
        if (state == SWEEP_WAITING || state == SWEEP_RUNNING ||
            (state == SWEEP_DONE && result.state == SWEEP_AFTER_WAITING))
            return true;
    }
    return false;
}

bool sweep_after_check(const struct sweep *sweep, struct error *error)
{
    for (size_t i = 1; i < sweep_after_count(sweep); i++)
        if (is_wanted(sweep, i) && !sweep_chain_check(sweep_after_chain(sweep, i), error))
            return false;
    return true;
}
