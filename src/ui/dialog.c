#include "ui/dialog.h"

#include "base/language.h"
#include "ui/columns.h"
#include "ui/draw.h"
#include "ui/keys.h"

#include <string.h>

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
    return DIALOG_STAYS;
}

enum dialog_result dialog_key(struct dialog *dialog, int key)
{
    if (key == UI_ESCAPE)
        return DIALOG_CANCELLED;
    if (dialog->choice_count > 0)
        return choose_key(dialog, key);
    if (key == UI_ENTER)
        return DIALOG_ANSWERED;
    if (key == UI_TAB)
        line_edit_complete_path(&dialog->edit);
    else
        line_edit_key(&dialog->edit, key);
    return DIALOG_STAYS;
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

static void draw_line(const struct dialog *dialog, struct canvas *canvas, struct rect inside,
                      int row)
{
    size_t column, start = line_edit_window(&dialog->edit, (size_t)inside.columns, &column);
    struct rect line = {inside.row + row, inside.column, row < inside.rows, inside.columns};
    draw_fill(canvas, line, ROLE_EDIT);
    draw_text(canvas, line, 0, 0, ROLE_EDIT, dialog->edit.text + start);
    draw_cursor(canvas, line, 0, (int)column);
    if (dialog->note[0])
        draw_wrapped(canvas, inside, row + 1, ROLE_WARNING, dialog->note);
    else
        draw_text(canvas, inside, row + 1, 0, ROLE_FAINT,
                  _("Enter takes it, C-u clears, Esc leaves"));
}

void dialog_draw(const struct dialog *dialog, struct canvas *canvas)
{
    int columns = canvas->columns < 64 ? canvas->columns : 64;
    int text_rows = lines_of(dialog->text, columns - 4);
    int note_rows = lines_of(dialog->note, columns - 4);
    int answer_rows =
        dialog->choice_count ? (int)dialog->choice_count : 1 + (note_rows ? note_rows : 1);
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
        draw_line(dialog, canvas, inside, row);
}
