#include "ui/app/dialog.h"

#include "ui/app/app.h"

#include "base/files/file.h"
#include "base/files/output_file.h"
#include "base/language.h"
#include "ui/terminal/columns.h"
#include "ui/terminal/draw.h"
#include "ui/terminal/keys.h"

#include <stdio.h>
#include <string.h>

struct dialog *dialog_begin(struct app *app, const char *title,
                            void (*answer)(struct app *app, size_t choice))
{
    struct dialog *dialog = &app->dialog;
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

/* Up and Down go through the rows; in a row Left and Right change its value. */
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
        dialog->above = 0; /* typing goes to the line */
    return key == UI_RIGHT || key == ' ' || key == UI_LEFT;
}

enum dialog_result dialog_key(struct dialog *dialog, int key)
{
    if (key == UI_ESCAPE)
        return DIALOG_CANCELLED;
    if (dialog->pick_count > 0 && pick_key(dialog, key))
        return DIALOG_OPEN;
    if (dialog->choice_count > 0)
        return choose_key(dialog, key);
    if (key == UI_ENTER)
        return DIALOG_ANSWERED;
    if (key == UI_TAB)
        line_edit_complete_path(&dialog->edit);
    else
        line_edit_key(&dialog->edit, key);
    return DIALOG_OPEN;
}

/* The screen is what standard output shows, and a FIFO could wait for its reader for ever. */
static const char stream_note[] = N_("This is not a file: devices and FIFOs are left alone here.");

void dialog_note_path(struct dialog *dialog)
{
    const char *note = "";
    dialog->asked = false;
    if (!dialog->edit.text[0])
        note = _("Give a name.");
    else if (file_is_directory(dialog->edit.text))
        note = _("This is a folder: add a file name.");
    else if (output_file_is_stream(dialog->edit.text))
        note = gettext(stream_note);
    else if (file_exists(dialog->edit.text))
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
             _("It exists already. Replace it? Enter once more does, Esc leaves it."));
    return false;
}

static int lines_of(const char *text, int columns)
{
    return text[0] && columns > 0 ? (int)columns_lines(text, (size_t)columns) : 0;
}

static void draw_choices(const struct dialog *dialog, struct canvas *canvas, struct rect inside,
                         int row)
{
    for (size_t i = 0; i < dialog->choice_count; i++, row++) {
        bool selected = i == dialog->selected;
        struct rect line = {inside.row + row, inside.column, row < inside.rows, inside.columns};
        if (selected)
            draw_fill(canvas, line, ROLE_FOCUS);
        draw_text(canvas, line, 0, 0, selected ? ROLE_FOCUS : ROLE_TEXT, selected ? ">" : " ");
        draw_format(canvas, line, 0, 2, selected ? ROLE_FOCUS : ROLE_KEY, "%c",
                    dialog->choices[i].key);
        draw_text(canvas, line, 0, 5, selected ? ROLE_FOCUS : ROLE_TEXT, dialog->choices[i].label);
        if (selected)
            draw_cursor(canvas, line, 0, 0);
        targets_add(&canvas->targets, line, dialog->choices[i].key, 1);
    }
}

/* Rows above the line to type, and the line itself (`row` pick_count): a click goes there, or turns
 * the value of the row that has the focus. */
static void add_pick_target(const struct dialog *dialog, struct canvas *canvas, struct rect line,
                            size_t row)
{
    const size_t focused = dialog->pick_count - dialog->above;
    if (row != focused)
        targets_add_row(&canvas->targets, line, row, focused);
    else if (row < dialog->pick_count)
        targets_add(&canvas->targets, line, UI_RIGHT, 1);
}

/* "Format   < JSON >": returns the row after. */
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
        draw_format(canvas, line, 0, widest + 2, role, "%s %s %s", canvas->glyphs->left,
                    pick->values[pick->selected], canvas->glyphs->right);
        if (focused)
            draw_cursor(canvas, line, 0, widest + 2);
        add_pick_target(dialog, canvas, line, i);
    }
    return row;
}

static void draw_line(const struct dialog *dialog, struct canvas *canvas, struct rect inside,
                      int row)
{
    size_t column, start = line_edit_window(&dialog->edit, (size_t)inside.columns, &column);
    struct rect line = {inside.row + row, inside.column, row < inside.rows, inside.columns};
    draw_fill(canvas, line, ROLE_EDIT);
    draw_text(canvas, line, 0, 0, ROLE_EDIT, dialog->edit.text + start);
    add_pick_target(dialog, canvas, line, dialog->pick_count);
    if (dialog->above == 0)
        draw_cursor(canvas, line, 0, (int)column);
    if (dialog->note[0])
        draw_wrapped(canvas, inside, row + 1, ROLE_WARNING, dialog->note);
    else
        draw_text(canvas, inside, row + 1, 0, ROLE_FAINT,
                  dialog->pick_count ? _("Enter writes it, Up and Down choose, Esc leaves")
                                     : _("Enter takes it, C-u clears, Esc leaves"));
}

void dialog_draw(const struct dialog *dialog, struct canvas *canvas)
{
    int columns = canvas->columns < 64 ? canvas->columns : 64;
    int text_rows = lines_of(dialog->text, columns - 4);
    int note_rows = lines_of(dialog->note, columns - 4);
    int answer_rows =
        dialog->choice_count ? (int)dialog->choice_count : 1 + (note_rows ? note_rows : 1);
    answer_rows += (int)dialog->pick_count;
    int rows = text_rows + answer_rows + (text_rows > 0) + 2;
    struct rect box = layout_dialog(canvas->rows, canvas->columns, rows, columns);
    struct rect inside = draw_box(canvas, box, dialog->title);
    /* when room is short, what can be answered is shown, not what is asked */
    int row = text_rows > 0 && inside.rows >= text_rows + answer_rows
                  ? draw_wrapped(canvas, inside, 0, ROLE_TEXT, dialog->text)
                  : 0;
    row += text_rows > 0 && inside.rows > text_rows + answer_rows;
    if (dialog->choice_count)
        draw_choices(dialog, canvas, inside, row);
    else
        draw_line(dialog, canvas, inside, draw_picks(dialog, canvas, inside, row));
}
