/* A search reads the configuration of every run in the folder of runs and keeps those of the group,
 * by insertion in the order of their seeds. */
#include "runs/history/seed_group.h"

#include "base/files/file.h"
#include "base/memory.h"
#include "runs/folder/run_directory.h"
#include "runs/folder/run_files.h"
#include "runs/settings/config_paths.h"
#include "runs/settings/settings.h"
#include "runs/values/run_facts.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char ending[] = "@seeds";

bool seed_group_is_operand(const char *operand)
{
    const size_t length = strlen(operand), end = sizeof ending - 1;
    return length > end && strcmp(operand + length - end, ending) == 0;
}

void seed_group_free(struct seed_group *group)
{
    free(group->members);
    *group = (struct seed_group){0};
}

char *seed_group_new_id(const struct run_config *config, char *id)
{
    char network[256], name[RUN_ID_NAME];
    config_network_name(network_settings(config).network, network, sizeof network);
    run_id_name(network, "", name);
    return run_id_new(name, id);
}

bool seed_group_has(const struct seed_group *group, size_t seed)
{
    for (size_t i = 0; i < group->count; i++)
        if (group->members[i].seed == seed)
            return true;
    return false;
}

/* --- reading --- */

/* Inserts a run by its seed. */
static bool add_member(struct seed_group *group, const char *directory,
                       const struct run_config *config, struct error *error)
{
    const struct training_settings training = training_settings(config);
    if (!memory_grow(&group->members, &group->capacity, group->count + 1, sizeof *group->members,
                     "the group of seeds", error))
        return false;
    size_t place = group->count++;
    for (; place > 0 && group->members[place - 1].seed > training.seed; place--)
        group->members[place] = group->members[place - 1];
    group->members[place].seed = training.seed;
    snprintf(group->members[place].directory, sizeof group->members[place].directory, "%s",
             directory);
    if (place == 0)
        group->config = *config;
    return true;
}

static bool read_config(const char *directory, struct run_config *config)
{
    struct run_facts facts = {0};
    struct error unreadable; /* a run that cannot be read belongs to no group */
    return run_files_read_config(config, &facts, directory, &unreadable);
}

static bool take_run(struct seed_group *group, const char *home, const char *run,
                     struct error *error)
{
    struct run_config config;
    char *directory = file_join(home, run);
    bool good = directory || error_set_memory(error, "a path", 0);
    if (good && read_config(directory, &config) &&
        strcmp(record_settings(&config).seed_group, group->id) == 0)
        good = add_member(group, directory, &config, error);
    free(directory);
    return good;
}

bool seed_group_read(struct seed_group *group, const char *id, struct error *error)
{
    char **runs = NULL, *home = run_directory_home(error);
    size_t count = 0;
    *group = (struct seed_group){0};
    snprintf(group->id, sizeof group->id, "%s", id);
    bool good = home && run_directory_list(&runs, &count, error);
    for (size_t i = 0; i < count; i++) {
        good = good && take_run(group, home, runs[i], error);
        free(runs[i]);
    }
    free(runs);
    free(home);
    return good;
}

/* Reads the group of the run that `name` finds. */
static bool read_of_run(struct seed_group *group, const char *name, struct error *error)
{
    struct run_config config;
    struct error no_run;
    char *directory = run_directory_find(name, &no_run);
    const bool found = directory && read_config(directory, &config);
    free(directory);
    if (!found)
        return error_set(error, ERROR_USAGE, name, "tinca runs lists groups and runs",
                         "there is no group of seeds and no run of this name");
    if (!record_settings(&config).seed_group[0])
        return error_set(error, ERROR_USAGE, name, "tinca train --seeds N makes a group",
                         "this run belongs to no group of seeds");
    return seed_group_read(group, record_settings(&config).seed_group, error);
}

bool seed_group_find(struct seed_group *group, const char *operand, struct error *error)
{
    char *name = memory_copy_text(operand, error);
    *group = (struct seed_group){0};
    if (!name)
        return false;
    if (seed_group_is_operand(name))
        name[strlen(name) - strlen(ending)] = '\0';
    bool found = seed_group_read(group, name, error);
    if (found && group->count == 0) {
        seed_group_free(group);
        found = read_of_run(group, name, error);
    }
    free(name);
    return found;
}

/* --- statistics of the results --- */

bool seed_statistics_compute(const struct run_figures *runs, size_t count,
                             struct seed_statistics *statistics, struct error *error)
{
    double *values = memory_new(count, sizeof *values, "the statistics", error);
    *statistics = (struct seed_statistics){.runs = count};
    bool computed = values || count == 0;
    for (size_t f = 0; computed && f < FIGURE_RESULTS; f++) {
        const enum figure figure = figure_results[f];
        size_t *known = &statistics->counts[figure];
        for (size_t i = 0; i < count; i++) {
            const double value = figure_of(&runs[i], figure);
            if (isfinite(value))
                values[(*known)++] = value;
        }
        computed = statistics_compute(values, *known, &statistics->figures[figure], error);
    }
    free(values);
    return computed;
}

void seed_statistics_take_means(const struct seed_statistics *statistics,
                                struct run_figures *figures)
{
    figures->has_loss = statistics->counts[FIGURE_LOSS] > 0;
    figures->has_validation = false;
    for (size_t f = 0; f < FIGURE_RESULTS; f++)
        *figure_place(figures, figure_results[f]) = statistics->figures[figure_results[f]].mean;
}

bool seed_statistics_to_json(const struct seed_statistics *statistics, struct json *object)
{
    bool added = object;
    for (size_t f = 0; added && f < FIGURE_RESULTS; f++) {
        const enum figure figure = figure_results[f];
        struct json *values = json_add_object(object, figure_rows[figure].member);
        added = json_add_count(values, "n", statistics->counts[figure]) &&
                json_add_number(values, "mean", statistics->figures[figure].mean) &&
                json_add_number(values, "sd", statistics->figures[figure].sd) &&
                json_add_number(values, "ci95", statistics->figures[figure].ci95);
    }
    return added;
}
