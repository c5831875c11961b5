/* The means of a sweep's groups of seeds: the cells that differ in their seed only. */
#include "session/sweep/sweep_table.h"

#include "base/escape/markdown.h"
#include "base/escape/visible.h"
#include "base/language.h"
#include "base/memory.h"
#include "session/config/config_paths.h"
#include "session/config/settings.h"
#include "session/values/statistics.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LABEL_TEXT = 300 };

static const struct {
    enum sweep_measure measure;
    const char *name; /* in JSON */
} figures[] = {{SWEEP_TOP1, "top1"},
               {SWEEP_TEST_TOP1, "test_top1"},
               {SWEEP_LOSS, "loss"},
               {SWEEP_MS_PER_IMAGE, "ms_per_image"}};
enum { FIGURES = sizeof figures / sizeof *figures };

/* Returns whether a cell is the first one of a group of seeds. */
static bool leads_group(const struct sweep *sweep, size_t index)
{
    const char *group = record_settings(&sweep->cells[index].config).seed_group;
    for (size_t i = 0; i < index; i++)
        if (strcmp(record_settings(&sweep->cells[i].config).seed_group, group) == 0)
            return false;
    return group[0];
}

bool sweep_seeds_are_alike(const struct sweep *sweep, size_t a, size_t b)
{
    const char *group = record_settings(&sweep->cells[a].config).seed_group;
    return group[0] && strcmp(group, record_settings(&sweep->cells[b].config).seed_group) == 0;
}

bool sweep_seeds_compute(const struct sweep *sweep, size_t member, enum sweep_measure measure,
                         size_t *count, struct statistics *statistics)
{
    double *values = memory_new(sweep->count, sizeof *values, "the statistics", NULL);
    *count = 0;
    for (size_t i = 0; values && i < sweep->count; i++) {
        const double value = sweep_cell_value(&sweep->cells[i], measure);
        if (sweep_seeds_are_alike(sweep, member, i) && isfinite(value))
            values[(*count)++] = value;
    }
    const bool computed = values && statistics_compute(values, *count, statistics, NULL);
    free(values);
    return computed;
}

/* Writes what the cells of a group share: "lenet, batch 20, lr 0.1". */
static char *write_label(const struct sweep *sweep, const struct run_config *config, char *text,
                         size_t size)
{
    char value[200];
    config_network_name(network_settings(config).network, value, sizeof value);
    size_t length = (size_t)snprintf(text, size, "%s", value);
    for (size_t a = 0; a < sweep->grid.axis_count && length < size; a++) {
        const char *key = sweep->grid.axes[a].field->key;
        if (strcmp(key, KEY(seed)) == 0 || strcmp(key, KEY(network)) == 0 ||
            sweep->grid.axes[a].count < 2)
            continue;
        length += (size_t)snprintf(text + length, size - length, ", %s %s", key,
                                   config_get(config, key, value, sizeof value));
    }
    return text;
}

/* Appends "top-1 69.7 +- 13 (sd 5.3, n 3)" for each figure that is known. */
static void write_group(const struct sweep *sweep, size_t first, bool markdown, struct text *text)
{
    static const char *const words[FIGURES] = {N_("top-1"), N_("test top-1"), N_("loss"),
                                               N_("ms/image")};
    char label[LABEL_TEXT];
    visible_append_format(text, markdown ? markdown_append : visible_append,
                          "%s%s:", markdown ? "- " : "",
                          write_label(sweep, &sweep->cells[first].config, label, sizeof label));
    bool any = false;
    for (size_t f = 0; f < FIGURES; f++) {
        struct statistics statistics;
        size_t count;
        if (!sweep_seeds_compute(sweep, first, figures[f].measure, &count, &statistics)) {
            text->failed = true;
            return;
        }
        if (count == 0)
            continue;
        if (count == 1)
            text_append(text, _("%s %s %s (one value has no spread)"), any ? ";" : "",
                        gettext(words[f]), TEXT_NUMBER(statistics.mean, 4));
        else
            text_append(text, _("%s %s %.4g +- %s (sd %s, n %zu)"), any ? ";" : "",
                        gettext(words[f]), statistics.mean, TEXT_NUMBER(statistics.ci95, 2),
                        TEXT_NUMBER(statistics.sd, 2), count);
        any = true;
    }
    text_append(text, "%s\n", any ? "" : _(" nothing is computed yet"));
}

void sweep_write_seeds(const struct sweep *sweep, bool markdown, struct text *text)
{
    bool any = false;
    for (size_t i = 0; i < sweep->count; i++) {
        if (!leads_group(sweep, i))
            continue;
        if (!any)
            text_append(text, markdown ? "### %s\n\n" : "%s\n",
                        /* xgettext:no-c-format */
                        _("Means over the seeds, with 95 % intervals (Student's t)"));
        any = true;
        write_group(sweep, i, markdown, text);
    }
    if (any)
        text_append(text, "\n");
}

bool sweep_seeds_to_json(const struct sweep *sweep, struct json *list)
{
    bool added = list;
    for (size_t i = 0; added && i < sweep->count; i++) {
        if (!leads_group(sweep, i))
            continue;
        struct json *group = json_add_object(list, NULL);
        const char *id = record_settings(&sweep->cells[i].config).seed_group;
        struct json *cells = json_add_array(group, "cells");
        added = json_add_string(group, "group", id) && cells;
        for (size_t k = i; added && k < sweep->count; k++)
            if (strcmp(record_settings(&sweep->cells[k].config).seed_group, id) == 0)
                added = json_add_string(cells, NULL, sweep->cells[k].id);
        for (size_t f = 0; added && f < FIGURES; f++) {
            struct statistics statistics;
            size_t count;
            struct json *figure = json_add_object(group, figures[f].name);
            added = sweep_seeds_compute(sweep, i, figures[f].measure, &count, &statistics) &&
                    json_add_count(figure, "n", count) &&
                    json_add_number(figure, "mean", statistics.mean) &&
                    json_add_number(figure, "sd", statistics.sd) &&
                    json_add_number(figure, "ci95", statistics.ci95);
        }
    }
    return added;
}
