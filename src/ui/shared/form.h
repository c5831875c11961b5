/* form.h: the state of the configuration form: which fields it has, the values they offer, the text
 * being edited, and the forecast or the error of the configuration. The fields come from
 * config_fields. No drawing. */
#ifndef TINCA_UI_SHARED_FORM_H
#define TINCA_UI_SHARED_FORM_H

#include "base/error.h"
#include "runs/settings/config.h"
#include "training/forecast_make.h"
#include "ui/widgets/chooser.h"
#include "ui/widgets/completion.h"
#include "ui/widgets/line_edit.h"

#include <stdbool.h>
#include <stddef.h>

enum { FORM_MAX_FIELDS = CONFIG_MAX_FIELDS, FORM_TEXT = 512 };

#define FORM_NO_FIELD ((size_t)-1)

struct form {
    struct run_config config;
    bool all; /* shows every field, even those without effect in this configuration */
    const struct config_field *fields[FORM_MAX_FIELDS];
    size_t count, focus, top; /* number of fields; the focused one; the first visible one */
    /* the last typed value of each text field, by its index in config_fields; it stays among the
     * values that the field offers */
    char typed[FORM_MAX_FIELDS][FORM_TEXT];

    bool editing; /* the focused field */
    struct line_edit edit;
    struct completion completion; /* the candidates for `edit` */
    struct error edit_error;      /* why the typed text is invalid; kind ERROR_NONE: it is valid */

    size_t ranks;        /* the processes that would train the run together; 0, 1: one alone */
    bool forecast_stale; /* the configuration has changed since the forecast */
    bool forecast_known; /* `forecast` is valid */
    struct forecast forecast;
    char opened_data[512]; /* the data set that was opened last ... */
    size_t opened_classes; /* ... and its number of classes; 0: none */
    struct error problem;  /* why the configuration cannot run; kind ERROR_NONE: it can */
    size_t problem_field;  /* the field that causes the problem, or FORM_NO_FIELD */
};

/* Begins a form with a configuration. */
void form_begin(struct form *form, const struct run_config *config);

/* Replaces the configuration. The visible fields and the focus stay. */
void form_replace(struct form *form, const struct run_config *config);

/* Shows why a run with this configuration was refused, until the form changes. Does nothing if the
 * form has another configuration by now. */
void form_refuse(struct form *form, const struct run_config *config, const struct error *error);

/* Shows every field, or only those with an effect (config_applies). The focus stays on its field if
 * that is still shown. */
void form_show_all(struct form *form, bool all);

/* Returns the focused field. */
const struct config_field *form_focused(const struct form *form);

/* Writes the value of the field with this index as text, "" if it is empty. Returns `text`. */
char *form_value(const struct form *form, size_t field, char *text, size_t size);

/* Writes what the value of a field with a rate means ("widths / 2"), or "" for other
 * fields. Returns `text`. */
char *form_note(const struct form *form, size_t field, char *text, size_t size);

/* Moves the focus by `steps` fields, at most to the first or the last one. */
void form_move(struct form *form, int steps);

/* Fills `items` (CHOOSER_MAX_ITEMS of them) with the values that a field offers: its suggestions
 * and the last typed one. Returns how many there are. The texts are valid until the form changes.
 */
size_t form_items(const struct form *form, size_t field, struct chooser_item *items);

/* Sets the focused field to its next (+1) or previous (-1) value: the next offered one, the other
 * of yes and no, or for a number without offered values the next integer. */
void form_cycle(struct form *form, int direction);

/* --- editing the focused field --- */

/* Returns whether the focused field holds text, which every printable key edits. */
bool form_takes_text(const struct form *form);

/* Begins to edit the focused field, with `text` or (NULL) its value. Fields with a fixed choice of
 * values cannot be edited. */
void form_edit(struct form *form, const char *text);

/* Begins to edit the focused field with the key (or the paste) as the first one typed; Backspace
 * edits its value. Returns false if the key does not begin a value of that field. */
bool form_edit_by_typing(struct form *form, int key);

/* Handles a key while editing: Enter takes the selected candidate or sets the value, Esc closes the
 * list of candidates or restores the old value, Tab completes. */
void form_edit_key(struct form *form, int key);

/* Sets the field to the text that is edited and ends the editing. Returns false and sets edit_error
 * if the text is invalid; true if nothing is edited. */
bool form_end_edit(struct form *form);

/* Ends the editing; the field keeps its value. */
void form_cancel_edit(struct form *form);

/* Adds candidates that have become known in the meantime. Returns whether it added the last ones.
 */
bool form_step(struct form *form);

/* Returns whether candidates are still being read, so that form_step has to be called. */
bool form_is_waiting(const struct form *form);

/* Sets the focused field from text. Returns false and sets edit_error if the text is invalid. */
bool form_set(struct form *form, const char *text);

/* Takes the number of classes of the present data set, which has been opened (0: it has none); the
 * forecast becomes stale if it assumed another. */
void form_take_classes(struct form *form, size_t classes);

/* Computes the forecast of the configuration, or sets the problem. */
void form_make_forecast(struct form *form);

/* Scrolls so that the focused field is one of the `rows` visible ones. */
void form_scroll(struct form *form, size_t rows);

/* --- setting words ---
 *
 * messages about settings in the words of the form.
 *
 * Messages of the session name a setting by its option, "--batch", as they are read on the command
 * line. On the screen the same setting is a row with a label, "Batch size".
 */

/* Copies a text with the labels of settings in place of their options. A text that quotes a command
 * of tinca is copied as it is. Returns `out`. */
char *setting_words(const char *text, char *out, size_t size);

/* Returns the error with labels in place of options in all its texts. */
struct error setting_error(const struct error *error);

/* Writes the error as error_format does, with labels in place of options. Returns `text`. */
char *setting_error_format(const struct error *error, char *text, size_t size);

#endif
