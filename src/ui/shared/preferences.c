/* Each row of the table gives the place of its value in struct preferences, so setting and getting
 * need no code of their own for any preference. */
#include "ui/shared/preferences.h"

#include "base/language.h"
#include "ui/plot/smoothing.h"
#include "ui/terminal/glyphs.h"
#include "ui/terminal/theme.h"

#include <stdio.h>
#include <string.h>

#define MEMBER(name) offsetof(struct preferences, name), sizeof(((struct preferences *)0)->name)

static const char *const symbols[] = {"auto", "braille", "block", "ascii", NULL};
static const char *const languages[] = {"auto", "en", "pt_BR", NULL};
static const char *const formats[] = {"markdown", "csv", "json", NULL};
static const char *const x_axes[] = {"iteration", "epoch", "time", NULL};

const struct preference preference_table[] = {
    {"colours", N_("Colours"), "NAME",
     N_("The colours of the screen; NO_COLOR in the environment wins."), PREFERENCE_NAME,
     MEMBER(colours), ui_colours},
    {"symbols", N_("Symbols"), "NAME",
     N_("The characters of curves; auto: the best that the locale can show."), PREFERENCE_NAME,
     MEMBER(symbols), symbols},
    {"mouse", N_("Mouse"), "yes|no",
     N_("Use the mouse; no leaves clicks and the wheel to the terminal."), PREFERENCE_FLAG,
     MEMBER(mouse), NULL},
    {"slow", N_("Slow line"), "yes|no", N_("Draw less often and send less, for a slow connection."),
     PREFERENCE_FLAG, MEMBER(slow), NULL},
    {"language", N_("Language"), "NAME",
     N_("The language of the messages from the next start on; auto: the environment's."),
     PREFERENCE_NAME, MEMBER(language), languages},
    {"export-directory", N_("Export folder"), "DIR",
     N_("The folder that exports are proposed in; empty: the current one."), PREFERENCE_TEXT,
     MEMBER(export_directory), NULL},
    {"export-format", N_("Export format"), "NAME",
     N_("The format that is proposed when a comparison is exported."), PREFERENCE_NAME,
     MEMBER(export_format), formats},
    {"x-axis", N_("Curves along"), "NAME",
     N_("The x axis of curves; the last choice is remembered."), PREFERENCE_NAME, MEMBER(x_axis),
     x_axes},
    {"log-x", N_("Log x axis"), "yes|no",
     N_("A logarithmic x axis for curves; the last choice is remembered."), PREFERENCE_FLAG,
     MEMBER(log_x), NULL},
    {"log-y", N_("Log y axis"), "yes|no",
     N_("A logarithmic y axis for curves; the last choice is remembered."), PREFERENCE_FLAG,
     MEMBER(log_y), NULL},
    {"smoothing", N_("Smoothing"), "NAME",
     N_("The smoothing of losses: auto (as the run says) or a moving average's strength; "
        "remembered."),
     PREFERENCE_NAME, MEMBER(smoothing), smoothing_names},
    {"all-values", N_("All values"), "yes|no",
     N_("The y axis of curves shows outliers too; the last choice is remembered."), PREFERENCE_FLAG,
     MEMBER(all_values), NULL},
    {"shared-runs", N_("Shared runs"), "yes|no",
     N_("Accept folders of runs that are shared with a group; no refuses them."), PREFERENCE_FLAG,
     MEMBER(shared_runs), NULL},
};
_Static_assert(sizeof preference_table / sizeof *preference_table == PREFERENCE_COUNT,
               "the table has as many rows as it says");

const struct preference *preferences_find(const char *key)
{
    for (size_t i = 0; i < PREFERENCE_COUNT; i++)
        if (strcmp(preference_table[i].key, key) == 0)
            return &preference_table[i];
    return NULL;
}

void preferences_defaults(struct preferences *preferences)
{
    *preferences = (struct preferences){.colours = "default",
                                        .symbols = "auto",
                                        .mouse = true,
                                        .language = "auto",
                                        .export_format = "markdown",
                                        .x_axis = "iteration",
                                        .smoothing = "auto"};
}

/* --- values --- */

static bool refuse(const struct preference *preference, const char *value, const char *expected,
                   struct error *error)
{
    char what[256];
    snprintf(what, sizeof what, "--%s %.200s", preference->key, value);
    return error_set(error, ERROR_USAGE, what, expected, "%s",
                     _("this is not understood, or out of range"));
}

static bool set_flag(const struct preference *preference, const char *value, bool *flag,
                     struct error *error)
{
    const bool yes = strcmp(value, "yes") == 0;
    if (!yes && strcmp(value, "no") != 0)
        return refuse(preference, value, _("give yes or no"), error);
    *flag = yes;
    return true;
}

static bool set_name(const struct preference *preference, const char *value, char *name,
                     struct error *error)
{
    char list[160] = "", expected[224];
    for (size_t i = 0; preference->choices[i]; i++) {
        const size_t used = strlen(list);
        if (strcmp(preference->choices[i], value) == 0) {
            snprintf(name, preference->size, "%s", value);
            return true;
        }
        snprintf(list + used, sizeof list - used, "%s%s", i ? ", " : "", preference->choices[i]);
    }
    snprintf(expected, sizeof expected, _("give one of %s"), list);
    return refuse(preference, value, expected, error);
}

static bool set_text(const struct preference *preference, const char *value, char *text,
                     struct error *error)
{
    char expected[96];
    if (strlen(value) < preference->size) {
        snprintf(text, preference->size, "%s", value);
        return true;
    }
    snprintf(expected, sizeof expected, _("give at most %zu bytes"), preference->size - 1);
    return refuse(preference, value, expected, error);
}

bool preferences_set(struct preferences *preferences, const char *key, const char *value,
                     struct error *error)
{
    const struct preference *preference = preferences_find(key);
    if (!preference)
        return error_set(error, ERROR_USAGE, key, _("tinca-config(5) lists them"), "%s",
                         _("there is no such setting"));
    void *place = (char *)preferences + preference->offset;
    if (preference->kind == PREFERENCE_FLAG)
        return set_flag(preference, value, place, error);
    return preference->kind == PREFERENCE_NAME ? set_name(preference, value, place, error)
                                               : set_text(preference, value, place, error);
}

char *preferences_get(const struct preferences *preferences, const char *key, char *text,
                      size_t size)
{
    const struct preference *preference = preferences_find(key);
    const void *place = preference ? (const char *)preferences + preference->offset : "";
    if (preference && preference->kind == PREFERENCE_FLAG)
        snprintf(text, size, "%s", *(const bool *)place ? "yes" : "no");
    else
        snprintf(text, size, "%s", (const char *)place);
    return text;
}
