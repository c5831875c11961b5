#include "ui/app/run_cells.h"

#include "base/files/file.h"
#include "ui/app/app.h"

const char *runs_id(const struct run_entry *entry)
{
    if (run_entry_is_saved(entry))
        return file_base_name(entry->directory);
    return entry->run ? run_facts(entry->run)->id : "";
}

const char *runs_display_name(const struct run_entry *entry)
{
    return entry->name[0] ? entry->name : runs_id(entry);
}

void runs_record(const struct run_entry *entry, struct run_record *record)
{
    const bool read = !run_entry_is_saved(entry) || entry->outline_known;
    *record = (struct run_record){
        .config = &entry->config,
        .snapshot = &entry->snapshot,
        .id = runs_id(entry),
        .name = entry->name,
        .tags = entry->tags,
        .note = entry->note,
        .network = run_entry_network(entry),
        .status = run_entry_status(entry),
        .imported = entry->imported,
        .parameters = entry->run ? run_facts(entry->run)->parameters : entry->parameters,
        .disk_bytes = entry->disk_bytes,
        .place = entry->queue.rank,
        .known = read,
        .started = (entry->run || entry->outline_known) &&
                   (entry->snapshot.iterations > 0 || entry->snapshot.iteration > 0),
    };
    run_record_fill(record);
}

bool runs_match(const struct app *app, size_t index)
{
    struct run_record record;
    runs_record(app_run_at(app, index), &record);
    return run_filter_matches(&app->shared.runs_filter, &record);
}

bool runs_any_marked(const struct app *app)
{
    for (size_t i = 0; i < app_run_count(app); i++)
        if (app_run_at(app, i)->marked && runs_match(app, i))
            return true;
    return false;
}
