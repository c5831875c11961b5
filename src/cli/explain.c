/* tinca explain: shows the arithmetic of Caffe's running mean of the loss at one iteration of a
 * run. runs/findings/loss_lesson.c repeats the arithmetic; this file prints its lines in
 * columns. */
#include "runs/findings/loss_lesson.h"

#include "cli/command.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/runs.h"

#include "base/language.h"
#include "base/text.h"
#include "runs/settings/settings.h"

#include <stdio.h>
#include <string.h>

/* Prints a text and fills it with blanks up to `width` columns. */
static void print_cell(const char *text, size_t width)
{
    const size_t columns = text_columns(text);
    output_print("%s%*s", text, columns < width ? (int)(width - columns) : 0, "");
}

/* Returns the columns of the widest label of a line with a value. */
static size_t label_width(const struct lesson_line *lines, size_t count)
{
    size_t widest = 0;
    for (size_t i = 0; i < count; i++)
        if (lines[i].value[0] && text_columns(lines[i].label) > widest)
            widest = text_columns(lines[i].label);
    return widest;
}

static void print_lines(const struct loss_lesson *lesson)
{
    enum { VALUE_COLUMNS = 17, BITS_COLUMNS = 17 };
    struct lesson_line lines[LESSON_LINES_MAX];
    const size_t count = loss_lesson_lines(lesson, lines), width = label_width(lines, count);
    for (size_t i = 0; i < count; i++) {
        const struct lesson_line *line = &lines[i];
        if (!line->value[0]) {
            output_print("\n%s\n", line->label);
            continue;
        }
        output_print("  ");
        print_cell(line->label, width + 2);
        print_cell(line->value, line->bits[0] ? VALUE_COLUMNS : 0);
        print_cell(line->bits, line->rounding[0] ? BITS_COLUMNS : 0);
        output_print("%s\n", line->rounding);
    }
}

static int print_text(const struct run *run, const struct loss_lesson *lesson)
{
    char text[1200];
    const struct run_facts *facts = run_facts(run);
    output_print(ngettext("%s (%s), iteration %llu: Caffe's running mean of the last loss\n",
                          "%s (%s), iteration %llu: Caffe's running mean of the last %zu losses\n",
                          lesson->window),
                 facts->network, facts->id, (unsigned long long)lesson->iteration, lesson->window);
    print_lines(lesson);
    output_print(
        "\n%s\n\n",
        _("Columns: the value, its bits in hexadecimal, and what rounding to float32 added."));
    output_print_wrapped(loss_lesson_conclude(lesson, text, sizeof text), 0, 0, OUTPUT_WIDTH);
    return EXIT_DONE;
}

static int print_json(const struct run *run, const struct loss_lesson *lesson)
{
    language_begin(language_names[0]); /* JSON is the same in every language */
    struct json *root = json_new_object();
    return output_json(root, json_add_string(root, "id", run_facts(run)->id) &&
                                 loss_lesson_to_json(lesson, root));
}

/* Repeats the arithmetic up to `iteration`; 0: up to the most instructive one. */
static bool explain(const struct run *run, uint64_t iteration, struct loss_lesson *lesson,
                    struct error *error)
{
    struct loss_walk walk = {0};
    const struct series *series = run_series(run);
    if (run_facts(run)->mean_only)
        return error_set(error, ERROR_INPUT, run_facts(run)->id,
                         "import a log that has Caffe's Train net output lines",
                         "its log has Caffe's mean only, and not the losses it was computed from");
    if (iteration == 0 && series_count(series) > 0)
        iteration = loss_lesson_choose(series);
    return loss_walk_to(&walk, series, measurement_settings(run_config(run)).average_loss,
                        iteration, lesson, error);
}

static int explain_run(const struct command *command, int argc, char **argv)
{
    struct error error;
    struct operands operands;
    struct loss_lesson lesson;
    size_t iteration = 0;
    bool as_json = false;
    int status;
    const struct option_row rows[] = {
        COUNT_ROW("iteration", "N",
                  N_("The iteration to explain; without it the first whose mean is negative, else "
                     "the first whose mean is mostly residue, else the last."),
                  &iteration, 1, (size_t)1 << 53),
        OUTPUT_JSON_OPTION(&as_json),
        {0}};
    const struct option_set set = {.rows = rows, .operands_min = 1, .operands_max = 1};
    if (!options_read(command, &set, argc, argv, &operands, &status))
        return status;
    struct run *run = runs_open(operands.values[0], &error);
    if (!run || !explain(run, iteration, &lesson, &error))
        status = output_error(&error);
    else
        status = as_json ? print_json(run, &lesson) : print_text(run, &lesson);
    run_free(run);
    return status;
}

const struct command command_explain = {
    .name = "explain",
    .operands = "RUN",
    .summary = N_("Explain the arithmetic of Caffe's running mean of the loss."),
    .details = N_("RUN is an ID that tinca runs lists, the beginning of one, a run's name, or its "
                  "folder. Caffe does not print the loss but a float32 mean of the last losses, "
                  "which it updates by adding differences. The output shows the raw loss, that "
                  "mean and the exact mean, each operation with its rounding error, the residue, "
                  "and the unit in the last place of the largest loss so far."),
    .run = explain_run,
};
