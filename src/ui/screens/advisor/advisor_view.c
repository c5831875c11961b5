/* Drawing of the screen Advisor. The answers are laid out from their first line and drawn from line
 * model->scroll on. If the layout shows that the scrolling must change, they are drawn again. */
#include "ui/screens/advisor/internal.h"

#include "base/language.h"
#include "base/text.h"
#include "ui/terminal/columns.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { FORM_COLUMNS = 42, MIN_WIDE = 100 };

/* --- the form --- */

static const char *value_words(const struct advisor_model *model, size_t field)
{
    static const struct {
        enum advisor_field field;
        const char *value, *words;
    } named[] = {{ADVISOR_NEED, "faster", N_("faster")},
                 {ADVISOR_NEED, "smaller", N_("smaller")},
                 {ADVISOR_NEED, "both", N_("faster and smaller")},
                 {ADVISOR_DEVICE, "weak", N_("a weak one")},
                 {ADVISOR_DEVICE, "powerful", N_("a powerful one")},
                 {ADVISOR_LIMIT_MS, "", N_("none")},
                 {ADVISOR_LIMIT_MB, "", N_("none")},
                 {ADVISOR_NETWORK, "", N_("all trained")}};
    for (size_t i = 0; i < sizeof named / sizeof *named; i++)
        if (named[i].field == field && strcmp(named[i].value, model->values[field]) == 0)
            return gettext(named[i].words);
    return model->values[field];
}

static void draw_value(const struct advisor_model *model, struct canvas *canvas, struct rect line,
                       size_t field, int column)
{
    const bool focused = model->focus == field;
    if (focused && model->editing) {
        struct rect box = {line.row, line.column + column, 1, line.columns - column};
        if (rect_is_empty(box))
            return;
        size_t cursor, start = line_edit_window(&model->edit, (size_t)box.columns, &cursor);
        draw_fill(canvas, box, ROLE_EDIT);
        draw_text(canvas, box, 0, 0, ROLE_EDIT, model->edit.text + start);
        draw_cursor(canvas, box, 0, (int)cursor);
        return;
    }
    draw_fitted_name(canvas, line, 0, column, focused ? ROLE_FOCUS : ROLE_STRONG,
                     value_words(model, field));
    if (focused)
        draw_cursor(canvas, line, 0, 0);
}

static void draw_form(const struct advisor_model *model, struct canvas *canvas, struct rect area)
{
    static const char *const labels[ADVISOR_FIELDS] = {
        N_("To become"),  N_("On the device"),      N_("At most ms/image"),
        N_("At most MB"), N_("Points it may lose"), N_("Network")};
    int label = 0;
    for (int i = 0; i < ADVISOR_FIELDS; i++)
        label = (int)columns_of(gettext(labels[i])) > label ? (int)columns_of(gettext(labels[i]))
                                                            : label;
    const int first = area.rows < ADVISOR_FIELDS && model->focus < ADVISOR_FIELDS &&
                              (int)model->focus >= area.rows
                          ? (int)model->focus - area.rows + 1
                          : 0;
    for (int i = first; i < ADVISOR_FIELDS && i - first < area.rows; i++) {
        struct rect line = {area.row + i - first, area.column, 1, area.columns};
        const bool focused = model->focus == (size_t)i;
        if (focused)
            draw_fill(canvas, line, ROLE_FOCUS);
        draw_text(canvas, line, 0, 0, focused ? ROLE_FOCUS : ROLE_TEXT, focused ? ">" : " ");
        draw_text(canvas, line, 0, 2, focused ? ROLE_FOCUS : ROLE_TEXT, gettext(labels[i]));
        draw_value(model, canvas, line, (size_t)i, 2 + label + 2);
        if (!model->editing)
            targets_add_row(&canvas->targets, line, (size_t)i, model->focus);
    }
}

/* --- the answers, line by line --- */

struct writer {
    struct advisor_model *model;
    struct canvas *canvas;
    struct rect area;
    int line;                     /* next line, counted from the first one of the answers */
    int missing_from, missing_to; /* lines of the focused missing item; -1: none is focused */
};

static void put(struct writer *writer, int indent, enum role role, const char *text)
{
    char line[1100];
    const int width = writer->area.columns - indent;
    while (text && width > 4) {
        const int row = writer->line - writer->model->scroll;
        text = columns_wrap(text, (size_t)width, line, sizeof line);
        draw_text(writer->canvas, writer->area, row, indent, role, line);
        writer->line++;
    }
}

static void put_verdict(struct writer *writer, const struct advice *advice)
{
    static const char *const words[] = {
        [ADVISE_KEEP] = N_("%s on %s: leave it as it is."),
        [ADVISE_USE] = N_("%s on %s: use %s."),
        [ADVISE_TRY] = N_("%s on %s: try %s; measurements of it are still missing."),
        [ADVISE_MEASURE] = N_("%s on %s: measure it first."),
        [ADVISE_ELSEWHERE] = N_("%s on %s: no technique helps here."),
    };
    char text[256];
    const char *format = gettext(words[advice->verdict]);
    if (advice->verdict == ADVISE_USE || advice->verdict == ADVISE_TRY)
        snprintf(text, sizeof text, format, advice->network, advice->device, advice->technique);
    else
        snprintf(text, sizeof text, format, advice->network, advice->device);
    put(writer, 0, ROLE_STRONG, text);
}

static void put_path(struct writer *writer, const struct advice *advice)
{
    static const char *const questions[] = {
        [ADVISE_MEETS] = N_("Does it meet the requirements as it is?"),
        [ADVISE_NEEDS_SPEED] = N_("Is it to be faster?"),
        [ADVISE_POWERFUL] = N_("Is the device a powerful one?"),
    };
    static const char *const replies[] = {
        [ADVISE_NO] = N_("no"), [ADVISE_YES] = N_("yes"), [ADVISE_UNKNOWN] = N_("not known yet")};
    put(writer, 0, ROLE_HEADING, _("The way through the flowchart"));
    for (size_t i = 0; i < advice->path_count; i++) {
        const struct advise_decision *fork = &advice->path[i];
        char question[160], text[256];
        if (fork->question == ADVISE_SUFFICES)
            snprintf(question, sizeof question, _("Does %s meet them?"), fork->technique);
        else
            snprintf(question, sizeof question, "%s", gettext(questions[fork->question]));
        snprintf(text, sizeof text, fork->assumed ? _("%zu. %s %s (assumed)") : _("%zu. %s %s"),
                 i + 1, question, gettext(replies[fork->reply]));
        put(writer, 2, fork->reply == ADVISE_UNKNOWN ? ROLE_WARNING : ROLE_TEXT, text);
    }
}

static void put_row(struct writer *writer, const struct comparison *comparison, size_t number,
                    const char *device)
{
    const struct compare_row *row = &comparison->rows[number];
    const struct measurement *time = measurements_find(&row->ms, device);
    char parameters[32], accuracy[48], speed[64], text[1024];
    snprintf(accuracy, sizeof accuracy,
             isfinite(row->figures.best_top1) ? _("best top-1 %.2f %%") : _("top-1 ?"),
             row->figures.best_top1);
    if (time)
        snprintf(speed, sizeof speed, _("%s ms"),
                 STATISTICS_MEAN(time->ms_per_image.mean, time->ms_per_image.ci95));
    else
        snprintf(speed, sizeof speed, "%s", _("ms not measured"));
    snprintf(text, sizeof text, _("%s: %s, %s parameters, %.4g MB, %s (%s)"), row->network,
             accuracy,
             text_count(figure_to_count(row->figures.parameters), parameters, sizeof parameters),
             (double)figure_to_count(row->figures.model_bytes) / 1e6, speed, row->name);
    put(writer, 2, ROLE_TEXT, text);
}

/* Makes the visible lines of a missing item a click target. */
static void add_missing_target(struct writer *writer, int from, size_t focus)
{
    const struct rect *area = &writer->area;
    int top = from - writer->model->scroll, bottom = writer->line - writer->model->scroll;
    top = top < 0 ? 0 : top;
    bottom = bottom > area->rows ? area->rows : bottom;
    if (!writer->model->editing && bottom > top)
        targets_add_row(&writer->canvas->targets,
                        (struct rect){area->row + top, area->column, bottom - top, area->columns},
                        focus, writer->model->focus);
}

static void put_missing(struct writer *writer, const struct advise_missing *missing, size_t focus)
{
    const bool focused = writer->model->focus == focus;
    const int from = writer->line;
    const int row = from - writer->model->scroll;
    if (focused) {
        struct rect mark = {writer->area.row + row, writer->area.column, 1, 2};
        if (row >= 0 && row < writer->area.rows) {
            draw_text(writer->canvas, mark, 0, 0, ROLE_FOCUS, ">");
            draw_cursor(writer->canvas, mark, 0, 0);
        }
    }
    put(writer, 2, focused ? ROLE_FOCUS : ROLE_WARNING, missing->what);
    put(writer, 4, ROLE_FAINT, missing->command);
    if (focused) {
        put(writer, 4, ROLE_KEY,
            missing->training ? _("Enter puts this training into the form.")
                              : _("Enter measures it in the background."));
        writer->missing_from = from;
        writer->missing_to = writer->line;
    }
    add_missing_target(writer, from, focus);
}

static void put_answer(struct writer *writer, size_t number, size_t *missing)
{
    const struct advisor_model *model = writer->model;
    const struct advice *advice = &model->answers[number];
    put_verdict(writer, advice);
    put_path(writer, advice);
    put(writer, 0, ROLE_HEADING, _("Why"));
    for (size_t i = 0; i < advice->step_count; i++)
        put(writer, 2, ROLE_TEXT, advice->steps[i]);
    if (advice->row_count > 0)
        put(writer, 0, ROLE_HEADING, _("Runs read"));
    for (size_t i = 0; i < advice->row_count; i++)
        put_row(writer, &model->comparison, advice->rows[i], advice->device);
    if (advice->missing_count > 0)
        put(writer, 0, ROLE_HEADING, _("Not known yet"));
    for (size_t i = 0; i < advice->missing_count; i++, ++*missing)
        put_missing(writer, &advice->missing[i], ADVISOR_FIELDS + *missing);
    writer->line++;
}

/* --- the second page --- */

static void put_means(struct writer *writer, const struct means_advice *advice)
{
    const struct model_table *table = &writer->model->other.table;
    char text[MEANS_STEP + MODEL_NAME + 80];
    put(writer, 0, ROLE_STRONG, means_verdict_text(table, advice, text, sizeof text));
    put(writer, 0, ROLE_HEADING, _("Why"));
    for (size_t i = 0; i < advice->reason_count; i++)
        put(writer, 2, ROLE_TEXT, advice->reasons[i]);
    if (advice->best != MODEL_NO_ROW) {
        snprintf(text, sizeof text, _("The best so far: %s (%s)"),
                 table->rows[advice->best].figures.facts.name, table->rows[advice->best].shown);
        put(writer, 0, ROLE_TEXT, text);
    }
    writer->line++;
}

static void put_other(struct writer *writer)
{
    const struct advisor_other *other = &writer->model->other;
    char text[1200];
    put(writer, 0, ROLE_HEADING, _("Other means: techniques after training"));
    if (advisor_other_is_applying(other)) {
        snprintf(text, sizeof text, _("Applying techniques, step %llu. s stops it."),
                 (unsigned long long)other->steps);
        put(writer, 0, ROLE_KEY, text);
    } else if (other->job)
        put(writer, 0, ROLE_FAINT, _("Reading the models ..."));
    else if (other->error.kind != ERROR_NONE)
        put(writer, 0, ROLE_BAD, error_format(&other->error, text, sizeof text));
    else if (other->count == 0)
        put(writer, 0, ROLE_FAINT, _("There are no models yet: train one, then come back."));
    for (size_t i = 0; i < other->count; i++)
        put_means(writer, &other->advice[i]);
}

static void put_state(struct writer *writer)
{
    struct advisor_model *model = writer->model;
    char text[1100];
    if (model->background_job && model->of)
        snprintf(text, sizeof text,
                 model->job.other[0]
                     ? _("Measuring %s on %s: block %zu of at most %zu. s cancels it.")
                     : _("Measuring %s on %s: image %zu of %zu. s cancels it."),
                 model->measuring, model->job.device, (size_t)model->done, (size_t)model->of);
    else if (model->background_job)
        snprintf(text, sizeof text, _("Measuring %s on %s: reading ..."), model->measuring,
                 model->job.device);
    if (model->background_job)
        put(writer, 0, ROLE_KEY, text);
    if (model->gathering) {
        snprintf(text, sizeof text, _("Reading the runs: %zu so far ..."), model->next);
        put(writer, 0, ROLE_FAINT, text);
    } else if (model->error.kind != ERROR_NONE)
        put(writer, 0, ROLE_BAD, error_format(&model->error, text, sizeof text));
    else if (model->answer_count == 0)
        put(writer, 0, ROLE_FAINT,
            _("There is no run to read the answer off. Train the network with validation (m s, "
              "then r), then come back: the advisor lists what else to measure."));
}

/* Draws the visible part of the answers and returns the number of all lines. */
static int write_all(struct advisor_model *model, struct canvas *canvas, struct rect area,
                     struct writer *writer)
{
    size_t missing = 0;
    *writer = (struct writer){model, canvas, area, 0, -1, -1};
    if (model->other.shown) {
        put_other(writer);
        return writer->line;
    }
    put_state(writer);
    for (size_t i = 0; !model->gathering && i < model->answer_count; i++)
        put_answer(writer, i, &missing);
    return writer->line;
}

static int scroll_for(struct advisor_model *model, const struct writer *writer)
{
    const int rows = writer->area.rows, furthest = writer->line > rows ? writer->line - rows : 0;
    int scroll = model->scroll;
    model->furthest = furthest;
    if (model->follow && model->focus < ADVISOR_FIELDS)
        scroll = 0;
    if (model->follow && writer->missing_from >= 0 && writer->missing_to > scroll + rows)
        scroll = writer->missing_to - rows;
    if (model->follow && writer->missing_from >= 0 && writer->missing_from < scroll)
        scroll = writer->missing_from;
    return scroll < 0 ? 0 : scroll > furthest ? furthest : scroll;
}

static void draw_answers(struct advisor_model *model, struct canvas *canvas, struct rect area)
{
    struct writer writer;
    if (rect_is_empty(area))
        return;
    const size_t targets = canvas->targets.count;
    int lines = write_all(model, canvas, area, &writer);
    const int scroll = scroll_for(model, &writer);
    if (scroll != model->scroll) {
        model->scroll = scroll;
        draw_fill(canvas, area, ROLE_TEXT);
        canvas->targets.count = targets;
        lines = write_all(model, canvas, area, &writer);
    }
    draw_scroll_marks(canvas, area, scroll > 0, lines > scroll + area.rows);
}

void advisor_draw(struct advisor_model *model, struct canvas *canvas, struct rect body)
{
    const bool wide = body.columns >= MIN_WIDE;
    const int margin = body.rows >= 20;
    int rows = ADVISOR_FIELDS;
    if (!wide && rows > body.rows / 2)
        rows = body.rows / 2;
    struct rect form = {body.row + margin, body.column + 1, rows,
                        wide ? FORM_COLUMNS : body.columns - 2};
    struct rect answers = {form.row + rows + margin, body.column + 1, body.rows - rows - 2 * margin,
                           body.columns - 2};
    if (wide)
        answers = (struct rect){form.row, form.column + FORM_COLUMNS + 2, body.rows - margin,
                                body.columns - FORM_COLUMNS - 4};
    draw_form(model, canvas, form);
    draw_answers(model, canvas, answers);
}
