/* tinca runs: lists the runs of the folder of runs, or those that a filter lets pass, oldest first;
 * restores deleted runs from the trash and empties it. A run that cannot be read is
 * listed as unreadable with the reason; a folder whose process was killed before the run began is
 * listed as incomplete; what waits in the queue is listed as waiting. With --check the runs are
 * verified instead (runs_check.c). */
#include "cli/runs.h"

#include "cli/command.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/runs_check.h"
#include "cli/runs_waiting.h"

#include "base/files/file.h"
#include "base/language.h"
#include "base/text.h"
#include "session/config/config_paths.h"
#include "session/files/run_directory.h"
#include "session/files/run_name.h"
#include "session/history/run_filter.h"
#include "session/history/run_trash.h"
#include "session/record/run_open.h"
#include "session/values/run_figures.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct run *runs_open(const char *id, struct error *error)
{
    char *directory = run_directory_find(id, error);
    struct run *run = directory ? run_open(directory, error) : NULL;
    free(directory);
    return run;
}

/* The IDs of the runs, of folders in which no run began, and the queue. */
struct listing {
    char **ids, **incomplete;
    size_t count, incomplete_count;
    struct queued_run *queued; /* what waits */
    size_t queued_count;
};

/* A run of the list with everything that a row or the filter reads. */
struct listed {
    bool read; /* else it cannot be read, see `error` */
    struct run_outline outline;
    const struct queued_run
        *queued;  /* its place in the queue, as a run to be resumed; NULL: none */
    size_t place; /* that place's rank, from 1 */
    struct error error;
    char name[RUN_NAME_SIZE], tags[RUN_TAGS_SIZE], note[RUN_NOTE_SIZE];
    struct run_record record;
};

/* Marks a run that waits in the queue to be resumed. */
static void find_place(struct listed *listed, const struct listing *listing)
{
    const size_t place =
        runs_waiting_find(listing->queued, listing->queued_count, listed->outline.facts.directory);
    if (place == listing->queued_count)
        return;
    listed->queued = &listing->queued[place];
    listed->place = place + 1;
    listed->record.status = N_("waiting");
}

/* Returns whether the summary says everything that a list shows. A run that is not over has none,
 * and those of earlier versions lack the best validation loss; a journal that is no file is to be
 * reported. */
static bool is_summed_up(const struct run_outline *outline)
{
    struct stat status;
    const struct run_snapshot *now = &outline->snapshot;
    char *journal = file_join(outline->facts.directory, "journal.jsonl");
    const bool regular = journal && lstat(journal, &status) == 0 && S_ISREG(status.st_mode);
    free(journal);
    return regular && run_status_is_over(now->status) && now->status != RUN_INTERRUPTED &&
           now->iterations > 0 && !(now->has_validation && isnan(now->best_validation_loss));
}

/* Reads a run as a whole, with its journal. */
static bool read_whole(const char *directory, struct run_outline *outline, struct error *error)
{
    struct run *run = run_open(directory, error);
    if (!run)
        return false;
    outline->config = *run_config(run);
    outline->facts = *run_facts(run);
    run_snapshot(run, &outline->snapshot);
    run_free(run);
    return true;
}

static bool read_listed(struct listed *listed, const char *id)
{
    char *directory = run_directory_find(id, &listed->error);
    const bool read = directory && ((run_peek(directory, &listed->outline, &listed->error) &&
                                     is_summed_up(&listed->outline)) ||
                                    read_whole(directory, &listed->outline, &listed->error));
    free(directory);
    return read;
}

static void open_listed(struct listed *listed, const struct listing *listing, size_t index)
{
    const char *id = listing->ids[index];
    *listed = (struct listed){.read = false};
    listed->read = read_listed(listed, id);
    listed->record = (struct run_record){.id = id, .status = N_("unreadable")};
    if (!listed->read)
        return;
    const struct run_facts *facts = &listed->outline.facts;
    listed->record = (struct run_record){
        .config = &listed->outline.config,
        .snapshot = &listed->outline.snapshot,
        .id = id,
        .name = run_name_read(facts->directory, listed->name),
        .tags = run_tags_read(facts->directory, listed->tags),
        .note = run_note_read(facts->directory, listed->note),
        .network = facts->network,
        .status = run_snapshot_word(&listed->outline.snapshot),
        .imported = facts->imported,
        .parameters = facts->parameters,
        .known = true,
        .started = listed->outline.snapshot.iterations > 0,
    };
    find_place(listed, listing);
}

static bool add_text_or_null(struct json *object, const char *key, const char *text)
{
    return text[0] ? json_add_string(object, key, text) : json_add_null(object, key);
}

/* Adds each tag as a text of the list "tags". */
static bool add_tags(struct json *object, const char *tags)
{
    char words[RUN_TAGS_SIZE], *rest = words;
    struct json *list = json_add_array(object, "tags");
    bool added = list;
    snprintf(words, sizeof words, "%s", tags);
    for (char *tag; added && (tag = strtok_r(rest, " ", &rest));)
        added = json_add_string(list, NULL, tag);
    return added;
}

/* Adds everything about a run that can be read. */
static bool add_readable(struct json *object, const struct listed *listed)
{
    const struct run_config *config = &listed->outline.config;
    const struct run_facts *facts = &listed->outline.facts;
    const struct run_snapshot *snapshot = &listed->outline.snapshot;
    const struct run_figures figures = run_figures_of(snapshot, NULL);
    return add_text_or_null(object, "name", listed->name) && add_tags(object, listed->tags) &&
           add_text_or_null(object, "note", listed->note) &&
           json_add_string(object, "status", listed->record.status) &&
           json_add_string(object, "network", facts->network) &&
           json_add_string(object, "technique", facts->technique) &&
           json_add_string(object, "data", config->data) &&
           (config->batch ? json_add_count(object, "batch", config->batch)
                          : json_add_null(object, "batch")) &&
           json_add_string(object, "device", config->device) &&
           json_add_string(object, "created", facts->created) &&
           add_text_or_null(object, "imported", facts->imported) &&
           add_text_or_null(object, "ancestor", facts->fork.ancestor) &&
           json_add_string(object, "host", facts->host) &&
           json_add_string(object, "directory", facts->directory) &&
           json_add_count(object, "iteration", snapshot->iteration) &&
           json_add_count(object, "iterations", snapshot->iterations) &&
           (snapshot->iteration ? json_add_float(object, "loss", snapshot->loss)
                                : json_add_null(object, "loss")) &&
           json_add_number(object, "joules_per_image", run_snapshot_joules_per_image(snapshot)) &&
           json_add_number(object, "watts", run_snapshot_watts(snapshot)) &&
           json_add_number(object, "top1", figures.top1) &&
           json_add_number(object, "best_top1", figures.best_top1) &&
           json_add_number(object, "validation_loss", figures.validation_loss) &&
           json_add_number(object, "best_validation_loss", figures.best_validation_loss) &&
           (!listed->queued || runs_waiting_add_json(object, listed->queued, listed->place));
}

static bool add_json(struct json *list, const struct listed *listed)
{
    char text[1200];
    struct json *object = json_add_object(list, NULL);
    bool added = json_add_string(object, "id", listed->record.id);
    if (listed->read)
        return added && add_readable(object, listed);
    return added && json_add_string(object, "status", listed->record.status) &&
           json_add_string(object, "error", error_format(&listed->error, text, sizeof text));
}

/* Appends what the run computes; for an imported run also its framework and its machine. */
static void add_what(struct table *table, const struct run_outline *outline)
{
    char batch[24] = "?", data[512];
    const struct run_facts *facts = &outline->facts;
    const struct run_config *config = &outline->config;
    if (config->batch)
        snprintf(batch, sizeof batch, "%zu", config->batch);
    if (!facts->imported[0])
        table_cell(table, _("%s batch %s on %s, %s"), facts->network, batch, config->device,
                   config_short_value("data", config->data, data, sizeof data));
    else
        table_cell(table, _("%s batch %s on %s, imported from %s (%s)"), facts->network, batch,
                   config->device, facts->imported, facts->host[0] ? facts->host : "?");
}

static void add_row(struct table *table, const struct listed *listed)
{
    char status[64];
    const struct run_snapshot *snapshot = &listed->outline.snapshot;
    const struct run_figures figures = run_figures_of(snapshot, NULL);
    table_cell(table, "%s", listed->record.id);
    table_cell(table, "%s", listed->name[0] ? listed->name : "-");
    table_cell(table, "%s",
               listed->queued ? runs_waiting_status(listed->place, status, sizeof status)
                              : gettext(listed->record.status));
    if (!listed->read) {
        for (size_t i = 3; i + 1 < table->columns; i++)
            table_cell(table, "-");
        table_cell(table, "%s", listed->error.why);
        return;
    }
    table_cell(table, "%llu/%llu", (unsigned long long)snapshot->iteration,
               (unsigned long long)snapshot->iterations);
    const bool loss_known = !listed->outline.facts.imported[0] || !isnan(snapshot->loss);
    if (snapshot->iteration && loss_known)
        table_cell(table, "%.4g", figures.loss);
    else
        table_cell(table, "-");
    if (!isnan(figures.top1))
        table_cell(table, "%.2f %%", figures.top1);
    else
        table_cell(table, "-");
    table_cell(table, "%s", listed->tags[0] ? listed->tags : "-");
    add_what(table, &listed->outline);
}

static void free_ids(char **ids, size_t count)
{
    for (size_t i = 0; i < count; i++)
        free(ids[i]);
    free(ids);
}

/* Appends the row of a folder in which no run began. */
static void add_incomplete_row(struct table *table, const char *id)
{
    table_cell(table, "%s", id);
    table_cell(table, "-");
    table_cell(table, "%s", _("incomplete"));
    for (size_t i = 3; i + 1 < table->columns; i++)
        table_cell(table, "-");
    table_cell(table, "%s", _("killed before it began; the next run deletes the folder"));
}

static bool add_incomplete_json(struct json *list, const char *id)
{
    struct json *object = json_add_object(list, NULL);
    return json_add_string(object, "id", id) && json_add_string(object, "status", "incomplete");
}

/* Opens one run after the other, and prints those that the filter lets pass. */
static int print_json(const struct listing *listing, const struct run_filter *filter)
{
    struct json *root = json_new_object(), *list = json_add_array(root, "runs");
    bool complete = list;
    for (size_t i = 0; complete && i < listing->count; i++) {
        struct listed listed;
        open_listed(&listed, listing, i);
        if (run_filter_matches(filter, &listed.record))
            complete = add_json(list, &listed);
    }
    for (size_t i = 0; i < listing->incomplete_count && filter->count == 0; i++)
        complete = complete && add_incomplete_json(list, listing->incomplete[i]);
    complete =
        complete && runs_waiting_add_objects(list, listing->queued, listing->queued_count, filter);
    return output_json(root, complete);
}

static int print_table(const struct listing *listing, const struct run_filter *filter)
{
    size_t shown = 0;
    struct table table =
        table_begin("lllrrrll", _("RUN|NAME|STATUS|ITERATION|LOSS|TOP-1|TAGS|WHAT"));
    for (size_t i = 0; i < listing->count; i++) {
        struct listed listed;
        open_listed(&listed, listing, i);
        if (run_filter_matches(filter, &listed.record)) {
            add_row(&table, &listed);
            shown++;
        }
    }
    for (size_t i = 0; i < listing->incomplete_count && filter->count == 0; i++, shown++)
        add_incomplete_row(&table, listing->incomplete[i]);
    shown += runs_waiting_add_rows(&table, listing->queued, listing->queued_count, filter);
    if (shown > 0)
        return table_print(&table);
    table_free(&table);
    if (listing->count > 0)
        output_print(ngettext("None of the %zu run matches.\n", "None of the %zu runs matches.\n",
                              listing->count),
                     listing->count);
    else
        output_print(_("There are no runs yet: tinca train makes one.\n"));
    return EXIT_DONE;
}

static int list_runs(const struct run_filter *filter, bool as_json)
{
    struct error error;
    struct listing listing = {0};
    int status;
    if (!run_directory_list(&listing.ids, &listing.count, &error) ||
        !run_directory_list_incomplete(&listing.incomplete, &listing.incomplete_count, &error) ||
        !run_queue_list(&listing.queued, &listing.queued_count, &error))
        status = output_error(&error);
    else
        status = as_json ? print_json(&listing, filter) : print_table(&listing, filter);
    free_ids(listing.ids, listing.count);
    free_ids(listing.incomplete, listing.incomplete_count);
    free(listing.queued);
    return status;
}

/* Parses all operands as one filter. An operand that the shell has unquoted may contain spaces. */
static bool read_filter(struct run_filter *filter, const struct operands *operands,
                        struct error *error)
{
    struct text text = {0};
    for (size_t i = 0; i < operands->count; i++) {
        const char *value = operands->values[i], *quote = strchr(value, ' ') ? "\"" : "";
        const size_t key = quote[0] && !strchr(value, '"') ? strcspn(value, ":=<>") : strlen(value);
        if (value[key] && !strchr(value, '"')) /* data:my set -> data:"my set" */
            text_append(&text, " %.*s%s%s%s", (int)key + 1, value, quote, value + key + 1, quote);
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

/* --- the trash --- */

static int restore_runs(void)
{
    struct error error;
    size_t restored;
    if (!run_trash_undo(&restored, &error))
        return output_error(&error);
    output_print(ngettext("Restored %zu run.\n", "Restored %zu runs.\n", restored), restored);
    return EXIT_DONE;
}

static int empty_trash(void)
{
    struct error error;
    size_t removed;
    if (!run_trash_empty(&removed, &error))
        return output_error(&error);
    output_print(ngettext("Removed %zu run for good.\n", "Removed %zu runs for good.\n", removed),
                 removed);
    return EXIT_DONE;
}

static int runs_run(const struct command *command, int argc, char **argv)
{
    struct error error;
    struct operands operands;
    struct run_filter filter;
    bool as_json = false, check = false, undelete = false, empty = false;
    int status;
    const struct option_row rows[] = {
        {.name = "check",
         .help = N_("Verify the run's files, or those of all runs, and change nothing."),
         .kind = OPTION_SWITCH,
         .value = &check},
        {.name = "undelete",
         .help = N_("Restore the runs of the last deletion from the trash."),
         .kind = OPTION_SWITCH,
         .value = &undelete},
        {.name = "empty-trash",
         .help = N_("Remove all deleted runs for good."),
         .kind = OPTION_SWITCH,
         .value = &empty},
        OUTPUT_JSON_OPTION(&as_json),
        {0}};
    const struct option_set set = {.rows = rows, .operands_max = FILTER_TERMS};
    if (!options_read(command, &set, argc, argv, &operands, &status))
        return status;
    if ((check && operands.count > 1) || ((undelete || empty) && operands.count > 0) ||
        check + undelete + empty > 1) {
        error_set(&error, ERROR_USAGE, "runs", "tinca runs --help explains them",
                  "these options and operands cannot be combined");
        return output_error(&error);
    }
    if (check)
        return runs_check(operands.count ? operands.values[0] : NULL, as_json);
    if (undelete || empty)
        return undelete ? restore_runs() : empty_trash();
    return read_filter(&filter, &operands, &error) ? list_runs(&filter, as_json)
                                                   : output_error(&error);
}

const struct command command_runs = {
    .name = "runs",
    .operands = "[FILTER...]",
    .summary = N_("List all runs, or those that match, oldest first, or verify their files."),
    .details = N_(
        "Each run is a folder of $XDG_STATE_HOME/tinca/runs (~/.local/state by default). NAME is "
        "the name that the run was given, which commands accept in place of the ID.\nEach FILTER "
        "is a word that occurs in the run, or field:value, field:a..b, field>x, field<x; a "
        "preceding - excludes (after --). Fields are all settings (lr:0.1, batch:64) and id, name, "
        "status, tag, note, network, epoch, iteration, loss, val-loss, top1, top5, best, "
        "best-val-loss, ms, "
        "memory, parameters, time. All filters must match: tinca runs 'lr:0.01..0.1' 'top1>90' "
        "tag:good.\nRuns that the workbench deletes stay in a trash folder for 30 days: "
        "--undelete restores the last deletion, --empty-trash removes them for good.\n--check "
        "verifies one run, or all runs, and prints a "
        "line for each problem, with what can be done. Checksums show whether models, checkpoints "
        "and the journal are as they were written. The exit status is 1 if something is damaged."),
    .run = runs_run,
};
