/* preferences.h: the user's preferences for the workbench, in $XDG_CONFIG_HOME/tinca/config.json.
 *
 * One table serves the file, the options of the command line (--KEY), the screen Settings and the
 * manual page tinca-config(5). The program holds two structs: the preferences in the file, and
 * those in force. An option on the command line changes only the latter, so it is not written.
 */
#ifndef TINCA_UI_SHARED_PREFERENCES_H
#define TINCA_UI_SHARED_PREFERENCES_H

#include "base/error.h"
#include "runs/settings/config.h"

#include <stdbool.h>
#include <stddef.h>

struct preferences {
    char colours[16];           /* one of ui_colours */
    char symbols[16];           /* "auto" or one of ui_symbols */
    bool mouse;                 /* use the mouse */
    bool slow;                  /* send little, for a slow connection */
    char language[16];          /* "auto" (from LANG) or one of language_names */
    char export_directory[400]; /* the folder proposed for exports; "": the current one */
    char export_format[12];     /* format of comparisons: "markdown", "csv", "json" */
    char x_axis[12];            /* last choice for curves: "iteration", "epoch", "time" */
    bool log_x, log_y;          /* last choice for curves: logarithmic axes */
    char smoothing[8];          /* last choice for curves: one of smoothing_names */
    bool all_values;            /* last choice for curves: outliers widen the y axis */
    bool shared_runs; /* accept folders of runs that are shared with a group (folder_trust.h) */
};

enum preference_kind { PREFERENCE_FLAG, PREFERENCE_NAME, PREFERENCE_TEXT };

struct preference {
    const char *key;      /* in the file and as an option */
    const char *label;    /* on the screen */
    const char *argument; /* in the help of the option: "yes|no" */
    const char *help;
    enum preference_kind kind;
    size_t offset, size;        /* place of the member in struct preferences, in bytes */
    const char *const *choices; /* the valid names, NULL-terminated; else NULL */
};

extern const struct preference preference_table[];
enum { PREFERENCE_COUNT = 13 };

/* Fills in the defaults. */
void preferences_defaults(struct preferences *preferences);

/* Sets a preference from text; flags are "yes" or "no". Fails if there is no such key or the value
 * is invalid. */
bool preferences_set(struct preferences *preferences, const char *key, const char *value,
                     struct error *error);

/* Writes the value as preferences_set reads it, "" for an unknown key. Returns `text`. */
char *preferences_get(const struct preferences *preferences, const char *key, char *text,
                      size_t size);

/* --- the file --- */

/* Fills in the values of the file, and the defaults for the others. A missing file is no error. On
 * failure (with file, line, key and reason) the valid settings are filled in; the file should then
 * not be written, since that would lose the invalid ones. */
bool preferences_read(struct preferences *preferences, struct error *error);

/* Writes the file, and creates its folder if necessary. The file is replaced as a whole or not at
 * all. */
bool preferences_write(const struct preferences *preferences, struct error *error);

/* --- last form ---
 *
 * saves the configuration form in $XDG_STATE_HOME/tinca/form.json, so that the next
 * session begins with it. The file holds the settings that the user has changed, and the preset. */

/* Fills the configuration with the defaults and the saved settings. Returns false if there is no
 * saved form or it cannot be read. Settings that are no longer valid are left out; *skipped
 * describes the first of them, or why the file cannot be read (kind ERROR_NONE: neither). */
bool last_form_read(struct run_config *config, struct error *skipped);

/* Saves the preset and the settings that the user has given. */
bool last_form_write(const struct run_config *config, struct error *error);

#endif
