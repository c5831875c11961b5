/* tinca runs: lists the runs of the folder of runs, or those that a filter lets pass (runs_list.c),
 * deletes, restores and prunes them (runs_storage.c), or verifies their files (runs_check.c). */
#include "cli/runs.h"

#include "cli/command.h"
#include "cli/internal.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/runs_list.h"

#include "base/language.h"
#include "base/memory.h"
#include "base/text.h"
#include "runs/folder/run_directory.h"
#include "runs/history/run_filter.h"
#include "runs/history/seed_group.h"
#include "runs/record/run_open.h"

#include <stdlib.h>
#include <string.h>

struct run *runs_open(const char *id, struct error *error)
{
    char *directory = run_directory_find(id, error);
    struct run *run = directory ? run_open(directory, error) : NULL;
    free(directory);
    return run;
}

static bool open_one(struct opened_runs *runs, const char *operand, struct error *error)
{
    return memory_grow(&runs->list, &runs->capacity, runs->count + 1, sizeof *runs->list,
                       "the list of runs", error) &&
           (runs->list[runs->count] = runs_open(operand, error)) && ++runs->count;
}

bool runs_open_operand(struct opened_runs *runs, const char *operand, struct error *error)
{
    struct seed_group group;
    if (!seed_group_is_operand(operand))
        return open_one(runs, operand, error);
    bool opened = seed_group_find(&group, operand, error);
    for (size_t i = 0; opened && i < group.count; i++)
        opened = open_one(runs, group.members[i].directory, error);
    seed_group_free(&group);
    return opened;
}

void runs_close(struct opened_runs *runs)
{
    for (size_t i = 0; i < runs->count; i++)
        run_free(runs->list[i]);
    free(runs->list);
    *runs = (struct opened_runs){0};
}

/* Parses all operands as one filter. An operand that the shell has unquoted may contain spaces. */
static bool read_filter(struct run_filter *filter, const struct operands *operands,
                        struct error *error)
{
    struct text text = {0};
    for (size_t i = 0; i < operands->count; i++) {
        const char *value = operands->values[i], *quote = strchr(value, ' ') ? "\"" : "";
        size_t length;
        const char *sign = run_filter_operator(value, &length);
        const int key = (int)(sign - value) + (int)length;
        if (quote[0] && length > 0 && !strchr(value, '"')) /* data:my set -> data:"my set" */
            text_append(&text, " %.*s%s%s%s", key, value, quote, value + key, quote);
        else if (!strchr(value, '"'))
            text_append(&text, " %s%s%s", quote, value, quote);
        else
            text_append(&text, " %s", value);
    }
    const bool good = !text.failed || error_set_memory(error, "the filter", 0);
    const bool parsed = good && run_filter_parse(filter, text.data ? text.data : "", error);
    text_free(&text);
    return parsed;
}

/* The options of the command line. */
struct request {
    bool as_json, members, check, undelete, empty, delete_runs, prune, yes, disk;
    const char *keep, *sort;
    struct run_filter filter;
};

/* Prints the error and, if a field is not known, the fields below it. */
static int refuse_filter(const struct error *error, bool unknown_field)
{
    struct text fields = {0};
    const int status = output_error(error);
    for (size_t field = 0; unknown_field && field < run_field_count(); field++)
        text_append(&fields, "%s%s", field ? ", " : "", run_field_key(field));
    if (fields.data)
        output_note(_("Fields: %s.\n"), fields.data);
    text_free(&fields);
    return status;
}

/* Parses the value of --sort, FIELD or -FIELD. */
static bool read_sort(const char *sort, size_t *field, bool *backwards, struct error *error)
{
    *backwards = sort[0] == '-';
    *field = run_field_find(sort + *backwards);
    return *field != FIELD_NONE ||
           error_set(error, ERROR_USAGE, "--sort", _("give a field, or -FIELD for the other order"),
                     _("there is no field \"%s\""), sort + *backwards);
}

/* Returns whether the options and operands fit together. */
static bool check_request(const struct request *request, const struct operands *operands,
                          struct error *error)
{
    const int actions =
        request->check + request->undelete + request->empty + request->delete_runs + request->prune;
    if (request->delete_runs && operands->count == 0)
        return error_set(error, ERROR_USAGE, "--delete",
                         _("name them: an ID, or a filter such as tag=bad"),
                         _("it was not said which runs"));
    if (request->prune && !request->keep)
        return error_set(error, ERROR_USAGE, "--prune", _("give --keep best, last or none"),
                         _("it was not said which weights are to stay"));
    if ((request->check && operands->count > 1) ||
        ((request->undelete || request->empty) && operands->count > 0) || actions > 1 ||
        (request->keep && !request->prune) ||
        (request->yes && !request->prune && !request->delete_runs) ||
        (actions > 0 && (request->disk || request->sort)))
        return error_set(error, ERROR_USAGE, "runs", "tinca runs --help explains them",
                         "these options and operands cannot be combined");
    return true;
}

/* Lists, deletes or prunes the runs that match. */
static int work_on_runs(const struct request *request)
{
    struct error error;
    struct runs_list list;
    size_t field = FIELD_NONE;
    bool backwards = false;
    int status;
    enum run_keep keep = RUN_KEEP_BEST;
    if (request->sort && !read_sort(request->sort, &field, &backwards, &error))
        return refuse_filter(&error, true);
    while (request->keep && strcmp(run_keep_names[keep], request->keep) != 0)
        keep++;
    const bool disk = request->disk || request->as_json || request->delete_runs ||
                      (request->sort && field == run_field_find("disk"));
    if (!runs_list_read(&list, &request->filter, disk, &error)) {
        runs_list_free(&list);
        return output_error(&error);
    }
    if (request->sort)
        runs_list_sort(&list, field, backwards);
    if (request->delete_runs)
        status = runs_delete(&list, request->yes, request->as_json);
    else if (request->prune)
        status = runs_prune(&list, keep, request->yes, request->as_json);
    else if (request->as_json)
        status = runs_list_print_json(&list, &request->filter);
    else
        status = runs_list_print(&list, &request->filter, request->disk, request->members);
    runs_list_free(&list);
    return status;
}

enum { OPTIONS = 12 }; /* with the row that ends the table */

/* Writes the table of options, which point to the request. */
static void list_options(struct request *request, struct option_row *rows)
{
    const struct option_row table[OPTIONS] = {
        TEXT_ROW("sort", "FIELD",
                 N_("Sort by a field, in descending order with -FIELD; unknown values come last."),
                 &request->sort),
        SWITCH_ROW("disk", N_("Show the disk space of each run, and of all together."),
                   &request->disk),
        SWITCH_ROW("members",
                   N_("List also the runs of groups of seeds, which are one row otherwise."),
                   &request->members),
        SWITCH_ROW("delete", N_("Move the runs that match to the trash. Asks on a terminal."),
                   &request->delete_runs),
        SWITCH_ROW("prune",
                   N_("Delete weights and checkpoints of the runs that match, for good. Asks on a "
                      "terminal."),
                   &request->prune),
        NAME_ROW("keep", "NAME",
                 N_("What --prune leaves: the best model, the last state, or no weights."),
                 &request->keep, run_keep_names),
        SWITCH_ROW("yes", N_("Delete or prune without asking."), &request->yes),
        SWITCH_ROW("check", N_("Verify the run's files, or those of all runs, and change nothing."),
                   &request->check),
        SWITCH_ROW("undelete", N_("Restore the runs of the last deletion from the trash."),
                   &request->undelete),
        SWITCH_ROW("empty-trash", N_("Remove all deleted runs for good."), &request->empty),
        OUTPUT_JSON_OPTION(&request->as_json),
        {0}};
    memcpy(rows, table, sizeof table);
}

static int runs_run(const struct command *command, int argc, char **argv)
{
    struct error error;
    struct operands operands;
    struct request request = {0};
    struct option_row rows[OPTIONS];
    int status;
    list_options(&request, rows);
    const struct option_set set = {.rows = rows, .operands_max = FILTER_TERMS};
    if (!options_read(command, &set, argc, argv, &operands, &status))
        return status;
    if (!check_request(&request, &operands, &error))
        return output_error(&error);
    if (request.check)
        return runs_check(operands.count ? operands.values[0] : NULL, request.as_json);
    if (request.undelete || request.empty)
        return request.undelete ? runs_undelete() : runs_empty_trash();
    return read_filter(&request.filter, &operands, &error)
               ? work_on_runs(&request)
               : refuse_filter(&error, request.filter.unknown_field);
}

const struct command command_runs = {
    .name = "runs",
    .operands = "[FILTER...]",
    .summary = N_("List all runs, or those that match, oldest first, or verify their files."),
    .details = N_(
        "Each run is a folder of $XDG_STATE_HOME/tinca/runs (~/.local/state by default). NAME is "
        "the name that the run was given, which commands accept in place of the ID.\nEach FILTER "
        "is a word that occurs in the run, or FIELD=VALUE, FIELD!=VALUE, FIELD~PART (contains), "
        "FIELD>X, >=, <, <=, FIELD:A..B; a preceding - excludes (after --). Fields are all "
        "settings (lr, batch, seed, ...) and id, name, status, tag, note, network, epoch, "
        "iteration, loss, val-loss, top1, top5, best, best-val-loss, ms, memory, parameters, time, "
        "disk. All filters must match: tinca runs lr=0.1 network~resnet 'top1>80' "
        "status=finished.\nDeleted runs stay in a trash folder for 30 days: --undelete restores "
        "the last deletion, --empty-trash removes them for good. --prune leaves settings, curves "
        "and results; it never touches a run that is on or waits. --keep best keeps the best model "
        "(else the final one), last the final model and the checkpoint of a stopped run, none no "
        "weights.\n--check verifies one run, or all runs, and prints a line for each problem, with "
        "what can be done. Checksums show whether models, checkpoints and the journal are as they "
        "were written. The exit status is 1 if something is damaged."),
    .run = runs_run,
};
