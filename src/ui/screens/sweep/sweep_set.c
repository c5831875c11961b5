/* The set-up of a sweep. A table describes the rows: lists of values, which become the dimensions
 * of the grid, and lines of text, which are settings of all runs. Selecting a study's grid fills
 * them in.
 */
#include "ui/screens/sweep/internal.h"

#include "base/language.h"
#include "runs/settings/settings.h"
#include "studies/sweep/sweep_after.h"
#include "ui/terminal/keys.h"

#include <stdio.h>
#include <string.h>

/* A row is a list with a key, a line with a key, or neither. The label of a row with a key is the
 * setting's. */
static const struct {
    const char *label, *key;
    bool list;
} rows[SWEEP_ROWS] = {[SWEEP_ROW_GRID] = {N_("Study's grid"), NULL, false},
                      [SWEEP_ROW_NETWORKS] = {NULL, KEY(network), true},
                      [SWEEP_ROW_TECHNIQUES] = {NULL, KEY(technique), true},
                      [SWEEP_ROW_BATCHES] = {NULL, KEY(batch), true},
                      [SWEEP_ROW_DEVICES] = {NULL, KEY(device), true},
                      [SWEEP_ROW_VARY] = {N_("Other lists"), NULL, false},
                      [SWEEP_ROW_DATA] = {NULL, KEY(data), false},
                      [SWEEP_ROW_ITERATIONS] = {NULL, KEY(iterations), false},
                      [SWEEP_ROW_EPOCHS] = {NULL, KEY(epochs), false},
                      [SWEEP_ROW_AFTER] = {N_("After training"), NULL, false},
                      [SWEEP_ROW_NAME] = {N_("Name"), NULL, false}};

const char *sweep_set_label(enum sweep_row row)
{
    const struct config_field *field = rows[row].key ? config_find(rows[row].key) : NULL;
    return gettext(!field ? rows[row].label : rows[row].list ? field->grid.label : field->label);
}

bool sweep_set_is_list(enum sweep_row row)
{
    return rows[row].list;
}

static size_t preset_count(void)
{
    size_t count = 0;
    while (sweep_presets[count].name)
        count++;
    return count;
}

/* --- lists --- */

/* Chooses or unchooses the item with this text, adding it if necessary. Returns false if the list
 * is full. */
static bool choose(struct sweep_list *list, const char *text, bool chosen)
{
    size_t i = 0;
    while (i < list->count && strcmp(list->items[i].text, text) != 0)
        i++;
    if (i == SWEEP_ITEMS || strlen(text) >= sizeof list->items[i].text)
        return false;
    if (i == list->count)
        snprintf(list->items[list->count++].text, sizeof list->items[i].text, "%s", text);
    list->items[i].chosen |= chosen;
    return true;
}

static void fill_list(struct sweep_set *set, enum sweep_row row)
{
    char value[512];
    const char *suggestion;
    struct sweep_list *list = &set->lists[row];
    for (size_t i = 0; (suggestion = config_suggestion(rows[row].key, i)); i++)
        choose(list, suggestion, false);
    choose(list, config_get(&set->base, rows[row].key, value, sizeof value), true);
    while (list->selected + 1 < list->count && !list->items[list->selected].chosen)
        list->selected++;
}

void sweep_set_begin(struct sweep_set *set, const struct run_config *config)
{
    sweep_set_cancel_edit(set);
    *set = (struct sweep_set){
        .base = *config, .grid = preset_count(), .focus = SWEEP_ROW_NETWORKS, .changed = true};
    for (size_t row = 0; row < SWEEP_ROWS; row++)
        if (rows[row].list)
            fill_list(set, (enum sweep_row)row);
}

static char *list_text(const struct sweep_list *list, char *text, size_t size)
{
    size_t used = 0;
    text[0] = '\0';
    for (size_t i = 0; i < list->count && used < size; i++)
        if (list->items[i].chosen)
            used += (size_t)snprintf(text + used, size - used, "%s%s", used ? ", " : "",
                                     list->items[i].text);
    return text;
}

char *sweep_set_text(const struct sweep_set *set, enum sweep_row row, char *text, size_t size)
{
    if (rows[row].list)
        return list_text(&set->lists[row], text, size);
    if (row == SWEEP_ROW_GRID)
        snprintf(text, size, "%s",
                 set->grid < preset_count() ? sweep_presets[set->grid].name : _("custom"));
    else if (row == SWEEP_ROW_NAME)
        snprintf(text, size, "%s", set->name);
    else if (row == SWEEP_ROW_VARY)
        snprintf(text, size, "%s", set->vary);
    else if (row == SWEEP_ROW_AFTER)
        snprintf(text, size, "%s", set->after);
    else if (row == SWEEP_ROW_EPOCHS && training_settings(&set->base).has_iterations)
        text[0] = '\0'; /* the length is given in iterations */
    else
        config_get(&set->base, rows[row].key, text, size);
    return text;
}

/* --- keys --- */

void sweep_set_move(struct sweep_set *set, int steps)
{
    long to = (long)set->focus + steps;
    set->focus = (size_t)(to < 0 ? 0 : to >= SWEEP_ROWS ? SWEEP_ROWS - 1 : to);
    set->edit_error = (struct error){0};
}

/* Chooses in each list the values of a study's grid. */
static void take_grid(struct sweep_set *set, const struct sweep_grid *grid)
{
    set->base = grid->base;
    for (size_t row = 0; row < SWEEP_ROWS; row++) {
        const struct sweep_axis *axis =
            rows[row].list ? sweep_grid_axis(grid, rows[row].key) : NULL;
        struct sweep_list *list = &set->lists[row];
        for (size_t i = 0; axis && i < list->count; i++)
            list->items[i].chosen = false;
        for (size_t i = 0; axis && i < axis->count; i++)
            choose(list, axis->values[i], true);
    }
}

/* Selects the next or previous grid. A study's grid replaces all settings of the form except the
 * number of threads. */
static void turn_grid(struct sweep_set *set, int direction)
{
    size_t count = preset_count() + 1;
    struct sweep_grid grid;
    set->grid = (set->grid + (direction > 0 ? 1 : count - 1)) % count;
    if (set->grid == preset_count())
        return;
    sweep_grid_begin(&grid);
    config_put_count(&grid.base, KEY(threads), machine_settings(&set->base).threads);
    if (sweep_grid_apply(&grid, sweep_presets[set->grid].name, NULL)) {
        take_grid(set, &grid);
        set->vary[0] = '\0';
        snprintf(set->name, sizeof set->name, "%s", sweep_presets[set->grid].name);
    }
    sweep_grid_free(&grid);
}

static void turn_data(struct sweep_set *set, int direction)
{
    size_t count = 0, at = 0;
    for (const char *name; (name = config_suggestion(KEY(data), count)); count++)
        if (strcmp(name, data_settings(&set->base).data) == 0)
            at = count + (direction > 0 ? 1 : 0);
    if (count == 0)
        return;
    at = direction > 0 ? at % count : (at + count - 1) % count;
    config_set(&set->base, KEY(data), config_suggestion(KEY(data), at), NULL);
}

void sweep_set_turn(struct sweep_set *set, int direction)
{
    struct sweep_list *list = &set->lists[set->focus];
    if (rows[set->focus].list) {
        if (direction < 0 && list->selected > 0)
            list->selected--;
        else if (direction > 0 && list->selected + 1 < list->count)
            list->selected++;
        return;
    }
    if (set->focus == SWEEP_ROW_GRID)
        turn_grid(set, direction);
    else if (set->focus == SWEEP_ROW_DATA)
        turn_data(set, direction);
    else
        return;
    set->changed = true;
}

void sweep_set_toggle(struct sweep_set *set)
{
    struct sweep_list *list = &set->lists[set->focus];
    if (!rows[set->focus].list || list->count == 0)
        return;
    list->items[list->selected].chosen = !list->items[list->selected].chosen;
    set->grid = preset_count();
    set->changed = true;
}

void sweep_set_all(struct sweep_set *set)
{
    struct sweep_list *list = &set->lists[set->focus];
    bool all = true;
    if (!rows[set->focus].list)
        return;
    for (size_t i = 0; i < list->count; i++)
        all = all && list->items[i].chosen;
    for (size_t i = 0; i < list->count; i++)
        list->items[i].chosen = !all || i == list->selected;
    set->grid = preset_count();
    set->changed = true;
}

/* --- typing --- */

/* Adds the values of a typed text such as "mynet.json" or "16,24" to the focused list and chooses
 * them. */
static bool add_typed(struct sweep_set *set, const char *text)
{
    const char *key = rows[set->focus].key;
    struct sweep_list *list = &set->lists[set->focus];
    struct sweep_grid grid;
    sweep_grid_begin(&grid);
    bool added = !text[0] || sweep_grid_vary(&grid, key, text, &set->edit_error);
    const struct sweep_axis *axis = added ? sweep_grid_axis(&grid, key) : NULL;
    for (size_t i = 0; added && axis && i < axis->count; i++)
        added = choose(list, axis->values[i], true) ||
                error_set(&set->edit_error, ERROR_USAGE, axis->values[i],
                          _("take the other values in another sweep"),
                          _("a list has at most %d values"), SWEEP_ITEMS);
    for (size_t i = 0; added && axis && i < list->count; i++)
        if (strcmp(list->items[i].text, axis->values[axis->count - 1]) == 0)
            list->selected = i;
    if (axis)
        set->grid = preset_count();
    sweep_grid_free(&grid);
    return added;
}

static completion_source *source_of(const struct sweep_set *set)
{
    return set->focus == SWEEP_ROW_DATA   ? completion_of_data
           : set->focus == SWEEP_ROW_VARY ? completion_of_varied
           : rows[set->focus].list        ? completion_of_field
                                          : NULL;
}

bool sweep_set_completes(const struct sweep_set *set)
{
    return source_of(set);
}

void sweep_set_step(struct sweep_set *set)
{
    if (set->editing)
        completion_step(&set->completion, &set->edit, source_of(set), &set->subject);
}

bool sweep_set_is_waiting(const struct sweep_set *set)
{
    return set->editing && completion_is_waiting(&set->completion);
}

void sweep_set_cancel_edit(struct sweep_set *set)
{
    completion_close(&set->completion);
    set->editing = false;
}

bool sweep_set_edit(struct sweep_set *set)
{
    char text[512];
    enum sweep_row row = (enum sweep_row)set->focus;
    const bool list = rows[row].list;
    if (row == SWEEP_ROW_GRID)
        return false;
    set->subject = (struct completion_subject){list ? config_find(rows[row].key) : NULL, ""};
    size_t limit = row == SWEEP_ROW_NAME    ? sizeof set->name
                   : row == SWEEP_ROW_VARY  ? sizeof set->vary
                   : row == SWEEP_ROW_AFTER ? sizeof set->after
                                            : sizeof set->edit.text;
    line_edit_begin(&set->edit, list ? "" : sweep_set_text(set, row, text, sizeof text), limit,
                    true);
    set->editing = true;
    if (source_of(set))
        completion_update(&set->completion, &set->edit, true, source_of(set), &set->subject);
    return true;
}

/* Sets the length of the runs. It is given either in iterations or in epochs; setting one clears
 * the other. */
static bool set_length(struct sweep_set *set, const char *key, const char *text,
                       struct error *error)
{
    struct run_config changed = set->base;
    if (!text[0] && strcmp(key, KEY(epochs)) == 0) {
        snprintf(error->why, sizeof error->why, "%s",
                 _("Give a number of epochs, or type iterations in the line above."));
        error->kind = ERROR_USAGE;
        return false;
    }
    if (!config_set(&changed, KEY(iterations), "", error) ||
        !config_set(&changed, key, text, error))
        return false;
    if (strcmp(key, KEY(iterations)) == 0 && text[0])
        config_forget(&changed, KEY(epochs));
    set->base = changed;
    return true;
}

/* Adds the varied settings of a text such as "lr=0.1,0.01 seed=1,2" to the grid. */
static bool vary(struct sweep_grid *grid, const char *text, struct error *error)
{
    char words[sizeof((struct sweep_set *)0)->vary], *rest = words;
    snprintf(words, sizeof words, "%s", text);
    bool varied = true;
    for (char *word; varied && (word = strtok_r(rest, " ", &rest));)
        varied = sweep_grid_vary_setting(grid, word, error);
    return varied;
}

static bool take_vary(struct sweep_set *set, const char *text)
{
    struct sweep_grid grid;
    sweep_grid_begin(&grid);
    grid.base = set->base;
    bool taken = vary(&grid, text, &set->edit_error);
    sweep_grid_free(&grid);
    if (taken)
        snprintf(set->vary, sizeof set->vary, "%.255s", text);
    return taken;
}

/* Takes the chains of techniques after training, if all of them are known. */
static bool take_after(struct sweep_set *set, const char *text)
{
    struct sweep_grid grid;
    sweep_grid_begin(&grid);
    bool taken = !text[0] || sweep_grid_add_after(&grid, text, &set->edit_error);
    for (size_t i = 0; taken && i < grid.after_count; i++)
        taken = sweep_chain_check(grid.after[i], &set->edit_error);
    sweep_grid_free(&grid);
    if (taken)
        snprintf(set->after, sizeof set->after, "%.511s", text);
    return taken;
}

static bool set_row_text(struct sweep_set *set, const char *text)
{
    const char *key = rows[set->focus].key;
    if (rows[set->focus].list)
        return add_typed(set, text);
    if (set->focus == SWEEP_ROW_NAME)
        snprintf(set->name, sizeof set->name, "%.63s", text);
    else if (set->focus == SWEEP_ROW_VARY)
        return take_vary(set, text);
    else if (set->focus == SWEEP_ROW_AFTER)
        return take_after(set, text);
    else if (set->focus == SWEEP_ROW_ITERATIONS || set->focus == SWEEP_ROW_EPOCHS)
        return set_length(set, key, text, &set->edit_error);
    else
        return config_set(&set->base, key, text, &set->edit_error);
    return true;
}

static void end_edit(struct sweep_set *set)
{
    if (!set_row_text(set, set->edit.text))
        return;
    sweep_set_cancel_edit(set);
    set->changed = true;
}

void sweep_set_key(struct sweep_set *set, int key)
{
    const enum completion_result result =
        completion_edit_key(&set->completion, &set->edit, key, source_of(set), &set->subject);
    set->edit_error = (struct error){0};
    if (result == COMPLETION_TAKEN && set->focus == SWEEP_ROW_VARY) /* more values may follow */
        completion_close(&set->completion);
    else if (result == COMPLETION_TAKEN)
        end_edit(set);
    else if (result == COMPLETION_IGNORED && key == UI_ENTER)
        end_edit(set);
    else if (result == COMPLETION_IGNORED && key == UI_ESCAPE)
        sweep_set_cancel_edit(set);
}

/* --- the grid --- */

bool sweep_set_grid(const struct sweep_set *set, struct sweep_grid *grid, struct error *error)
{
    bool made = true;
    sweep_grid_begin(grid);
    grid->base = set->base;
    snprintf(grid->name, sizeof grid->name, "%s", set->name);
    for (size_t row = 0; made && row < SWEEP_ROWS; row++) {
        const struct sweep_list *list = &set->lists[row];
        size_t chosen = 0;
        for (size_t i = 0; made && rows[row].list && i < list->count; i++)
            if (list->items[i].chosen && ++chosen)
                made = sweep_grid_add(grid, rows[row].key, list->items[i].text, error);
        if (made && rows[row].list && chosen == 0)
            made = error_set(error, ERROR_USAGE, sweep_set_label((enum sweep_row)row),
                             _("space chooses the selected value"), _("nothing is chosen"));
    }
    made = made && vary(grid, set->vary, error) &&
           (!set->after[0] ||
            (sweep_grid_add_after(grid, set->after, error) && sweep_grid_add_control(grid, error)));
    if (!made)
        sweep_grid_free(grid);
    return made;
}
