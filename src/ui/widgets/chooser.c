/* `shown` holds the indices of the items that contain the typed text; every edit of the text builds
 * it again and selects its first item. */
#include "ui/widgets/chooser.h"

#include "base/language.h"
#include "ui/terminal/columns.h"
#include "ui/terminal/draw.h"
#include "ui/terminal/keys.h"
#include "ui/widgets/listing.h"

#include <stdio.h>
#include <string.h>

static bool has_words(const struct chooser_item *item, const char *words)
{
    char word[64];
    for (int length; (length = (int)strcspn(words, " ")) > 0 || *words; words += length) {
        snprintf(word, sizeof word, "%.*s", length, words);
        if (!strcasestr(item->text, word) && !strcasestr(item->note, word))
            return false;
        length += words[length] == ' ';
    }
    return true;
}

/* Returns whether the text is a command's key: "s", or the last of the keys "m s". */
static bool is_key(const char *key, const char *text)
{
    const char *last = strrchr(key, ' ');
    return strcmp(last ? last + 1 : key, text) == 0;
}

/* Returns the place of an item among those that match, 0 before 1 before 2, or -1 if it does not
 * match. */
static int rank_of(const struct chooser *chooser, size_t index)
{
    const struct chooser_item *item = &chooser->items[index];
    const char *typed = chooser->filter.text;
    if (!chooser->commands)
        return strcasestr(item->text, typed) ? 0 : -1;
    if (is_key(chooser->keys[index], typed))
        return 0;
    return !has_words(item, typed) ? -1 : 1 + (strncasecmp(item->text, typed, strlen(typed)) != 0);
}

static void apply_filter(struct chooser *chooser)
{
    chooser->shown_count = 0;
    for (int rank = 0; rank <= 2; rank++)
        for (size_t i = 0; i < chooser->count; i++)
            if (rank_of(chooser, i) == rank)
                chooser->shown[chooser->shown_count++] = i;
    chooser->selected = 0;
    chooser->top = 0;
    chooser->typed = chooser->free_text && chooser->filter.text[0];
    for (size_t i = 0; chooser->typed && i < chooser->shown_count; i++)
        if (strcmp(chooser->items[chooser->shown[i]].text, chooser->filter.text) == 0) {
            chooser->selected = i;
            chooser->typed = false;
        }
}

void chooser_begin(struct chooser *chooser, const char *title, const struct chooser_item *items,
                   size_t count, const char *current, bool free_text)
{
    memset(chooser, 0, sizeof *chooser);
    chooser->open = true;
    chooser->free_text = free_text;
    snprintf(chooser->title, sizeof chooser->title, "%s", title);
    chooser->count = count < CHOOSER_MAX_ITEMS ? count : CHOOSER_MAX_ITEMS;
    memcpy(chooser->items, items, chooser->count * sizeof *items);
    line_edit_begin(&chooser->filter, "", sizeof chooser->filter.text, false);
    apply_filter(chooser);
    for (size_t i = 0; i < chooser->count; i++)
        if (strcmp(chooser->items[i].text, current) == 0)
            chooser->selected = i;
}

void chooser_show_commands(struct chooser *chooser, const char *const *keys)
{
    chooser->commands = true;
    memcpy(chooser->keys, keys, chooser->count * sizeof *keys);
}

void chooser_complete(struct chooser *chooser, completion_source *source)
{
    chooser->source = source;
}

void chooser_step(struct chooser *chooser)
{
    if (chooser->open)
        completion_step(&chooser->completion, &chooser->filter, chooser->source, chooser);
}

bool chooser_is_waiting(const struct chooser *chooser)
{
    return chooser->open && completion_is_waiting(&chooser->completion);
}

void chooser_free(struct chooser *chooser)
{
    completion_close(&chooser->completion);
    chooser->open = false;
}

static void move(struct chooser *chooser, long steps)
{
    if (chooser->typed && chooser->shown_count > 0) { /* from the text into the list */
        chooser->typed = false;
        steps = steps > 0 ? steps - 1 : steps;
    }
    chooser->selected = list_step(chooser->selected, steps, chooser->shown_count);
}

/* Handles a key that edits or completes what is typed. */
static void edit_key(struct chooser *chooser, int key)
{
    const enum completion_result result =
        completion_edit_key(&chooser->completion, &chooser->filter, key, chooser->source, chooser);
    if (result == COMPLETION_CHANGED || result == COMPLETION_TAKEN)
        apply_filter(chooser);
    if (result == COMPLETION_CHANGED && chooser->source) /* it sees which items are shown */
        completion_update(&chooser->completion, &chooser->filter, false, chooser->source, chooser);
    if (result == COMPLETION_TAKEN)
        completion_close(&chooser->completion);
}

enum chooser_result chooser_key(struct chooser *chooser, int key)
{
    const bool completes = completion_is_shown(&chooser->completion);
    const enum move how = move_of_key(key);
    if (!completes && how < MOVE_LEFT) {
        move(chooser, move_steps(how, 8, CHOOSER_MAX_ITEMS));
        return CHOOSER_OPEN;
    }
    if (key == UI_ESCAPE && !completes)
        return CHOOSER_CANCELLED;
    if (key == UI_ENTER && chooser->completion.selected == 0)
        return chooser_choice(chooser) ? CHOOSER_CHOSEN : CHOOSER_OPEN;
    edit_key(chooser, key);
    return CHOOSER_OPEN;
}

const char *chooser_choice(const struct chooser *chooser)
{
    if (!chooser->typed && chooser->selected < chooser->shown_count)
        return chooser->items[chooser->shown[chooser->selected]].text;
    return chooser->free_text && chooser->filter.text[0] ? chooser->filter.text : NULL;
}

static void draw_item(struct chooser *chooser, struct canvas *canvas, struct rect list, int row,
                      int text_column, int note_column)
{
    const size_t index = chooser->shown[chooser->top + (size_t)row];
    const struct chooser_item *item = &chooser->items[index];
    bool selected = !chooser->typed && chooser->top + (size_t)row == chooser->selected;
    struct rect line = {list.row + row, list.column, 1, list.columns};
    if (selected) {
        draw_fill(canvas, line, ROLE_FOCUS);
        draw_text(canvas, line, 0, 0, ROLE_FOCUS, ">");
    }
    if (chooser->commands)
        draw_text(canvas, line, 0, 2, selected ? ROLE_FOCUS : ROLE_KEY, chooser->keys[index]);
    const enum role role = selected ? ROLE_FOCUS : ROLE_TEXT;
    const char *text = item->text[0] ? item->text : _("(none)");
    const bool sentence = chooser->commands && !item->note[0]; /* a command without a short name */
    const int column = sentence ? draw_sentence(canvas, line, 0, text_column, role, text)
                                : draw_fitted_name(canvas, line, 0, text_column, role, text);
    if (item->note[0])
        draw_sentence(canvas, line, 0, column < note_column ? note_column : column + 2,
                      selected ? ROLE_FOCUS : ROLE_FAINT, item->text[0] ? item->note : "");
}

static int widest_item(const struct chooser *chooser)
{
    size_t widest = 8;
    for (size_t i = 0; i < chooser->count; i++) {
        const struct chooser_item *item = &chooser->items[i];
        size_t columns = chooser->commands && !item->note[0] ? 0 : columns_of(item->text);
        widest = columns > widest && columns < 40 ? columns : widest;
    }
    return (int)widest;
}

/* Returns the column of the texts: after the keys of commands. */
static int text_column(const struct chooser *chooser)
{
    size_t widest = 0;
    for (size_t i = 0; chooser->commands && i < chooser->count; i++)
        widest = columns_of(chooser->keys[i]) > widest ? columns_of(chooser->keys[i]) : widest;
    return 2 + (int)widest + 2 * (widest > 0);
}

static bool has_notes(const struct chooser *chooser)
{
    for (size_t i = 0; i < chooser->count; i++)
        if (chooser->items[i].note[0] && chooser->items[i].text[0])
            return true;
    return false;
}

static void draw_filter(struct chooser *chooser, struct canvas *canvas, struct rect inside)
{
    static const char prompt[] = "/ ";
    size_t column;
    int space = inside.columns - (int)sizeof prompt;
    size_t start = line_edit_window(&chooser->filter, space > 1 ? (size_t)space : 1, &column);
    int at = draw_text(canvas, inside, 0, 0, ROLE_KEY, prompt);
    if (chooser->filter.text[0])
        draw_text(canvas, inside, 0, at, ROLE_TEXT, chooser->filter.text + start);
    else {
        const char *words = _("type to search, or to enter another value");
        const bool whole = chooser->free_text && at + (int)columns_of(words) <= inside.columns;
        draw_text(canvas, inside, 0, at, ROLE_FAINT,
                  whole                ? words
                  : chooser->free_text ? _("search, or another value")
                                       : _("type to search"));
    }
    const char *hint = _("Enter takes it; Down goes to the list");
    const int end = at + (int)columns_of(chooser->filter.text + start) + 2;
    if (chooser->typed && chooser->shown_count > 0 && end + (int)columns_of(hint) <= inside.columns)
        draw_right(canvas, inside, 0, ROLE_FAINT, hint);
    if (chooser->filter.text[0])
        draw_cursor(canvas, inside, 0, at + (int)column);
}

/* Draws the candidates for what is typed over the list. */
static void draw_candidates(struct chooser *chooser, struct canvas *canvas, struct rect inside)
{
    const struct rect all = {0, inside.column, canvas->rows, canvas->columns - inside.column};
    if (!completion_is_shown(&chooser->completion))
        return;
    targets_clear(&canvas->targets); /* a click must not reach what the candidates cover */
    completion_draw(&chooser->completion, canvas, all, inside.row, 0);
}

void chooser_draw(struct chooser *chooser, struct canvas *canvas)
{
    int widest = widest_item(chooser);
    int columns = has_notes(chooser) ? 76 : widest + 8 < 48 ? 48 : widest + 8;
    const int texts = text_column(chooser);
    int rows = (int)chooser->count + 3;
    struct rect box = layout_dialog(canvas->rows - 2, canvas->columns, rows, columns);
    box.row += canvas->rows > 2;
    struct rect inside = draw_box(canvas, box, chooser->title);
    draw_filter(chooser, canvas, inside);
    struct rect list = {inside.row + 1, inside.column, inside.rows - 1, inside.columns};
    if (list.rows <= 0)
        return;
    size_t visible_rows = (size_t)list.rows;
    chooser->top =
        listing_scroll(chooser->top, chooser->selected, visible_rows, chooser->shown_count);
    for (int row = 0; row < list.rows && chooser->top + (size_t)row < chooser->shown_count; row++) {
        struct rect line = {list.row + row, list.column, 1, list.columns};
        draw_item(chooser, canvas, list, row, texts, texts + widest + 2);
        targets_add_row(&canvas->targets, line, chooser->top + (size_t)row + 1,
                        chooser->typed ? 0 : chooser->selected + 1);
    }
    if (chooser->shown_count == 0)
        draw_format(canvas, list, 0, 2, ROLE_WARNING,
                    chooser->free_text ? _("Enter chooses what you typed") : _("nothing matches"));
    else if (!chooser->filter.text[0])
        draw_cursor(canvas, list, (int)(chooser->selected - chooser->top), 0);
    draw_candidates(chooser, canvas, inside);
}
