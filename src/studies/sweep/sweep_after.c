/* The results of a cell's techniques, as files, and what is checked before the first cell is
 * trained. sweep_step.c computes them. */
#include "studies/sweep/sweep_after.h"

#include "base/files/file.h"
#include "models/saved/model_file.h"
#include "runs/values/run_snapshot.h"
#include "studies/sweep/internal.h"
#include "training/compress/technique.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

enum { RESULT_LIMIT = 1 << 18, NAME = 160 };

size_t sweep_after_count(const struct sweep *sweep)
{
    return sweep->grid.after_count > 0 ? sweep->grid.after_count + 1 : 0;
}

const char *sweep_after_chain(const struct sweep *sweep, size_t number)
{
    return number > 0 ? sweep->grid.after[number - 1] : "";
}

/* --- files --- */

/* Which of the cell's settings a fine-tuning has; the earliest versions dropped most of them.
 * Results and models of another number are not found, and are computed again. */
enum { TRAINED_VERSION = 2 };

/* Writes the name of a chain's files without their ending: the chain itself as far as it can be
 * part of a file's name, a checksum, and the epochs if one of its steps trains. */
static void name_chain(const struct sweep *sweep, const char *chain, bool trains, char name[NAME])
{
    size_t used = 0;
    const uLong sum = crc32_z(0, (const unsigned char *)chain, strlen(chain));
    for (; chain[used] && used < 80; used++)
        name[used] = strchr("/:\\ \t\n", chain[used]) || (unsigned char)chain[used] < ' '
                         ? '-'
                         : chain[used];
    if (sweep_grid_trains(&sweep->grid, chain))
        snprintf(name + used, NAME - used, "-%08lx-e%zu-v%d", sum, sweep->grid.after_epochs,
                 TRAINED_VERSION);
    else if (trains)
        snprintf(name + used, NAME - used, "-%08lx-e%zu", sum, sweep->grid.after_epochs);
    else
        snprintf(name + used, NAME - used, "-%08lx", sum);
}

static char *join(char *folder, const char *name)
{
    char *path = folder ? file_join(folder, name) : NULL;
    free(folder);
    return path;
}

char *sweep_after_folder(const struct sweep *sweep, size_t index)
{
    const struct sweep_cell *cell = &sweep->cells[index];
    return join(join(file_join(sweep->directory, cell->id), "after"), cell->run);
}

static bool any_trains(const char *chain)
{
    const char *argument;
    struct technique_chain steps;
    bool trains = false;
    if (!chain[0] || !technique_chain_read(&steps, chain, NULL))
        return false;
    for (size_t i = 0; i < steps.count; i++)
        trains |= technique_step_trains(steps.steps[i]) ||
                  technique_step_is(steps.steps[i], "prune", &argument); /* as earlier versions */
    return trains;
}

char *sweep_after_path(const struct sweep *sweep, size_t index, const char *chain,
                       const char *ending)
{
    char name[NAME], file[NAME + 16];
    name_chain(sweep, chain, any_trains(chain), name);
    snprintf(file, sizeof file, "%s%s", chain[0] ? name : "trained", ending);
    return join(sweep_after_folder(sweep, index), file);
}

/* --- results --- */

static void read_text(const struct json *object, const char *key, char *text, size_t size)
{
    const char *value = json_string(json_member(object, key));
    snprintf(text, size, "%s", value ? value : "");
}

bool sweep_failure_from_json(const struct json *root, struct error *failure)
{
    const struct json *object = json_member(root, "error");
    if (!object)
        return false;
    const char *cause = json_string(json_member(object, "cause"));
    *failure = (struct error){.kind = cause ? ERROR_INTERRUPTED : ERROR_INPUT};
    run_cause_take(failure, cause);
    read_text(object, "what", failure->what, sizeof failure->what);
    read_text(object, "why", failure->why, sizeof failure->why);
    read_text(object, "advice", failure->advice, sizeof failure->advice);
    return true;
}

enum sweep_state sweep_after_cell_state(const struct sweep_after_result *result)
{
    static const enum sweep_state states[] = {[SWEEP_AFTER_WAITING] = SWEEP_WAITING,
                                              [SWEEP_AFTER_DONE] = SWEEP_DONE,
                                              [SWEEP_AFTER_FAILED] = SWEEP_FAILED};
    if (result->state != SWEEP_AFTER_WAITING || result->reason.kind == ERROR_NONE)
        return states[result->state];
    const enum sweep_state state = sweep_state_of_error(&result->reason);
    return state == SWEEP_FAILED ? SWEEP_INTERRUPTED : state;
}

static bool take_result(const struct json *root, const char *chain,
                        struct sweep_after_result *result)
{
    const char *of = json_string(json_member(root, "chain"));
    if (!of || strcmp(of, chain) != 0)
        return false;
    if (sweep_failure_from_json(root, &result->reason)) {
        result->state =
            result->reason.kind == ERROR_INPUT ? SWEEP_AFTER_FAILED : SWEEP_AFTER_WAITING;
        return true;
    }
    if (!model_description_from_json(&result->facts, json_member(root, "model")) ||
        !model_measured_from_json(&result->measured, json_member(root, "measured")))
        return false;
    result->state = SWEEP_AFTER_DONE;
    return true;
}

void sweep_after_read(const struct sweep *sweep, size_t index, size_t number,
                      struct sweep_after_result *result)
{
    struct json_document document;
    const char *chain = sweep_after_chain(sweep, number);
    *result = (struct sweep_after_result){0};
    if (!sweep->directory || !sweep->cells[index].run[0])
        return;
    char *path = sweep_after_path(sweep, index, chain, ".json");
    if (path && file_exists(path) && json_read_file(&document, path, RESULT_LIMIT, NULL)) {
        if (!take_result(document.root, chain, result))
            *result = (struct sweep_after_result){0}; /* damaged: it is computed again */
        json_document_free(&document);
    }
    free(path);
}

void sweep_after_refresh(struct sweep *sweep, size_t index)
{
    struct sweep_cell *cell = &sweep->cells[index];
    struct sweep_after_result result;
    cell->after_due = cell->after_failed = 0;
    for (size_t i = 0; cell->state == SWEEP_DONE && i < sweep_after_count(sweep); i++) {
        sweep_after_read(sweep, index, i, &result);
        cell->after_due += result.state == SWEEP_AFTER_WAITING;
        cell->after_failed += result.state == SWEEP_AFTER_FAILED;
    }
}

/* --- checks ---
 *
 * These functions find techniques that must fail before the first cell is trained. */

/* Channels, factors and ranges are found from weights of float32, which a quantized model has no
 * longer. */
static bool check_order(const char *chain, const struct technique_chain *steps, struct error *error)
{
    const char *argument;
    bool quantized = false;
    for (size_t i = 0; i < steps->count; i++) {
        const char *step = steps->steps[i];
        if (quantized && (technique_step_is(step, "quantize", &argument) ||
                          technique_step_is(step, "prune", &argument) ||
                          technique_step_is(step, "factorize", &argument)))
            return error_set(error, ERROR_USAGE, chain, "put quantize last",
                             "%s cannot follow quantize, after which the weights are integers",
                             step);
        quantized |= technique_step_is(step, "quantize", &argument);
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
    const char *teacher;
    struct technique_chain steps;
    if (!technique_chain_read(&steps, chain, error) || !check_order(chain, &steps, error))
        return false;
    for (size_t i = 0; i < steps.count; i++)
        if (technique_step_is(steps.steps[i], "distill", &teacher) &&
            !check_teacher(teacher, error))
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

/* Refuses a setting of the cell that its fine-tuning would not have. Those of the machine change
 * nothing in one process, and a fine-tuning begins with the model that came out of the cell. */
static bool check_meaning(const struct run_config *cell, struct error *error)
{
    char option[64];
    for (size_t i = 0; i < config_field_count; i++) {
        const struct config_field *field = &config_fields[i];
        if (!config_is_given(cell, field->key) || field->about == ABOUT_BEGINNING ||
            !(field->class & (SETTINGS_DATA | SETTINGS_TRAINING | SETTINGS_MEASUREMENT)) ||
            config_has_meaning(field, TASK_FINE_TUNE))
            continue;
        snprintf(option, sizeof option, "--%s", field->key);
        return error_set(error, ERROR_USAGE, option, "leave it out, or the techniques that train",
                         "it has no meaning in the training after a technique");
    }
    return true;
}

bool sweep_after_settings(const struct run_config *cell, size_t epochs, struct run_config *settings,
                          struct error *error)
{
    char text[24];
    config_defaults(settings);
    config_take(settings, cell, TASK_FINE_TUNE);
    config_forget(settings, KEY(epochs)); /* the length is that of the grid */
    snprintf(text, sizeof text, "%zu", epochs);
    return config_set(settings, KEY(iterations), "", error) &&
           (epochs == 0 || config_set(settings, KEY(epochs), text, error));
}

/* Checks what the steps of the chain that train would train with in the cells. */
static bool check_settings(const struct sweep *sweep, const char *chain, struct error *error)
{
    struct run_config settings;
    if (!sweep_grid_trains(&sweep->grid, chain))
        return true;
    for (size_t i = 0; i < sweep->count; i++) {
        const struct run_config *cell = &sweep->cells[i].config;
        if (sweep->cells[i].state != SWEEP_SKIPPED &&
            (!check_meaning(cell, error) ||
             !sweep_after_settings(cell, sweep->grid.after_epochs, &settings, error) ||
             !config_check(&settings, error)))
            return false;
    }
    return true;
}

bool sweep_after_check(const struct sweep *sweep, struct error *error)
{
    for (size_t i = 1; i < sweep_after_count(sweep); i++) {
        const char *chain = sweep_after_chain(sweep, i);
        if (is_wanted(sweep, i) &&
            (!sweep_chain_check(chain, error) || !check_settings(sweep, chain, error)))
            return false;
    }
    return true;
}

bool sweep_after_reset(struct sweep *sweep, size_t index, struct error *error)
{
    struct sweep_after_result result;
    bool reset = true;
    for (size_t i = 0; reset && i < sweep_after_count(sweep); i++) {
        sweep_after_read(sweep, index, i, &result);
        char *path = result.state == SWEEP_AFTER_FAILED
                         ? sweep_after_path(sweep, index, sweep_after_chain(sweep, i), ".json")
                         : NULL;
        if (path && unlink(path) != 0 && errno != ENOENT)
            reset = error_set_errno(error, path, "remove it", "it cannot be removed");
        free(path);
    }
    sweep_after_refresh(sweep, index);
    return reset;
}
