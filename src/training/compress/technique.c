/* Reads chains of techniques, and answers questions about their steps from the rows of
 * techniques.inc, without applying them. */
#include "training/compress/technique.h"

#include "base/language.h"
#include "base/text.h"
#include "engine/quantize/calibration.h"

#include <stdio.h>
#include <string.h>

/* --- kinds --- */

enum need { NO_ARGUMENT_NEEDED, ARGUMENT_NEEDED };
enum argument { ARGUMENT_NONE, ARGUMENT_GOAL, ARGUMENT_METHOD, ARGUMENT_FORMAT, ARGUMENT_FILE };

size_t technique_choice(const char *name, const char *const *names, size_t otherwise)
{
    for (size_t i = 0; names[i]; i++)
        if (strcmp(names[i], name) == 0)
            return i;
    return otherwise;
}

static const struct kind {
    const char *name;
    enum need need;
    enum argument argument; /* the form of the argument */
    bool trains, needs_data;
} kinds[] = {
#define TECHNIQUE(name, need, argument, trains, needs_data, lists)                                 \
    {#name, need, argument, trains, needs_data},
#include "training/compress/techniques.inc"
#undef TECHNIQUE
};
enum { KINDS = sizeof kinds / sizeof *kinds };

bool technique_step_is(const char *step, const char *kind, const char **argument)
{
    const size_t length = strlen(kind);
    if (strncmp(step, kind, length) != 0 || (step[length] && step[length] != ':'))
        return false;
    *argument = step[length] ? step + length + 1 : "";
    return true;
}

/* Returns the kind of a step and sets *argument, "" if it has none; NULL if there is no such kind.
 */
static const struct kind *kind_of(const char *step, const char **argument)
{
    for (size_t i = 0; i < KINDS; i++)
        if (technique_step_is(step, kinds[i].name, argument))
            return &kinds[i];
    return NULL;
}

enum technique_goal technique_goal_of(const char *argument, double *value)
{
    char number[40];
    const size_t length = strlen(argument);
    const bool time = length > 2 && strcmp(argument + length - 2, "ms") == 0;
    const enum technique_goal goal = time                 ? TECHNIQUE_TIME
                                     : argument[0] == 'p' ? TECHNIQUE_PARAMETERS
                                     : argument[0] == 'm' ? TECHNIQUE_ZEROS
                                                          : TECHNIQUE_PLAIN;
    const size_t skipped = goal == TECHNIQUE_PARAMETERS || goal == TECHNIQUE_ZEROS;
    snprintf(number, sizeof number, "%.*s", (int)(length - skipped - (time ? 2 : 0)),
             argument + skipped);
    if (!text_to_double(number, value))
        *value = 0;
    return goal;
}

/* Returns whether an argument is a share, pSHARE, MSms or, if `zeros` is set, mSHARE. */
static bool is_goal(const char *argument, bool zeros)
{
    double value;
    const enum technique_goal goal = technique_goal_of(argument, &value);
    return value > 0 && (goal == TECHNIQUE_TIME || value <= 1) &&
           (goal != TECHNIQUE_ZEROS || zeros);
}

static bool is_argument(const struct kind *kind, const char *argument)
{
    switch (kind->argument) {
    case ARGUMENT_GOAL:
        return is_goal(argument, kind->need == ARGUMENT_NEEDED);
    case ARGUMENT_METHOD:
        return technique_choice(argument, calibration_method_names, CALIBRATION_METHODS) !=
               CALIBRATION_METHODS;
    case ARGUMENT_FORMAT:
        return technique_choice(argument, weights_format_names, WEIGHTS_FLOAT32) != WEIGHTS_FLOAT32;
    default:
        return true;
    }
}

static bool check_step(const char *step, struct error *error)
{
    const char *argument;
    const struct kind *kind = kind_of(step, &argument);
    const char *advice = N_("steps are quantize:percentile, prune:0.5, factorize:0.9, "
                            "distill:TEACHER.safetensors and half:float16, joined by +");
    if (!kind)
        return error_set(error, ERROR_USAGE, step, advice,
                         "there is no such technique after training");
    if (!argument[0] && kind->need == ARGUMENT_NEEDED)
        return error_set(error, ERROR_USAGE, step, advice, "it needs a value after a colon");
    return !argument[0] || is_argument(kind, argument) ||
           error_set(error, ERROR_USAGE, step, advice, "its value is not understood");
}

bool technique_chain_read(struct technique_chain *chain, const char *text, struct error *error)
{
    *chain = (struct technique_chain){0};
    if ((size_t)snprintf(chain->text, sizeof chain->text, "%s", text) >= sizeof chain->text)
        return error_set(error, ERROR_USAGE, text, "take fewer steps", "the chain is too long");
    char *rest = chain->text;
    for (char *step; (step = strsep(&rest, "+"));) {
        if (chain->count == TECHNIQUE_STEPS)
            return error_set(error, ERROR_USAGE, text, "take fewer steps",
                             "a chain has at most %d steps", TECHNIQUE_STEPS);
        if (!check_step(step, error))
            return false;
        chain->steps[chain->count++] = step;
    }
    return true;
}

bool technique_step_trains(const char *step)
{
    const char *argument;
    double value;
    const struct kind *kind = kind_of(step, &argument);
    return kind && kind->trains &&
           (kind->argument != ARGUMENT_GOAL ||
            technique_goal_of(argument, &value) !=
                TECHNIQUE_ZEROS); /* zeros would become nonzero values */
}

bool technique_step_needs_data(const char *step)
{
    const char *argument;
    const struct kind *kind = kind_of(step, &argument);
    return kind && kind->needs_data;
}
