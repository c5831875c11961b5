/* Finds the times that a table lacks, and writes the commands that measure them. */
#include "studies/compare/compare.h"

#include "base/escape/shell.h"
#include "base/language.h"
#include "runs/settings/train_command.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

size_t compare_threads(const struct comparison *comparison, const char *device)
{
    for (size_t i = 0; i < comparison->count; i++) {
        const struct compare_row *row = &comparison->rows[i];
        const struct measurement *time = row->run ? measurements_find(&row->ms, device) : NULL;
        if (time)
            return time->on.threads;
    }
    return 0;
}

void compare_measure_command(const struct comparison *comparison, size_t number, const char *device,
                             char *command, size_t size)
{
    const struct compare_row *row = &comparison->rows[number];
    struct text text = {0};
    size_t threads = compare_threads(comparison, device);
    if (row->figures.model_bytes > 0) {
        text_append(&text, "tinca measure ");
        shell_word_append(&text, row->seeds.runs > 0 ? run_facts(row->run)->id : row->name);
        text_append(&text, " --device ");
        shell_word_append(&text, device);
        if (threads > 0)
            text_append(&text, " --threads %zu", threads);
    } else {
        train_command_append(&text, run_config(row->run), NULL, NULL);
    }
    /* a truncated command would do something else */
    snprintf(command, size, "%s", text.data && text.length < size ? text.data : "");
    text_free(&text);
}

bool compare_missing(const struct comparison *comparison, size_t number, size_t device,
                     struct compare_missing *missing)
{
    const struct compare_row *row = &comparison->rows[number];
    const char *name = comparison->devices[device];
    bool measurable = device < comparison->device_count - comparison->published_devices;
    if (!row->run || run_facts(row->run)->imported[0] || !measurable)
        return false;
    const struct measurement *time = compare_time(comparison, number, device);
    bool accuracy = isnan(row->figures.top1) && run_facts(row->run)->classes > 0;
    if (time && !(time->in_turns && accuracy))
        return false;
    *missing = (struct compare_missing){.row = number,
                                        .stale = compare_is_stale(comparison, number, device)};
    if (time)
        snprintf(missing->what, sizeof missing->what, "%s", _("accuracy"));
    else if (!(row->figures.model_bytes > 0))
        snprintf(missing->what, sizeof missing->what,
                 _("model size and ms on %s (no weights are saved)"), name);
    else
        snprintf(missing->what, sizeof missing->what,
                 accuracy ? _("accuracy and ms on %s") : _("ms on %s"), name);
    compare_measure_command(comparison, number, name, missing->command, sizeof missing->command);
    return true;
}
