/* The walk repeats the loss meter's recurrence on the recorded losses. It takes the mean before
 * each step from the record if possible. For tinca's runs the two have the same bits; a log has
 * only six digits, and the errors from reading them must not accumulate.
 *
 * Rounding errors are computed in double precision. Its relative error of 2^-53 for the products
 * and quotients of float32 values is far below what is shown.
 *
 * As text, a lesson is a table of lines, a conclusion in sentences, and JSON. */
#include "runs/findings/loss_lesson.h"

#include "base/language.h"
#include "base/text.h"

#include <math.h>
#include <stdio.h>

/* Returns whether Caffe's mean is negative or more than half of it is residue. */
static bool loss_mean_is_wrong(double caffe, double exact)
{
    return caffe < 0 || fabs(caffe - exact) > exact;
}

/* --- roundings --- */

static void find_roundings(const struct loss_step *step, double rounding[LESSON_OPERATIONS])
{
    const double held = (double)step->held, before = (double)step->before;
    const double first = (double)step->first, second = (double)step->second;
    if (step->filling) {
        rounding[0] = first - before * (held - 1);
        rounding[1] = second - (first + (double)step->loss);
        rounding[2] = (double)step->after - second / held;
    } else {
        rounding[0] = first - ((double)step->loss - (double)step->leaving);
        rounding[1] = second - first / held;
        rounding[2] = (double)step->after - (before + second);
    }
}

/* Returns the effect of the errors on the mean: an error before a division is divided, too. */
static double sum_roundings(const struct loss_step *step, const double rounding[LESSON_OPERATIONS])
{
    const double held = (double)step->held;
    return step->filling ? (rounding[0] + rounding[1]) / held + rounding[2]
                         : rounding[0] / held + rounding[1] + rounding[2];
}

/* --- the walk --- */

/* Advances the walk by one iteration. */
static void walk_one(struct loss_walk *walk)
{
    const struct series_point *point = &walk->series->points[walk->done];
    const bool full = walk->done >= walk->window;
    const float leaving = full ? walk->series->points[walk->done - walk->window].loss : 0;
    double rounding[LESSON_OPERATIONS];
    walk->step = loss_meter_step(walk->window, walk->done, walk->mean, leaving, point->loss);
    find_roundings(&walk->step, rounding);
    const double sum = sum_roundings(&walk->step, rounding);
    if (fabs(sum) > fabs(walk->worst_rounding)) {
        walk->worst_rounding = sum;
        walk->worst_at = point->iteration;
    }
    if (point->loss > walk->largest) {
        walk->largest = point->loss;
        walk->largest_at = point->iteration;
    }
    walk->mean = isnan(point->loss_caffe) ? walk->step.after : point->loss_caffe;
    walk->done++;
}

/* Returns the mean of the window that ends with the last point that was visited, summed in double
 * precision.
 */
static double exact_mean(const struct loss_walk *walk)
{
    double sum = 0;
    for (size_t i = walk->done - walk->step.held; i < walk->done; i++)
        sum += (double)walk->series->points[i].loss;
    return sum / (double)walk->step.held;
}

static void fill(const struct loss_walk *walk, struct loss_lesson *lesson)
{
    *lesson = (struct loss_lesson){.iteration = walk->done,
                                   .window = walk->window,
                                   .step = walk->step,
                                   .loss = walk->step.loss,
                                   .caffe = walk->mean,
                                   .exact = exact_mean(walk),
                                   .largest = walk->largest,
                                   .largest_at = walk->largest_at,
                                   .worst_rounding = walk->worst_rounding,
                                   .worst_at = walk->worst_at};
    find_roundings(&walk->step, lesson->rounding);
    lesson->step_rounding = sum_roundings(&walk->step, lesson->rounding);
    lesson->is_record = walk->step.after == walk->mean || isnan(walk->step.after);
    lesson->residue = (double)lesson->caffe - lesson->exact;
    lesson->ulp = (double)nextafterf(walk->largest, INFINITY) - (double)walk->largest;
}

/* Returns false with an error unless every iteration up to this one is recorded. */
static bool check_record(const struct series *series, uint64_t iteration, struct error *error)
{
    static const char *const what = "the arithmetic of the mean";
    const size_t count = series_count(series);
    if (count == 0)
        return error_set(error, ERROR_INPUT, what, "wait for the first iteration, or train again",
                         "this run has no iteration on record");
    const uint64_t last = series->points[count - 1].iteration;
    if (iteration < 1 || iteration > last)
        return error_set(error, ERROR_USAGE, what, "choose one of those",
                         "iteration %llu is not on record; the run has 1 to %llu",
                         (unsigned long long)iteration, (unsigned long long)last);
    if (last == count)
        return true;
    return error_set(error, ERROR_INPUT, what,
                     "it takes a record of every iteration (in Caffe: display: 1)",
                     "the mean depends on every loss before it, and this record has %llu of the "
                     "first %llu",
                     (unsigned long long)count, (unsigned long long)last);
}

bool loss_walk_to(struct loss_walk *walk, const struct series *series, size_t window,
                  uint64_t iteration, struct loss_lesson *lesson, struct error *error)
{
    if (!check_record(series, iteration, error))
        return false;
    if (window == 0)
        window = 1;
    if (walk->series != series || walk->window != window || walk->done > iteration)
        *walk = (struct loss_walk){.series = series, .window = window};
    while (walk->done < iteration)
        walk_one(walk);
    fill(walk, lesson);
    return true;
}

/* --- which iteration --- */

uint64_t loss_lesson_next_negative(const struct series *series, uint64_t iteration)
{
    uint64_t first = 0;
    bool below = false;
    for (size_t i = 0, count = series_count(series); i < count; i++) {
        const struct series_point *point = &series->points[i];
        const bool falls = point->loss_caffe < 0 && !below;
        below = point->loss_caffe < 0;
        if (falls && point->iteration > iteration)
            return point->iteration;
        if (falls && first == 0)
            first = point->iteration;
    }
    return first;
}

uint64_t loss_lesson_choose(const struct series *series)
{
    const size_t count = series_count(series);
    const uint64_t negative = loss_lesson_next_negative(series, 0);
    if (negative > 0 || count == 0)
        return negative;
    for (size_t i = 0; i < count; i++)
        if (loss_mean_is_wrong((double)series->points[i].loss_caffe,
                               (double)series->points[i].loss_mean))
            return series->points[i].iteration;
    return series->points[count - 1].iteration;
}

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
