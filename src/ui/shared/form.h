/* form.h: deciding in the form: which fields there are, what they offer, what is typed into them
 * and what is wrong. Everything comes from config_fields; no drawing here. */
#ifndef TINCA_UI_SHARED_FORM_H
#define TINCA_UI_SHARED_FORM_H

#include "session/config/config.h"
#include "session/measure/forecast.h"
#include "ui/widgets/chooser.h"
#include "ui/widgets/line_edit.h"

#include <stdbool.h>
#include <stddef.h>

enum { FORM_MAX_FIELDS = 64, FORM_TEXT = 512 };

#define FORM_NO_FIELD ((size_t)-1)

struct form {
    struct run_config config;
    bool all; /* every field, also those that mean nothing beside the others */
    const struct config_field *fields[FORM_MAX_FIELDS];
    size_t count, focus, top; /* `top`: the first field in sight */
    /* what was typed into a text field, by its place in config_fields, kept while its suggestions
     * are looked through */
    char typed[FORM_MAX_FIELDS][FORM_TEXT];

    bool editing; /* the focused field */
    struct line_edit edit;
    struct error edit_error; /* why the text was not taken; kind ERROR_NONE: none */

    bool forecast_stale; /* the forecast is of an older configuration */
    bool forecast_known; /* the forecast is there */
    struct forecast forecast;
    struct error problem; /* why this cannot work; kind ERROR_NONE: it can */
    size_t problem_field; /* which field's fault it is, or FORM_NO_FIELD */
};

void form_begin(struct form *form, const struct run_config *config);

/* Another configuration in the same form: what is shown and where the focus is stay. */
void form_replace(struct form *form, const struct run_config *config);

/* Shows every field, or only those that mean something (config_applies). The focus stays where it
 * is if its field does. */
void form_show_all(struct form *form, bool all);

const struct config_field *form_focused(const struct form *form);
/* The field's value as text; "" when empty. Returns `text`. */
char *form_value(const struct form *form, size_t field, char *text, size_t size);
bool form_is_optional(const struct config_field *field);

void form_move(struct form *form, int steps); /* the focus; stops at the ends */

/* What a field offers, for a list. `note` may be "". An item that ends in ':' wants more typed
 * after it. Returns how many. The texts live as long as the form is not changed. */
size_t form_items(const struct form *form, size_t field, struct chooser_item *items);

/* The next (+1) or previous (-1) value of the focused field: the next suggestion, the other flag,
 * or a step for numbers without suggestions. */
void form_cycle(struct form *form, int direction);

/* Begins to edit the focused field with its value, or with `text` instead. */
void form_edit(struct form *form, const char *text);
/* The same by typing: false when this key does not begin anything there. */
bool form_edit_by_typing(struct form *form, int key);
/* A key while editing. Enter takes the text, Esc leaves the old value, Tab completes a path. */
void form_edit_key(struct form *form, int key);

/* Sets the focused field from text; false with edit_error. */
bool form_set(struct form *form, const char *text);

/* Makes the forecast of the configuration as it is now. */
void form_make_forecast(struct form *form);

/* Which field an error speaks of, or FORM_NO_FIELD. */
size_t form_blame(const struct form *form, const struct error *error);

/* Scrolls so that the focused field lies within `rows` rows. */
void form_scroll(struct form *form, size_t rows);

#endif
