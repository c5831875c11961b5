/* Editing the focused field: the line with its list of candidates. On a field that holds text the
 * list follows every key; Enter without a selected candidate takes the line as it was typed. */
#include "ui/shared/form.h"

#include "base/files/user_path.h"
#include "ui/shared/completion_sources.h"
#include "ui/terminal/keys.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool form_takes_text(const struct form *form)
{
    const struct config_field *field = form_focused(form);
    return field->kind == CONFIG_TEXT && !field->choices;
}

static bool can_edit(const struct config_field *field)
{
    return field->kind != CONFIG_FLAG && field->kind != CONFIG_CHOICE && !field->choices;
}

/* --- candidates --- */

static struct completion_subject subject_of(const struct form *form)
{
    const struct config_field *field = form_focused(form);
    return (struct completion_subject){field, form->typed[field - config_fields]};
}

/* Returns the source of the focused field's candidates, or NULL. */
static completion_source *source_of(const struct form *form)
{
    return completion_has_source(form_focused(form)) ? completion_of_field : NULL;
}

bool form_is_waiting(const struct form *form)
{
    return form->editing && completion_is_waiting(&form->completion);
}

bool form_step(struct form *form)
{
    const struct completion_subject subject = subject_of(form);
    return form->editing &&
           completion_step(&form->completion, &form->edit, source_of(form), &subject);
}

/* --- beginning and end --- */

/* Begins to edit with a text. */
static void begin(struct form *form, const char *text, bool all)
{
    const struct config_field *field = form_focused(form);
    const size_t limit = field->kind == CONFIG_TEXT ? field->size : 32;
    line_edit_begin(&form->edit, text, limit, false);
    form->edit_error.kind = ERROR_NONE;
    form->editing = true;
    const struct completion_subject subject = subject_of(form);
    if (source_of(form))
        completion_update(&form->completion, &form->edit, all, completion_of_field, &subject);
}

void form_edit(struct form *form, const char *text)
{
    char value[FORM_TEXT];
    if (can_edit(form_focused(form)))
        begin(form, text ? text : form_value(form, form->focus, value, sizeof value), !text);
}

bool form_edit_by_typing(struct form *form, int key)
{
    const bool number = (key >= '0' && key <= '9') || key == '.' || key == UI_PASTE;
    const bool fits = form_takes_text(form) ? key_is_printable(key) || key == UI_PASTE : number;
    if (!can_edit(form_focused(form)) || (!fits && key != UI_BACKSPACE))
        return false;
    form_edit(form, key == UI_BACKSPACE ? NULL : "");
    form_edit_key(form, key);
    if (form->edit.text[0] || key == UI_BACKSPACE)
        return true;
    form_cancel_edit(form); /* the paste was empty or too long: the value stays */
    return true;
}

void form_cancel_edit(struct form *form)
{
    form->editing = false;
    form->edit_error.kind = ERROR_NONE;
    completion_close(&form->completion);
}

bool form_end_edit(struct form *form)
{
    if (!form->editing)
        return true;
    /* network files are opened by their names as they are; data sets expand ~ themselves */
    char *text = user_path_expand(form->edit.text);
    form->editing = !text || !form_set(form, text);
    free(text);
    if (!form->editing)
        completion_close(&form->completion);
    return !form->editing;
}

/* --- keys --- */

static void end_and_move(struct form *form, int steps)
{
    if (form_end_edit(form))
        form_move(form, steps);
}

void form_edit_key(struct form *form, int key)
{
    const struct completion_subject subject = subject_of(form);
    switch (completion_edit_key(&form->completion, &form->edit, key, source_of(form), &subject)) {
    case COMPLETION_CHANGED:
        form->edit_error.kind = ERROR_NONE;
        return;
    case COMPLETION_TAKEN:
        form_end_edit(form);
        return;
    case COMPLETION_MOVED:
        return;
    case COMPLETION_IGNORED:
        break;
    }
    if (key == UI_ESCAPE)
        form_cancel_edit(form);
    else if (key == UI_ENTER)
        form_end_edit(form);
    else if (key == UI_UP || key == UI_BACK_TAB)
        end_and_move(form, -1);
    else if (key == UI_DOWN || key == UI_TAB)
        end_and_move(form, 1);
}
