/* Reads and writes a grid as JSON. The written file can be read back, and looks like one written by
 * hand. */
#include "studies/sweep/sweep_grid.h"

#include "base/files/file.h"
#include "base/language.h"
#include "base/text.h"
#include "runs/settings/settings.h"

#include <stdio.h>
#include <string.h>

enum { FILE_LIMIT = 1 << 20 };

/* --- reading --- */

static bool fail_at(const struct json_document *document, const struct json *value, const char *key,
                    const char *why, struct error *error)
{
    return error_set(error, ERROR_INPUT, document->name, _("see tinca-sweep(1), FILE"),
                     _("line %zu: \"%s\": %s"), json_line(document, value), key, why);
}

/* Writes a JSON scalar as the text that config_set parses. */
static bool scalar_text(const struct json *value, char *text, size_t size)
{
    double number;
    bool flag;
    if (json_string(value))
        return (size_t)snprintf(text, size, "%s", json_string(value)) < size;
    if (json_bool(value, &flag))
        return snprintf(text, size, "%s", flag ? "yes" : "no") > 0;
    return json_number(value, &number) && snprintf(text, size, "%.17g", number) > 0;
}

/* Adds one value of a setting: to an axis if it is an element of an array, else to the base
 * configuration. */
static bool read_value(struct sweep_grid *grid, const struct json_document *document,
                       const struct json *value, const char *key, bool axis, struct error *error)
{
    char text[1024], why[800];
    struct error inner;
    if (!scalar_text(value, text, sizeof text))
        return fail_at(document, value, key, _("a text or a number was expected"), error);
    if (axis ? sweep_grid_add(grid, key, text, &inner) : config_set(&grid->base, key, text, &inner))
        return true;
    snprintf(why, sizeof why, "%s: %s", inner.why, inner.advice);
    return fail_at(document, value, key, why, error);
}

/* Reads the tags or the note of the cells' runs. */
static bool read_label(struct sweep_grid *grid, const struct json_document *document,
                       const struct json *member, const char *text, struct error *error)
{
    struct error inner;
    const bool tags = strcmp(json_key(member), "tags") == 0;
    if (!(tags ? run_tags_check(text, &inner) : run_note_check(text, &inner)))
        return fail_at(document, member, json_key(member), inner.why, error);
    snprintf(tags ? grid->tags : grid->note, tags ? sizeof grid->tags : sizeof grid->note, "%s",
             text);
    return true;
}

static bool read_grid_member(struct sweep_grid *grid, const struct json_document *document,
                             const struct json *member, struct error *error)
{
    const char *key = json_key(member), *text = json_string(member);
    if (!text)
        return fail_at(document, member, key, _("a text was expected"), error);
    if (strcmp(key, "tags") == 0 || strcmp(key, "note") == 0)
        return read_label(grid, document, member, text, error);
    if (strcmp(key, "name") == 0)
        snprintf(grid->name, sizeof grid->name, "%s", text);
    else if (strcmp(key, "format") == 0 && strcmp(text, "tinca-sweep") != 0)
        return fail_at(document, member, key, _("this is not a grid of tinca"), error);
    return true;
}

/* Reads the chains of techniques, a text or an array of texts, or the epochs of their fine-tuning.
 */
static bool read_after(struct sweep_grid *grid, const struct json_document *document,
                       const struct json *member, struct error *error)
{
    struct error inner;
    const struct json *value = json_is_array(member) ? json_first(member) : member;
    if (strcmp(json_key(member), "after_epochs") == 0)
        return json_count(member, &grid->after_epochs) ||
               fail_at(document, member, json_key(member), _("a number was expected"), error);
    for (; value; value = json_is_array(member) ? json_next(value) : NULL) {
        if (!json_string(value))
            return fail_at(document, value, "after", _("a text was expected"), error);
        if (!sweep_grid_add_after(grid, json_string(value), &inner))
            return fail_at(document, value, "after", inner.why, error);
    }
    return true;
}

static bool is_grid_member(const char *key)
{
    static const char *const keys[] = {"name", "format", "grid", "tags", "note"};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (strcmp(keys[i], key) == 0)
            return true;
    return false;
}

static bool read_member(struct sweep_grid *grid, const struct json_document *document,
                        const struct json *member, struct error *error)
{
    const char *key = json_key(member);
    if (is_grid_member(key))
        return read_grid_member(grid, document, member, error);
    if (strcmp(key, "version") == 0)
        return true;
    if (strcmp(key, "after") == 0 || strcmp(key, "after_epochs") == 0)
        return read_after(grid, document, member, error);
    if (!json_is_array(member)) /* "networks": "lenet" is a list with one element */
        return read_value(grid, document, member, key, !config_find(key), error);
    if (json_length(member) == 0)
        return fail_at(document, member, key, _("a value at least was expected"), error);
    for (const struct json *value = json_first(member); value; value = json_next(value))
        if (!read_value(grid, document, value, key, true, error))
            return false;
    return true;
}

/* Reads all members. The study's grid is applied last, wherever it is named, because it fills what
 * the file leaves open. */
static bool read_tree(struct sweep_grid *grid, const struct json_document *document,
                      struct error *error)
{
    if (!json_is_object(document->root))
        return error_set(error, ERROR_INPUT, document->name, _("see tinca-sweep(1), FILE"),
                         _("a grid was expected: { \"networks\": [...] }"));
    for (const struct json *member = json_first_member(document->root); member;
         member = json_next(member))
        if (!read_member(grid, document, member, error))
            return false;
    const char *preset = json_string(json_member(document->root, "grid"));
    return !preset || sweep_grid_apply(grid, preset, error);
}

static void name_after_file(struct sweep_grid *grid, const char *path)
{
    const char *base = file_base_name(path), *dot = strrchr(base, '.');
    if (!grid->name[0])
        snprintf(grid->name, sizeof grid->name, "%.*s", dot ? (int)(dot - base) : 60, base);
}

bool sweep_grid_read(struct sweep_grid *grid, const char *path, struct error *error)
{
    struct json_document document;
    if (!json_read_file(&document, path, FILE_LIMIT, error))
        return false;
    bool read = read_tree(grid, &document, error);
    if (read)
        name_after_file(grid, path);
    json_document_free(&document);
    return read;
}

/* --- writing --- */

bool sweep_grid_add_value(struct json *parent, const char *key, const struct config_field *field,
                          const char *value)
{
    double number;
    bool numeric = field->kind == CONFIG_COUNT || field->kind == CONFIG_NUMBER;
    return numeric && text_to_double(value, &number) ? json_add_number(parent, key, number)
                                                     : json_add_string(parent, key, value);
}

static bool add_axis(struct json *root, const struct sweep_axis *axis)
{
    const char *plural = axis->field->grid.plural;
    struct json *array = json_add_array(root, plural ? plural : axis->field->key);
    bool added = array;
    for (size_t i = 0; added && i < axis->count; i++)
        added = sweep_grid_add_value(array, NULL, axis->field, axis->values[i]);
    return added;
}

/* Adds the settings of the base configuration that are no axes and no part of the preset. */
static bool add_base(struct json *root, const struct sweep_grid *grid)
{
    char value[1024];
    bool added = root;
    for (size_t i = 0; added && i < config_field_count; i++) {
        const char *key = config_fields[i].key;
        bool preset = strcmp(key, KEY(preset)) == 0 && training_settings(&grid->base).preset[0];
        if ((!preset && !config_is_given(&grid->base, key)) || sweep_grid_axis(grid, key))
            continue;
        config_get(&grid->base, key, value, sizeof value);
        added = sweep_grid_add_value(root, key, &config_fields[i], value);
    }
    return added;
}

static bool add_after(struct json *root, const struct sweep_grid *grid)
{
    struct json *list = grid->after_count > 0 ? json_add_array(root, "after") : NULL;
    bool added = list || grid->after_count == 0;
    for (size_t i = 0; added && i < grid->after_count; i++)
        added = json_add_string(list, NULL, grid->after[i]);
    return added &&
           (!grid->after_epochs || json_add_count(root, "after_epochs", grid->after_epochs));
}

struct json *sweep_grid_to_json(const struct sweep_grid *grid)
{
    struct json *root = json_new_object();
    bool added = json_add_string(root, "format", "tinca-sweep") &&
                 json_add_count(root, "version", 1) && json_add_string(root, "name", grid->name) &&
                 (!grid->tags[0] || json_add_string(root, "tags", grid->tags)) &&
                 (!grid->note[0] || json_add_string(root, "note", grid->note)) &&
                 add_after(root, grid);
    for (size_t i = 0; added && i < grid->axis_count; i++)
        added = add_axis(root, &grid->axes[i]);
    if (added && add_base(root, grid))
        return root;
    json_free(root);
    return NULL;
}
