/* The chains of techniques of a grid: each is checked step by step, written once, and joined by the
 * control where something trains. */
#include "studies/sweep/sweep_grid.h"

#include "base/files/file.h"
#include "models/measure/model_operand.h"
#include "training/compress/technique.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Appends a step to a chain; a teacher, which may be a run, becomes the absolute path of its model,
 * because cells are computed in other folders. Returns false if it does not fit. */
static bool append_step(char chain[SWEEP_CHAIN], const char *step)
{
    struct error ignored; /* sweep_chain_check says what is wrong with a teacher */
    const char *colon = strchr(step, ':');
    char *teacher =
        colon && strncmp(step, "distill:", 8) == 0 ? model_operand_path(colon + 1, &ignored) : NULL;
    char *absolute = teacher ? realpath(teacher, NULL) : NULL;
    free(teacher);
    const size_t used = strlen(chain);
    const int kind = absolute ? (int)(colon + 1 - step) : (int)strlen(step);
    const int length = snprintf(chain + used, SWEEP_CHAIN - used, "%s%.*s%s", used > 0 ? "+" : "",
                                kind, step, absolute ? absolute : "");
    free(absolute);
    return (size_t)length < SWEEP_CHAIN - used;
}

static bool add_chain(struct sweep_grid *grid, const char *text, struct error *error)
{
    struct technique_chain steps;
    char chain[SWEEP_CHAIN] = "";
    if (!technique_chain_read(&steps, text, error))
        return false;
    for (size_t i = 0; i < steps.count; i++)
        if (!append_step(chain, steps.steps[i]))
            return error_set(error, ERROR_USAGE, text, "take fewer steps", "the chain is too long");
    for (size_t i = 0; i < grid->after_count; i++)
        if (strcmp(grid->after[i], chain) == 0)
            return true;
    if (grid->after_count == SWEEP_AFTERS)
        return error_set(error, ERROR_USAGE, text, "make another sweep for the rest",
                         "a sweep has at most %d chains of techniques", SWEEP_AFTERS);
    snprintf(grid->after[grid->after_count++], SWEEP_CHAIN, "%s", chain);
    return true;
}

bool sweep_grid_add_after(struct sweep_grid *grid, const char *list, struct error *error)
{
    char chain[SWEEP_CHAIN];
    for (const char *at = list;; at++) {
        const size_t length = strcspn(at, ",");
        if ((size_t)snprintf(chain, sizeof chain, "%.*s", (int)length, at) >= sizeof chain)
            return error_set(error, ERROR_USAGE, "after", "take fewer steps",
                             "the chain is too long");
        if (!add_chain(grid, chain, error))
            return false;
        at += length;
        if (!*at)
            return true;
    }
}

bool sweep_grid_trains(const struct sweep_grid *grid, const char *chain)
{
    const char *argument;
    struct technique_chain steps;
    if (!technique_chain_read(&steps, chain, NULL))
        return false;
    for (size_t i = 0; i < steps.count; i++)
        if (technique_step_trains(steps.steps[i]) &&
            (grid->after_epochs > 0 || technique_step_is(steps.steps[i], "distill", &argument) ||
             technique_step_is(steps.steps[i], SWEEP_CONTROL, &argument)))
            return true;
    return false;
}

bool sweep_grid_add_control(struct sweep_grid *grid, struct error *error)
{
    for (size_t i = 0; i < grid->after_count; i++)
        if (sweep_grid_trains(grid, grid->after[i]))
            return add_chain(grid, SWEEP_CONTROL, error);
    return true;
}
