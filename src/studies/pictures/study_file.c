/* Reads, checks and writes the file of votes. To add a vote, it locks the folder, reads the file,
 * appends the vote, and replaces the file as a whole. */
#include "studies/pictures/study_file.h"

#include "base/files/file.h"
#include "base/files/output_file.h"
#include "base/language.h"
#include "base/memory.h"

#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

enum { FORMAT_VERSION = 1 };

/* --- reading: after the first error, the remaining calls do nothing --- */

struct reader {
    const struct json_document *document;
    struct error *error;
    bool failed;
};

static void refuse_member(struct reader *reader, const struct json *at, const char *key,
                          const char *expected)
{
    char what[256];
    if (reader->failed)
        return;
    reader->failed = true;
    snprintf(what, sizeof what, "%.200s:%zu", reader->document->name,
             json_line(reader->document, at));
    error_set(reader->error, ERROR_INPUT, what, "name a file that tinca study wrote",
              "%s: expected %s", key, language_text(expected));
}

static void read_text(struct reader *reader, const struct json *object, const char *key, char *out,
                      size_t size)
{
    const char *text = json_string(json_member(object, key));
    if (!text || strlen(text) >= size)
        refuse_member(reader, object, key, "a shorter text");
    else
        snprintf(out, size, "%s", text);
}

static size_t read_count(struct reader *reader, const struct json *object, const char *key)
{
    size_t count = 0;
    if (!json_count(json_member(object, key), &count))
        refuse_member(reader, object, key, "a whole number");
    return count;
}

static double read_seconds(struct reader *reader, const struct json *object)
{
    double seconds = 0;
    if (!json_number(json_member(object, "seconds"), &seconds) || seconds < 0)
        refuse_member(reader, object, "seconds", "a number, 0 or more");
    return seconds;
}

static bool read_flag(struct reader *reader, const struct json *object, const char *key)
{
    bool flag = false;
    if (!json_bool(json_member(object, key), &flag))
        refuse_member(reader, object, key, "true or false");
    return flag;
}

static const struct json *read_list(struct reader *reader, const struct json *object,
                                    const char *key, size_t most)
{
    const struct json *list = json_member(object, key);
    if (json_is_array(list) && json_length(list) <= most)
        return list;
    refuse_member(reader, object, key, "a shorter list");
    return NULL;
}

static void *allocate(struct reader *reader, size_t count, size_t size)
{
    void *items = reader->failed ? NULL : memory_new(count, size, "a study", reader->error);
    reader->failed = !items;
    return items;
}

static void read_images(struct reader *reader, const struct json *object, struct study *study)
{
    const struct json *list = read_list(reader, object, "images", STUDY_MAX_IMAGES);
    study->images = allocate(reader, json_length(list), sizeof *study->images);
    for (const struct json *at = json_first(list); at && !reader->failed; at = json_next(at)) {
        struct study_image *image = &study->images[study->count++];
        read_text(reader, at, "name", image->name, sizeof image->name);
        image->generated = read_flag(reader, at, "generated");
        image->practice = read_flag(reader, at, "practice");
    }
}

static void read_answers(struct reader *reader, const struct json *object,
                         const struct study *study, struct study_answer *answers)
{
    const struct json *list = read_list(reader, object, "answers", study->count);
    if (json_length(list) != study->count)
        refuse_member(reader, object, "answers", "one for every image");
    for (const struct json *at = json_first(list); at && !reader->failed; at = json_next(at)) {
        answers->image = read_count(reader, at, "image");
        answers->real = read_flag(reader, at, "real");
        answers->seconds = read_seconds(reader, at);
        answers++;
    }
}

static void read_vote(struct reader *reader, const struct json *object, struct study *study)
{
    struct study_vote vote = {0};
    read_text(reader, object, "participant", vote.participant, sizeof vote.participant);
    read_text(reader, object, "created", vote.created, sizeof vote.created);
    read_text(reader, object, "graphics", vote.graphics, sizeof vote.graphics);
    vote.columns = read_count(reader, object, "columns");
    vote.rows = read_count(reader, object, "rows");
    vote.answers = allocate(reader, study->count, sizeof *vote.answers);
    if (vote.answers)
        read_answers(reader, object, study, vote.answers);
    if (!reader->failed)
        reader->failed = !study_add_vote(study, &vote, reader->error);
    free(vote.answers);
}

static void read_study(struct reader *reader, const struct json *object, struct study *study)
{
    const struct json *seen = json_member(object, "seen_in_training");
    read_text(reader, object, "network", study->network, sizeof study->network);
    read_text(reader, object, "real", study->real, sizeof study->real);
    read_text(reader, object, "generated", study->generated, sizeof study->generated);
    read_text(reader, object, "fingerprint", study->fingerprint, sizeof study->fingerprint);
    study->seed = read_count(reader, object, "seed");
    study->seconds = read_seconds(reader, object);
    study->shown_twice = read_count(reader, object, "shown_twice");
    study->training_known = seen && !json_is_null(seen);
    if (study->training_known)
        study->seen_in_training = read_count(reader, object, "seen_in_training");
    read_images(reader, object, study);
    const struct json *votes = read_list(reader, object, "votes", SIZE_MAX);
    for (const struct json *at = json_first(votes); at && !reader->failed; at = json_next(at))
        read_vote(reader, at, study);
}

static bool read_document(struct study_file *file, const struct json_document *document,
                          struct error *error)
{
    struct reader reader = {document, error, false};
    const struct json *root = document->root;
    const char *format = json_string(json_member(root, "format"));
    if (!format || strcmp(format, "tinca-study") != 0 ||
        read_count(&reader, root, "version") != FORMAT_VERSION)
        refuse_member(&reader, root, "format", "tinca-study, version 1");
    const struct json *list = read_list(&reader, root, "studies", SIZE_MAX);
    for (const struct json *at = json_first(list); at && !reader.failed; at = json_next(at)) {
        reader.failed = !memory_grow(&file->studies, &file->capacity, file->count + 1,
                                     sizeof *file->studies, "the studies", error);
        if (!reader.failed)
            read_study(&reader, at, &file->studies[file->count++]);
    }
    return !reader.failed;
}

bool study_file_read(struct study_file *file, const char *path, bool must_exist,
                     struct error *error)
{
    struct json_document document;
    *file = (struct study_file){0};
    if (!must_exist && !file_exists(path))
        return true;
    if (!json_read_file(&document, path, JSON_MAX_BYTES, error))
        return false;
    bool read = read_document(file, &document, error);
    json_document_free(&document);
    if (!read)
        study_file_free(file);
    return read;
}

void study_file_free(struct study_file *file)
{
    for (size_t i = 0; i < file->count; i++)
        study_free(&file->studies[i]);
    free(file->studies);
    *file = (struct study_file){0};
}

/* --- writing --- */

static bool add_images(struct json *object, const struct study *study)
{
    struct json *list = json_add_array(object, "images");
    bool added = list;
    for (size_t i = 0; added && i < study->count; i++) {
        struct json *image = json_add_object(list, NULL);
        added = json_add_string(image, "name", study->images[i].name) &&
                json_add_bool(image, "generated", study->images[i].generated) &&
                json_add_bool(image, "practice", study->images[i].practice);
    }
    return added;
}

static bool add_vote(struct json *list, const struct study_vote *vote, size_t answers)
{
    struct json *object = json_add_object(list, NULL);
    bool added = json_add_string(object, "participant", vote->participant) &&
                 json_add_string(object, "created", vote->created) &&
                 json_add_string(object, "graphics", vote->graphics) &&
                 json_add_count(object, "columns", vote->columns) &&
                 json_add_count(object, "rows", vote->rows);
    struct json *rows = json_add_array(object, "answers");
    for (size_t i = 0; added && i < answers; i++) {
        struct json *row = json_add_object(rows, NULL);
        added = json_add_count(row, "image", vote->answers[i].image) &&
                json_add_bool(row, "real", vote->answers[i].real) &&
                json_add_number(row, "seconds", vote->answers[i].seconds);
    }
    return added;
}

static bool add_study(struct json *list, const struct study *study)
{
    struct json *object = json_add_object(list, NULL);
    bool added =
        json_add_string(object, "network", study->network) &&
        json_add_string(object, "real", study->real) &&
        json_add_string(object, "generated", study->generated) &&
        json_add_string(object, "fingerprint", study->fingerprint) &&
        json_add_count(object, "seed", study->seed) &&
        json_add_number(object, "seconds", study->seconds) &&
        json_add_count(object, "shown_twice", study->shown_twice) &&
        (study->training_known ? json_add_count(object, "seen_in_training", study->seen_in_training)
                               : json_add_null(object, "seen_in_training")) &&
        add_images(object, study);
    struct json *votes = json_add_array(object, "votes");
    for (size_t i = 0; added && i < study->vote_count; i++)
        added = add_vote(votes, &study->votes[i], study->count);
    return added && votes;
}

static bool write_file(const struct study_file *file, const char *path, struct error *error)
{
    struct json *root = json_new_object();
    bool added = json_add_string(root, "format", "tinca-study") &&
                 json_add_count(root, "version", FORMAT_VERSION);
    struct json *list = json_add_array(root, "studies");
    for (size_t i = 0; added && i < file->count; i++)
        added = add_study(list, &file->studies[i]);
    char *text = added && list ? json_print(root, true, error) : NULL;
    if (!added || !list)
        error_set_memory(error, "the results", 0);
    bool written = text && output_file_write(path, text, strlen(text), OUTPUT_TEXT, error);
    json_free(root);
    free(text);
    return written;
}

/* --- comparing the pictures of two studies --- */

static struct study *find_study(const struct study_file *file, const char *network)
{
    for (size_t i = 0; i < file->count; i++)
        if (strcmp(file->studies[i].network, network) == 0)
            return &file->studies[i];
    return NULL;
}

static bool same_images(const struct study *a, const struct study *b)
{
    bool same = a->count == b->count && strcmp(a->fingerprint, b->fingerprint) == 0;
    for (size_t i = 0; same && i < a->count; i++)
        same = a->images[i].generated == b->images[i].generated &&
               a->images[i].practice == b->images[i].practice &&
               strcmp(a->images[i].name, b->images[i].name) == 0;
    return same;
}

/* Refuses a study that differs from the saved one: votes can only be counted together if all
 * participants saw the same pictures. */
static bool check_same(const struct study *saved, const struct study *study, const char *path,
                       struct error *error)
{
    char advice[200];
    snprintf(advice, sizeof advice,
             "give --images %zu --seed %llu --seconds %g, or another --network or --results",
             saved->count, (unsigned long long)saved->seed, saved->seconds);
    if (saved->seed != study->seed || saved->count != study->count ||
        saved->seconds != study->seconds)
        return error_set(error, ERROR_INPUT, path, advice,
                         "its votes on %s belong to other settings: %zu pictures of seed %llu, "
                         "%g s each",
                         saved->network, saved->count, (unsigned long long)saved->seed,
                         saved->seconds);
    if (!same_images(saved, study))
        return error_set(error, ERROR_INPUT, path, "give another --network or --results",
                         "its votes on %s are about other pictures (%s)", saved->network,
                         saved->generated);
    return true;
}

static bool check_vote(const struct study_file *file, const char *path, const struct study *study,
                       const char *participant, struct error *error)
{
    const struct study *saved = find_study(file, study->network);
    if (!saved)
        return true;
    for (size_t i = 0; i < saved->vote_count; i++)
        if (strcmp(saved->votes[i].participant, participant) == 0)
            return error_set(error, ERROR_INPUT, participant,
                             "vote as another --participant, or on another network",
                             "this participant has voted on %s already (%s, in %s), and everyone "
                             "votes once a network",
                             saved->network, saved->votes[i].created, path);
    return check_same(saved, study, path, error);
}

/* --- adding a vote --- */

/* Opens the folder of `path`, and locks it if `lock` is set. Returns a descriptor, or -1 with an
 * error. */
static int open_folder(const char *path, bool lock, struct error *error)
{
    char *copy = memory_copy_text(path, error);
    if (!copy)
        return -1;
    const char *folder = dirname(copy);
    int descriptor = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    bool usable = descriptor >= 0 && access(folder, W_OK) == 0;
    if (usable && lock)
        usable = flock(descriptor, LOCK_EX) == 0;
    if (!usable) {
        error_set_errno(error, path, "name another file with --results",
                        "its folder cannot be written to");
        if (descriptor >= 0)
            close(descriptor);
        descriptor = -1;
    }
    free(copy);
    return descriptor;
}

bool study_file_accepts(const char *path, const struct study *study, const char *participant,
                        struct error *error)
{
    struct study_file file;
    int folder = open_folder(path, false, error);
    if (folder < 0)
        return false;
    close(folder);
    if (!study_file_read(&file, path, false, error))
        return false;
    bool accepted = check_vote(&file, path, study, participant, error);
    study_file_free(&file);
    return accepted;
}

/* Appends a copy of the study, without votes, to the file's list. Returns it, or NULL. */
static struct study *append_study(struct study_file *file, const struct study *study,
                                  struct error *error)
{
    if (!memory_grow(&file->studies, &file->capacity, file->count + 1, sizeof *file->studies,
                     "the studies", error))
        return NULL;
    struct study copy = *study;
    copy.votes = NULL;
    copy.vote_count = copy.vote_capacity = 0;
    copy.images = memory_new(study->count, sizeof *copy.images, "a study", error);
    if (!copy.images)
        return NULL;
    memcpy(copy.images, study->images, study->count * sizeof *copy.images);
    file->studies[file->count] = copy;
    return &file->studies[file->count++];
}

static bool add_to_file(struct study_file *file, const char *path, const struct study *study,
                        const struct study_vote *vote, size_t *voters, struct error *error)
{
    if (!check_vote(file, path, study, vote->participant, error))
        return false;
    struct study *saved = find_study(file, study->network);
    if (!saved)
        saved = append_study(file, study, error);
    if (!saved || !study_add_vote(saved, vote, error))
        return false;
    if (voters)
        *voters = saved->vote_count;
    return write_file(file, path, error);
}

bool study_file_add(const char *path, const struct study *study, const struct study_vote *vote,
                    size_t *voters, struct error *error)
{
    struct study_file file;
    int folder = open_folder(path, true, error);
    if (folder < 0)
        return false;
    bool added = study_file_read(&file, path, false, error);
    if (added) {
        added = add_to_file(&file, path, study, vote, voters, error);
        study_file_free(&file);
    }
    close(folder); /* this releases the lock */
    return added;
}

/* --- the report --- */

static bool add_result(struct json *list, const struct study *study)
{
    struct study_result result;
    study_result(study, &result);
    struct json *object = json_add_object(list, NULL);
    bool added = json_add_string(object, "network", study->network) &&
                 json_add_count(object, "voters", result.voters) &&
                 json_add_count(object, "images", result.images) &&
                 json_add_count(object, "fooled", result.fooled) &&
                 json_add_number(object, "error_rate", result.error_rate);
    struct json *interval = json_add_array(object, "ci95");
    return added && json_add_number(interval, NULL, result.low) &&
           json_add_number(interval, NULL, result.high) &&
           json_add_number(object, "called_real", result.called_real) &&
           json_add_number(object, "real_recognised", result.real_recognised) &&
           (study->training_known
                ? json_add_count(object, "seen_in_training", study->seen_in_training)
                : json_add_null(object, "seen_in_training")) &&
           json_add_count(object, "shown_twice", study->shown_twice);
}

struct json *study_file_report(const struct study_file *file, const char *path)
{
    struct json *root = json_new_object();
    bool added = json_add_string(root, "results", path);
    struct json *networks = json_add_array(root, "networks");
    for (size_t i = 0; added && i < file->count; i++)
        added = add_result(networks, &file->studies[i]);
    struct json *published = json_add_array(root, "published");
    for (size_t i = 0; added && i < study_published_count; i++) {
        struct json *object = json_add_object(published, NULL);
        added = json_add_string(object, "network", study_published[i].network) &&
                json_add_number(object, "error_rate", study_published[i].error_rate);
    }
    if (added && networks && published)
        return root;
    json_free(root);
    return NULL;
}
