#include "ui/screens/run/sample_model.h"

#include "base/clock.h"
#include "base/language.h"
#include "base/memory.h"
#include "base/threads/detached_task.h"
#include "data/formats/image_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const double LOOK_SECONDS = 1, FIRST_SECONDS = 0.05;

/* One look into the directory. */
struct sample_check {
    char directory[512];
    struct sample_file known; /* what is in sight; an empty path: nothing */
    bool newer;               /* `file` is another one, with its picture or an error */
    struct sample_file file;
    struct image image;
    struct error error;
};

static void forget_cells(struct sample_model *view)
{
    for (size_t i = 0; i < 3; i++)
        halfblocks_free(&view->thirds[i]);
}

void sample_model_free(struct sample_model *view)
{
    detached_task_drop(view->background);
    forget_cells(view);
    image_free(&view->image);
    *view = (struct sample_model){0};
}

void sample_model_move(struct sample_model *view, int step)
{
    if (step > 0 || view->example > 0) /* the end is known when it is drawn */
        view->example += (size_t)step;
}

/* --- the file --- */

static void free_look(void *state)
{
    struct sample_check *look = state;
    image_free(&look->image);
    free(look);
}

static void work(void *state)
{
    struct sample_check *look = state;
    if (!sample_file_newest(look->directory, &look->file) ||
        (look->file.stamp == look->known.stamp && strcmp(look->file.path, look->known.path) == 0))
        return;
    look->newer = true;
    image_file_read(&look->image, look->file.path, 3, &look->error);
}

/* Without memory or a thread it is tried again a second later. */
static void begin_look(struct sample_model *view)
{
    struct sample_check *look = memory_new(1, sizeof *look, "a picture", NULL);
    view->looked = clock_nanoseconds();
    if (!look)
        return;
    memcpy(look->directory, view->directory, sizeof look->directory);
    if (view->found)
        look->known = view->file;
    view->background = detached_task_start(work, free_look, look, NULL);
    if (view->background)
        view->look = look;
    else
        free(look);
}

static void end_look(struct sample_model *view)
{
    struct sample_check *look = view->look;
    if (look->newer) {
        image_free(&view->image);
        forget_cells(view);
        view->found = true;
        view->file = look->file;
        view->image = look->image;
        view->error = look->error;
        look->image = (struct image){0};
    }
    detached_task_drop(view->background);
    view->background = NULL;
    view->look = NULL;
}

static void look(struct sample_model *view, const char *directory)
{
    const bool first = strcmp(view->directory, directory) != 0;
    if (first) {
        sample_model_free(view);
        snprintf(view->directory, sizeof view->directory, "%s", directory);
    }
    if (!view->background &&
        (first || clock_seconds(view->looked, clock_nanoseconds()) >= LOOK_SECONDS))
        begin_look(view);
    if (view->background && detached_task_wait(view->background, first ? FIRST_SECONDS : 0))
        end_look(view);
}

bool sample_model_busy(const struct sample_model *view)
{
    return view->background;
}

/* --- the cells --- */

size_t sample_model_fit(size_t examples, size_t height, size_t width, int rows, int columns)
{
    size_t fit = 1;
    if (rows <= 0 || columns <= 0 || width == 0)
        return fit;
    while (fit < examples &&
           4 * 2 * (size_t)rows * width >= 3 * (size_t)columns * height * (fit + 1))
        fit++;
    return fit;
}

static bool same_room(struct rect a, struct rect b)
{
    return a.rows == b.rows && a.columns == b.columns;
}

static bool make_third(struct sample_model *view, size_t third, const struct rect *room, size_t top,
                       size_t height)
{
    struct image part = {0};
    size_t width = view->image.width / 3;
    bool made = image_cut(&part, &view->image, third * width, top, width, height, &view->error) &&
                halfblocks_make(&view->thirds[third], &part, (size_t)room->rows,
                                (size_t)room->columns, &view->error);
    image_free(&part);
    return made;
}

/* Makes the cells again when what they were made for has changed. `room` is one third's. */
static bool make_cells(struct sample_model *view, struct rect room, size_t from, size_t count,
                       size_t height)
{
    bool made = true;
    if (view->thirds[2].cells && same_room(view->room, room) && view->from == from &&
        view->count == count)
        return true;
    forget_cells(view);
    for (size_t i = 0; i < 3 && made; i++)
        made = make_third(view, i, &room, from * height, count * height);
    view->room = room;
    view->from = from;
    view->count = count;
    return made;
}

/* --- drawing --- */

static void draw_caption(const struct sample_model *view, struct canvas *canvas, struct rect area,
                         size_t from, size_t count, size_t examples)
{
    int column = draw_format(canvas, area, 0, 1, ROLE_STRONG, _("epoch %zu"), view->file.epoch);
    if (count < examples)
        column = draw_format(canvas, area, 0, column + 2, ROLE_TEXT,
                             _("from example %zu of %zu (%s %s)"), from + 1, examples,
                             canvas->glyphs->up, canvas->glyphs->down);
    draw_text(canvas, area, 0, column + 2, ROLE_FAINT, view->file.path);
}

/* The three pictures beside each other, a column apart, with what they are above. */
static void draw_thirds(const struct sample_model *view, struct canvas *canvas, struct rect area,
                        bool labels)
{
    static const char *const words[] = {N_("input"), N_("generated"), N_("target")};
    int width = (int)view->thirds[0].columns, left = (area.columns - 3 * width - 2) / 2;
    for (int i = 0; i < 3; i++, left += width + 1) {
        struct rect label = {area.row, area.column + left, labels, width};
        struct rect place = {area.row + labels, area.column + left, area.rows - labels, width};
        draw_text(canvas, label, 0, 0, ROLE_HEADING, gettext(words[i]));
        draw_halfblocks(canvas, place, &view->thirds[i]);
    }
}

static void draw_picture(struct sample_model *view, struct canvas *canvas, struct rect area,
                         size_t examples)
{
    bool labels = area.rows >= 5, caption = area.rows >= 3;
    struct rect room = {area.row, area.column, area.rows - labels - caption,
                        (area.columns - 2) / 3};
    if (rect_is_empty(room) || view->image.width < 3)
        return;
    if (view->image.height % examples)
        examples = 1;
    size_t height = view->image.height / examples;
    size_t count =
        sample_model_fit(examples, height, view->image.width / 3, room.rows, room.columns);
    if (view->example + count > examples)
        view->example = examples - count;
    if (!make_cells(view, room, view->example, count, height))
        return;
    area.rows -= caption;
    draw_thirds(view, canvas, area, labels);
    int below = area.row + labels + (int)view->thirds[0].rows;
    struct rect last = {below, area.column, caption, area.columns};
    draw_caption(view, canvas, last, view->example, count, examples);
}

void sample_model_draw(struct sample_model *view, struct canvas *canvas, struct rect area,
                       const char *run_directory, size_t examples)
{
    char text[1100];
    struct rect inside = {area.row, area.column + 2, area.rows, area.columns - 3};
    look(view, run_directory);
    if (!view->found && view->background)
        draw_wrapped(canvas, inside, 1, ROLE_FAINT, _("Reading the newest sample ..."));
    else if (!view->found)
        draw_wrapped(canvas, inside, 1, ROLE_FAINT,
                     _("No sample yet: the first one is saved when the first epoch ends."));
    else if (view->error.kind == ERROR_NONE)
        draw_picture(view, canvas, area, examples);
    if (view->found && view->error.kind != ERROR_NONE)
        draw_wrapped(canvas, inside, 1, ROLE_BAD, error_format(&view->error, text, sizeof text));
}
