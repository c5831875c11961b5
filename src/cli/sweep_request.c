/* Makes the sweep that the command line asks for: the grid of a file or of options, or an earlier
 * sweep by its name. Options replace what the file says. */
#include "cli/sweep.h"

#include "base/host/host.h"
#include "base/language.h"
#include "runs/settings/config.h"
#include "runs/settings/settings.h"

#include <stdio.h>
#include <string.h>

/* Replaces the axis `key` of the grid with the list that an option gave, if it did. */
static bool vary(struct sweep_grid *grid, const char *key, const char *values, struct error *error)
{
    if (!values)
        return true;
    sweep_grid_clear(grid, key);
    return sweep_grid_vary(grid, key, values, error);
}

/* Writes the options that were given into the configuration that all cells of the grid share. */
static bool set_base(struct sweep_grid *grid, const struct run_config *config, struct error *error)
{
    char value[1024];
    for (size_t i = 0; i < config_field_count; i++) {
        const char *key = config_fields[i].key;
        bool preset = strcmp(key, KEY(preset)) == 0 && training_settings(config).preset[0];
        if (!preset && !config_is_given(config, key))
            continue;
        sweep_grid_clear(grid, key);
        if (!config_set(&grid->base, key, config_get(config, key, value, sizeof value), error))
            return false;
    }
    return true;
}

/* Writes --tag and --note, which are given to the run of each cell, into the grid. */
static bool set_labels(const struct sweep_request *request, struct sweep_grid *grid,
                       struct error *error)
{
    char tags[4 * RUN_TAGS_SIZE] = "";
    size_t length = 0;
    for (size_t i = 0; i < request->tags.count && length < sizeof tags; i++)
        length += (size_t)snprintf(tags + length, sizeof tags - length, "%s%s", length ? " " : "",
                                   request->tags.values[i]);
    if ((request->tags.count > 0 && !run_tags_check(tags, error)) ||
        (request->note && !run_note_check(request->note, error)))
        return false;
    if (request->tags.count > 0)
        snprintf(grid->tags, sizeof grid->tags, "%.*s", (int)sizeof grid->tags - 1, tags);
    if (request->note)
        snprintf(grid->note, sizeof grid->note, "%s", request->note);
    return true;
}

/* Adds the techniques after training to those that the grid has. */
static bool set_after(const struct sweep_request *request, struct sweep_grid *grid,
                      struct error *error)
{
    for (size_t i = 0; i < request->after.count; i++)
        if (!sweep_grid_add_after(grid, request->after.values[i], error))
            return false;
    if (request->after_epochs > 0)
        grid->after_epochs = request->after_epochs;
    return (request->after.count == 0 && request->after_epochs == 0 && !request->file) ||
           sweep_grid_add_control(grid, error);
}

/* Reads the file, if there is one, and then the options, which replace what the file says. */
static bool make_grid(const struct sweep_request *request, struct sweep_grid *grid,
                      struct error *error)
{
    if (request->file && !sweep_grid_read(grid, request->file, error))
        return false;
    if (request->name)
        snprintf(grid->name, sizeof grid->name, "%s", request->name);
    bool made = set_labels(request, grid, error) && set_after(request, grid, error) &&
                set_base(grid, &request->config, error) &&
                vary(grid, "networks", request->networks, error) &&
                vary(grid, "techniques", request->techniques, error) &&
                vary(grid, "batches", request->batches, error) &&
                vary(grid, "devices", request->devices, error);
    for (size_t i = 0; made && i < request->vary.count; i++)
        made = sweep_grid_vary_setting(grid, request->vary.values[i], error);
    return made && (!request->grid || sweep_grid_apply(grid, request->grid, error));
}

/* Fails if neither the file nor the options name a network and a data set. */
static bool check_grid(const struct sweep_request *request, const struct sweep_grid *grid,
                       struct error *error)
{
    bool preset = training_settings(&grid->base).preset[0];
    if (!sweep_grid_axis(grid, KEY(network)) && !preset)
        return error_set(error, ERROR_USAGE, "sweep", _("give FILE.json, --networks or --grid"),
                         _("no network was named"));
    if (!request->file && !preset && !config_is_given(&grid->base, KEY(data)) &&
        !sweep_grid_axis(grid, KEY(data)))
        return error_set(error, ERROR_USAGE, OPTION(data),
                         _("give --data SPEC; tinca datasets lists them"),
                         _("no data set was named"));
    return true;
}

bool sweep_request_is_earlier(const struct sweep_request *request)
{
    return request->name && !request->file && !request->networks && !request->grid;
}

bool sweep_request_open(const struct sweep_request *request, struct sweep *sweep,
                        struct error *error)
{
    struct sweep_grid grid;
    if (sweep_request_is_earlier(request)) {
        if (request->tags.count > 0 || request->note)
            return error_set(
                error, ERROR_USAGE, request->name,
                _("leave --tag and --note out; t and N in the list of runs change them"),
                _("an earlier sweep keeps the tags and the note that it was given"));
        if (!sweep_open(sweep, request->name, error) || !set_after(request, &sweep->grid, error))
            return false;
        for (size_t i = 0; i < sweep->count; i++)
            if (config_is_given(&request->config, KEY(threads)) &&
                !sweep_grid_varies(&sweep->grid, KEY(threads)))
                config_put_count(&sweep->cells[i].config, KEY(threads),
                                 machine_settings(&request->config).threads);
        return true;
    }
    sweep_grid_begin(&grid);
    bool made = make_grid(request, &grid, error) && check_grid(request, &grid, error) &&
                sweep_create(sweep, &grid, error) && sweep_find(sweep, error);
    sweep_grid_free(&grid);
    return made;
}

size_t sweep_request_threads(const struct sweep_request *request, size_t asked)
{
    struct host host;
    size_t cores = request->cores;
    if (asked || (request->jobs == 1 && !cores))
        return asked;
    host_describe(&host);
    cores = cores ? cores : host.cores;
    return cores > request->jobs ? cores / request->jobs : 1;
}
