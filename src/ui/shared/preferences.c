/* Each row of the table gives the place of its value in struct preferences, so setting and getting
 * need no code of their own for any preference. */
#include "ui/shared/preferences.h"

#include "base/files/file.h"
#include "base/json/json.h"
#include "base/language.h"
#include "base/memory.h"
#include "runs/folder/run_directory.h"
#include "runs/settings/settings.h"
#include "runs/settings/user_settings.h"
#include "ui/plot/trace.h"
#include "ui/terminal/theme.h"

#include <stdio.h>
#include <stdlib.h>
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

/* Returns the preference with this key, or NULL. */
static const struct preference *preferences_find(const char *key)
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

/* --- the file --- */

/* The file is one object with a member for each preference, a string or a boolean: {"colours":
 * "mono", "mouse": false}. A missing member means the default. */

enum { FILE_LIMIT = 1 << 20 };

static bool fail_at(const struct json_document *document, const struct json *member,
                    const char *why, const char *advice, struct error *error)
{
    return error_set(error, ERROR_INPUT, document->name, advice, _("line %zu: \"%s\": %s"),
                     json_line(document, member), json_key(member), why);
}

static bool read_member(struct preferences *preferences, const struct json_document *document,
                        const struct json *member, struct error *error)
{
    struct error inner = {0};
    const struct preference *preference = preferences_find(json_key(member));
    const char *text = json_string(member);
    bool flag;
    if (!preference)
        return fail_at(document, member, _("there is no such setting"),
                       _("tinca-config(5) lists them"), error);
    if (preference->kind == PREFERENCE_FLAG) {
        if (!json_bool(member, &flag))
            return fail_at(document, member, _("true or false was expected"), NULL, error);
        text = flag ? "yes" : "no";
    } else if (!text)
        return fail_at(document, member, _("a text was expected"), NULL, error);
    return preferences_set(preferences, preference->key, text, &inner) ||
           fail_at(document, member, inner.why, inner.advice, error);
}

/* Reads all members, even after an invalid one; the error describes the first invalid one. */
static bool read_members(struct preferences *preferences, const struct json_document *document,
                         struct error *error)
{
    bool good = true;
    if (!json_is_object(document->root))
        return error_set(error, ERROR_INPUT, document->name, NULL, "%s",
                         _("an object was expected, such as { \"colours\": \"mono\" }"));
    for (const struct json *member = json_first_member(document->root); member;
         member = json_next(member))
        if (!read_member(preferences, document, member, good ? error : NULL))
            good = false;
    return good;
}

bool preferences_read(struct preferences *preferences, struct error *error)
{
    struct json_document document;
    preferences_defaults(preferences);
    char *path = user_settings_path(NULL);
    if (!path || !file_exists(path)) {
        free(path);
        return true;
    }
    bool read = json_read_file(&document, path, FILE_LIMIT, error);
    free(path);
    if (!read)
        return false;
    read = read_members(preferences, &document, error);
    json_document_free(&document);
    return read;
}

static bool add_member(struct json *tree, const struct preferences *preferences,
                       const struct preference *preference)
{
    const void *place = (const char *)preferences + preference->offset;
    return preference->kind == PREFERENCE_FLAG
               ? json_add_bool(tree, preference->key, *(const bool *)place)
               : json_add_string(tree, preference->key, place);
}

static char *make_text(const struct preferences *preferences, struct error *error)
{
    struct json *tree = json_new_object();
    bool complete = tree;
    for (size_t i = 0; complete && i < PREFERENCE_COUNT; i++)
        complete = add_member(tree, preferences, &preference_table[i]);
    char *text = complete ? json_print(tree, true, error) : NULL;
    if (!complete)
        error_set_memory(error, _("the configuration file"), 0);
    json_free(tree);
    return text;
}

bool preferences_write(const struct preferences *preferences, struct error *error)
{
    char *path = user_settings_path(error);
    char *text = path && file_make_folder_of(path, error) ? make_text(preferences, error) : NULL;
    bool written = text && file_write(path, text, strlen(text), true, error);
    free(text);
    free(path);
    return written;
}

/* --- last form ---
 *
 * The file is one object with a member for each setting that the user has given, as text. Reading
 * applies the members in order. */

/* --- reading --- */

/* Applies a setting. *skipped describes the first setting that is left out. */
static void apply_member(struct run_config *config, const struct json_document *document,
                         const struct json *member, struct error *skipped)
{
    const char *key = json_key(member), *value = json_string(member);
    struct error inner = {0};
    if (value && config_set(config, key, value, &inner))
        return;
    if (skipped->kind == ERROR_NONE)
        error_set(skipped, ERROR_INPUT, document->name,
                  _("the other settings of the form were restored"),
                  _("the setting \"%s\" was left out: %s"), key,
                  value ? inner.why : _("a text was expected"));
}

bool last_form_read(struct run_config *config, struct error *skipped)
{
    struct json_document document;
    char *path = run_directory_beside("form.json", NULL);
    *skipped = (struct error){0};
    bool read = path && file_exists(path) && json_read_file(&document, path, FILE_LIMIT, skipped);
    free(path);
    if (!read)
        return false;
    config_defaults(config);
    for (const struct json *member = json_first_member(document.root); member;
         member = json_next(member))
        apply_member(config, &document, member, skipped);
    json_document_free(&document);
    return true;
}

/* --- writing --- */

static bool add_fields(struct json *tree, const struct run_config *config)
{
    const struct training_settings training = training_settings(config);
    char value[512];
    bool added = tree;
    if (training.preset[0])
        added = json_add_string(tree, "preset", training.preset);
    for (size_t i = 0; added && i < config_field_count; i++) {
        const char *key = config_fields[i].key;
        if (config_is_given(config, key))
            added = json_add_string(tree, key, config_get(config, key, value, sizeof value));
    }
    return added;
}

bool last_form_write(const struct run_config *config, struct error *error)
{
    struct json *tree = json_new_object();
    char *path = run_directory_beside("form.json", error), *text = NULL;
    if (!add_fields(tree, config))
        error_set_memory(error, _("the form"), 0);
    else
        text = json_print(tree, true, error);
    bool written = path && text && file_make_folder_of(path, error) &&
                   file_write(path, text, strlen(text), true, error);
    json_free(tree);
    free(text);
    free(path);
    return written;
}
