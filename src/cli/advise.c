/* tinca advise --other: reads the table of models (studies/models), prints what to try next and
 * why, and with --apply lets means_apply do it. */
#include "cli/internal.h"

#include "base/escape/shell.h"
#include "base/files/output_file.h"
#include "base/language.h"
#include "base/memory.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/runs.h"
#include "cli/stop_signal.h"
#include "exchange/logs/import.h"
#include "runs/folder/run_directory.h"
#include "runs/settings/settings.h"
#include "runs/values/run_facts.h"
#include "studies/compare/advise.h"
#include "studies/models/means_apply.h"
#include "training/compress/technique.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The second page of the advice, techniques after training: tinca advise --other and --apply. */

struct advise_other {
    bool wanted, apply; /* --other, --apply */
    const char *budget; /* minutes; NULL: not given */
    const char *output; /* the file of the best result; NULL: none */
    bool quiet;
    struct run_config config; /* data, epochs, seed, threads */
};

/* Returns false with an error if the options do not go together. */
static bool advise_other_check(const struct advise_other *other, struct error *error)
{
    double minutes;
    if (!other->apply && (other->budget || other->output))
        return error_set(error, ERROR_USAGE, other->budget ? "--budget" : "--output",
                         "give --apply, too", "nothing is applied without it");
    if (other->budget && (!text_to_double(other->budget, &minutes) || minutes <= 0))
        return error_set(error, ERROR_USAGE, "--budget", "give minutes, such as 30",
                         "%s is not understood, or out of range", other->budget);
    return !other->output || output_file_check(other->output, OUTPUT_BINARY, error);
}

static struct means_request request_of(const struct advise_request *request)
{
    return (struct means_request){
        .network = request->network,
        .faster = request->need != ADVISE_SMALLER || isfinite(request->limit_ms),
        .smaller = request->need != ADVISE_FASTER || isfinite(request->limit_mb),
        .limit_ms = request->limit_ms,
        .limit_mb = request->limit_mb,
        .accept_loss = request->accept_loss};
}

static struct means_settings settings_of(const struct advise_other *other)
{
    const struct run_config *config = &other->config;
    return (struct means_settings){
        .data = config_is_given(config, KEY(data)) ? data_settings(config).data : NULL,
        .epochs =
            config_is_given(config, KEY(epochs)) ? training_settings(config).epochs : MEANS_EPOCHS,
        .seed = training_settings(config).seed};
}

/* --- printing --- */

static void append_option(struct text *text, const char *option, const char *value)
{
    if (!value[0])
        return;
    text_append(text, " %s ", option);
    shell_word_append(text, value);
}

/* Appends what remains, as a step prune or factorize has it; `plain`: the option of a mere share.
 */
static void append_goal(struct text *text, const char *argument, const char *plain)
{
    double value;
    const char *const options[] = {[TECHNIQUE_PLAIN] = plain,
                                   [TECHNIQUE_PARAMETERS] = "--parameters",
                                   [TECHNIQUE_ZEROS] = "--unstructured",
                                   [TECHNIQUE_TIME] = "--latency"};
    if (argument[0]) {
        const enum technique_goal goal = technique_goal_of(argument, &value);
        text_append(text, " %s %.6g", options[goal], value);
    }
}

/* Appends the data, the epochs, the device and the seed of a training, as far as it has them. */
static void append_training(struct text *text, const struct model_table *table, const char *data,
                            const char *validate, const struct means_settings *settings)
{
    if (data) {
        append_option(text, "--data", data);
        append_option(text, "--validate", validate);
        text_append(text, " --epochs %zu", settings->epochs);
    }
    append_option(text, "--device", table->device);
    text_append(text, " --threads %zu --seed %zu", table->threads, settings->seed);
}

/* Appends the command of a step of a chain of techniques to the row's model. */
static void append_step(struct text *text, const char *step, const struct model_table *table,
                        const struct model_row *row, const char *data,
                        const struct means_settings *settings)
{
    const char *argument;
    const bool prunes = technique_step_is(step, "prune", &argument);
    if (technique_step_is(step, "quantize", &argument)) {
        append_option(text, "quantize", row->path);
        append_option(text, "--calibrate", data ? data : "SPEC");
        append_option(text, "--data", row->data);
        append_option(text, "--method", argument);
        append_training(text, table, NULL, "", settings);
        text_append(text, " -o FILE.safetensors -q");
    } else if (prunes || technique_step_is(step, "factorize", &argument)) {
        append_option(text, prunes ? "prune" : "factorize", row->path);
        append_goal(text, argument, prunes ? "--flops" : "--energy");
        append_training(text, table, data, row->data, settings);
        text_append(text, " -o FILE.safetensors -q");
    } else if (technique_step_is(step, "distill", &argument)) {
        append_option(text, "train", row->path);
        append_option(text, "--weights", row->path);
        append_option(text, "--teacher", argument);
        append_training(text, table, data ? data : "SPEC", row->data, settings);
        text_append(text, " --save FILE.safetensors -q");
    } else if (technique_step_is(step, "half", &argument)) {
        append_option(text, "weights", row->path);
        append_option(text, "--save-precision", argument[0] ? argument : "float16");
        text_append(text, " --save FILE.safetensors");
    }
}

/* Prints the command that applies the technique by hand. */
static void print_command(const struct model_table *table, const struct means_advice *advice,
                          const struct means_settings *settings)
{
    struct text text = {0};
    const char *data = means_training_data(table, advice->row, advice->reference, settings);
    text_append(&text, "tinca");
    append_step(&text, advice->step, table, &table->rows[advice->row], data, settings);
    if (text.data && !text.failed)
        output_print("\n  %s\n", text.data);
    text_free(&text);
}

/* Prints the command that applies the advice and what follows from it. */
static void print_apply(const struct advise_other *other, const struct means_request *request,
                        const struct model_table *table, const struct means_advice *advice)
{
    struct text text = {0};
    const struct run_config *config = &other->config;
    text_append(&text, "tinca advise --apply --network ");
    shell_word_append(&text, advice->network);
    if (isfinite(request->limit_ms))
        text_append(&text, " --limit-ms %.6g", request->limit_ms);
    if (isfinite(request->limit_mb))
        text_append(&text, " --limit-mb %.6g", request->limit_mb);
    if (!isfinite(request->limit_ms) && !isfinite(request->limit_mb))
        text_append(&text, " --need %s",
                    request->faster && request->smaller ? "both"
                    : request->faster                   ? "faster"
                                                        : "smaller");
    text_append(&text, " --budget 30 --accept-loss %.6g --device ", request->accept_loss);
    shell_word_append(&text, table->device);
    if (config_is_given(config, KEY(data))) {
        text_append(&text, " --data ");
        shell_word_append(&text, data_settings(config).data);
    }
    if (config_is_given(config, KEY(epochs)))
        text_append(&text, " --epochs %zu", training_settings(config).epochs);
    if (config_is_given(config, KEY(seed)))
        text_append(&text, " --seed %zu", training_settings(config).seed);
    if (config_is_given(config, KEY(threads)))
        text_append(&text, " --threads %zu", machine_settings(config).threads);
    if (text.data && !text.failed)
        output_print(_("or, as often as the limits need it, within 30 minutes:\n\n  %s\n"),
                     text.data);
    text_free(&text);
}

static void print_advice(const struct advise_other *other, const struct means_request *request,
                         const struct model_table *table, const struct means_advice *advice)
{
    char text[MEANS_STEP + 400];
    const struct means_settings settings = settings_of(other);
    output_print_wrapped(means_verdict_text(table, advice, text, sizeof text), 0, 0, OUTPUT_WIDTH);
    output_print("\n%s\n", _("Why:"));
    for (size_t i = 0; i < advice->reason_count; i++) {
        output_print("  ");
        output_print_wrapped(advice->reasons[i], 2, 2, OUTPUT_WIDTH);
    }
    if (advice->verdict == MEANS_TRY) {
        print_command(table, advice, &settings);
        print_apply(other, request, table, advice);
    }
    if (advice->best != MODEL_NO_ROW)
        output_print(_("\nThe best so far: %s (%s)\n"),
                     table->rows[advice->best].figures.facts.name, table->rows[advice->best].path);
}

static int print(const struct advise_other *other, const struct means_request *request,
                 const struct model_table *table, const struct means_advice *advice, bool as_json)
{
    struct json *root = as_json ? json_new_object() : NULL;
    if (as_json)
        return output_json(root, root && means_to_json(table, advice, root));
    print_advice(other, request, table, advice);
    return EXIT_DONE;
}

/* --- applying --- */

static bool has_to_stop(void *context)
{
    (void)context;
    return stop_signal_came();
}

static void report(void *context, const char *line)
{
    const struct advise_other *other = context;
    if (!other->quiet)
        output_note("%s\n", line);
}

/* Applies what is advised. The advice is printed also after an interrupt: what was made stays. */
static int apply(const struct advise_other *other, const struct model_table_request *models,
                 const struct means_request *request, bool as_json)
{
    struct error error;
    struct model_table table;
    struct means_advice advice;
    double minutes = 0;
    if (other->budget)
        text_to_double(other->budget, &minutes);
    struct means_apply work = {.models = models,
                               .request = *request,
                               .settings = settings_of(other),
                               .output = other->output,
                               .seconds = minutes * 60,
                               .stop = has_to_stop,
                               .report = report,
                               .context = (void *)other};
    stop_signal_catch_for_runs();
    const bool applied = means_apply(&work, &table, &advice, &error);
    const bool ended = !applied && error.kind == ERROR_INTERRUPTED;
    int status = EXIT_DONE;
    if ((applied || ended) && advice.row != MODEL_NO_ROW)
        status = print(other, request, &table, &advice, as_json);
    if (ended && !stop_signal_came() && !other->quiet)
        output_note("%s\n", _("The time budget has ended; repeat the command to go on."));
    else if (!applied && !ended)
        status = output_error(&error);
    model_table_free(&table);
    return stop_signal_came() ? EXIT_INTERRUPTED : status;
}

static int advise_once(const struct advise_other *other, const struct model_table_request *models,
                       const struct means_request *request, bool as_json)
{
    struct error error;
    struct model_table table;
    struct means_advice advice;
    const bool advised =
        model_table_read(&table, models, &error) && means_advise(&table, request, &advice, &error);
    const int status =
        advised ? print(other, request, &table, &advice, as_json) : output_error(&error);
    model_table_free(&table);
    return status;
}

/* Prints the advice for the request about the models that the operands name or, without any, all of
 * them; applies it if that is asked for. Returns the exit status. */
static int advise_other_run(const struct advise_other *other, const struct advise_request *request,
                            const struct operands *operands, bool as_json)
{
    const struct means_settings settings = settings_of(other);
    struct means_request means = request_of(request);
    means.settings = &settings;
    const char *device = strcmp(request->device, "weak") == 0       ? "cpu"
                         : strcmp(request->device, "powerful") == 0 ? "cuda"
                                                                    : request->device;
    const struct model_table_request models = {.operands = (const char *const *)operands->values,
                                               .operand_count = operands->count,
                                               .only_operands =
                                                   operands->count > 0 && !other->apply,
                                               .device = device,
                                               .threads = machine_settings(&other->config).threads};
    return other->apply ? apply(other, &models, &means, as_json)
                        : advise_once(other, &models, &means, as_json);
}

/* --- the command --- */

/* tinca advise: which technique to use, by the studies' flowchart and the user's measured runs.
 *
 * The runs become the rows of a comparison (studies/compare), and the advice is computed from these
 * rows. Runs of several networks get one answer for each network, in the order of their first runs.
 */

/* The options that take a number, as given; NULL: not given. */
struct numbers {
    const char *limit_ms, *limit_mb, *accept_loss;
};

/* --- the request --- */

/* Reads a number from 0; leaves *value alone if the option was not given. */
static bool read_number(const char *option, const char *text, double *value, struct error *error)
{
    if (!text || (text_to_double(text, value) && *value >= 0 && isfinite(*value)))
        return true;
    return error_set(error, ERROR_USAGE, option, "give a number from 0",
                     "%s is not understood, or out of range", text);
}

/* Fills in the request. Without --need the limits that were given decide what is needed. */
static bool read_request(struct advise_request *request, const struct numbers *numbers,
                         const char *need, struct error *error)
{
    request->limit_ms = request->limit_mb = NAN;
    request->accept_loss = ADVISE_ACCEPT_LOSS;
    if (!read_number("--limit-ms", numbers->limit_ms, &request->limit_ms, error) ||
        !read_number("--limit-mb", numbers->limit_mb, &request->limit_mb, error) ||
        !read_number("--accept-loss", numbers->accept_loss, &request->accept_loss, error))
        return false;
    if (need)
        for (size_t i = 0; advise_need_names[i]; i++)
            if (strcmp(advise_need_names[i], need) == 0)
                request->need = (enum advise_need)i;
    if (!need && !numbers->limit_ms && !numbers->limit_mb)
        return error_set(error, ERROR_USAGE, "--need",
                         "give --need faster, smaller or both, or limits",
                         "neither a need nor a limit was given");
    if (!need)
        request->need = !numbers->limit_mb   ? ADVISE_FASTER
                        : !numbers->limit_ms ? ADVISE_SMALLER
                                             : ADVISE_BOTH;
    return true;
}

/* --- the answer --- */

/* Prints a line about a run: its accuracy, its size and its time on the device. */
static void print_row(const struct comparison *comparison, size_t number, const char *device)
{
    const struct compare_row *row = &comparison->rows[number];
    const struct measurement *time = measurements_find(&row->ms, device);
    char parameters[32];
    output_print("  %s: ", row->network);
    if (isfinite(row->figures.best_top1)) {
        output_print(_("best top-1 %.2f %%"), row->figures.best_top1);
        output_print(", ");
    }
    output_print(
        _("%s parameters, %.4g MB"),
        text_count(figure_to_count(row->figures.parameters), parameters, sizeof parameters),
        (double)figure_to_count(row->figures.model_bytes) / 1e6);
    if (time) {
        output_print(", ");
        output_print(_("%s ms on %s"),
                     STATISTICS_MEAN(time->ms_per_image.mean, time->ms_per_image.ci95),
                     time->on.device);
    }
    output_print(" (%s)\n", row->name);
}

static void print_verdict(const struct advice *advice)
{
    static const char *const words[] = {
        [ADVISE_KEEP] = N_("%s on %s: leave it as it is\n"),
        [ADVISE_USE] = N_("%s on %s: use %s\n"),
        [ADVISE_TRY] = N_("%s on %s: try %s; measurements of it are still missing\n"),
        [ADVISE_MEASURE] = N_("%s on %s: measure it first\n"),
        [ADVISE_ELSEWHERE] = N_("%s on %s: no technique helps here\n")};
    const char *format = gettext(words[advice->verdict]);
    if (advice->verdict == ADVISE_USE || advice->verdict == ADVISE_TRY)
        output_print(format, advice->network, advice->device, advice->technique);
    else
        output_print(format, advice->network, advice->device);
}

static int print_text(const struct comparison *comparison, const struct advice *advice)
{
    print_verdict(advice);
    output_print("\n%s\n", _("Why:"));
    for (size_t i = 0; i < advice->step_count; i++) {
        output_print("  ");
        output_print_wrapped(advice->steps[i], 2, 2, OUTPUT_WIDTH);
    }
    if (advice->row_count > 0)
        output_print(_("\nRuns read, of %s:\n"), advice->data);
    for (size_t i = 0; i < advice->row_count; i++)
        print_row(comparison, advice->rows[i], advice->device);
    if (advice->verdict == ADVISE_ELSEWHERE)
        output_print("\n%s\n", _("Other means, after training: tinca advise --other, with the same "
                                 "options"));
    if (advice->missing_count > 0)
        output_print("\n%s\n", _("Not known yet:"));
    for (size_t i = 0; i < advice->missing_count; i++)
        output_print("  %s\n    %s\n", advice->missing[i].what, advice->missing[i].command);
    return EXIT_DONE;
}

/* --- the runs --- */

/* Opens all runs of the folder of runs; skips those that cannot be read. */
static bool open_all(struct opened_runs *runs, struct error *error)
{
    char **ids;
    size_t count;
    if (!run_directory_list(&ids, &count, error))
        return false;
    runs->list = memory_new(count, sizeof *runs->list, "the list of runs", error);
    for (size_t i = 0; i < count; i++) {
        struct run *run = runs->list ? runs_open(ids[i], NULL) : NULL;
        if (run)
            runs->list[runs->count++] = run;
        free(ids[i]);
    }
    free(ids);
    return runs->list;
}

/* Opens the runs that the operands name. Fails if one was imported: it was not measured here. */
static bool open_named(struct opened_runs *runs, const struct operands *operands,
                       struct error *error)
{
    for (size_t i = 0; i < operands->count; i++)
        if (!runs_open_operand(runs, operands->values[i], error))
            return false;
    for (size_t i = 0; i < runs->count; i++) {
        const struct run_facts *facts = run_facts(runs->list[i]);
        if (!run_trained_by_tinca(facts->imported, facts->id, error))
            return false;
    }
    return true;
}

/* --- networks --- */

/* Returns whether no earlier row is of the same network. */
static bool is_first(const struct comparison *comparison, size_t number)
{
    for (size_t i = 0; i < number; i++)
        if (strcmp(comparison->rows[i].base, comparison->rows[number].base) == 0)
            return false;
    return true;
}

static size_t count_networks(const struct comparison *comparison)
{
    size_t count = 0;
    for (size_t i = 0; i < comparison->count; i++)
        count += is_first(comparison, i);
    return count;
}

/* Computes one answer and appends it to `list`, or prints it if that is NULL. */
static bool answer_one(const struct comparison *comparison, const struct advise_request *request,
                       struct json *list, struct error *error)
{
    struct advice advice;
    if (!advise(comparison, request, &advice, error))
        return false;
    if (!list) {
        print_text(comparison, &advice);
        return true;
    }
    struct json *object = advise_to_json(comparison, request, &advice);
    return (object && json_add_tree(list, NULL, object)) ||
           error_set_memory(error, "the JSON document", 0);
}

/* Answers for each network, in the order of their first runs. */
static int answer_each(const struct comparison *comparison, const struct advise_request *request,
                       bool as_json)
{
    struct error error;
    struct json *root = as_json ? json_new_object() : NULL;
    struct json *list = json_add_array(root, "networks");
    bool answered = !as_json || list || error_set_memory(&error, "the JSON document", 0);
    bool first = true;
    for (size_t i = 0; answered && i < comparison->count; i++) {
        struct advise_request single = *request;
        if (!is_first(comparison, i))
            continue;
        single.network = comparison->rows[i].base;
        if (!as_json && !first)
            output_print("\n");
        first = false;
        answered = answer_one(comparison, &single, list, &error);
    }
    if (answered)
        return as_json ? output_json(root, true) : EXIT_DONE;
    json_free(root);
    return output_error(&error);
}

static int answer_single(const struct comparison *comparison, const struct advise_request *request,
                         bool as_json)
{
    struct advice advice;
    struct error error;
    if (!advise(comparison, request, &advice, &error))
        return output_error(&error);
    if (!as_json)
        return print_text(comparison, &advice);
    struct json *root = advise_to_json(comparison, request, &advice);
    return output_json(root, root);
}

static int answer(const struct opened_runs *runs, const struct advise_request *request,
                  bool as_json)
{
    struct comparison comparison = {0};
    struct error error;
    bool added = true;
    int status;
    for (size_t i = 0; added && i < runs->count; i++)
        added = !advise_reads(run_facts(runs->list[i])) ||
                compare_add_run(&comparison, runs->list[i], &error);
    added = added && compare_merge_seeds(&comparison, NULL, &error) &&
            compare_complete(&comparison, &error);
    if (!added)
        status = output_error(&error);
    else if (!request->network && count_networks(&comparison) > 1)
        status = answer_each(&comparison, request, as_json);
    else
        status = answer_single(&comparison, request, as_json);
    compare_free(&comparison);
    return status;
}

enum { QUESTION_ROWS = 6, OTHER_ROWS = 5 };

/* Fills in the options that state the question. */
static void make_question_rows(struct advise_request *request, struct numbers *numbers,
                               const char **need, struct option_row rows[QUESTION_ROWS])
{
    const struct option_row own[QUESTION_ROWS] = {
        NAME_ROW("need", "NAME", N_("What to improve; without it the limits decide."), need,
                 advise_need_names),
        TEXT_ROW("device", "NAME",
                 N_("Where the network will run: weak, powerful, or the name of a device; without "
                    "it cpu."),
                 &request->device),
        TEXT_ROW("limit-ms", "MS", N_("Milliseconds that one image may take."), &numbers->limit_ms),
        TEXT_ROW("limit-mb", "MB", N_("Megabytes (10^6 bytes) that the saved model may take."),
                 &numbers->limit_mb),
        TEXT_ROW("accept-loss", "POINTS", N_("Points of accuracy that may be lost. [5]"),
                 &numbers->accept_loss),
        TEXT_ROW("network", "NET",
                 N_("The network, without a technique; without this option every network that has "
                    "runs."),
                 &request->network)};
    memcpy(rows, own, sizeof own);
}

/* Fills in the options of the second page. */
static void make_other_rows(struct advise_other *other, struct option_row rows[OTHER_ROWS])
{
    const struct option_row own[OTHER_ROWS] = {
        SWITCH_ROW("other",
                   N_("Advise techniques after training instead: int8, pruning, factorization, "
                      "distillation, half precision."),
                   &other->wanted),
        SWITCH_ROW("apply", N_("Apply them: one, or within --budget as many as are needed."),
                   &other->apply),
        TEXT_ROW("budget", "MINUTES",
                 N_("With --apply: go on until the limits are met, at most so long."),
                 &other->budget),
        LETTER_TEXT_ROW("output", 'o', "FILE",
                        N_("With --apply: copy the best model so far to FILE."), &other->output),
        LETTER_SWITCH_ROW("quiet", 'q', N_("Show no progress."), &other->quiet)};
    memcpy(rows, own, sizeof own);
}

static int advise_command_run(const struct command *command, int argc, char **argv)
{
    struct error error;
    struct operands operands;
    struct numbers numbers = {0};
    struct advise_request request = {.device = "cpu"};
    struct advise_other other = {0};
    struct opened_runs runs = {0};
    const char *need = NULL;
    bool as_json = false;
    int status;
    struct option_row rows[QUESTION_ROWS + OTHER_ROWS + 2] = {0};
    make_question_rows(&request, &numbers, &need, rows);
    make_other_rows(&other, rows + QUESTION_ROWS);
    rows[QUESTION_ROWS + OTHER_ROWS] = (struct option_row)OUTPUT_JSON_OPTION(&as_json);
    const struct option_set set = {.rows = rows,
                                   .config = &other.config,
                                   .task = TASK_ADVISE,
                                   .unused = KEY(epochs),
                                   .operands_max = (size_t)-1};
    config_defaults(&other.config);
    if (!options_read(command, &set, argc, argv, &operands, &status))
        return status;
    if (as_json)
        language_begin(language_names[0]); /* JSON is the same in every language */
    if (!read_request(&request, &numbers, need, &error) || !advise_other_check(&other, &error))
        return output_error(&error);
    if (other.wanted || other.apply)
        return advise_other_run(&other, &request, &operands, as_json);
    if (!(operands.count ? open_named(&runs, &operands, &error) : open_all(&runs, &error)))
        status = output_error(&error);
    else
        status = answer(&runs, &request, as_json);
    runs_close(&runs);
    return status;
}

const struct command command_advise = {
    .name = "advise",
    .operands = "[RUN...]",
    .summary = N_("Recommend a technique, from your measured runs."),
    .details = N_(
        "Follows the flowchart of the studies: leave a network alone that meets the requirements; "
        "to be faster on a weak device, use shift; to be smaller, shift, then dsc, then shuffle, "
        "and only shift if latency matters as well; on a powerful device no technique makes a "
        "network faster. The answer lists the runs it was read from (all runs, unless some are "
        "named), and what is not known, with the command that would measure it.\n--other is the "
        "second page of the flowchart: it reads the measured rows of tinca models (RUN may be a "
        "model file, too), says which technique after training to try next and why, and names the "
        "row. --apply applies it, within --budget one after the other; every result stays as a "
        "model, and the best so far is named, also after an interrupt."),
    .run = advise_command_run,
};
