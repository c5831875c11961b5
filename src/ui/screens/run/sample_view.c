/* The newest sample picture of a run. A background thread looks for a newer file and decodes it, so
 * that a slow disk does not block the keyboard; the character cells are computed when the picture,
 * the chosen examples or the area changes. */
#include "ui/screens/run/internal.h"

#include "base/clock.h"
#include "base/language.h"
#include "base/memory.h"
#include "base/threads/detached_task.h"
#include "data/formats/image_file.h"
#include "models/saved/samples.h"
#include "ui/app/app.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const double CHECK_SECONDS = 1, FIRST_SECONDS = 0.05;

/* The data of one check of the directory, which belongs to the thread until it is done. */
struct sample_check {
    char directory[512];
    struct sample_file known; /* the file that is shown; an empty path: none */
    bool newer;               /* `file` is another one; `image` or `error` is its content */
    struct sample_file file;
    struct image image;
    struct error error;
};

static void free_cells(struct sample_model *model)
{
    for (size_t i = 0; i < 3; i++)
        halfblocks_free(&model->thirds[i]);
}

void sample_model_free(struct sample_model *model)
{
    detached_task_drop(model->background);
    free_cells(model);
    image_free(&model->image);
    *model = (struct sample_model){0};
}

/* Moves to the next (+1) or previous (-1) example; stops at the ends. */
static void sample_model_move(struct sample_model *model, int step)
{
    if (step > 0 || model->example > 0) /* sample_model_draw limits it at the end */
        model->example += (size_t)step;
}

/* --- the file --- */

static void free_check(void *state)
{
    struct sample_check *check = state;
    image_free(&check->image);
    free(check);
}

static void work(void *state)
{
    struct sample_check *check = state;
    if (!sample_file_newest(check->directory, &check->file) ||
        (check->file.stamp == check->known.stamp &&
         strcmp(check->file.path, check->known.path) == 0))
        return;
    check->newer = true;
    image_file_read(&check->image, check->file.path, 3, &check->error);
}

/* Starts the check. If it fails for lack of memory or threads, the next one comes a second later.
 */
static void begin_check(struct sample_model *model)
{
    struct sample_check *check = memory_new(1, sizeof *check, "a picture", NULL);
    model->checked_at = clock_nanoseconds();
    if (!check)
        return;
    memcpy(check->directory, model->directory, sizeof check->directory);
    if (model->found)
        check->known = model->file;
    model->background = detached_task_start(work, free_check, check, NULL);
    if (model->background)
        model->check = check;
    else
        free(check);
}

static void end_check(struct sample_model *model)
{
    struct sample_check *check = model->check;
    if (check->newer) {
        image_free(&model->image);
        free_cells(model);
        model->found = true;
        model->file = check->file;
        model->image = check->image;
        model->error = check->error;
        check->image = (struct image){0};
    }
    detached_task_drop(model->background);
    model->background = NULL;
    model->check = NULL;
}

static void update_file(struct sample_model *model, const char *directory)
{
    const bool first = strcmp(model->directory, directory) != 0;
    if (first) {
        sample_model_free(model);
        snprintf(model->directory, sizeof model->directory, "%s", directory);
    }
    if (!model->background &&
        (first || clock_seconds(model->checked_at, clock_nanoseconds()) >= CHECK_SECONDS))
        begin_check(model);
    if (model->background && detached_task_wait(model->background, first ? FIRST_SECONDS : 0))
        end_check(model);
}

bool sample_model_busy(const struct sample_model *model)
{
    return model->background;
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

static bool same_rect(struct rect a, struct rect b)
{
    return a.rows == b.rows && a.columns == b.columns;
}

static bool make_third(struct sample_model *model, size_t third, const struct rect *room,
                       size_t top, size_t height)
{
    struct image part = {0};
    size_t width = model->image.width / 3;
    bool made = image_cut(&part, &model->image, third * width, top, width, height, &model->error) &&
                halfblocks_make(&model->thirds[third], &part, (size_t)room->rows,
                                (size_t)room->columns, &model->error);
    image_free(&part);
    return made;
}

/* Makes the cells again if the picture, the examples or `room`, the size of one picture, has
 * changed.
 */
static bool make_cells(struct sample_model *model, struct rect room, size_t from, size_t count,
                       size_t height)
{
    bool made = true;
    if (model->thirds[2].cells && same_rect(model->room, room) && model->from == from &&
        model->count == count)
        return true;
    free_cells(model);
    for (size_t i = 0; i < 3 && made; i++)
        made = make_third(model, i, &room, from * height, count * height);
    model->room = room;
    model->from = from;
    model->count = count;
    return made;
}

/* --- drawing --- */

static void draw_caption(const struct sample_model *model, struct canvas *canvas, struct rect area,
                         size_t from, size_t count, size_t examples)
{
    int column = draw_format(canvas, area, 0, 1, ROLE_STRONG, _("epoch %zu"), model->file.epoch);
    if (count < examples)
        column = draw_format(canvas, area, 0, column + 2, ROLE_TEXT,
                             _("from example %zu of %zu (%s %s)"), from + 1, examples,
                             canvas->glyphs->up, canvas->glyphs->down);
    draw_text(canvas, area, 0, column + 2, ROLE_FAINT, model->file.path);
}

/* Draws the three pictures beside each other, one column apart, with labels above. */
static void draw_thirds(const struct sample_model *model, struct canvas *canvas, struct rect area,
                        bool labels)
{
    static const char *const words[] = {N_("input"), N_("generated"), N_("target")};
    int width = (int)model->thirds[0].columns, left = (area.columns - 3 * width - 2) / 2;
    for (int i = 0; i < 3; i++, left += width + 1) {
        struct rect label = {area.row, area.column + left, labels, width};
        struct rect place = {area.row + labels, area.column + left, area.rows - labels, width};
        draw_text(canvas, label, 0, 0, ROLE_HEADING, gettext(words[i]));
        draw_halfblocks(canvas, place, &model->thirds[i]);
    }
}

static void draw_picture(struct sample_model *model, struct canvas *canvas, struct rect area,
                         size_t examples)
{
    bool labels = area.rows >= 5, caption = area.rows >= 3;
    struct rect room = {area.row, area.column, area.rows - labels - caption,
                        (area.columns - 2) / 3};
    if (rect_is_empty(room) || model->image.width < 3)
        return;
    if (model->image.height % examples)
        examples = 1;
    size_t height = model->image.height / examples;
    size_t count =
        sample_model_fit(examples, height, model->image.width / 3, room.rows, room.columns);
    if (model->example + count > examples)
        model->example = examples - count;
    if (!make_cells(model, room, model->example, count, height))
        return;
    area.rows -= caption;
    draw_thirds(model, canvas, area, labels);
    int below = area.row + labels + (int)model->thirds[0].rows;
    struct rect last = {below, area.column, caption, area.columns};
    draw_caption(model, canvas, last, model->example, count, examples);
}

/* Starts a check for a newer picture when it is time, and draws the newest one that was found.
 * `examples` is what sample_examples returns for the run. */
static void sample_model_draw(struct sample_model *model, struct canvas *canvas, struct rect area,
                              const char *run_directory, size_t examples)
{
    char text[1100];
    struct rect inside = {area.row, area.column + 2, area.rows, area.columns - 3};
    update_file(model, run_directory);
    if (!model->found && model->background)
        draw_wrapped(canvas, inside, 1, ROLE_FAINT, _("Reading the newest sample ..."));
    else if (!model->found)
        draw_wrapped(canvas, inside, 1, ROLE_FAINT,
                     _("No sample yet: the first one is saved when the first epoch ends."));
    else if (model->error.kind == ERROR_NONE)
        draw_picture(model, canvas, area, examples);
    if (model->found && model->error.kind != ERROR_NONE)
        draw_wrapped(canvas, inside, 1, ROLE_BAD, error_format(&model->error, text, sizeof text));
}

/* --- the view ---
 *
 * The view Sample: the newest pictures of a network that generates images. */

/* Returns how many examples the run's samples show; 0: it makes no pictures, or it is not known
 * yet.
 */
static size_t examples_of(const struct run_entry *entry)
{
    if (!entry->run || entry->snapshot.status == RUN_PREPARING)
        return 0;
    return sample_examples(run_facts(entry->run));
}

static bool available(const struct run_entry *entry)
{
    return examples_of(entry) > 0;
}

static void draw(struct app *app, struct run_entry *entry, const struct run_layout *layout,
                 const struct run_display *display)
{
    (void)display;
    sample_model_draw(&run_model(app)->sample, &app->canvas, layout->view,
                      run_facts(entry->run)->directory, examples_of(entry));
}

static void move(struct app *app, const struct run_entry *entry, int how)
{
    (void)entry;
    sample_model_move(&run_model(app)->sample, (int)move_steps(how, 0, 0));
}

const struct view view_sample = {.name = N_("Sample"),
                                 .covers_figures = true,
                                 .available = available,
                                 .draw = draw,
                                 .moves = VIEW_SCROLLS,
                                 .move = move};
