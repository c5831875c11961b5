/* The perceptual study without a terminal: the order of pictures for each participant, the result
 * of votes, and the file of results. */
#include "studies/pictures/study.h"

#include "base/files/file.h"
#include "base/json/json.h"
#include "base/memory.h"
#include "base/text.h"
#include "studies/pictures/study_file.h"
#include "studies/pictures/study_pictures.h"

#include "data/formats/image_file.h"
#include "session_files.h"

#include <math.h>
#include <sys/stat.h>
#include <sys/wait.h>

enum { MOST = 200 };

/* Makes `pairs` pairs, each a scene. */
static bool choose(struct study *study, size_t pairs, size_t wanted, uint64_t seed,
                   struct error *error)
{
    uint32_t scenes[MOST];
    for (uint32_t i = 0; i < MOST; i++)
        scenes[i] = i;
    struct study_pool pool = {scenes, scenes, pairs, pairs};
    *study = (struct study){.seed = seed, .seconds = 1, .network = "pix2pix"};
    return study_choose(study, &pool, wanted, error);
}

static bool counts_are(const struct study *study, size_t practice, size_t counted)
{
    return study_count(study, true, true) == practice &&
           study_count(study, false, true) == practice &&
           study_count(study, true, false) == counted &&
           study_count(study, false, false) == counted;
}

static bool all_different(const struct study *study)
{
    for (size_t i = 0; i < study->count; i++)
        for (size_t j = 0; j < i; j++)
            if (study->images[i].source == study->images[j].source)
                return false;
    return true;
}

static void test_choice(void)
{
    static const struct {
        size_t pairs, wanted, practice, counted;
    } cases[] = {{200, 0, 5, 20}, {50, 0, 5, 20}, {25, 0, 5, 20}, {16, 0, 3, 13},    {4, 0, 1, 3},
                 {2, 0, 1, 1},    {50, 10, 1, 4}, {50, 4, 1, 1},  {200, 100, 10, 40}};
    struct study study, again;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        bool chosen = choose(&study, cases[i].pairs, cases[i].wanted, 1, NULL);
        tap_ok(chosen && counts_are(&study, cases[i].practice, cases[i].counted),
               "%zu pairs: %zu of each kind are practice, %zu count", cases[i].pairs,
               cases[i].practice, cases[i].counted);
        study_free(&study);
    }
    choose(&study, 50, 0, 1, NULL);
    tap_ok(all_different(&study) && study.shown_twice == 0, "of 50 pairs none is shown twice");
    choose(&again, 50, 0, 1, NULL);
    tap_ok(memcmp(study.images, again.images, 50 * sizeof *study.images) == 0,
           "the same seed chooses the same");
    study_free(&again);
    choose(&again, 50, 0, 2, NULL);
    tap_ok(memcmp(study.images, again.images, 50 * sizeof *study.images) != 0, "another does not");
    study_free(&again);
    study_free(&study);
    choose(&study, 30, 0, 1, NULL);
    tap_ok(study.shown_twice == 20, "of 30 pairs 20 are, and this is recorded: %zu",
           study.shown_twice);
    study_free(&study);
}

static void test_refusals(void)
{
    struct study study;
    struct error error;
    tap_ok(!choose(&study, 1, 0, 1, &error) && error.kind == ERROR_INPUT, "one pair is too few");
    tap_ok(!choose(&study, 50, 7, 1, &error) && error.kind == ERROR_USAGE,
           "an odd number is refused");
    tap_ok(!choose(&study, 50, 2, 1, &error) && error.kind == ERROR_USAGE,
           "two pictures are refused, since none would be practice");
    tap_ok(!choose(&study, 16, 50, 1, &error) && error.kind == ERROR_USAGE &&
               strstr(error.why, "16 real"),
           "more pictures than there are is refused");
    tap_ok(study_check_name("Jos\xc3\xa9 Lima", "x", NULL), "a name may be any UTF-8");
    tap_ok(!study_check_name("", "x", NULL) && !study_check_name("a\nb", "x", NULL) &&
               !study_check_name("a\xff", "x", NULL) && !study_check_name("\xc3", "x", NULL) &&
               !study_check_name("\xc2\x9b", "x", NULL),
           "but not empty, with control characters, or not UTF-8");
}

static void test_order(void)
{
    struct study study;
    uint32_t ana[50], again[50], rui[50], seen[50] = {0};
    choose(&study, 50, 0, 1, NULL);
    study_order(&study, "ana", ana);
    study_order(&study, "ana", again);
    study_order(&study, "rui", rui);
    bool whole = true, practice_first = true, mixed = false;
    for (size_t i = 0; i < 50; i++)
        seen[ana[i]]++;
    for (size_t i = 0; i < 50; i++) {
        whole = whole && seen[i] == 1;
        practice_first = practice_first && study.images[ana[i]].practice == (i < 10);
        mixed = mixed || study.images[ana[i]].generated != study.images[rui[i]].generated;
    }
    tap_ok(whole, "everyone sees every picture once");
    tap_ok(practice_first, "the ten of practice first");
    tap_ok(memcmp(ana, again, sizeof ana) == 0, "the same name gives the same order");
    tap_ok(memcmp(ana, rui, sizeof ana) != 0 && mixed, "a different name gives a different order");
    study_free(&study);
}

/* --- votes --- */

/* Votes "real" for the first `fooled` generated pictures that count, and correctly for all others.
 */
static void vote_on(const struct study *study, const char *participant, size_t fooled,
                    struct study_vote *vote)
{
    *vote = (struct study_vote){.columns = 80, .rows = 24, .graphics = "256"};
    snprintf(vote->participant, sizeof vote->participant, "%s", participant);
    snprintf(vote->created, sizeof vote->created, "2026-01-31T12:00:00Z");
    vote->answers = memory_new(study->count, sizeof *vote->answers, "a vote", NULL);
    for (size_t i = 0; i < study->count; i++) {
        const struct study_image *image = &study->images[i];
        bool taken_in = image->generated && !image->practice && fooled > 0;
        fooled -= taken_in;
        vote->answers[i] = (struct study_answer){i, !image->generated || taken_in, 0.5};
    }
}

static bool add(struct study *study, const char *participant, size_t fooled)
{
    struct study_vote vote;
    vote_on(study, participant, fooled, &vote);
    bool added = study_add_vote(study, &vote, NULL);
    free(vote.answers);
    return added;
}

static void test_majority(void)
{
    struct study study;
    struct study_result result;
    choose(&study, 50, 0, 1, NULL);
    study_result(&study, &result);
    tap_ok(result.voters == 0 && result.images == 20 && isnan(result.error_rate) &&
               isnan(result.low),
           "before the first vote there is no result");
    add(&study, "a", 5);
    study_result(&study, &result);
    tap_ok(result.fooled == 5 && result.error_rate == 0.25 && result.real_recognised == 1,
           "one voter: 5 of 20");
    tap_ok(fabs(result.low - 0.1119) < 1e-3 && fabs(result.high - 0.4687) < 1e-3,
           "with Wilson's interval: %.4f to %.4f", result.low, result.high);
    add(&study, "b", 0);
    study_result(&study, &result);
    tap_ok(result.fooled == 0 && result.low == 0 && result.high > 0.1,
           "a draw is no majority, and an interval from 0 is not empty");
    add(&study, "c", 3);
    study_result(&study, &result);
    tap_ok(result.voters == 3 && result.fooled == 3 && fabs(result.called_real - 8.0 / 60) < 1e-12,
           "two of three votes count: 3 of 20");
    tap_ok(!add(&study, "b", 1) && study.vote_count == 3, "nobody votes twice");
    struct study_vote vote;
    vote_on(&study, "d", 0, &vote);
    vote.answers[3].image = 4;
    tap_ok(!study_add_vote(&study, &vote, NULL), "nor on one picture twice");
    free(vote.answers);
    study_free(&study);
}

/* Wrong answers in practice must not count. */
static void test_practice(void)
{
    struct study study;
    struct study_result result;
    struct study_vote vote;
    choose(&study, 50, 0, 1, NULL);
    vote_on(&study, "a", 0, &vote);
    for (size_t i = 0; i < study.count; i++)
        vote.answers[i].real = vote.answers[i].real != study.images[i].practice;
    study_add_vote(&study, &vote, NULL);
    study_result(&study, &result);
    tap_ok(result.fooled == 0 && result.called_real == 0 && result.real_recognised == 1,
           "the first ten do not count");
    free(vote.answers);
    study_free(&study);
}

/* --- the file --- */

static void name_pictures(struct study *study)
{
    snprintf(study->real, sizeof study->real, "targets of maps");
    snprintf(study->generated, sizeof study->generated, "run x");
    snprintf(study->fingerprint, sizeof study->fingerprint, "0123456789abcdef");
    for (size_t i = 0; i < study->count; i++)
        snprintf(study->images[i].name, sizeof study->images[i].name, "%zu", i);
}

static bool put(const char *path, const struct study *study, const char *participant,
                struct error *error)
{
    struct study_vote vote;
    vote_on(study, participant, 2, &vote);
    bool added = study_file_add(path, study, &vote, NULL, error);
    free(vote.answers);
    return added;
}

static void test_file(void)
{
    struct study study;
    struct study_file file;
    struct error error;
    const char *path = home_path("results.json");
    choose(&study, 50, 0, 1, NULL);
    name_pictures(&study);
    tap_ok(study_file_accepts(path, &study, "ana", &error), "a new file accepts everyone");
    tap_ok(put(path, &study, "ana", &error) && put(path, &study, "rui", &error), "two vote");
    tap_ok(!study_file_accepts(path, &study, "ana", &error) && error.kind == ERROR_INPUT &&
               strstr(error.why, "once") && !put(path, &study, "ana", &error),
           "the first participant not once more");
    snprintf(study.network, sizeof study.network, "pix2pix-dsc");
    tap_ok(put(path, &study, "ana", &error), "but on another network");
    bool read = study_file_read(&file, path, true, &error);
    tap_ok(read && file.count == 2 && file.studies[0].vote_count == 2 &&
               strcmp(file.studies[0].votes[1].participant, "rui") == 0 &&
               file.studies[1].vote_count == 1 && file.studies[0].count == 50,
           "everything is read back");
    study_file_free(&file);
    study.seconds = 2;
    tap_ok(!study_file_accepts(path, &study, "eva", &error) && strstr(error.advice, "--seconds 1"),
           "pictures shown for longer are another study: %s", error.advice);
    study.seconds = 1;
    study.fingerprint[0] = 'f';
    tap_ok(!study_file_accepts(path, &study, "eva", &error) && strstr(error.why, "other pictures"),
           "and other pictures are not");
    tap_ok(!study_file_accepts(home_path("no/where.json"), &study, "eva", &error),
           "a missing folder is reported before the session");
    tap_ok(!study_file_read(&file, home_path("none.json"), true, &error), "a report needs a file");
    study_free(&study);
}

static void test_report(void)
{
    struct study_file file;
    struct error error;
    double rate = 0;
    if (!study_file_read(&file, home_path("results.json"), true, &error))
        return;
    struct json *root = study_file_report(&file, "results.json");
    const struct json *network = json_first(json_member(root, "networks"));
    tap_ok(json_number(json_member(network, "error_rate"), &rate) && rate == 0.1,
           "the report has the rate: %g", rate);
    tap_ok(json_length(json_member(root, "published")) == 4, "and the published results");
    json_free(root);
    study_file_free(&file);
}

/* Replaces the first occurrence of `from` in the file by `to` and tries to read the file. */
static bool is_refused(const char *from, const char *to)
{
    struct error error;
    struct study_file file;
    size_t size;
    char *text = file_read(home_path("results.json"), 1 << 20, &size, NULL);
    char *at = text ? strstr(text, from) : NULL;
    struct text spoilt = {0};
    if (at)
        text_append(&spoilt, "%.*s%s%s", (int)(at - text), text, to, at + strlen(from));
    bool refused = at && write_text(home_path("spoilt.json"), spoilt.data) &&
                   !study_file_read(&file, home_path("spoilt.json"), true, &error);
    free(text);
    text_free(&spoilt);
    return refused;
}

static void test_damage(void)
{
    tap_ok(is_refused("\"version\":\t1", "\"version\":\t2"), "another version is refused");
    tap_ok(is_refused("\"tinca-study\"", "\"tinca-session\""), "another format");
    tap_ok(is_refused("\"image\":\t7,", "\"image\":\t6,"), "a picture answered twice");
    tap_ok(is_refused("\"image\":\t7,", "\"image\":\t70,"), "a missing file");
    tap_ok(is_refused("\"rui\"", "\"ana\""), "a participant twice");
    tap_ok(is_refused("\"real\":\ttrue", "\"real\":\t1"), "a number for true");
    tap_ok(is_refused("\"seconds\":\t1,", "\"seconds\":\t-1,"), "a negative time");
    tap_ok(is_refused("}", ""), "a file that is no JSON");
}

/* Several processes add votes at the same time. */
static void test_together(void)
{
    enum { PROCESSES = 8 };
    struct study study;
    struct study_file file;
    const char *path = home_path("together.json");
    choose(&study, 4, 0, 1, NULL);
    name_pictures(&study);
    for (int i = 0; i < PROCESSES; i++)
        if (fork() == 0) {
            char name[24];
            snprintf(name, sizeof name, "voter %d", i);
            _exit(put(path, &study, name, NULL) ? 0 : 1);
        }
    int status, failed = 0;
    while (wait(&status) > 0)
        failed += status != 0;
    bool read = study_file_read(&file, path, true, NULL);
    tap_ok(failed == 0 && read && file.studies[0].vote_count == PROCESSES,
           "of %d votes at the same time none is lost", PROCESSES);
    study_file_free(&file);
    study_free(&study);
}

/* --- folders --- */

static bool make_picture(const char *folder, int number, size_t width, size_t height, uint8_t grey)
{
    char name[64];
    struct image image;
    snprintf(name, sizeof name, "%s/%d.png", folder, number);
    if (!image_create(&image, width, height, 3, NULL))
        return false;
    memset(image.pixels, grey, width * height * 3);
    bool written = image_file_write_png(&image, home_path(name), NULL);
    image_free(&image);
    return written;
}

static void test_folders(void)
{
    struct study study = {.seed = 1};
    struct study_pictures pictures;
    struct error error;
    bool right = mkdir(home_path("real"), 0700) == 0 && mkdir(home_path("made"), 0700) == 0;
    for (int i = 0; right && i < 3; i++)
        right = make_picture("real", i, 32, 20, 10) && make_picture("made", i, 16, 16, 200);
    right = right && study_pictures_of_folders(&pictures, &study, home_path("real"),
                                               home_path("made"), 0, &error);
    if (!tap_ok(right && study.count == 6 && pictures.count == 6, "two folders make a study"))
        return note_error(&error);
    for (size_t i = 0; i < 6; i++)
        right = right && pictures.images[i].width == 16 && pictures.images[i].height == 16 &&
                pictures.images[i].pixels[0] == (study.images[i].generated ? 200 : 10);
    tap_ok(right && pictures.resized, "whose pictures all have the smallest size");
    tap_ok(study.shown_twice == 3, "the same file name is the same scene");
    study_pictures_free(&pictures);
    study_free(&study);
    study = (struct study){.seed = 1};
    tap_ok(!study_pictures_of_folders(&pictures, &study, home_path("real"), home_path("none"), 0,
                                      &error),
           "a missing folder is an error");
    study_free(&study);
}

TEST_CASE(study_test)
{
    if (!make_home())
        return 99;
    test_choice();
    test_refusals();
    test_order();
    test_majority();
    test_practice();
    test_file();
    test_report();
    test_damage();
    test_together();
    test_folders();
    remove_home();
    return tap_done();
}
