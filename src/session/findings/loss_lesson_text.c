/* The lesson as text: its table of lines, its conclusion in sentences, and its JSON. */
#include "session/findings/loss_lesson.h"

#include "base/language.h"
#include "base/text.h"

#include <math.h>
#include <stdio.h>

/* --- lines --- */

struct line_list {
    struct lesson_line *lines;
    size_t count;
};

static struct lesson_line *put(struct line_list *lines, const char *label)
{
    struct lesson_line *line = &lines->lines[lines->count++];
    *line = (struct lesson_line){.label = label};
    return line;
}

/* Adds a float32 value with nine digits, which read back as the same bits. */
static struct lesson_line *put_float(struct line_list *lines, const char *label, float value)
{
    struct lesson_line *line = put(lines, label);
    text_number(json_float(value), 9, line->value, sizeof line->value);
    if (isfinite(value))
        snprintf(line->bits, sizeof line->bits, "%a", (double)value);
    return line;
}

static void put_rounded(struct line_list *lines, const char *label, float value, double rounding)
{
    struct lesson_line *line = put_float(lines, label, value);
    if (rounding == 0)
        snprintf(line->rounding, sizeof line->rounding, "%s", _("exact"));
    else if (isfinite(rounding))
        snprintf(line->rounding, sizeof line->rounding, "%+.3g", rounding);
}

static void put_double(struct line_list *lines, const char *label, double value)
{
    text_number(value, 9, put(lines, label)->value, sizeof(((struct lesson_line *)0)->value));
}

static void put_means(struct line_list *lines, const struct loss_lesson *lesson)
{
    put(lines, _("The three values"));
    put_float(lines, _("loss of this iteration"), lesson->loss);
    put_float(lines, _("mean, as Caffe prints it"), lesson->caffe);
    put_double(lines, _("exact mean"), lesson->exact);
}

static void put_steps(struct line_list *lines, const struct loss_lesson *lesson)
{
    const struct loss_step *step = &lesson->step;
    const double *rounding = lesson->rounding;
    put(lines, step->filling ? _("Step by step, while the window fills")
                             : _("Step by step, with a full window"));
    put_float(lines, _("mean before"), step->before);
    if (step->filling) {
        put_rounded(lines, _("times the losses before"), step->first, rounding[0]);
        put_float(lines, _("loss that enters"), step->loss);
        put_rounded(lines, _("sum"), step->second, rounding[1]);
        put_rounded(lines, _("divided by the losses held"), step->after, rounding[2]);
    } else {
        put_float(lines, _("loss that leaves"), step->leaving);
        put_float(lines, _("loss that enters"), step->loss);
        put_rounded(lines, _("entering - leaving"), step->first, rounding[0]);
        put_rounded(lines, _("divided by the window"), step->second, rounding[1]);
        put_rounded(lines, _("mean before + that"), step->after, rounding[2]);
    }
    if (!lesson->is_record)
        put_float(lines, _("as the record has it"), lesson->caffe);
}

static void put_residue(struct line_list *lines, const struct loss_lesson *lesson)
{
    put(lines, _("What is left over"));
    put_double(lines, _("residue: Caffe's - exact"), lesson->residue);
    put_double(lines, _("rounding of this step"), lesson->step_rounding);
    put_double(lines, _("largest rounding so far"), lesson->worst_rounding);
    put_float(lines, _("largest loss so far"), lesson->largest);
    put_double(lines, _("unit in its last place"), lesson->ulp);
    if (lesson->ulp > 0)
        put_double(lines, _("residue in such units"), lesson->residue / lesson->ulp);
}

size_t loss_lesson_lines(const struct loss_lesson *lesson,
                         struct lesson_line lines[LESSON_LINES_MAX])
{
    struct line_list all = {lines, 0};
    put_means(&all, lesson);
    put_steps(&all, lesson);
    put_residue(&all, lesson);
    return all.count;
}

/* --- conclusion --- */

/* Writes the first sentence: how the two means compare. Returns its length. */
static int write_state(const struct loss_lesson *lesson, char *text, size_t size)
{
    const double caffe = (double)lesson->caffe, exact = lesson->exact;
    if (caffe < 0 && exact >= 0)
        return snprintf(text, size,
                        _("Caffe prints %.6g, below zero, although no loss was: the exact mean of "
                          "the same losses is %.6g."),
                        caffe, exact);
    if (loss_mean_is_wrong(caffe, exact))
        return snprintf(text, size,
                        _("Caffe prints %.6g although the exact mean of the same losses is %.6g: "
                          "more than half of it is residue, this time above zero."),
                        caffe, exact);
    if (lesson->residue == 0)
        return snprintf(text, size,
                        _("Here Caffe's mean and the exact one are the same: nothing has been "
                          "rounded away, or it has cancelled out."));
    return snprintf(text, size,
                    _("Caffe's mean differs from the exact one by %.3g. That is hidden as long as "
                      "the losses are larger."),
                    lesson->residue);
}

/* Writes where the residue comes from and why it remains. */
static void write_origin(const struct loss_lesson *lesson, char *text, size_t size)
{
    snprintf(text, size,
             _(" The largest rounding so far, %.3g, was that of iteration %llu; losses of up to "
               "%.4g (iteration %llu) stand %.3g apart from the next float32. The mean is only "
               "ever changed by differences and never summed afresh, so what was rounded away "
               "stays in it (BVLC/caffe issue 3029)."),
             lesson->worst_rounding, (unsigned long long)lesson->worst_at, (double)lesson->largest,
             (unsigned long long)lesson->largest_at, lesson->ulp);
}

char *loss_lesson_conclude(const struct loss_lesson *lesson, char *text, size_t size)
{
    if (!isfinite(lesson->caffe) || !isfinite(lesson->exact)) {
        snprintf(text, size,
                 _("A loss that is not finite has entered the mean: from there on it "
                   "says nothing."));
        return text;
    }
    const int used = write_state(lesson, text, size);
    if (used > 0 && (size_t)used < size && lesson->residue != 0 && lesson->worst_at > 0)
        write_origin(lesson, text + used, size - (size_t)used);
    return text;
}

/* --- JSON --- */

static bool add_step(struct json *object, const struct loss_lesson *lesson)
{
    static const char *const filling[] = {"times", "sum", "mean"};
    static const char *const full[] = {"difference", "quotient", "mean"};
    const struct loss_step *step = &lesson->step;
    const char *const *names = step->filling ? filling : full;
    const float results[LESSON_OPERATIONS] = {step->first, step->second, step->after};
    bool added = json_add_bool(object, "filling", step->filling) &&
                 json_add_count(object, "held", step->held) &&
                 json_add_float(object, "before", step->before) &&
                 (step->filling ? json_add_null(object, "leaving")
                                : json_add_float(object, "leaving", step->leaving)) &&
                 json_add_float(object, "entering", step->loss);
    for (int i = 0; added && i < LESSON_OPERATIONS; i++) {
        struct json *operation = json_add_object(object, names[i]);
        added = json_add_float(operation, "value", results[i]) &&
                json_add_number(operation, "rounding", lesson->rounding[i]);
    }
    return added;
}

bool loss_lesson_to_json(const struct loss_lesson *lesson, struct json *object)
{
    char text[1200];
    return json_add_count(object, "iteration", lesson->iteration) &&
           json_add_count(object, "average_loss", lesson->window) &&
           json_add_float(object, "loss", lesson->loss) &&
           json_add_float(object, "loss_caffe", lesson->caffe) &&
           json_add_number(object, "loss_mean", lesson->exact) &&
           json_add_bool(object, "bit_for_bit", lesson->is_record) &&
           add_step(json_add_object(object, "step"), lesson) &&
           json_add_number(object, "step_rounding", lesson->step_rounding) &&
           json_add_number(object, "residue", lesson->residue) &&
           json_add_number(object, "largest_rounding", lesson->worst_rounding) &&
           json_add_count(object, "largest_rounding_at", lesson->worst_at) &&
           json_add_float(object, "largest_loss", lesson->largest) &&
           json_add_count(object, "largest_loss_at", lesson->largest_at) &&
           json_add_number(object, "ulp", lesson->ulp) &&
           json_add_string(object, "conclusion", loss_lesson_conclude(lesson, text, sizeof text));
}
