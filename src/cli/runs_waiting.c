/* A new run that waits has no ID, no folder and no figures yet; its settings are those of the file
 * of its place. */
#include "cli/internal.h"

#include "base/language.h"
#include "runs/settings/config_paths.h"
#include "runs/settings/settings.h"

#include <stdio.h>
#include <string.h>

/* --- what waits --- */

size_t runs_waiting_find(const struct queued_run *list, size_t count, const char *directory)
{
    size_t i = 0;
    while (i < count && !(list[i].known && list[i].kind == QUEUED_RESUME &&
                          strcmp(list[i].directory, directory) == 0))
        i++;
    return i;
}

char *runs_waiting_status(size_t place, char *text, size_t size)
{
    snprintf(text, size, _("waiting, place %zu"), place);
    return text;
}

/* Returns whether a place has a row of its own, and its record if it does. */
static bool is_listed(const struct queued_run *run, const struct run_filter *filter, char *network,
                      size_t size, struct run_record *record)
{
    static const struct run_snapshot none;
    *record = (struct run_record){.config = &run->config,
                                  .snapshot = &none,
                                  .id = "",
                                  .name = "",
                                  .tags = "",
                                  .note = "",
                                  .network = network,
                                  .status = N_("waiting"),
                                  .imported = "",
                                  .known = run->known};
    run_record_fill(record);
    config_network_name(network_settings(&run->config).network, network, size);
    return !(run->known && run->kind == QUEUED_RESUME) && run_filter_matches(filter, record);
}

/* --- as JSON --- */

bool runs_waiting_add_json(struct json *object, const struct queued_run *run, size_t place)
{
    struct json *queue = json_add_object(object, "queue");
    if (!json_add_count(queue, "place", place) || !run->known)
        return queue != NULL;
    return json_add_string(queue, "command", queued_kind_name(run->kind)) &&
           (run->sweep[0] ? json_add_string(queue, "sweep", run->sweep)
                          : json_add_null(queue, "sweep")) &&
           json_add_string(queue, "since", run->since) &&
           json_add_count(queue, "process", (uint64_t)run->process) &&
           json_add_string(queue, "host", run->host);
}

static bool add_object(struct json *list, const struct queued_run *run, const char *network,
                       size_t place)
{
    struct json *object = json_add_object(list, NULL);
    bool added = json_add_null(object, "id") && json_add_string(object, "status", "waiting");
    if (added && run->known)
        added = json_add_string(object, "network", network) &&
                json_add_string(object, "technique", settings_technique(&run->config)) &&
                json_add_string(object, "data", data_settings(&run->config).data) &&
                json_add_count(object, "batch", training_settings(&run->config).batch) &&
                json_add_string(object, "device", machine_settings(&run->config).device);
    return added && runs_waiting_add_json(object, run, place);
}

bool runs_waiting_add_objects(struct json *list, const struct queued_run *queued, size_t count,
                              const struct run_filter *filter)
{
    bool added = true;
    for (size_t i = 0; added && i < count; i++) {
        char network[256];
        struct run_record record;
        if (is_listed(&queued[i], filter, network, sizeof network, &record))
            added = add_object(list, &queued[i], network, i + 1);
    }
    return added;
}

/* --- as rows --- */

static void add_what(struct table *table, const struct queued_run *run, const char *network)
{
    char data[512], of[128] = "";
    const struct run_config *config = &run->config;
    if (run->kind == QUEUED_SWEEP)
        snprintf(of, sizeof of, _(", a cell of the sweep %s"), run->sweep);
    table_cell(table, _("%s batch %zu on %s, %s%s; since %s, process %ld"), network,
               training_settings(config).batch, machine_settings(config).device,
               config_short_value(KEY(data), data_settings(config).data, data, sizeof data), of,
               run->since, run->process);
}

size_t runs_waiting_add_rows(struct table *table, const struct queued_run *list, size_t count,
                             const struct run_filter *filter)
{
    size_t added = 0;
    for (size_t i = 0; i < count; i++) {
        char network[256], status[64];
        struct run_record record;
        if (!is_listed(&list[i], filter, network, sizeof network, &record))
            continue;
        added++;
        table_fill(table, 2, "-");
        table_cell(table, "%s", runs_waiting_status(i + 1, status, sizeof status));
        table_fill(table, table->columns - 4, "-");
        if (list[i].known)
            add_what(table, &list[i], network);
        else
            table_cell(table, "%s", _("what waits there cannot be read"));
    }
    return added;
}
