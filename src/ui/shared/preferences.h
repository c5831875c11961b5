/* preferences.h: how the user likes the workbench, kept in $XDG_CONFIG_HOME/tinca/config.json.
 *
 * One table serves the file, the command line (--KEY), the screen of settings and the manual
 * (tinca-config(5)), so that they cannot disagree. What the file holds and what is in force are two
 * such structs: an option on the command line holds for this time only and is not written.
 */
#ifndef TINCA_UI_SHARED_PREFERENCES_H
#define TINCA_UI_SHARED_PREFERENCES_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>

struct preferences {
    char colours[16];           /* a name of ui_colours */
    char symbols[16];           /* "auto", or a name of ui_symbols */
    bool mouse, slow;           /* take the mouse; spare the line */
    char language[16];          /* "auto": what LANG says, or one of language_names */
    char export_directory[400]; /* where exports are proposed; "": the current folder */
    char export_format[12];     /* of comparisons: "markdown", "csv", "json" */
    char x_axis[12];            /* the last choices of the curves: "iteration", "epoch", "time" */
    bool log_x, log_y;
    bool shared_runs; /* accept folders of runs that are shared with a group (folder_trust.h) */
};

enum preference_kind { PREFERENCE_FLAG, PREFERENCE_NAME, PREFERENCE_TEXT };

struct preference {
    const char *key, *label, *argument, *help;
    enum preference_kind kind;
    size_t offset, size;
    const char *const *choices; /* of names, NULL-terminated */
};

extern const struct preference preference_table[];
enum { PREFERENCE_COUNT = 11 };

const struct preference *preferences_find(const char *key); /* NULL: none */
void preferences_defaults(struct preferences *preferences);

/* Parses a value: yes and no for flags. False with an error that names the option. */
bool preferences_set(struct preferences *preferences, const char *key, const char *value,
                     struct error *error);
/* The value as preferences_set would read it. Returns `text`. */
char *preferences_get(const struct preferences *preferences, const char *key, char *text,
                      size_t size);

/* --- the file --- */

/* Its path, owned by the caller; NULL when neither HOME nor XDG_CONFIG_HOME is set. */
char *preferences_path(struct error *error);

/* Fills in what the file holds, the defaults elsewhere. No file is no error. False with what is
 * wrong with it (file, line, key, why): then the settings that can be understood are filled in, and
 * the file should not be written, since that would lose what its owner meant. */
bool preferences_read(struct preferences *preferences, struct error *error);

/* Writes the file, and its folder if need be; what was there is replaced as a whole or not at all.
 */
bool preferences_write(const struct preferences *preferences, struct error *error);

#endif
