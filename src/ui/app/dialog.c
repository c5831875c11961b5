/* The dialog box: its keys, the checks of a file name, and its drawing. The focus is on a choice,
 * on the text line, or `above` rows higher on one of the picks. */
#include "ui/app/dialog.h"

#include "ui/app/app.h"

#include "base/files/file.h"
#include "base/files/output_file.h"
#include "base/files/user_path.h"
#include "base/language.h"
#include "base/memory.h"
#include "ui/terminal/columns.h"
#include "ui/terminal/draw.h"
#include "ui/terminal/keys.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct dialog *dialog_begin(struct app *app, const char *title,
                            void (*answer)(struct app *app, size_t choice))
{
    struct dialog *dialog = &app->dialog;
    completion_close(&dialog->completion);
    *dialog = (struct dialog){.open = true, .answer = answer};
    snprintf(dialog->title, sizeof dialog->title, "%s", title);
    return dialog;
}

void dialog_offer(struct dialog *dialog, int key, int other, const char *label)
{
    dialog->choices[dialog->choice_count++] = (struct dialog_choice){key, other, label};
}

static enum dialog_result choose_key(struct dialog *dialog, int key)
{
    size_t count = dialog->choice_count;
    if (key == UI_UP || key == UI_LEFT || key == UI_BACK_TAB)
        dialog->selected = (dialog->selected + count - 1) % count;
    else if (key == UI_DOWN || key == UI_RIGHT || key == UI_TAB)
        dialog->selected = (dialog->selected + 1) % count;
    else if (key == UI_ENTER)
        return DIALOG_ANSWERED;
    for (size_t i = 0; i < count; i++)
        if (key && (dialog->choices[i].key == key || dialog->choices[i].other == key)) {
            dialog->selected = i;
            return DIALOG_ANSWERED;
        }
    return DIALOG_OPEN;
}

/* Handles a key of a dialog with picks and returns whether it did. Up and Down move the focus; Left
 * and Right change the value of the focused pick. */
static bool pick_key(struct dialog *dialog, int key)
{
    if (key == UI_UP || key == UI_DOWN) {
        size_t rows = dialog->pick_count + 1;
        dialog->above = (dialog->above + (key == UI_UP ? 1 : rows - 1)) % rows;
        return true;
    }
    if (dialog->above == 0)
        return false;
    struct dialog_pick *pick = &dialog->picks[dialog->pick_count - dialog->above];
    if (key == UI_RIGHT || key == ' ')
        pick->selected = (pick->selected + 1) % pick->count;
    else if (key == UI_LEFT)
        pick->selected = (pick->selected + pick->count - 1) % pick->count;
    else if (key != UI_ENTER)
        dialog->above = 0; /* letters go into the text line */
    return key == UI_RIGHT || key == ' ' || key == UI_LEFT;
}

/* --- the line --- */

void dialog_begin_line(struct dialog *dialog, const char *text, bool replace,
                       completion_source *source, const void *context)
{
    line_edit_begin(&dialog->edit, text, sizeof dialog->edit.text, replace);
    dialog->source = source;
    dialog->context = context;
}

static void complete(struct dialog *dialog)
{
    completion_update(&dialog->completion, &dialog->edit, false, dialog->source, dialog->context);
}

/* Handles a key of the list of candidates; Tab opens it. Returns whether it did. */
static bool list_key(struct dialog *dialog, int key)
{
    struct completion *completion = &dialog->completion;
    const bool shown = completion_is_shown(completion);
    if (!dialog->source || (!shown && key != UI_TAB))
        return false;
    if (!shown)
        complete(dialog);
    const enum completion_result result = completion_key(completion, &dialog->edit, key);
    if (!shown) /* the first Tab only completes and shows */
        completion->selected = 0;
    if (result == COMPLETION_CHANGED)
        complete(dialog);
    else if (result == COMPLETION_TAKEN)
        completion_close(completion);
    return !shown || result != COMPLETION_IGNORED;
}

static void edit_line(struct dialog *dialog, int key)
{
    const bool listed = completion_is_shown(&dialog->completion) || dialog->follows;
    if (line_edit_key(&dialog->edit, key) && listed && dialog->source)
        complete(dialog);
}

/* Expands the ~ of a path: files are opened by their names as they are. */
static void end_line(struct dialog *dialog)
{
    char *path = dialog->source == completion_of_paths ? user_path_expand(dialog->edit.text) : NULL;
    if (path && strlen(path) < sizeof dialog->edit.text)
        line_edit_begin(&dialog->edit, path, sizeof dialog->edit.text, false);
    free(path);
    completion_close(&dialog->completion);
}

void dialog_step(struct dialog *dialog)
{
    if (dialog->open)
        completion_step(&dialog->completion, &dialog->edit, dialog->source, dialog->context);
}

static enum dialog_result take_key(struct dialog *dialog, int key)
{
    const bool on_line = dialog->choice_count == 0 && dialog->above == 0;
    if (on_line && list_key(dialog, key))
        return DIALOG_OPEN;
    if (key == UI_ESCAPE)
        return DIALOG_CANCELLED;
    if (dialog->pick_count > 0 && pick_key(dialog, key))
        return DIALOG_OPEN;
    if (dialog->choice_count > 0)
        return choose_key(dialog, key);
    if (key == UI_ENTER) {
        dialog->note_waits = false; /* the answer may leave a note of its own */
        end_line(dialog);
        return DIALOG_ANSWERED;
    }
    edit_line(dialog, key);
    return DIALOG_OPEN;
}

enum dialog_result dialog_key(struct dialog *dialog, int key)
{
    const struct line_edit before = dialog->edit;
    const enum dialog_result result = take_key(dialog, key);
    dialog->kept |= strcmp(before.text, dialog->edit.text) != 0;
    return result;
}

bool dialog_may_be_left(const struct dialog *dialog)
{
    return !dialog->kept;
}

void dialog_close(struct dialog *dialog)
{
    completion_close(&dialog->completion);
    dialog->open = false;
}

/* Standard output is the screen itself, and writing to a FIFO can block for ever. */
static const char stream_note[] =
    N_("This is not a regular file: devices and FIFOs cannot be written here.");

/* A thread finds out what there is at a path. */
struct path_look {
    char path[512];
    enum path_kind kind;
};

static void look_at_path(void *state)
{
    struct path_look *look = state;
    look->kind = file_is_directory(look->path)       ? PATH_FOLDER
                 : output_file_is_stream(look->path) ? PATH_STREAM
                 : file_exists(look->path)           ? PATH_FILE
                                                     : PATH_FREE;
}

/* Stores what the thread has found. The line may have changed meanwhile: `edited` then asks again.
 */
static void take_look(struct app *app, void *state)
{
    const struct path_look *look = state;
    struct dialog *dialog = &app->dialog;
    memcpy(dialog->looked_at, look->path, sizeof dialog->looked_at);
    dialog->kind = look->kind;
    dialog->looking = false;
    if (dialog->open && dialog->edited && dialog->note_waits)
        dialog->edited(app);
}

enum path_kind dialog_path_kind(struct app *app)
{
    struct dialog *dialog = &app->dialog;
    dialog->note_waits = false;
    if (dialog->kind != PATH_UNKNOWN && strcmp(dialog->looked_at, dialog->edit.text) == 0)
        return dialog->kind;
    dialog->note_waits = true;
    struct path_look *look = dialog->looking ? NULL : memory_new(1, sizeof *look, "a path", NULL);
    if (!look) /* `edited` is called again when the present look is over */
        return PATH_UNKNOWN;
    snprintf(look->path, sizeof look->path, "%s", dialog->edit.text);
    dialog->looking = disk_jobs_start(&app->shared.disk, look_at_path, take_look, look, NULL);
    return PATH_UNKNOWN;
}

void dialog_note_path(struct app *app)
{
    struct dialog *dialog = &app->dialog;
    const enum path_kind kind = dialog->edit.text[0] ? dialog_path_kind(app) : PATH_UNKNOWN;
    const char *note = "";
    dialog->asked = false;
    if (!dialog->edit.text[0])
        note = _("Give a name.");
    else if (kind == PATH_FOLDER)
        note = _("This is a folder: add a file name.");
    else if (kind == PATH_STREAM)
        note = gettext(stream_note);
    else if (kind == PATH_FILE)
        note = _("This file exists: Enter asks before it is replaced.");
    snprintf(dialog->note, sizeof dialog->note, "%s", note);
}

bool dialog_may_write(struct dialog *dialog, bool exists)
{
    if (output_file_is_stream(dialog->edit.text)) {
        dialog->open = true;
        snprintf(dialog->note, sizeof dialog->note, "%s", gettext(stream_note));
        return false;
    }
    if (!exists || dialog->asked)
        return true;
    dialog->open = dialog->asked = true;
    snprintf(dialog->note, sizeof dialog->note, "%s",
             _("The file exists. Press Enter again to replace it, Esc to cancel."));
    return false;
}

static int lines_of(const char *text, int columns)
{
    return text[0] && columns > 0 ? (int)columns_lines(text, (size_t)columns) : 0;
}

enum { LABEL = 5 }; /* column of a choice's words, behind its key */

/* Returns how many lines a choice takes in a box of `columns`. */
static int choice_lines(const struct dialog_choice *choice, int columns)
{
    const int lines = lines_of(choice->label, columns - LABEL);
    return lines > 0 ? lines : 1;
}

static int all_choice_lines(const struct dialog *dialog, int columns)
{
    int lines = 0;
    for (size_t i = 0; i < dialog->choice_count; i++)
        lines += choice_lines(&dialog->choices[i], columns);
    return lines;
}

/* Draws a choice on the lines of `area`, of which the first `hidden` lie above it. */
static void draw_choice(const struct dialog *dialog, struct canvas *canvas, struct rect area,
                        int hidden, size_t index)
{
    const struct dialog_choice *choice = &dialog->choices[index];
    const bool selected = index == dialog->selected;
    const char *rest = choice->label;
    char words[256];
    for (int i = 0; i < hidden + area.rows; i++) {
        const struct rect line = {area.row + i - hidden, area.column, 1, area.columns};
        words[0] = '\0';
        if (rest && area.columns > LABEL)
            rest = columns_wrap(rest, (size_t)(area.columns - LABEL), words, sizeof words);
        if (i < hidden)
            continue;
        if (selected)
            draw_fill(canvas, line, ROLE_FOCUS);
        if (i == 0) {
            draw_text(canvas, line, 0, 0, selected ? ROLE_FOCUS : ROLE_TEXT, selected ? ">" : " ");
            draw_format(canvas, line, 0, 2, selected ? ROLE_FOCUS : ROLE_KEY, "%c", choice->key);
        }
        draw_text(canvas, line, 0, LABEL, selected ? ROLE_FOCUS : ROLE_TEXT, words);
    }
    if (selected)
        draw_cursor(canvas, area, 0, 0);
    targets_add(&canvas->targets, area, choice->key, 1);
}

/* Draws the choices, from the first one on with which the selected one is in sight. */
static void draw_choices(const struct dialog *dialog, struct canvas *canvas, struct rect area)
{
    int end = 0, at = 0;
    for (size_t i = 0; i <= dialog->selected && i < dialog->choice_count; i++)
        end += choice_lines(&dialog->choices[i], area.columns);
    const int above = end > area.rows ? end - area.rows : 0; /* lines scrolled out */
    for (size_t i = 0; i < dialog->choice_count; i++) {
        const int lines = choice_lines(&dialog->choices[i], area.columns);
        const int first = at > above ? at - above : 0, hidden = at < above ? above - at : 0;
        const int room = area.rows - first, shown = lines - hidden < room ? lines - hidden : room;
        if (shown > 0)
            draw_choice(dialog, canvas,
                        (struct rect){area.row + first, area.column, shown, area.columns}, hidden,
                        i);
        at += lines;
    }
}

/* Adds the click target of a pick, or of the text line (`row` is pick_count). A click moves the
 * focus there; on the focused pick it selects the next value. */
static void add_pick_target(const struct dialog *dialog, struct canvas *canvas, struct rect line,
                            size_t row)
{
    const size_t focused = dialog->pick_count - dialog->above;
    if (row != focused)
        targets_add_row(&canvas->targets, line, row, focused);
    else if (row < dialog->pick_count)
        targets_add(&canvas->targets, line, UI_RIGHT, 1);
}

/* Draws the value of a pick between arrows; a mark stands for the words that do not fit. */
static void draw_value(struct canvas *canvas, struct rect line, int column, enum role role,
                       const char *value)
{
    enum { ARROWS = 4 };
    const int room = line.columns - column - ARROWS;
    const bool whole = (int)columns_of(value) <= room;
    char shown[160];
    columns_wrap(value, room > 1 ? (size_t)(whole ? room : room - 1) : 1, shown, sizeof shown);
    draw_format(canvas, line, 0, column, role, "%s %s%s %s", canvas->glyphs->left, shown,
                whole ? "" : canvas->glyphs->cut, canvas->glyphs->right);
}

/* Draws the picks as "Format   < JSON >" and returns the row after them. */
static int draw_picks(const struct dialog *dialog, struct canvas *canvas, struct rect inside,
                      int row)
{
    int widest = 0;
    for (size_t i = 0; i < dialog->pick_count; i++)
        widest = (int)columns_of(dialog->picks[i].label) > widest
                     ? (int)columns_of(dialog->picks[i].label)
                     : widest;
    for (size_t i = 0; i < dialog->pick_count; i++, row++) {
        const struct dialog_pick *pick = &dialog->picks[i];
        bool focused = dialog->above == dialog->pick_count - i;
        struct rect line = {inside.row + row, inside.column, row < inside.rows, inside.columns};
        enum role role = focused ? ROLE_FOCUS : ROLE_TEXT;
        if (focused)
            draw_fill(canvas, line, ROLE_FOCUS);
        draw_text(canvas, line, 0, 0, role, pick->label);
        draw_value(canvas, line, widest + 2, role, pick->values[pick->selected]);
        if (focused)
            draw_cursor(canvas, line, 0, widest + 2);
        add_pick_target(dialog, canvas, line, i);
    }
    return row;
}

/* Returns what is said below the text line. */
static const char *note_of(const struct dialog *dialog)
{
    return dialog->note[0]      ? dialog->note
           : dialog->pick_count ? _("Enter writes it, Up and Down choose, Esc leaves")
                                : _("Enter takes it, C-u clears, Esc leaves");
}

static void draw_line(struct dialog *dialog, struct canvas *canvas, struct rect inside, int row)
{
    size_t column, start = line_edit_window(&dialog->edit, (size_t)inside.columns, &column);
    struct rect line = {inside.row + row, inside.column, row < inside.rows, inside.columns};
    draw_fill(canvas, line, ROLE_EDIT);
    draw_text(canvas, line, 0, 0, ROLE_EDIT, dialog->edit.text + start);
    add_pick_target(dialog, canvas, line, dialog->pick_count);
    if (dialog->above == 0)
        draw_cursor(canvas, line, 0, (int)column);
    draw_wrapped(canvas, inside, row + 1, dialog->note[0] ? ROLE_WARNING : ROLE_FAINT,
                 note_of(dialog));
    if (completion_is_shown(&dialog->completion)) {
        const struct rect all = {0, line.column, canvas->rows, canvas->columns - line.column};
        completion_draw(&dialog->completion, canvas, all, line.row, 0);
    }
}

/* Draws as many lines of the text as there is room for; a mark says that there are more. */
static void draw_question(const struct dialog *dialog, struct canvas *canvas, struct rect area)
{
    draw_wrapped(canvas, area, 0, ROLE_TEXT, dialog->text);
    if (lines_of(dialog->text, area.columns) > area.rows && area.rows > 0)
        draw_right(canvas, area, area.rows - 1, ROLE_STRONG, canvas->glyphs->down);
}

/* On a small screen the answers matter more than the text, and the text more than a line between.
 */
void dialog_draw(struct dialog *dialog, struct canvas *canvas)
{
    const int columns = canvas->columns < 64 ? canvas->columns : 64;
    const int text_rows = lines_of(dialog->text, columns - 4);
    const int answer_rows =
        (dialog->choice_count > 0 ? all_choice_lines(dialog, columns - 4)
                                  : 1 + lines_of(note_of(dialog), columns - 4)) +
        (int)dialog->pick_count;
    const int rows = text_rows + answer_rows + (text_rows > 0) + 2;
    struct rect box = layout_dialog(canvas->rows, canvas->columns, rows, columns);
    struct rect inside = draw_box(canvas, box, dialog->title);
    const int room = inside.rows > answer_rows ? inside.rows - answer_rows : 0;
    const int text = text_rows < room ? text_rows : room;
    const int row = text + (text_rows > 0 && room > text_rows);
    draw_question(dialog, canvas, (struct rect){inside.row, inside.column, text, inside.columns});
    if (dialog->choice_count)
        draw_choices(
            dialog, canvas,
            (struct rect){inside.row + row, inside.column, inside.rows - row, inside.columns});
    else
        draw_line(dialog, canvas, inside, draw_picks(dialog, canvas, inside, row));
}
