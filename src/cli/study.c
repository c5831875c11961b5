/* tinca study: the perceptual study. People look at real and generated pictures, each for a second,
 * and say which are real; the report gives the share of generated pictures that most votes call
 * real.
 *
 * The pictures come from a run's network or from two folders (studies/pictures/study_pictures.c),
 * the screen that shows them from ui/screens/study, and the votes are kept in a JSON file
 * (studies/pictures/study_file.c). */
#include "studies/pictures/study_file.h"

#include "cli/command.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/runs.h"

#include "base/files/file.h"
#include "base/language.h"
#include "base/memory.h"
#include "base/text.h"
#include "runs/settings/settings.h"
#include "studies/pictures/study_pictures.h"
#include "ui/screens/study/study_session.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const double MIN_SECONDS = 0.05, MAX_SECONDS = 60;

struct study_request {
    const char *run; /* NULL: pictures come from folders */
    const char *real, *generated, *data, *device;
    const char *participant, *results, *network, *graphics;
    const char *seconds; /* as given; NULL: 1 second */
    size_t images, threads, seed;
    bool report, as_json;
};

/* --- the report --- */

static void add_published(struct table *table)
{
    for (size_t i = 0; i < study_published_count; i++) {
        table_cell(table, "%s", study_published[i].network);
        table_cell(table, "%s", _("published"));
        table_fill(table, 2, "-");
        table_cell(table, "%.3f", study_published[i].error_rate);
        table_fill(table, 2, "-");
    }
}

/* Prints how a session differed from the published study. */
static void print_notes(const struct study_file *file)
{
    for (size_t i = 0; i < file->count; i++) {
        const struct study *study = &file->studies[i];
        if (study->count < STUDY_IMAGES)
            output_print(_("%s: %zu pictures, fewer than the study's %d.\n"), study->network,
                         study->count, STUDY_IMAGES);
        if (study->training_known && study->seen_in_training)
            output_print(
                _("%s: %zu of %zu generated pictures are of pairs that it was trained on.\n"),
                study->network, study->seen_in_training, study->count / 2);
        if (study->shown_twice)
            output_print(_("%s: %zu scenes are shown twice, once real and once generated.\n"),
                         study->network, study->shown_twice);
    }
}

static const char legend[] = N_(
    "ERROR: the perceptual error rate, the share of the generated pictures that count which most "
    "votes call real. 95 %: its interval over the pictures. REAL AS REAL: the share of the votes "
    "on real pictures that say so. Published: Gondim Santos 2019.");

static int print_report(const struct study_file *file)
{
    struct table table =
        table_begin("llrrrrr", _("NETWORK|WHOSE|VOTERS|FOOLED|ERROR|95 %|REAL AS REAL"));
    for (size_t i = 0; i < file->count; i++) {
        table_cell(&table, "%s", file->studies[i].network);
        table_cell(&table, "%s", _("yours"));
        study_add_result(&table, &file->studies[i]);
    }
    add_published(&table);
    int status = output_table(&table);
    output_print("\n");
    output_print_wrapped(gettext(legend), 0, 0, OUTPUT_WIDTH);
    print_notes(file);
    return status;
}

static int report(const struct study_request *request)
{
    struct study_file file;
    struct error error;
    int status;
    if (!study_file_read(&file, request->results, true, &error))
        return output_error(&error);
    if (request->as_json) {
        struct json *root = study_file_report(&file, request->results);
        status = output_json(root, root);
    } else
        status = print_report(&file);
    study_file_free(&file);
    return status;
}

/* --- the request --- */

static bool read_seconds(const char *text, double *seconds, struct error *error)
{
    *seconds = 1;
    if (!text ||
        (text_to_double(text, seconds) && *seconds >= MIN_SECONDS && *seconds <= MAX_SECONDS))
        return true;
    return error_set(error, ERROR_USAGE, "--seconds", "give how long each picture is shown",
                     "expected a number of %g to %g", MIN_SECONDS, MAX_SECONDS);
}

/* Takes the participant's name from the environment if --participant was not given. */
static bool name_participant(struct study_request *request, struct error *error)
{
    const char *const variables[] = {"LOGNAME", "USER"};
    for (size_t i = 0; i < 2 && !request->participant; i++)
        request->participant = getenv(variables[i]);
    if (!request->participant)
        return error_set(error, ERROR_USAGE, "--participant", "give --participant NAME",
                         "who takes part is not known: neither LOGNAME nor USER is set");
    return study_check_name(request->participant, "--participant", error);
}

/* Checks that the pictures come from a run or from two folders, and the options that depend on it.
 */
static bool check_source(const struct study_request *request, struct error *error)
{
    static const char advice[] = N_("give a RUN, or both --real DIR and --generated DIR");
    if (request->run && (request->real || request->generated))
        return error_set(error, ERROR_USAGE, "tinca study", advice,
                         "pictures come from a run or from folders, not from both");
    if (!request->run && (!request->real || !request->generated))
        return error_set(error, ERROR_USAGE, "tinca study", advice,
                         "it is not known where the pictures come from");
    if (!request->run && (request->data || request->device))
        return error_set(error, ERROR_USAGE, request->data ? OPTION(data) : OPTION(device),
                         "leave it out, or give a RUN", "folders need no network");
    if (request->images % 2)
        return error_set(error, ERROR_USAGE, "--images", "half of them are real, half generated",
                         "expected an even number");
    if (request->as_json)
        return error_set(error, ERROR_USAGE, "--json", "give --report as well",
                         "a session uses the terminal; only its report is JSON");
    return true;
}

/* --- a session --- */

/* Writes the last part of a folder's path: the name of the network if no other is given. */
static void name_folder(const char *path, char *name, size_t size)
{
    char trimmed[512];
    size_t length = (size_t)snprintf(trimmed, sizeof trimmed, "%.500s", path);
    while (length > 1 && trimmed[length - 1] == '/')
        trimmed[--length] = '\0';
    snprintf(name, size, "%s", file_base_name(trimmed));
}

/* Fills in the study and its pictures, from a run or from folders. */
static bool make_pictures(const struct study_request *request, struct study *study,
                          struct study_pictures *pictures, struct error *error)
{
    const struct study_run_request run_request = {.data = request->data,
                                                  .device = request->device,
                                                  .threads = request->threads,
                                                  .wanted = request->images};
    if (request->network)
        snprintf(study->network, sizeof study->network, "%s", request->network);
    if (!request->run) {
        if (!request->network)
            name_folder(request->generated, study->network, sizeof study->network);
        return study_check_name(study->network, OPTION(network), error) &&
               study_pictures_of_folders(pictures, study, request->real, request->generated,
                                         request->images, error);
    }
    struct run *run = runs_open(request->run, error);
    if (!run)
        return false;
    output_note(_("Making the pictures of %s ...\n"), run_facts(run)->network);
    bool made = study_pictures_of_run(pictures, study, run, &run_request, error);
    run_free(run);
    return made && study_check_name(study->network, OPTION(network), error);
}

/* Prints how the session will differ from the published study; the report repeats it. */
static void announce_differences(const struct study *study, const struct study_pictures *pictures)
{
    if (study->count < STUDY_IMAGES)
        output_note(
            _("%zu pictures are shown instead of %d, %zu real and %zu generated; %zu of them are "
              "practice.\n"),
            study->count, STUDY_IMAGES, study->count / 2, study->count / 2,
            study_count(study, true, true) + study_count(study, false, true));
    if (study->shown_twice)
        output_note(_("There are too few scenes: %zu are shown twice, real and generated.\n"),
                    study->shown_twice);
    if (study->training_known && study->seen_in_training)
        output_note(_("The network was trained on %zu of the %zu generated pictures' pairs: the "
                      "result will be too good.\n"),
                    study->seen_in_training, study->count / 2);
    if (pictures->resized)
        output_note(_("The pictures have several sizes and are brought to the smallest.\n"));
}

/* Adds the vote to the file of results and prints the report. Returns the exit status. */
static int save_vote(const struct study_request *request, const struct study *study,
                     const struct study_vote *vote)
{
    struct error error;
    size_t voters;
    if (!study_file_add(request->results, study, vote, &voters, &error))
        return output_error(&error);
    output_print(_("Thank you. %s's vote on %s is in %s, number %zu.\n\n"), vote->participant,
                 study->network, request->results, voters);
    return report(request);
}

static int hold_session(const struct study_request *request, const struct study *study,
                        const struct study_pictures *pictures, const struct study_display *display)
{
    struct error error;
    struct study_vote vote = {0};
    int status;
    if (!study_file_accepts(request->results, study, request->participant, &error))
        return output_error(&error);
    vote.answers = memory_new(study->count, sizeof *vote.answers, "a vote", &error);
    announce_differences(study, pictures);
    if (!vote.answers ||
        !study_session_run(display, study, pictures->images, request->participant, &vote, &error))
        status = output_error(&error);
    else
        status = save_vote(request, study, &vote);
    free(vote.answers);
    return status;
}

static int study_session(struct study_request *request)
{
    struct study study = {.seed = request->seed};
    struct study_pictures pictures = {0};
    struct study_display display;
    struct error error;
    int status;
    if (!check_source(request, &error) || !name_participant(request, &error) ||
        !read_seconds(request->seconds, &study.seconds, &error) ||
        (request->network && !study_check_name(request->network, OPTION(network), &error)) ||
        !study_display_detect(&display, request->graphics, &error) ||
        !make_pictures(request, &study, &pictures, &error))
        status = output_error(&error);
    else
        status = hold_session(request, &study, &pictures, &display);
    study_pictures_free(&pictures);
    study_free(&study);
    return status;
}

enum { VOTE_ROWS = 5, DISPLAY_ROWS = 7 };

/* Fills in the options of where pictures come from and of the vote. */
static void make_vote_rows(struct study_request *request, struct option_row rows[VOTE_ROWS])
{
    const struct option_row own[VOTE_ROWS] = {
        TEXT_ROW("real", "DIR", N_("Without RUN: the folder of real pictures (PNG, JPEG)."),
                 &request->real),
        TEXT_ROW("generated", "DIR", N_("Without RUN: the folder of generated pictures."),
                 &request->generated),
        TEXT_ROW("participant", "NAME",
                 N_("Who votes, once per network; without it the login name (LOGNAME)."),
                 &request->participant),
        TEXT_ROW("results", "FILE",
                 N_("The JSON file that the vote is added to; without it tinca-study.json."),
                 &request->results),
        TEXT_ROW("network", "NAME",
                 N_("The name of the network voted on; without it the run's network, or the name "
                    "of the folder of generated pictures."),
                 &request->network)};
    memcpy(rows, own, sizeof own);
}

/* Fills in the options of what is shown, and of the report. */
static void make_display_rows(struct study_request *request, struct option_row rows[DISPLAY_ROWS])
{
    const struct option_row own[DISPLAY_ROWS] = {
        COUNT_ROW(
            "images", "N",
            N_("How many pictures are shown, half of them real, a fifth for practice; without "
               "it 50, or as many as there are."),
            &request->images, 4, STUDY_MAX_IMAGES),
        TEXT_ROW("seconds", "X", N_("How many seconds each picture is shown; without it 1."),
                 &request->seconds),
        NAME_ROW("graphics", "NAME",
                 N_("How pictures are shown (true colour and 256 colours as half blocks); without "
                    "it the best that the terminal has."),
                 &request->graphics, graphics_names),
        TEXT_ROW("data", "SPEC",
                 N_("The pairs of pictures; without it the run's validation data, or the test "
                    "split of its data."),
                 &request->data),
        TEXT_ROW("device", "NAME",
                 N_("The device that computes the pictures; without it the run's device."),
                 &request->device),
        SWITCH_ROW("report", N_("Show no pictures: print the result of the votes in the file."),
                   &request->report),
        OUTPUT_JSON_OPTION(&request->as_json)};
    memcpy(rows, own, sizeof own);
}

static int study_command_run(const struct command *command, int argc, char **argv)
{
    static const char *const fields[] = {KEY(threads), KEY(seed), NULL};
    struct run_config config;
    struct study_request request = {.results = STUDY_FILE};
    struct operands operands;
    int status;
    struct option_row rows[VOTE_ROWS + DISPLAY_ROWS + 1] = {0};
    make_vote_rows(&request, rows);
    make_display_rows(&request, rows + VOTE_ROWS);
    const struct option_set set = {
        .rows = rows, .config = &config, .fields = fields, .operands_max = 1, .opens_device = true};
    config_defaults(&config);
    if (!options_read(command, &set, argc, argv, &operands, &status))
        return status;
    request.run = operands.count ? operands.values[0] : NULL;
    request.threads = machine_settings(&config).threads;
    request.seed = training_settings(&config).seed;
    return request.report ? report(&request) : study_session(&request);
}

const struct command command_study = {
    .name = "study",
    .operands = "[RUN]",
    .summary = N_("The perceptual study: tell real pictures from generated ones."),
    .details =
        N_("Pictures are shown one by one in the terminal, each for a second; then a key says "
           "whether it was real (r) or generated (g). The first fifth is practice. RUN is a run of "
           "a network that makes pictures, such as pix2pix; other pictures come from two folders "
           "(--real, --generated). A generated picture has fooled the voters when most votes call "
           "it real. A session that is not finished leaves no vote."),
    .run = study_command_run,
};
