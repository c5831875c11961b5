/* Checks config.json, the small files, and files that other modules already read strictly. */
#include "training/check/internal.h"

#include "base/files/file.h"
#include "base/json/json_checksum.h"
#include "base/language.h"
#include "data/dataset/dataset.h"
#include "engine/network/network_write.h"
#include "models/measure/measurement.h"
#include "models/saved/correct_images.h"
#include "runs/folder/run_directory.h"
#include "runs/folder/run_files.h"
#include "runs/folder/run_json.h"
#include "runs/folder/run_name.h"
#include "runs/record/differences.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { JSON_LIMIT = 1 << 20, DATA_LIMIT = 64 << 20, LOCK_LIMIT = 192 };

static bool is_one_of(const char *word, const char *const *words)
{
    for (; *words; words++)
        if (strcmp(word, *words) == 0)
            return true;
    return false;
}

/* Returns whether the text is a time such as "2026-11-22T16:24:42Z". */
static bool is_time(const char *text)
{
    static const char shape[] = "dddd-dd-ddTdd:dd:ddZ";
    size_t i = 0;
    for (; text && text[i] && shape[i]; i++)
        if (shape[i] == 'd' ? !isdigit((unsigned char)text[i]) : text[i] != shape[i])
            return false;
    return text && i == sizeof shape - 1 && !text[i];
}

/* --- every file --- */

bool check_read_json(struct check *check, const char *file, size_t limit, enum check_remedy remedy,
                     struct json_document *document)
{
    struct error error = {0};
    char *path = check_path(check, file);
    const bool read = path && json_read_file(document, path, limit, &error);
    free(path);
    if (path && !read)
        check_damage_by(check, file, remedy, &error);
    return read;
}

void check_checksum(struct check *check, const char *file, enum check_remedy remedy,
                    const struct json_document *document)
{
    struct error error = {0};
    if (!json_verify_checksum(document, NULL, &error))
        check_damage_by(check, file, remedy, &error);
}

/* --- config.json --- */

static void inspect_members(struct check *check, const char *file,
                            const struct json_document *document)
{
    static const char *const known[] = {"crc32", "format",   "version", "id",     "created", "host",
                                        "tinca", "imported", "fork",    "config", NULL};
    size_t version = 0;
    const struct json *number = json_member(document->root, "version");
    const char *id = json_string(json_member(document->root, "id"));
    for (const struct json *m = json_first_member(document->root); m; m = json_next(m))
        if (!is_one_of(json_key(m), known))
            check_report(check, file, RUN_PROBLEM_WARNING, REMEDY_NONE,
                         _("line %zu: \"%.64s\" is not known to this version of tinca"),
                         json_line(document, m), json_key(m));
    if (!number || !json_count(number, &version) || version != 1)
        check_damage(check, file, REMEDY_CONFIG, _("its \"version\" is not 1"));
    if (!id || !*id)
        check_damage(check, file, REMEDY_CONFIG, _("its \"id\" is missing"));
    else if (check->home && strcmp(id, check->report->id) != 0)
        check_report(check, file, RUN_PROBLEM_WARNING, REMEDY_RENAME,
                     _("it says that the run is %.64s, not as its folder is called"), id);
    if (!is_time(json_string(json_member(document->root, "created"))))
        check_damage(check, file, REMEDY_CONFIG, _("its \"created\" is not a time"));
    /* the first versions wrote neither these nor a checksum */
    if (json_member(document->root, "crc32") &&
        (!json_string(json_member(document->root, "host")) ||
         !json_string(json_member(document->root, "tinca"))))
        check_damage(check, file, REMEDY_CONFIG, _("its \"host\" or \"tinca\" is missing"));
}

/* Requires the settings that every run writes. An imported run has only those that its log states.
 */
static void inspect_settings(struct check *check, const char *file,
                             const struct json_document *document)
{
    static const char *const ever[] = {KEY(network), KEY(data),   KEY(batch),         KEY(device),
                                       KEY(seed),    KEY(solver), KEY(learning_rate), NULL};
    struct error error = {0};
    const struct json *settings = json_member(document->root, "config");
    const bool imported = check->facts.imported[0];
    for (size_t i = 0; !imported && ever[i]; i++)
        if (config_find(ever[i]) && !json_member(settings, ever[i]))
            check_damage(check, file, REMEDY_CONFIG, _("its setting \"%s\" is missing"), ever[i]);
    if (!imported && !config_check(&check->config, &error))
        check_damage(check, file, REMEDY_CONFIG, "%s: %s", error.what, error.why);
}

void check_config(struct check *check, const char *file)
{
    struct error error = {0};
    struct json_document document;
    if (!check_read_json(check, file, JSON_LIMIT, REMEDY_CONFIG, &document))
        return;
    if (run_files_read_config(&check->config, &check->facts, check->directory, &error)) {
        inspect_members(check, file, &document);
        inspect_settings(check, file, &document);
    } else
        check_damage_by(check, file, REMEDY_CONFIG, &error);
    check->has_config = check_is_sound(check, file);
    check_checksum(check, file, REMEDY_CHANGED, &document);
    json_document_free(&document);
}

/* --- small files --- */

/* The files of one line that the user has written. */
static const struct user_line {
    const char *file, *lacks;
    char *(*read)(const char *directory, char *line);
    enum check_remedy remedy;
} user_lines[] = {
    {"name.txt", N_("it does not contain a name"), run_name_read, REMEDY_NAME},
    {"tags.txt", N_("it does not contain tags"), run_tags_read, REMEDY_TAGS},
    {"note.txt", N_("it does not contain a note"), run_note_read, REMEDY_NOTE},
};

static const struct user_line *find_line(const char *file)
{
    size_t i = 0;
    while (i + 1 < sizeof user_lines / sizeof *user_lines && strcmp(user_lines[i].file, file) != 0)
        i++;
    return &user_lines[i];
}

void check_user_line(struct check *check, const char *file)
{
    char line[RUN_NOTE_SIZE];
    struct error error = {0};
    size_t size = 0;
    char *path = check_path(check, file);
    char *text = path ? file_read(path, JSON_LIMIT, &size, &error) : NULL;
    free(path);
    if (!text) {
        check_damage_by(check, file, find_line(file)->remedy, &error);
        return;
    }
    const char *newline = memchr(text, '\n', size);
    const struct user_line *kind = find_line(file);
    if (!kind->read(check->directory, line)[0] || newline != text + size - 1)
        check_damage(check, file, kind->remedy, "%s", gettext(kind->lacks));
    free(text);
}

/* Checks the lock file, which contains "PROCESS HOST\n". It may be empty after a full disk, which
 * is harmless. */
void check_lock(struct check *check, const char *file)
{
    struct error error = {0};
    size_t size = 0;
    char *end, *path = check_path(check, file);
    char *text = path ? file_read(path, JSON_LIMIT, &size, &error) : NULL;
    free(path);
    if (!text) {
        check_damage_by(check, file, REMEDY_RESUME, &error);
        return;
    }
    const long process = strtol(text, &end, 10);
    const bool good = process > 0 && *end == ' ' && size < LOCK_LIMIT && strlen(text) == size &&
                      text[size - 1] == '\n' &&
                      strspn(end + 1, "-.0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_"
                                      "abcdefghijklmnopqrstuvwxyz") == strlen(end + 1) - 1;
    if (size > 0 && !good && !check->alive)
        check_report(check, file, RUN_PROBLEM_WARNING, REMEDY_RESUME,
                     _("it does not say which process had the run last"));
    free(text);
}

/* --- files that other modules read --- */

void check_measurements(struct check *check, const char *file)
{
    struct error error = {0};
    struct measurements measurements;
    if (measurements_read(&measurements, check->directory, &error))
        measurements_free(&measurements);
    else
        check_damage_by(check, file, REMEDY_MEASURE, &error);
}

void check_correct(struct check *check, const char *file)
{
    struct error error = {0};
    struct correct_images correct;
    if (correct_images_read(&correct, check->directory, &error))
        correct_images_free(&correct);
    else
        check_damage_by(check, file, REMEDY_DELETE, &error);
}

void check_outputs(struct check *check, const char *file)
{
    struct error error = {0};
    struct run_outputs outputs;
    if (run_outputs_read(&outputs, check->directory, &error))
        run_outputs_free(&outputs);
    else
        check_damage_by(check, file, REMEDY_DELETE, &error);
}

void check_killed(struct check *check, const char *file)
{
    struct error error = {0};
    struct run_snapshot snapshot = {.status = RUN_INTERRUPTED};
    if (!run_killed_load(check->directory, &snapshot, &error))
        check_damage_by(check, file, REMEDY_DELETE, &error);
}

void check_profile(struct check *check, const char *file)
{
    struct error error = {0};
    struct inspection *inspection = inspection_load(check->directory, &error);
    if (!inspection && error.kind != ERROR_NONE)
        check_damage_by(check, file, REMEDY_DELETE, &error);
    inspection_free(inspection);
}

/* --- the experiment: data and network --- */

void check_data(struct check *check, const char *file)
{
    struct json_document document;
    if (!check_read_json(check, file, DATA_LIMIT, REMEDY_EXPERIMENT, &document))
        return;
    const char *format = json_string(json_member(document.root, "format"));
    size_t images = 0;
    const struct json *training = json_member(document.root, "training");
    const struct json *number = json_member(training, "images");
    if (!format || strcmp(format, "tinca-data") != 0)
        check_damage(check, file, REMEDY_EXPERIMENT, _("it does not describe data"));
    else if (!number || !json_count(number, &images) ||
             (check->record.started && images != check->record.facts.images))
        check_damage(check, file, REMEDY_EXPERIMENT,
                     _("it has another number of images than the run's journal"));
    check_checksum(check, file, REMEDY_EXPERIMENT, &document);
    json_document_free(&document);
}

/* Compares the file with the network that a saved model contains. */
static void compare_with_model(struct check *check, const char *file, const struct json *tree)
{
    char words[480];
    struct differences differences = {0};
    struct json *now = check->network ? network_to_json(check->network) : NULL;
    if (now)
        network_difference(tree, now, &differences);
    json_free(now);
    if (differences.count > 0)
        check_damage(check, file, REMEDY_EXPERIMENT,
                     _("it is not the network of the saved model: %s"),
                     differences_words(&differences, words, sizeof words));
}

/* Checks network.json. It describes the network as trained, in plain operators, so building it
 * needs no options. */
void check_network(struct check *check, const char *file)
{
    struct error error = {0};
    struct json_document document;
    if (!check_read_json(check, file, DATA_LIMIT, REMEDY_EXPERIMENT, &document))
        return;
    const struct network_request request = {.network = file, .text = document.source};
    struct network *network = network_build(&request, &error);
    const size_t parameters = network ? graph_parameter_count(&network->graph) : 0;
    if (!network)
        check_damage_by(check, file, REMEDY_EXPERIMENT, &error);
    else if (check->record.started && parameters != check->record.facts.parameters)
        check_damage(check, file, REMEDY_EXPERIMENT,
                     _("it describes %zu parameters, but the run has %zu"), parameters,
                     check->record.facts.parameters);
    else
        compare_with_model(check, file, document.root);
    network_free(network);
    check_checksum(check, file, REMEDY_EXPERIMENT, &document);
    json_document_free(&document);
}
