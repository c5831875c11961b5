/* tinca train: trains a network without the workbench (train_follow.c), or one for each seed
 * (seeds.c). */
#include "cli/train.h"

#include "cli/command.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/processes.h"
#include "cli/seeds.h"
#include "cli/stop_signal.h"

#include "base/language.h"
#include "base/text.h"
#include "data/dataset/dataset.h"
#include "exchange/caffe/caffe.h"
#include "runs/folder/run_name.h"
#include "runs/settings/settings.h"
#include "training/run_start.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- before --- */

/* Fails with advice that names the built-in data sets. */
static bool refuse_without_data(struct error *error)
{
    struct text text = {0};
    size_t count;
    const struct dataset_kind *kinds = dataset_kinds(&count);
    char advice[512];
    for (size_t i = 0; i < count; i++)
        if (!kinds[i].argument[0])
            text_append(&text, "%s%s", text.length > 0 ? ", " : "", kinds[i].name);
    snprintf(advice, sizeof advice,
             _("give --data SPEC; built in are %s; your own: tinca datasets"),
             text.data ? text.data : "");
    error_set(error, ERROR_USAGE, OPTION(data), advice, "no data set was named");
    text_free(&text);
    return false;
}

static bool check_is_complete(const struct run_config *config, const struct operands *operands,
                              struct error *error)
{
    const struct training_settings training = training_settings(config);
    if (operands->count == 0 && !training.preset[0])
        return error_set(error, ERROR_USAGE, "train", "tinca networks lists them",
                         "no network was named: tinca train NET --data SPEC");
    if (!config_is_given(config, KEY(data)) && !training.preset[0])
        return refuse_without_data(error);
    return true;
}

static bool check_labels(const struct train *train, struct error *error)
{
    return (!train->options.name || run_name_check(train->options.name, error)) &&
           (!train->options.note || run_note_check(train->options.note, error)) &&
           run_tags_check(train->tags, error);
}

int train_go(const struct train *train)
{
    struct error error;
    if (!config_check(&train->config, &error) || !train_check_targets(train, &error) ||
        !check_labels(train, &error))
        return output_error(&error);
    stop_signal_catch_for_runs();
    if (record_settings(&train->config).seeds > 1 && !record_settings(&train->config).seed_group[0])
        return seeds_train(train);
    int status;
    train_one(train, &status);
    return status;
}

/* Writes the tags of all --tag options into one text. */
static void join_tags(const struct option_list *list, char *text, size_t size)
{
    size_t length = 0;
    for (size_t i = 0; i < list->count && length < size; i++)
        length += (size_t)snprintf(text + length, size - length, "%s%s", length ? " " : "",
                                   list->values[i]);
}

/* Replaces the defaults by the settings of the ancestor, under the options that were given. */
static bool take_ancestor(struct train *train, struct error *error)
{
    char value[600];
    const struct run_config given = train->config;
    struct fork_request *fork = &train->options.fork;
    if (!fork_parse(train->fork, fork, error) || !fork_read_config(fork, &train->config, error))
        return false;
    /* the fork is no member of the ancestor's group */
    config_put_count(&train->config, KEY(seeds), 1);
    config_put(&train->config, KEY(seed_group), "", NULL);
    for (size_t i = 0; i < config_field_count; i++) {
        const char *key = config_fields[i].key;
        if (config_is_given(&given, key) &&
            !config_set(&train->config, key, config_get(&given, key, value, sizeof value), error))
            return false;
    }
    return true;
}

/* Takes the settings of a solver file, under the options that were given. */
static bool take_solver_file(struct train *train, struct error *error)
{
    struct caffe_solver solver;
    if (!train->solver_file)
        return true;
    if (train->fork)
        return error_set(error, ERROR_USAGE, "--solver-file", "leave one of them out",
                         "--fork gives the settings already");
    if (!caffe_solver_read(train->solver_file, &solver, error) ||
        !caffe_solver_apply(&solver, &train->config, error))
        return false;
    if (solver.iter_size > 1 && !config_is_given(&train->config, KEY(batch)))
        return error_set(
            error, ERROR_USAGE, train->solver_file,
            "give --batch, iter_size times the batch of Caffe's data layer",
            "iter_size %zu adds gradients of several batches, which are one batch here",
            solver.iter_size);
    return true;
}

static struct option_row solver_file_row(struct train *train)
{
    return (struct option_row){
        .name = "solver-file",
        .argument = "FILE",
        .help = N_("Take the settings of a solver file of Caffe (.prototxt); options override "
                   "them."),
        .kind = OPTION_TEXT,
        .value = &train->solver_file};
}

enum { OPTIONS = 13 }; /* with the row that ends the table */

/* Writes the table of options, which point to the request. */
static void list_options(struct train *train, struct option_list *tags, size_t *ranks,
                         struct option_row *rows)
{
    const struct option_row table[OPTIONS] = {
        TEXT_ROW("name", "NAME",
                 N_("A name for the run, which commands accept in place of its ID."),
                 &train->options.name),
        TEXT_ROW("note", "TEXT", N_("A note on the run, one line, which lists and reports show."),
                 &train->options.note),
        LIST_ROW("tag", "TAG", N_("A tag for the run; give the option once for each tag."), tags),
        TEXT_ROW("run-dir", "DIR",
                 N_("Store the run in this new folder instead of the folder of all runs."),
                 &train->options.run_directory),
        TEXT_ROW("save", "FILE", N_("Write the weights to FILE (safetensors) at the end."),
                 &train->options.save_path),
        TEXT_ROW("export", "FILE", N_("Write the session to FILE (JSON) at the end."),
                 &train->export_path),
        TEXT_ROW("fork", "RUN",
                 N_("Begin with the weights and settings of another run; RUN@last, @previous, "
                    "@final or @best names its checkpoint."),
                 &train->fork),
        solver_file_row(train),
        processes_row(ranks),
        SWITCH_ROW("wait", N_("Start when no other run of yours is on, first come first served."),
                   &train->wait),
        {.name = "json",
         .help =
             N_("Print the run's events on standard output as they happen, a line of JSON each."),
         .kind = OPTION_SWITCH,
         .value = &train->json},
        OUTPUT_QUIET_OPTION(&train->quiet),
        {0}};
    memcpy(rows, table, sizeof table);
}

static int train_run(const struct command *command, int argc, char **argv)
{
    struct train train = {0};
    struct error error;
    struct operands operands;
    struct option_list tags = {.count = 0};
    int status;
    size_t ranks = 0;
    struct option_row rows[OPTIONS];
    list_options(&train, &tags, &ranks, rows);
    const struct option_set set = {.rows = rows,
                                   .config = &train.config,
                                   .task = TASK_TRAIN,
                                   .operands_max = 1,
                                   .network_operand = true};
    config_defaults(&train.config);
    if (!options_read(command, &set, argc, argv, &operands, &status))
        return status;
    if (!processes_join(ranks, &train.config, &train.options.cluster, &status))
        return status;
    join_tags(&tags, train.tags, sizeof train.tags);
    train.options.tags = train.tags;
    train.options.compare = train.options.cluster && !train.quiet;
    if (!take_solver_file(&train, &error))
        status = output_error(&error);
    else if (train.fork ? !take_ancestor(&train, &error)
                        : !check_is_complete(&train.config, &operands, &error))
        status = output_error(&error);
    else
        status = train_go(&train);
    return processes_leave(train.options.cluster, status);
}

const struct command command_train = {
    .name = "train",
    .in_launcher = true,
    .operands = "NET --data SPEC",
    .summary = N_("Train a network on a data set, without the workbench."),
    .details =
        N_("NET is a network's name (tinca networks) or the path of a network file; SPEC names the "
           "data (tinca datasets). Each run has a folder; tinca runs lists them.\nInterrupting "
           "(Ctrl-C) finishes the iteration and saves; a second time ends at once."),
    .run = train_run,
};
