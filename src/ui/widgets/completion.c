/* The candidates are made afresh after each change of the line; only the names of the last
 * folders are kept between two changes. Folders are read within a short wait, or appear later. */
#include "ui/widgets/completion.h"

#include "base/character.h"
#include "base/files/file.h"
#include "base/files/lines.h"
#include "base/files/user_path.h"
#include "base/language.h"
#include "base/memory.h"
#include "base/threads/detached_task.h"
#include "ui/terminal/columns.h"
#include "ui/terminal/draw.h"
#include "ui/terminal/keys.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- folder listing ---
 *
 * A detached task reads the folder and looks at each name, so a disk that does not answer leaves at
 * most a thread behind. */

struct folder_listing {
    struct detached_task *background; /* used by the caller's thread alone */
    char *path;
    struct folder_name *names;
    size_t count;
};

static void free_listing(void *state)
{
    struct folder_listing *listing = state;
    for (size_t i = 0; i < listing->count; i++)
        free(listing->names[i].name);
    free(listing->names);
    free(listing->path);
    free(listing);
}

/* Adds a name. Returns false if out of memory; the list then ends before it. */
static bool add(struct folder_listing *listing, const char *name, bool is_folder)
{
    if ((listing->count & (listing->count - 1)) == 0) { /* room for a power of two is used up */
        const size_t room = listing->count ? 2 * listing->count : 1;
        struct folder_name *names = realloc(listing->names, room * sizeof *names);
        if (!names)
            return false;
        listing->names = names;
    }
    char *copy = memory_copy_text(name, NULL);
    if (copy)
        listing->names[listing->count++] = (struct folder_name){copy, is_folder};
    return copy;
}

static bool add_file(struct folder_listing *listing, const char *name)
{
    char *path = file_join(listing->path, name);
    const bool added = path && add(listing, name, file_is_directory(path));
    free(path);
    return added;
}

static void list_lines(struct folder_listing *listing)
{
    enum { LINE = 256 };
    struct lines lines;
    size_t length;
    if (!lines_open(&lines, listing->path, LINE, NULL))
        return;
    for (char *line;
         listing->count < FOLDER_LISTING_LINES && (line = lines_next(&lines, &length, NULL));) {
        line[strcspn(line, "\r")] = '\0';
        if (!add(listing, line, false))
            break;
    }
    lines_close(&lines);
}

static int compare(const void *one, const void *other)
{
    const struct folder_name *left = one, *right = other;
    return strcmp(left->name, right->name);
}

static void work(void *state)
{
    struct folder_listing *listing = state;
    DIR *directory = opendir(listing->path);
    if (!directory) {
        list_lines(listing);
        return;
    }
    for (struct dirent *entry; (entry = readdir(directory));)
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0 &&
            !add_file(listing, entry->d_name))
            break;
    closedir(directory);
    if (listing->count > 0)
        qsort(listing->names, listing->count, sizeof *listing->names, compare);
}

/* Begins to list a folder or a file. Returns NULL with an error if no thread can start. */
static struct folder_listing *folder_listing_start(const char *path, struct error *error)
{
    struct folder_listing *listing = memory_new(1, sizeof *listing, path, error);
    if (!listing)
        return NULL;
    listing->path = memory_copy_text(path, error);
    if (listing->path)
        listing->background = detached_task_start(work, free_listing, listing, error);
    if (listing->background)
        return listing;
    free_listing(listing);
    return NULL;
}

/* Returns the path that was given to folder_listing_start. */
static const char *folder_listing_path(const struct folder_listing *listing)
{
    return listing->path;
}

/* Waits until the listing is complete or `seconds` have passed; returns whether it is complete. */
static bool folder_listing_wait(const struct folder_listing *listing, double seconds)
{
    return detached_task_wait(listing->background, seconds);
}

/* Returns the names of a complete listing and sets *count: those in a folder sorted by their bytes,
 * the lines of a file in their order, at most FOLDER_LISTING_LINES. There are none if it cannot be
 * read. They live as long as the listing. */
static const struct folder_name *folder_listing_names(const struct folder_listing *listing,
                                                      size_t *count)
{
    *count = listing->count;
    return listing->names;
}

/* Cancels the listing and frees its names. Never waits. NULL is allowed. */
static void folder_listing_drop(struct folder_listing *listing)
{
    if (listing)
        detached_task_drop(listing->background);
}

static const double LISTING_SECONDS = 0.008; /* enough for most folders, too short to be noticed */

/* --- adding candidates --- */

void completion_stem(struct completion *completion, const char *text, size_t from)
{
    completion->from = from;
    completion->to = strlen(text);
    snprintf(completion->stem, sizeof completion->stem, "%s", text + from);
}

static bool begins_with_stem(const struct completion *completion, const char *text)
{
    return strncmp(text, completion->stem, strlen(completion->stem)) == 0;
}

void completion_add(struct completion *completion, const char *text, const char *note, bool more)
{
    if (strlen(text) >= COMPLETION_TEXT ||
        (!completion->all && !begins_with_stem(completion, text)))
        return;
    for (size_t i = 0; i < completion->count; i++)
        if (strcmp(completion->items[i].text, text) == 0)
            return;
    if (completion->count == COMPLETION_ITEMS) {
        completion->left_out++;
        return;
    }
    struct completion_item *item = &completion->items[completion->count++];
    snprintf(item->text, sizeof item->text, "%s", text);
    snprintf(item->note, sizeof item->note, "%s", note);
    item->more = more;
}

/* --- folders --- */

/* Moves the listing of the path to the front. If there is none, a new one takes the place of the
 * listing that was not used for the longest time. */
static void select_listing(struct completion *completion, const char *path)
{
    struct folder_listing **listings = completion->listings, *found;
    size_t at = 0;
    while (at < COMPLETION_LISTINGS - 1 && listings[at] &&
           strcmp(folder_listing_path(listings[at]), path) != 0)
        at++;
    found = listings[at];
    if (!found || strcmp(folder_listing_path(found), path) != 0) {
        folder_listing_drop(found);
        found = folder_listing_start(path, NULL); /* NULL: without names until later */
    }
    memmove(listings + 1, listings, at * sizeof *listings);
    listings[0] = found;
}

const struct folder_name *completion_folder(struct completion *completion, const char *path,
                                            size_t *count)
{
    char *expanded = user_path_expand(path[0] ? path : ".");
    if (expanded)
        select_listing(completion, expanded);
    free(expanded);
    const struct folder_listing *listing = expanded ? completion->listings[0] : NULL;
    completion->waiting = !listing || !folder_listing_wait(listing, LISTING_SECONDS);
    return completion->waiting ? NULL : folder_listing_names(listing, count);
}

bool completion_is_waiting(const struct completion *completion)
{
    return completion->open && completion->waiting;
}

static bool ends_in(const char *name, const char *ending)
{
    const size_t length = strlen(name), end = strlen(ending);
    return length >= end && strcmp(name + length - end, ending) == 0;
}

/* A name with hidden characters cannot be shown as it is, so it is not offered. */
static bool is_visible(const char *name)
{
    bool visible = true;
    for (; *name && visible; name += character_length(name, &visible))
        continue;
    return visible;
}

void completion_add_paths(struct completion *completion, const char *text, size_t from,
                          const char *ending)
{
    const char *slash = strrchr(text + from, '/');
    const size_t name_from = slash ? (size_t)(slash - text) + 1 : from;
    char folder[sizeof((struct line_edit *)0)->text], item[COMPLETION_TEXT];
    size_t count = 0;
    const int before = completion->all ? (int)name_from : 0; /* then an item is the whole text */
    snprintf(folder, sizeof folder, "%.*s", (int)(name_from - from), text + from);
    completion_stem(completion, text, completion->all ? 0 : name_from);
    if (strcmp(text + from, "~") == 0)
        completion_add(completion, "~/", _("the home directory"), true);
    const struct folder_name *names = completion_folder(completion, folder, &count);
    for (size_t i = 0; names && i < count; i++) {
        const char *name = names[i].name;
        const bool hidden = name[0] == '.' && text[name_from] != '.';
        if (hidden || !is_visible(name) ||
            !(names[i].is_folder || (ending && ends_in(name, ending))))
            continue;
        const int length = snprintf(item, sizeof item, "%.*s%s%s", before, text, name,
                                    names[i].is_folder ? "/" : "");
        if (length < (int)sizeof item) /* half a name would be another one */
            completion_add(completion, item, "", names[i].is_folder);
    }
}

/* --- the list --- */

void completion_update(struct completion *completion, const struct line_edit *edit, bool all,
                       completion_source *source, const void *context)
{
    char text[sizeof edit->text];
    snprintf(text, sizeof text, "%.*s", (int)edit->cursor, edit->text);
    completion->open = true;
    completion->all = all;
    completion->count = completion->left_out = 0;
    completion->selected = completion->top = 0;
    completion->waiting = false;
    completion_stem(completion, text, 0);
    source(completion, text, context);
    const bool complete = completion->count == 1 && !completion->items[0].more &&
                          strcmp(completion->items[0].text, completion->stem) == 0;
    if (complete) /* it offers only what is there */
        completion->count = 0;
}

bool completion_is_shown(const struct completion *completion)
{
    return completion->open && completion->count > 0;
}

/* --- keys --- */

static void move(struct completion *completion, int steps)
{
    const long to = (long)completion->selected + steps, last = (long)completion->count;
    completion->selected = (size_t)(to < 0 ? 0 : to > last ? last : to);
}

/* Selects the next or the previous candidate; after the last comes the first. */
static void turn(struct completion *completion, bool forwards)
{
    const size_t count = completion->count, selected = completion->selected;
    if (forwards)
        completion->selected = selected < count ? selected + 1 : 1;
    else
        completion->selected = selected > 1 ? selected - 1 : count;
}

static bool replace(const struct completion *completion, struct line_edit *edit, const char *text)
{
    const size_t length = strlen(text), end = strlen(edit->text);
    const size_t from = completion->from, to = completion->to;
    if (end - (to - from) + length >= edit->limit)
        return false;
    memmove(edit->text + from + length, edit->text + to, end - to + 1);
    memcpy(edit->text + from, text, length);
    edit->cursor = from + length;
    edit->replace_on_typing = false;
    return true;
}

/* Replaces the stem by the selected candidate, unless the line has no room for it. */
static enum completion_result take(const struct completion *completion, struct line_edit *edit)
{
    const struct completion_item *item = &completion->items[completion->selected - 1];
    if (!replace(completion, edit, item->text))
        return COMPLETION_MOVED;
    return item->more || edit->text[edit->cursor] ? COMPLETION_CHANGED : COMPLETION_TAKEN;
}

/* Returns the length of the common beginning in bytes; it ends between two characters. */
static size_t common_length(const char *one, const char *other)
{
    size_t same = 0, length;
    for (bool visible; one[same]; same += length) {
        length = character_length(one + same, &visible);
        if (strncmp(one + same, other + same, length) != 0)
            break;
    }
    return same;
}

/* Extends the line by what all candidates that begin with the stem have in common. Returns whether
 * the line has changed. */
static bool extend(const struct completion *completion, struct line_edit *edit)
{
    char common[COMPLETION_TEXT] = "";
    bool any = false;
    for (size_t i = 0; i < completion->count; i++) {
        const char *text = completion->items[i].text;
        if (!begins_with_stem(completion, text))
            continue;
        if (any)
            common[common_length(common, text)] = '\0';
        else
            snprintf(common, sizeof common, "%s", text);
        any = true;
    }
    return strlen(common) > strlen(completion->stem) && replace(completion, edit, common);
}

enum completion_result completion_key(struct completion *completion, struct line_edit *edit,
                                      int key)
{
    enum { PAGE = 8 };
    const bool selected = completion->selected > 0;
    if (!completion_is_shown(completion))
        return COMPLETION_IGNORED;
    if (key == UI_DOWN || key == UI_PAGE_DOWN)
        move(completion, key == UI_DOWN ? 1 : PAGE);
    else if (selected && (key == UI_UP || key == UI_PAGE_UP))
        move(completion, key == UI_UP ? -1 : -PAGE);
    else if (selected && key == UI_ENTER)
        return take(completion, edit);
    else if (key == UI_TAB && !selected && !completion->all && extend(completion, edit))
        return COMPLETION_CHANGED;
    else if (key == UI_TAB || key == UI_BACK_TAB)
        turn(completion, key == UI_TAB);
    else if (key == UI_ESCAPE)
        completion->open = false;
    else
        return COMPLETION_IGNORED;
    return COMPLETION_MOVED;
}

enum completion_result completion_edit_key(struct completion *completion, struct line_edit *edit,
                                           int key, completion_source *source, const void *context)
{
    enum completion_result result = completion_key(completion, edit, key);
    const bool opens =
        result == COMPLETION_IGNORED && source && (key == UI_TAB || key == UI_BACK_TAB);
    if (opens)
        result = COMPLETION_MOVED;
    else if (result == COMPLETION_IGNORED && line_edit_key(edit, key))
        result = COMPLETION_CHANGED;
    if (source && (opens || result == COMPLETION_CHANGED))
        completion_update(completion, edit, false, source, context);
    return result;
}

bool completion_step(struct completion *completion, const struct line_edit *edit,
                     completion_source *source, const void *context)
{
    if (!completion_is_waiting(completion))
        return false;
    const size_t selected = completion->selected;
    completion_update(completion, edit, completion->all, source, context);
    if (selected <= completion->count) /* names of files are added after the others */
        completion->selected = selected;
    return !completion->waiting;
}

void completion_of_paths(struct completion *completion, const char *text, const void *context)
{
    (void)context;
    completion_add_paths(completion, text, 0, "");
}

void completion_close(struct completion *completion)
{
    for (size_t i = 0; i < COMPLETION_LISTINGS; i++)
        folder_listing_drop(completion->listings[i]);
    *completion = (struct completion){0};
}

/* --- drawing --- */

/* Returns the title of the box: what to do next. */
static const char *title_of(const struct completion *completion, char *text, size_t size)
{
    if (completion->selected > 0)
        return _("Enter takes it");
    if (completion->left_out == 0)
        return _("Down or Tab chooses");
    snprintf(text, size, ngettext("%zu more: type on", "%zu more: type on", completion->left_out),
             completion->left_out);
    return text;
}

/* Returns the box: below the row, or above it where there is more room, and as wide as needed. */
static struct rect place_box(const struct completion *completion, struct rect area, int row,
                             int column, int text_columns)
{
    enum { MOST = 10, EDGE = 2 };
    const int below = area.rows - row - 1;
    const bool up = below < MOST + EDGE && row > below;
    const int room = up ? row : below, wished = (int)completion->count + EDGE;
    int columns = 30 > text_columns ? 30 : text_columns, rows = wished < MOST ? wished : MOST;
    for (size_t i = 0; i < completion->count; i++) {
        const struct completion_item *item = &completion->items[i];
        const int both = text_columns + (int)columns_of(item->note);
        columns = item->note[0] && both > columns ? both : columns;
    }
    columns = columns + 8 < area.columns ? columns + 8 : area.columns;
    rows = rows < room ? rows : room;
    column = column + columns <= area.columns ? column : area.columns - columns;
    return (struct rect){area.row + (up ? row - rows : row + 1), area.column + column, rows,
                         columns};
}

static void draw_candidate(const struct completion *completion, struct canvas *canvas,
                           struct rect line, size_t index, int note_column)
{
    const struct completion_item *item = &completion->items[index];
    const bool selected = index + 1 == completion->selected;
    if (selected)
        draw_fill(canvas, line, ROLE_FOCUS);
    draw_text(canvas, line, 0, 0, selected ? ROLE_FOCUS : ROLE_TEXT, selected ? ">" : " ");
    draw_fitted_name(canvas, line, 0, 2, selected ? ROLE_FOCUS : ROLE_TEXT, item->text);
    draw_sentence(canvas, line, 0, note_column, selected ? ROLE_FOCUS : ROLE_FAINT, item->note);
    if (selected)
        draw_cursor(canvas, line, 0, 0);
    targets_add_row(&canvas->targets, line, index + 1, completion->selected);
}

void completion_draw(struct completion *completion, struct canvas *canvas, struct rect area,
                     int row, int column)
{
    char title[80];
    int widest = 0;
    for (size_t i = 0; i < completion->count; i++) {
        const int columns = (int)columns_of(completion->items[i].text);
        widest = columns > widest ? columns : widest;
    }
    struct rect box = place_box(completion, area, row, column, widest);
    struct rect inside = draw_box(canvas, box, title_of(completion, title, sizeof title));
    const size_t rows = inside.rows > 0 ? (size_t)inside.rows : 0;
    if (completion->selected > completion->top + rows)
        completion->top = completion->selected - rows;
    if (completion->selected > 0 && completion->selected <= completion->top)
        completion->top = completion->selected - 1;
    for (size_t i = 0; i < rows && completion->top + i < completion->count; i++) {
        const struct rect line = {inside.row + (int)i, inside.column, 1, inside.columns};
        draw_candidate(completion, canvas, line, completion->top + i, widest + 4);
    }
    draw_scroll_marks(canvas, inside, completion->top > 0,
                      completion->top + rows < completion->count);
}
