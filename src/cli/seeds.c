/* A group is trained one seed after the other. A signal ends the group; a run that diverges does
 * not, since it is a result. At the end the means of all runs are printed, and --export writes all
 * runs into one file. */
#include "cli/seeds.h"

#include "cli/command.h"
#include "cli/output.h"
#include "cli/stop_signal.h"

#include "base/escape/shell.h"
#include "base/files/output_file.h"
#include "base/memory.h"
#include "exchange/export/export.h"
#include "runs/folder/run_json.h"
#include "runs/folder/run_name.h"
#include "runs/history/seed_group.h"
#include "runs/record/run_open.h"
#include "runs/settings/settings.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- the end of a group --- */

static void free_runs(struct run **runs, size_t count)
{
    for (size_t i = 0; runs && i < count; i++)
        run_free(runs[i]);
    free(runs);
}

/* Opens the runs of a group; the caller frees them. Returns NULL with an error. */
static struct run **open_runs(const struct seed_group *group, struct error *error)
{
    struct run **runs = memory_new(group->count, sizeof *runs, "the group of seeds", error);
    for (size_t i = 0; runs && i < group->count; i++)
        if (!(runs[i] = run_open(group->members[i].directory, error))) {
            free_runs(runs, i);
            return NULL;
        }
    return runs;
}

/* Prints "  top-1 91.3 +- 0.52 (sd 0.42, n 5)" if the figure is known. */
static void print_figure(output_printer *print_line, const char *name,
                         const struct seed_statistics *statistics, enum figure figure)
{
    const struct statistics *values = &statistics->figures[figure];
    if (statistics->counts[figure] > 1)
        print_line(_("  %s %.4g +- %s (95 %% interval), sd %s, n %zu\n"), name, values->mean,
                   TEXT_NUMBER(values->ci95, 2), TEXT_NUMBER(values->sd, 2),
                   statistics->counts[figure]);
    else if (statistics->counts[figure] == 1)
        print_line(_("  %s %s (one value has no spread)\n"), name, TEXT_NUMBER(values->mean, 4));
}

static bool print_means(const struct train *train, const struct seed_group *group,
                        struct run *const *runs, struct error *error)
{
    const bool taken =
        train->json || (train->export_path && output_file_is_stdout(train->export_path));
    output_printer *const print_line = taken ? output_note : output_print;
    struct seed_statistics statistics;
    struct run_figures *figures =
        memory_new(group->count, sizeof *figures, "the group of seeds", error);
    for (size_t i = 0; figures && i < group->count; i++) {
        struct run_snapshot end;
        run_snapshot(runs[i], &end);
        figures[i] = run_figures_of(&end, run_series(runs[i]));
    }
    const bool computed =
        figures && seed_statistics_compute(figures, group->count, &statistics, error);
    free(figures);
    if (!computed || train->quiet)
        return computed;
    print_line(ngettext("%s@seeds: %zu run\n", "%s@seeds: %zu runs\n", group->count), group->id,
               group->count);
    print_figure(print_line, _("loss"), &statistics, FIGURE_LOSS);
    print_figure(print_line, _("validation loss"), &statistics, FIGURE_VALIDATION_LOSS);
    print_figure(print_line, _("top-1"), &statistics, FIGURE_TOP1);
    print_figure(print_line, _("best top-1"), &statistics, FIGURE_BEST_TOP1);
    print_figure(print_line, _("test loss"), &statistics, FIGURE_TEST_LOSS);
    print_figure(print_line, _("test top-1"), &statistics, FIGURE_TEST_TOP1);
    return true;
}

/* Prints the means and writes the session file. Returns `status`, or that of an error. */
static int finish(const struct train *train, const char *id, int status)
{
    struct seed_group group;
    struct error error;
    struct run **runs = NULL;
    bool good = seed_group_read(&group, id, &error);
    if (good && group.count > 0)
        good =
            (runs = open_runs(&group, &error)) && print_means(train, &group, runs, &error) &&
            (!train->export_path || export_session(runs, group.count, train->export_path, &error));
    free_runs(runs, group.count);
    seed_group_free(&group);
    return good ? status : output_error(&error);
}

/* --- one run --- */

/* The group's own name is that of --name; its runs are called NAME-seed1, NAME-seed2, ... */
static void name_member(char *name, size_t size, const char *group, size_t seed)
{
    snprintf(name, size, "%s-seed%zu", group, seed);
}

/* Trains the run of one seed. Returns whether the group goes on. */
static bool train_member(const struct train *request, const char *id, bool named, size_t seed,
                         int *status)
{
    struct train train = *request;
    char name[2 * RUN_NAME_SIZE];
    int ended;
    config_put(&train.config, KEY(seed_group), id, NULL);
    config_put_count(&train.config, KEY(seed), seed);
    train.export_path = NULL;
    train.options.group_session_path = request->export_path;
    name_member(name, sizeof name, id, seed);
    train.options.name = named ? name : NULL;
    const bool began = train_one(&train, &ended);
    if (*status == EXIT_DONE || stop_signal_came())
        *status = ended;
    return began && !stop_signal_came();
}

static void tell_how_to_continue(const struct train *train, const char *id)
{
    char operand[80], quoted[200];
    snprintf(operand, sizeof operand, "%s@seeds", id);
    if (!train->quiet)
        output_note(_("tinca resume %s continues the group\n"),
                    shell_operand(operand, quoted, sizeof quoted));
}

/* --- a new group --- */

static bool check_request(const struct train *train, struct error *error)
{
    if (train->options.run_directory)
        return error_set(error, ERROR_USAGE, "--run-dir", "leave it out: each run gets a folder",
                         "the runs of several seeds cannot share a folder");
    if (train->options.save_path)
        return error_set(error, ERROR_USAGE, "--save",
                         "leave it out: each run's folder has its weights",
                         "the weights of several seeds do not fit into one file");
    return true;
}

/* Writes the group's ID: --name or, without it, a new one. */
static bool choose_id(const struct train *train, char *id, struct error *error)
{
    struct seed_group group;
    char last[2 * RUN_NAME_SIZE];
    const char *name = train->options.name;
    if (!name) {
        seed_group_new_id(&train->config, id);
        return true;
    }
    name_member(last, sizeof last, name,
                training_settings(&train->config).seed + record_settings(&train->config).seeds - 1);
    bool good = run_name_check(last, error) && seed_group_read(&group, name, error);
    if (good && group.count > 0)
        good =
            error_set(error, ERROR_USAGE, name, "choose another --name, or tinca resume NAME@seeds",
                      "there is a group of seeds of this name");
    if (good)
        snprintf(id, RUN_ID_SIZE, "%s", name);
    seed_group_free(&group);
    return good;
}

int seeds_train(const struct train *train)
{
    struct error error;
    char id[RUN_ID_SIZE];
    int status = EXIT_DONE;
    const size_t first = training_settings(&train->config).seed,
                 count = record_settings(&train->config).seeds;
    if (!check_request(train, &error) || !choose_id(train, id, &error))
        return output_error(&error);
    if (!train->quiet)
        output_note(_("%s@seeds: seeds %zu to %zu\n"), id, first, first + count - 1);
    size_t done = 0;
    while (done < count && train_member(train, id, train->options.name, first + done, &status))
        done++;
    if (done < count)
        tell_how_to_continue(train, id);
    return finish(train, id, status);
}

/* --- continuing --- */

/* Returns whether a run of the group is over for good: it is done, or it diverged. */
static bool is_final(const struct seed_member *member)
{
    struct run_outline outline;
    struct error error;
    if (!run_peek(member->directory, &outline, &error))
        return false; /* resuming it reports the reason */
    return outline.snapshot.status == RUN_DONE ||
           (outline.snapshot.status == RUN_FAILED && outline.snapshot.error.kind == ERROR_DIVERGED);
}

/* Returns whether the runs are named after the group, as --name does it. */
static bool is_named(const struct seed_group *group)
{
    char wanted[2 * RUN_NAME_SIZE], name[RUN_NAME_SIZE];
    name_member(wanted, sizeof wanted, group->id, group->members[0].seed);
    return strcmp(run_name_read(group->members[0].directory, name), wanted) == 0;
}

/* Trains the seeds that the group lacks, with the settings of its first run. */
static int train_missing(const struct train *request, const struct seed_group *group, int status)
{
    struct train train = *request;
    const size_t first = training_settings(&group->config).seed,
                 count = record_settings(&group->config).seeds;
    train.config = group->config;
    if (config_is_given(&request->config, KEY(threads)))
        config_put_count(&train.config, KEY(threads), machine_settings(&request->config).threads);
    for (size_t i = 0; i < count; i++)
        if (!seed_group_has(group, first + i) &&
            !train_member(&train, group->id, is_named(group), first + i, &status))
            break;
    return status;
}

/* Continues the runs that are not over, and trains those that are missing. */
static int continue_group(const struct train *request, const struct seed_group *group)
{
    struct train train = *request;
    int status = EXIT_DONE;
    train.export_path = NULL;
    train.options.group_session_path = request->export_path;
    for (size_t i = 0; i < group->count && !stop_signal_came(); i++) {
        if (is_final(&group->members[i]))
            continue;
        const int ended = train_resumed(group->members[i].directory, &train);
        status = status == EXIT_DONE || stop_signal_came() ? ended : status;
    }
    if (!stop_signal_came())
        status = train_missing(request, group, status);
    if (stop_signal_came())
        tell_how_to_continue(request, group->id);
    return finish(request, group->id, status);
}

/* Reads which session file the command that began the group was to write, into *stored. */
static bool read_outputs(const struct seed_group *group, struct run_outputs *stored,
                         struct error *error)
{
    bool read = true;
    *stored = (struct run_outputs){0};
    for (size_t i = 0; read && i < group->count && !stored->group_session &&
                       stored->lost.group_session.kind == ERROR_NONE;
         i++) {
        run_outputs_free(stored);
        read = run_outputs_read(stored, group->members[i].directory, error);
    }
    return read;
}

int seeds_resume(const char *operand, const struct train *request)
{
    struct seed_group group;
    struct error error;
    struct train train = *request;
    struct run_outputs stored = {0};
    int status;
    bool good = seed_group_find(&group, operand, &error) && check_request(request, &error) &&
                read_outputs(&group, &stored, &error);
    if (good && !train.export_path) {
        train.export_path = stored.group_session;
        train_announce_file(stored.group_session, train.quiet);
        if (stored.lost.group_session.kind != ERROR_NONE)
            output_error(&stored.lost.group_session);
        good = train_check_targets(&train, &error);
    }
    stop_signal_catch_for_runs();
    status = good ? continue_group(&train, &group) : output_error(&error);
    run_outputs_free(&stored);
    seed_group_free(&group);
    return status;
}
