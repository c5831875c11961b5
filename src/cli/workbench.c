#include "cli/workbench.h"

#include "base/language.h"

#include <string.h>

/* Returns whether the setting is no option of the workbench. Every command has --language;
 * shared-runs decides whose runs are trusted, by all commands, and is set in the configuration file
 * only. */
static bool is_everywhere(const struct preference *preference)
{
    return strcmp(preference->key, "language") == 0 || strcmp(preference->key, "shared-runs") == 0;
}

static enum option_kind kind_of(const struct preference *preference)
{
    return preference->kind == PREFERENCE_FLAG   ? OPTION_FLAG
           : preference->kind == PREFERENCE_NAME ? OPTION_NAME
                                                 : OPTION_TEXT;
}

void workbench_rows(struct workbench *workbench, struct option_row *rows)
{
    for (size_t i = 0; i < PREFERENCE_COUNT; i++) {
        const struct preference *preference = &preference_table[i];
        if (is_everywhere(preference))
            continue;
        *rows++ = (struct option_row){.name = preference->key,
                                      .argument = preference->argument,
                                      .help = preference->help,
                                      .kind = kind_of(preference),
                                      .value = &workbench->given[i],
                                      .choices = preference->choices};
    }
    *rows = (struct option_row){0};
}

bool workbench_read_options(struct workbench *workbench, struct ui_options *options,
                            struct error *error)
{
    preferences_read(&workbench->saved, &options->broken);
    workbench->preferences = workbench->saved;
    for (size_t i = 0; i < PREFERENCE_COUNT; i++)
        if (workbench->given[i] &&
            !preferences_set(&workbench->preferences, preference_table[i].key, workbench->given[i],
                             error))
            return false;
    if (!options_language() && strcmp(workbench->saved.language, "auto") != 0)
        language_begin(workbench->saved.language);
    options->preferences = &workbench->preferences;
    options->saved = &workbench->saved;
    return true;
}
