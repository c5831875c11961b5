/* A run's summary is read where it says everything that the list needs, else its whole journal; of
 * that the figures are copied, so that only the curves of those being read are in memory. A run
 * that cannot be read is listed as unreadable with the reason; a folder whose process was killed
 * before the run began is listed as incomplete; what waits in the queue is listed as waiting. */
#include "cli/runs_list.h"

#include "cli/command.h"
#include "cli/internal.h"
#include "cli/output.h"

#include "base/files/file.h"
#include "base/host/host.h"
#include "base/language.h"
#include "base/memory.h"
#include "base/portable/portable.h"
#include "base/text.h"
#include "base/threads/pool.h"
#include "runs/folder/journal.h"
#include "runs/folder/run_directory.h"
#include "runs/folder/run_prune.h"
#include "runs/history/run_trash.h"
#include "runs/record/run_open.h"
#include "runs/settings/config_paths.h"
#include "runs/settings/settings.h"
#include "runs/values/run_snapshot.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { READERS = 8 }; /* threads at most */

/* --- reading --- */

/* Marks a run that waits in the queue to be resumed. */
static void find_place(struct listed_run *listed, const struct runs_list *list)
{
    const size_t place =
        runs_waiting_find(list->queued, list->queued_count, listed->facts.directory);
    if (place == list->queued_count)
        return;
    listed->queued = &list->queued[place];
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
    char *journal = journal_path(outline->facts.directory, NULL, NULL);
    const bool regular = journal && lstat(journal, &status) == 0 && S_ISREG(status.st_mode);
    free(journal);
    return regular && run_status_is_over(now->status) && now->status != RUN_INTERRUPTED &&
           now->iterations > 0 && !(now->validation.known && isnan(now->validation.best_loss));
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

static bool read_outline(struct listed_run *listed)
{
    struct run_outline outline;
    const bool read =
        (run_peek(listed->directory, &outline, &listed->error) && is_summed_up(&outline)) ||
        read_whole(listed->directory, &outline, &listed->error);
    if (read) {
        listed->config = outline.config;
        listed->facts = outline.facts;
        listed->snapshot = outline.snapshot;
    }
    return read;
}

static void read_run(struct listed_run *listed, const struct runs_list *list)
{
    listed->read = read_outline(listed);
    listed->record =
        (struct run_record){.id = listed->id,
                            .status = N_("unreadable"),
                            .disk_bytes = list->disk ? run_disk_bytes(listed->directory) : 0};
    if (!listed->read)
        return;
    const struct run_facts *facts = &listed->facts;
    listed->record = (struct run_record){
        .config = &listed->config,
        .snapshot = &listed->snapshot,
        .id = listed->id,
        .name = run_name_read(facts->directory, listed->name),
        .tags = run_tags_read(facts->directory, listed->tags),
        .note = run_note_read(facts->directory, listed->note),
        .network = facts->network,
        .status = run_snapshot_word(&listed->snapshot),
        .imported = facts->imported,
        .parameters = facts->parameters,
        .disk_bytes = listed->record.disk_bytes,
        .known = true,
        .started = listed->snapshot.iterations > 0 || listed->snapshot.iteration > 0,
    };
    run_record_fill(&listed->record);
    find_place(listed, list);
}

static void free_listed(struct listed_run *listed)
{
    if (!listed)
        return;
    free(listed->id);
    free(listed->directory);
    free(listed);
}

/* Returns a run of the list that is not read yet. Takes ownership of `id`. */
static struct listed_run *new_listed(char *id, const char *home, struct error *error)
{
    struct listed_run *listed = memory_new(1, sizeof *listed, "the list of runs", error);
    if (!listed) {
        free(id);
        return NULL;
    }
    listed->id = id;
    listed->directory = file_join(home, id);
    if (listed->directory)
        return listed;
    free_listed(listed);
    error_set_memory(error, "a path", 0);
    return NULL;
}

static void read_task(void *context, size_t task, size_t thread)
{
    struct runs_list *list = context;
    (void)thread;
    read_run(list->runs[task], list);
}

/* Reads all runs of the list. Parsing takes most of the time, so all cores take part. */
static bool read_each(struct runs_list *list, struct error *error)
{
    struct host host;
    host_describe(&host);
    struct pool *pool = pool_create(host.cores < READERS ? host.cores : READERS, error);
    if (!pool)
        return false;
    pool_run(pool, list->count, read_task, list);
    pool_free(pool);
    return true;
}

static void keep_matching(struct runs_list *list, const struct run_filter *filter)
{
    const size_t count = list->count;
    list->count = 0;
    for (size_t i = 0; i < count; i++)
        if (run_filter_matches(filter, &list->runs[i]->record))
            list->runs[list->count++] = list->runs[i];
        else
            free_listed(list->runs[i]);
}

static bool read_runs(struct runs_list *list, const char *home, const struct run_filter *filter,
                      struct error *error)
{
    char **ids;
    if (!run_directory_list(&ids, &list->all, error))
        return false;
    list->runs = memory_new(list->all, sizeof *list->runs, "the list of runs", error);
    bool good = list->runs || list->all == 0;
    for (size_t i = 0; i < list->all; i++) {
        struct listed_run *listed = good ? new_listed(ids[i], home, error) : NULL;
        if (!good)
            free(ids[i]);
        good = good && listed;
        if (good)
            list->runs[list->count++] = listed;
    }
    free(ids);
    if (!good || !read_each(list, error))
        return false;
    keep_matching(list, filter);
    return true;
}

bool runs_list_read(struct runs_list *list, const struct run_filter *filter, bool disk,
                    struct error *error)
{
    *list = (struct runs_list){.disk = disk || run_filter_has(filter, "disk")};
    char *home = run_directory_home(error);
    const bool read = home && run_queue_list(&list->queued, &list->queued_count, error) &&
                      read_runs(list, home, filter, error) &&
                      (filter->count > 0 || run_directory_list_incomplete(
                                                &list->incomplete, &list->incomplete_count, error));
    free(home);
    return read;
}

void runs_list_free(struct runs_list *list)
{
    for (size_t i = 0; i < list->count; i++)
        free_listed(list->runs[i]);
    for (size_t i = 0; i < list->incomplete_count; i++)
        free(list->incomplete[i]);
    free(list->runs);
    free(list->incomplete);
    free(list->queued);
    *list = (struct runs_list){0};
}

/* --- order --- */

struct order {
    size_t field;
    bool backwards;
};

/* Runs with equal values stay in the order of their IDs. */
static int by_field(const void *a, const void *b, void *context)
{
    const struct order *order = context;
    const struct listed_run *first = *(struct listed_run *const *)a,
                            *second = *(struct listed_run *const *)b;
    const int difference =
        run_field_compare(order->field, &first->record, &second->record, order->backwards);
    return difference ? difference : strcmp(first->id, second->id);
}

void runs_list_sort(struct runs_list *list, size_t field, bool backwards)
{
    struct order order = {field, backwards};
    if (list->count > 0)
        portable_sort(list->runs, list->count, sizeof *list->runs, by_field, &order);
}

/* --- as JSON --- */

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

/* Adds every field that filters name: its number, its text, or null if the run has none. */
static bool add_fields(struct json *object, const struct run_record *record)
{
    char text[FIELD_TEXT];
    struct json *fields = json_add_object(object, "fields");
    bool added = fields;
    for (size_t field = 0; added && field < run_field_count(); field++) {
        const char *key = run_field_key(field);
        added =
            run_field_is_number(field)
                ? json_add_number(fields, key, run_field_number(field, record))
                : add_text_or_null(fields, key, run_field_text(field, record, text, sizeof text));
    }
    return added;
}

/* Adds everything about a run that can be read. */
static bool add_readable(struct json *object, const struct listed_run *listed)
{
    const struct run_config *config = &listed->config;
    const struct run_facts *facts = &listed->facts;
    const struct run_snapshot *snapshot = &listed->snapshot;
    const struct run_figures figures = run_figures_of(snapshot, NULL);
    return add_text_or_null(object, "name", listed->name) && add_tags(object, listed->tags) &&
           add_text_or_null(object, "note", listed->note) &&
           json_add_string(object, "status", listed->record.status) &&
           json_add_string(object, "network", facts->network) &&
           json_add_string(object, "technique", facts->technique) &&
           json_add_string(object, "data", data_settings(config).data) &&
           (training_settings(config).batch
                ? json_add_count(object, "batch", training_settings(config).batch)
                : json_add_null(object, "batch")) &&
           json_add_string(object, "device", machine_settings(config).device) &&
           json_add_string(object, "created", facts->created) &&
           add_text_or_null(object, "imported", facts->imported) &&
           (config_is_known(config, facts->imported, KEY(seed))
                ? json_add_count(object, "seed", training_settings(config).seed)
                : json_add_null(object, "seed")) &&
           add_text_or_null(object, "seed_group", record_settings(config).seed_group) &&
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
           json_add_number(object, "test_loss", figures.test_loss) &&
           json_add_number(object, "test_top1", figures.test_top1) &&
           json_add_number(object, "test_top5", figures.test_top5) &&
           json_add_count(object, "disk_bytes", listed->record.disk_bytes) &&
           add_fields(object, &listed->record) &&
           (!listed->queued || runs_waiting_add_json(object, listed->queued, listed->place));
}

static bool add_json(struct json *list, const struct listed_run *listed)
{
    char text[1200];
    struct json *object = json_add_object(list, NULL);
    bool added = json_add_string(object, "id", listed->record.id);
    if (listed->read)
        return added && add_readable(object, listed);
    return added && json_add_string(object, "status", listed->record.status) &&
           json_add_string(object, "error", error_format(&listed->error, text, sizeof text));
}

static bool add_incomplete_json(struct json *list, const char *id)
{
    struct json *object = json_add_object(list, NULL);
    return json_add_string(object, "id", id) && json_add_string(object, "status", "incomplete");
}

int runs_list_print_json(const struct runs_list *list, const struct run_filter *filter)
{
    struct runs_groups groups = {0};
    struct json *root = json_new_object(), *array = json_add_array(root, "runs");
    bool complete = array;
    for (size_t i = 0; complete && i < list->count; i++) {
        complete = add_json(array, list->runs[i]);
        runs_groups_add(&groups, list->runs[i]);
    }
    for (size_t i = 0; complete && i < list->incomplete_count; i++)
        complete = add_incomplete_json(array, list->incomplete[i]);
    complete =
        complete && runs_waiting_add_objects(array, list->queued, list->queued_count, filter);
    complete = complete && runs_groups_add_objects(&groups, json_add_array(root, "groups"));
    runs_groups_free(&groups);
    return output_json(root, complete);
}

/* --- as a table --- */

/* Appends what the run computes; for an imported run also its framework and its machine. */
static void add_what(struct table *table, const struct listed_run *listed)
{
    char batch[24] = "?", data[512];
    const struct run_facts *facts = &listed->facts;
    const struct run_config *config = &listed->config;
    if (training_settings(config).batch)
        snprintf(batch, sizeof batch, "%zu", training_settings(config).batch);
    if (!facts->imported[0])
        table_cell(table, _("%s batch %s on %s, %s"), facts->network, batch,
                   machine_settings(config).device,
                   config_short_value(KEY(data), data_settings(config).data, data, sizeof data));
    else if (!config_is_known(config, facts->imported, KEY(network)))
        table_cell(table, _("imported from %s"), facts->imported);
    else if (training_settings(config).batch && facts->host[0] &&
             config_is_known(config, facts->imported, KEY(device)))
        table_cell(table, _("%s batch %s on %s, imported from %s (%s)"), facts->network, batch,
                   machine_settings(config).device, facts->imported, facts->host);
    else
        table_cell(table, _("%s, imported from %s"), facts->network, facts->imported);
}

static void add_row(struct table *table, const struct listed_run *listed, bool disk)
{
    char status[64];
    const struct run_snapshot *snapshot = &listed->snapshot;
    const struct run_figures figures = run_figures_of(snapshot, NULL);
    table_cell(table, "%s", listed->record.id);
    table_cell(table, "%s", listed->name[0] ? listed->name : "-");
    table_cell(table, "%s",
               listed->queued ? runs_waiting_status(listed->place, status, sizeof status)
                              : gettext(listed->record.status));
    if (!listed->read) {
        table_fill(table, table->columns - 4, "-");
        table_cell(table, "%s", listed->error.why);
        return;
    }
    if (snapshot->iterations == 0 && snapshot->iteration > 0) /* a watched run: no end is known */
        table_cell(table, "%llu/?", (unsigned long long)snapshot->iteration);
    else
        table_cell(table, "%llu/%llu", (unsigned long long)snapshot->iteration,
                   (unsigned long long)snapshot->iterations);
    const bool loss_known = !listed->facts.imported[0] || !isnan(snapshot->loss);
    if (snapshot->iteration && loss_known)
        table_cell(table, "%s", TEXT_NUMBER(figures.loss, 4));
    else
        table_cell(table, "-");
    table_number(table, "%.2f %%", figures.top1);
    table_cell(table, "%s", listed->tags[0] ? listed->tags : "-");
    if (disk)
        table_cell(table, "%s", text_bytes(listed->record.disk_bytes, status, sizeof status));
    add_what(table, listed);
}

/* Appends the row of a folder in which no run began. */
static void add_incomplete_row(struct table *table, const char *id)
{
    table_cell(table, "%s", id);
    table_cell(table, "-");
    table_cell(table, "%s", _("incomplete"));
    table_fill(table, table->columns - 4, "-");
    table_cell(table, "%s", _("killed before it began; the next run deletes the folder"));
}

void runs_list_print_none(const struct runs_list *list)
{
    if (list->all > 0)
        output_print(ngettext("None of the %zu run matches.\n", "None of the %zu runs matches.\n",
                              list->all),
                     list->all);
    else
        output_print(_("There are no runs yet: tinca train makes one.\n"));
}

/* Prints how much the listed runs take together, and the trash. */
static void print_sums(const struct runs_list *list)
{
    char bytes[32];
    struct run_removal trash = {0};
    uint64_t sum = 0;
    size_t deleted = 0;
    for (size_t i = 0; i < list->count; i++)
        sum += list->runs[i]->record.disk_bytes;
    output_print(ngettext("%zu run takes %s.\n", "%zu runs take %s.\n", list->count), list->count,
                 text_bytes(sum, bytes, sizeof bytes));
    if (run_trash_measure(&deleted, &trash, NULL) && deleted > 0)
        output_print(ngettext("%zu deleted run in the trash takes %s: tinca runs --empty-trash\n",
                              "%zu deleted runs in the trash take %s: tinca runs --empty-trash\n",
                              deleted),
                     deleted, text_bytes(trash.bytes, bytes, sizeof bytes));
}

int runs_list_print(const struct runs_list *list, const struct run_filter *filter, bool disk,
                    bool members)
{
    struct runs_groups groups = {0};
    struct table table =
        disk ? table_begin("lllrrrlrl", _("RUN|NAME|STATUS|ITERATION|LOSS|TOP-1|TAGS|DISK|WHAT"))
             : table_begin("lllrrrll", _("RUN|NAME|STATUS|ITERATION|LOSS|TOP-1|TAGS|WHAT"));
    size_t shown = list->count + list->incomplete_count;
    for (size_t i = 0; i < list->count; i++)
        if (!runs_groups_add(&groups, list->runs[i]) || members)
            add_row(&table, list->runs[i], disk);
    runs_groups_add_rows(&groups, &table, disk, filter->count > 0);
    runs_groups_free(&groups);
    for (size_t i = 0; i < list->incomplete_count; i++)
        add_incomplete_row(&table, list->incomplete[i]);
    shown += runs_waiting_add_rows(&table, list->queued, list->queued_count, filter);
    if (shown == 0) {
        table_free(&table);
        runs_list_print_none(list);
        return EXIT_DONE;
    }
    const int status = output_table(&table);
    if (disk)
        print_sums(list);
    return status;
}
