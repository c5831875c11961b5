/* Every change of a value goes through form_set or form_replace, which choose the fields again (a
 * value can make others meaningless), check the configuration and mark the forecast as stale. The
 * forecast itself takes longer, so the screen asks for it when the user pauses. */
#include "ui/shared/form.h"

#include "base/files/user_path.h"
#include "base/language.h"
#include "base/text.h"
#include "data/images/spec_value.h"
#include "models/measure/model_operand.h"
#include "runs/settings/config.h"
#include "runs/settings/config_differences.h"
#include "runs/settings/config_paths.h"
#include "runs/settings/settings.h"
#include "ui/shared/completion_sources.h"
#include "ui/terminal/keys.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- form edit --- */

/* Editing the focused field: the line with its list of candidates. On a field that holds text the
 * list follows every key; Enter without a selected candidate takes the line as it was typed. */

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

/* --- the form --- */

/* Chooses the fields to show and leaves the focus on the same field if it is still shown. */
static void choose_fields(struct form *form)
{
    const struct config_field *focused = form->count ? form->fields[form->focus] : NULL;
    form->count = 0;
    for (size_t i = 0; i < config_field_count; i++) {
        const struct config_field *field = &config_fields[i];
        if (!form->all && !config_applies(&form->config, field))
            continue;
        if (field == focused)
            form->focus = form->count;
        form->fields[form->count++] = field;
    }
    if (form->focus >= form->count)
        form->focus = form->count - 1;
}

/* Returns whether `what` names the option: "--batch 12", "--data". */
static bool names_option(const char *what, const char *key)
{
    char option[64];
    snprintf(option, sizeof option, "--%s", key);
    size_t length = strlen(option);
    return strncmp(what, option, length) == 0 && (what[length] == '\0' || what[length] == ' ');
}

/* Returns whether an error is about a file or folder of a data set, "KIND:PATH,OPTION". */
static bool names_path(const char *what, const char *key, const char *value)
{
    char absolute[FORM_TEXT + 64];
    const char *path = strchr(value, ':');
    if (!path || !config_absolute_value(key, value, absolute, sizeof absolute, NULL))
        return false;
    char plain[FORM_TEXT + 64];
    path = strchr(absolute, ':') + 1;
    if (!spec_value_read(path, spec_value_length(path), plain, sizeof plain))
        return false;
    path = plain;
    return path[0] == '/' && strncmp(what, path, strlen(path)) == 0;
}

/* Returns the field that an error is about, by its option, value, path, key or label, or
 * FORM_NO_FIELD. */
static size_t field_of_error(const struct form *form, const struct error *error)
{
    char value[FORM_TEXT];
    for (size_t i = 0; i < form->count; i++)
        if (names_option(error->what, form->fields[i]->key))
            return i;
    for (size_t i = 0; i < form->count; i++)
        if (form->fields[i]->kind == CONFIG_TEXT && form_value(form, i, value, sizeof value)[0] &&
            (strstr(error->what, value) || names_path(error->what, form->fields[i]->key, value)))
            return i;
    for (size_t i = 0; i < form->count; i++)
        if (strcasestr(error->what, form->fields[i]->key) ||
            strcasestr(error->what, form->fields[i]->label) ||
            strcasestr(error->what, gettext(form->fields[i]->label)))
            return i;
    return FORM_NO_FIELD;
}

/* Marks the forecast as stale and checks the configuration. */
static void changed(struct form *form)
{
    form->forecast_stale = true;
    form->edit_error.kind = ERROR_NONE;
    form->problem.kind = ERROR_NONE;
    form->problem_field = FORM_NO_FIELD;
    choose_fields(form);
    if (!config_check(&form->config, &form->problem))
        form->problem_field = field_of_error(form, &form->problem);
}

void form_begin(struct form *form, const struct run_config *config)
{
    memset(form, 0, sizeof *form);
    form->config = *config;
    config_put(&form->config, KEY(seed_group), "", NULL); /* a run that is started joins no group */
    changed(form);
}

void form_replace(struct form *form, const struct run_config *config)
{
    form->config = *config;
    config_put(&form->config, KEY(seed_group), "", NULL);
    form_cancel_edit(form);
    changed(form);
}

void form_refuse(struct form *form, const struct run_config *config, const struct error *error)
{
    for (size_t i = 0; i < config_field_count; i++)
        if (!config_field_equal(&form->config, config, &config_fields[i]))
            return;
    form->problem = *error;
    form->problem_field = field_of_error(form, error);
    if (form->problem_field != FORM_NO_FIELD)
        form->focus = form->problem_field;
}

void form_show_all(struct form *form, bool all)
{
    form->all = all;
    choose_fields(form);
    if (form->problem.kind != ERROR_NONE)
        form->problem_field = field_of_error(form, &form->problem);
}

static char *typed_into(struct form *form, const struct config_field *field)
{
    return form->typed[field - config_fields];
}

const struct config_field *form_focused(const struct form *form)
{
    return form->fields[form->focus];
}

char *form_value(const struct form *form, size_t field, char *text, size_t size)
{
    return config_get(&form->config, form->fields[field]->key, text, size);
}

char *form_note(const struct form *form, size_t field, char *text, size_t size)
{
    const struct config_field *row = form->fields[field];
    char value[32];
    double number;
    text[0] = '\0';
    form_value(form, field, value, sizeof value);
    if (row->zero && strcmp(value, "0") == 0)
        snprintf(text, size, "%s", gettext(row->zero));
    else if (row->divides && text_to_double(value, &number))
        snprintf(text, size, gettext(row->divides), number);
    return text;
}

void form_move(struct form *form, int steps)
{
    long to = (long)form->focus + steps;
    form->focus = to < 0 ? 0 : to >= (long)form->count ? form->count - 1 : (size_t)to;
    form->edit_error.kind = ERROR_NONE;
}

void form_scroll(struct form *form, size_t rows)
{
    if (form->focus < form->top)
        form->top = form->focus;
    if (rows > 0 && form->focus >= form->top + rows)
        form->top = form->focus - rows + 1;
    if (rows >= form->count)
        form->top = 0;
    else if (form->top + rows > form->count)
        form->top = form->count - rows;
}

/* --- the values that fields offer --- */

static bool has_item(const struct chooser_item *items, size_t count, const char *text)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(items[i].text, text) == 0)
            return true;
    return false;
}

static void add_item(struct chooser_item *items, size_t *count, const char *text, const char *note)
{
    if (*count < CHOOSER_MAX_ITEMS && !has_item(items, *count, text))
        items[(*count)++] = (struct chooser_item){text, note};
}

static void add_suggestions(struct chooser_item *items, size_t *count,
                            const struct config_field *field)
{
    const char *text;
    for (size_t n = 0; (text = config_suggestion(field->key, n)); n++)
        add_item(items, count, text, "");
}

size_t form_items(const struct form *form, size_t field, struct chooser_item *items)
{
    size_t count = 0;
    if (form->fields[field]->optional)
        add_item(items, &count, "", _("none"));
    add_suggestions(items, &count, form->fields[field]);
    const char *typed = form->typed[form->fields[field] - config_fields];
    if (typed[0])
        add_item(items, &count, typed, _("as typed"));
    return count;
}

/* --- changing values --- */

static size_t find_item(const struct chooser_item *items, size_t count, const char *text)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(items[i].text, text) == 0)
            return i;
    return count;
}

/* Returns the offered number nearest to the value in that direction, or NULL. */
static const char *next_number(const struct chooser_item *items, size_t count, double value,
                               int direction)
{
    const char *best = NULL;
    double best_value = 0, number;
    for (size_t i = 0; i < count; i++) {
        if (!text_to_double(items[i].text, &number) || (number - value) * direction <= 0)
            continue;
        if (!best || (best_value - number) * direction > 0) {
            best = items[i].text;
            best_value = number;
        }
    }
    return best;
}

static void step_number(struct form *form, const struct config_field *field, double value,
                        int direction)
{
    char text[64];
    double to = value + direction;
    if (to < field->low || to > field->high)
        return;
    snprintf(text, sizeof text, "%.0f", to);
    form_set(form, text);
}

void form_cycle(struct form *form, int direction)
{
    const struct config_field *field = form_focused(form);
    struct chooser_item items[CHOOSER_MAX_ITEMS];
    size_t count = form_items(form, form->focus, items);
    char value[FORM_TEXT];
    double number;
    form_value(form, form->focus, value, sizeof value);
    bool numeric = field->kind == CONFIG_COUNT || field->kind == CONFIG_NUMBER;
    if (field->kind == CONFIG_FLAG)
        form_set(form, strcmp(value, "yes") == 0 ? "no" : "yes");
    else if (numeric && text_to_double(value, &number)) {
        const char *next = next_number(items, count, number, direction);
        if (next)
            form_set(form, next);
        else if (count == 0)
            step_number(form, field, number, direction);
    } else if (count > 0) {
        size_t at = find_item(items, count, value);
        size_t to = at == count ? (direction > 0 ? 0 : count - 1)
                                : (at + count + (size_t)(direction > 0 ? 1 : count - 1)) % count;
        form_set(form, items[to].text);
    }
}

/* Sets a field of the configuration. A model may be a run, as every model of the command line. */
static bool set_field(struct run_config *config, const struct config_field *field, const char *text,
                      struct error *error)
{
    config_allow_share(config); /* the form shows the share, and may change it */
    if (field->holds != HOLDS_MODEL || !text[0])
        return config_set(config, field->key, text, error);
    char *path = model_operand_path(text, error);
    const bool set = path && config_set(config, field->key, path, error);
    free(path);
    return set;
}

bool form_set(struct form *form, const char *text)
{
    const struct config_field *field = form_focused(form);
    struct error error = {0};
    char before[FORM_TEXT];
    form_value(form, form->focus, before, sizeof before);
    if (!set_field(&form->config, field, text, &error)) {
        form->edit_error = error;
        return false;
    }
    if (field->kind == CONFIG_TEXT && before[0] && !field->choices) {
        struct chooser_item items[CHOOSER_MAX_ITEMS];
        size_t count = 0;
        add_suggestions(items, &count, field);
        if (!has_item(items, count, before)) /* stepping through suggestions would lose it */
            memcpy(typed_into(form, field), before, sizeof before);
    }
    changed(form);
    return true;
}

/* --- the forecast --- */

/* Returns the number of classes of the form's data set, if it has been opened; else 0. */
static size_t known_classes(const struct form *form)
{
    return strcmp(form->opened_data, data_settings(&form->config).data) == 0 ? form->opened_classes
                                                                             : 0;
}

void form_take_classes(struct form *form, size_t classes)
{
    if (known_classes(form) == classes)
        return;
    snprintf(form->opened_data, sizeof form->opened_data, "%s", data_settings(&form->config).data);
    form->opened_classes = classes;
    form->forecast_stale = true;
}

void form_make_forecast(struct form *form)
{
    form->forecast_stale = false;
    form->forecast_known = false;
    form->problem_field = FORM_NO_FIELD;
    form->problem = (struct error){0};
    struct run_config config = form->config;
    config_share(&config, form->ranks);
    if (!config_check(&config, &form->problem) ||
        !forecast_make(&config, known_classes(form), &form->forecast, &form->problem)) {
        form->problem_field = field_of_error(form, &form->problem);
        return;
    }
    form->forecast_known = true;
    if (form->forecast.fits)
        return;
    forecast_refuse(&form->forecast, training_settings(&form->config).batch, &form->problem);
    snprintf(form->problem.what, sizeof form->problem.what, "%s", OPTION(batch));
    form->problem_field = field_of_error(form, &form->problem);
}

/* --- setting words --- */

/* Returns the setting whose option begins at `text`, and sets the length of the option; NULL: none
 * begins there. */
static const struct config_field *option_at(const char *text, size_t *length)
{
    char key[32];
    if (strncmp(text, "--", 2) != 0)
        return NULL;
    const size_t letters = strspn(text + 2, "abcdefghijklmnopqrstuvwxyz0123456789-");
    *length = 2 + letters;
    if (letters >= sizeof key)
        return NULL;
    snprintf(key, sizeof key, "%.*s", (int)letters, text + 2);
    return config_find(key);
}

char *setting_words(const char *text, char *out, size_t size)
{
    size_t used = 0;
    if (strstr(text, "tinca ")) {
        snprintf(out, size, "%s", text);
        return out;
    }
    if (size > 0)
        out[0] = '\0';
    while (*text && used + 1 < size) {
        size_t length = 0;
        const struct config_field *field = option_at(text, &length);
        if (field)
            snprintf(out + used, size - used, "%s", gettext(field->label));
        else
            snprintf(out + used, size - used, "%c", *text);
        used += strlen(out + used);
        text += field ? length : 1;
    }
    return out;
}

struct error setting_error(const struct error *error)
{
    struct error labelled = {.kind = error->kind};
    setting_words(error->what, labelled.what, sizeof labelled.what);
    setting_words(error->why, labelled.why, sizeof labelled.why);
    setting_words(error->advice, labelled.advice, sizeof labelled.advice);
    return labelled;
}

char *setting_error_format(const struct error *error, char *text, size_t size)
{
    const struct error labelled = setting_error(error);
    return error_format(&labelled, text, size);
}
