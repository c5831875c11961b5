/* The protocol of the perceptual study.
 *
 * One seed gives three independent random streams: the choice of generated pictures, the choice of
 * real pictures, and the order for each participant. The stream of a participant is a hash of the
 * name.
 */
#include "studies/pictures/study.h"

#include "base/language.h"
#include "base/memory.h"
#include "base/random.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { STREAM_GENERATED = 0, STREAM_REAL = 1 };

/* From Gondim Santos (2019). The number of participants, and so the intervals, are not known here.
 */
const struct study_published study_published[] = {
    {"pix2pix", 0.20}, {"pix2pix-dsc", 0.15}, {"pix2pix-shift", 0.20}, {"pix2pix-shuffle", 0.10}};
const size_t study_published_count = sizeof study_published / sizeof *study_published;

void study_free(struct study *study)
{
    for (size_t i = 0; i < study->vote_count; i++)
        free(study->votes[i].answers);
    free(study->votes);
    free(study->images);
    *study = (struct study){0};
}

/* --- choosing --- */

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Returns how many of `each` pictures are practice: a rounded fifth, but at least one and not all.
 */
static size_t practice_of(size_t each)
{
    const size_t fifth = (2 * each + 5) / 10;
    return fifth ? fifth : 1;
}

static bool check_wanted(const struct study_pool *pool, size_t wanted, size_t *each,
                         struct error *error)
{
    const size_t most = smaller(pool->real, pool->generated);
    if (most < 2)
        return error_set(error, ERROR_INPUT, "the study", "give it more pictures",
                         "it needs two real and two generated pictures at least, and there are %zu "
                         "and %zu",
                         pool->real, pool->generated);
    if (wanted % 2 || wanted == 2 || wanted > STUDY_MAX_IMAGES)
        return error_set(error, ERROR_USAGE, "--images", "half of them are real, half generated",
                         "expected an even number of 4 to %d", STUDY_MAX_IMAGES);
    if (wanted / 2 > most)
        return error_set(error, ERROR_USAGE, "--images", "ask for fewer, or leave it out",
                         "%zu pictures need %zu of each kind, and there are %zu real and %zu "
                         "generated ones",
                         wanted, wanted / 2, pool->real, pool->generated);
    *each = wanted ? wanted / 2 : smaller(most, STUDY_IMAGES / 2);
    return true;
}

static bool is_shown(const struct study *study, const struct study_pool *pool, uint32_t scene)
{
    for (size_t i = 0; i < study->count; i++)
        if (study->images[i].generated && pool->generated_scenes[study->images[i].source] == scene)
            return true;
    return false;
}

static void take(struct study *study, size_t source, bool generated, bool practice)
{
    study->images[study->count++] =
        (struct study_image){.source = source, .generated = generated, .practice = practice};
}

static void take_generated(struct study *study, uint32_t *order, size_t candidates, size_t each)
{
    random_permutation(study->seed, RANDOM_STUDY, STREAM_GENERATED, order, candidates);
    for (size_t i = 0; i < each; i++)
        take(study, order[i], true, i < practice_of(each));
}

/* Takes real pictures in the given order: first those whose scene is not shown yet, then others if
 * needed. */
static void take_real(struct study *study, const struct study_pool *pool, uint32_t *order,
                      size_t each)
{
    size_t taken = 0;
    random_permutation(study->seed, RANDOM_STUDY, STREAM_REAL, order, pool->real);
    for (int again = 0; again < 2; again++)
        for (size_t i = 0; i < pool->real && taken < each; i++) {
            if (is_shown(study, pool, pool->real_scenes[order[i]]) != (again == 1))
                continue;
            take(study, order[i], false, taken++ < practice_of(each));
            study->shown_twice += again == 1;
        }
}

bool study_choose(struct study *study, const struct study_pool *pool, size_t wanted,
                  struct error *error)
{
    size_t each = 0;
    if (!check_wanted(pool, wanted, &each, error))
        return false;
    uint32_t *order = memory_new(pool->real + pool->generated, sizeof *order, "an order", error);
    study->images = memory_new(2 * each, sizeof *study->images, "the study", error);
    study->count = study->shown_twice = 0;
    if (order && study->images) {
        take_generated(study, order, pool->generated, each);
        take_real(study, pool, order, each);
    }
    free(order);
    return study->count > 0;
}

size_t study_count(const struct study *study, bool generated, bool practice)
{
    size_t count = 0;
    for (size_t i = 0; i < study->count; i++)
        count += study->images[i].generated == generated && study->images[i].practice == practice;
    return count;
}

/* --- the order for a participant --- */

/* Returns a participant's random stream: the FNV-1a hash (Fowler, Noll, Vo) of the name, above the
 * numbers of the streams that choose pictures. */
static uint32_t stream_of(const char *name)
{
    uint32_t hash = 2166136261u;
    for (; *name; name++)
        hash = (hash ^ (unsigned char)*name) * 16777619u;
    return hash | 2u;
}

void study_order(const struct study *study, const char *participant, uint32_t *order)
{
    /* Shuffle all pictures, then move practice to the front without changing either part's order.
     */
    random_permutation(study->seed, RANDOM_STUDY, stream_of(participant), order, study->count);
    for (size_t i = 0, front = 0; i < study->count; i++) {
        const uint32_t image = order[i];
        if (!study->images[image].practice)
            continue;
        memmove(order + front + 1, order + front, (i - front) * sizeof *order);
        order[front++] = image;
    }
}

/* Returns the length of the UTF-8 sequence at `text`, or 0 if it is invalid or a control character.
 */
static size_t sequence_length(const unsigned char *text)
{
    const size_t length = text[0] < 0x80 ? 1 : text[0] < 0xe0 ? 2 : text[0] < 0xf0 ? 3 : 4;
    if (text[0] < 0x20 || text[0] == 0x7f || (text[0] >= 0x80 && text[0] < 0xc2) || text[0] > 0xf4)
        return 0;
    for (size_t i = 1; i < length; i++)
        if ((text[i] & 0xc0) != 0x80)
            return 0;
    return length == 2 && text[0] == 0xc2 && text[1] < 0xa0 ? 0 : length; /* C1 controls */
}

bool study_check_name(const char *name, const char *option, struct error *error)
{
    const unsigned char *text = (const unsigned char *)name;
    while (*text && sequence_length(text))
        text += sequence_length(text);
    if (!*text && name[0] && strlen(name) < STUDY_NAME_SIZE)
        return true;
    return error_set(error, ERROR_USAGE, option, "choose another name",
                     "expected 1 to %d bytes of UTF-8 without control characters",
                     STUDY_NAME_SIZE - 1);
}

/* --- votes --- */

static bool has_voted(const struct study *study, const char *participant)
{
    for (size_t i = 0; i < study->vote_count; i++)
        if (strcmp(study->votes[i].participant, participant) == 0)
            return true;
    return false;
}

/* Returns whether the answers contain every picture exactly once. */
static bool answers_are_whole(const struct study *study, const struct study_answer *answers,
                              struct error *error)
{
    bool *seen = memory_new(study->count, sizeof *seen, "a vote", error);
    bool whole = seen;
    for (size_t i = 0; whole && i < study->count; i++) {
        whole = answers[i].image < study->count && !seen[answers[i].image];
        if (whole)
            seen[answers[i].image] = true;
        else
            error_set(error, ERROR_INPUT, study->network, NULL,
                      "a vote does not answer every picture once");
    }
    free(seen);
    return whole;
}

bool study_add_vote(struct study *study, const struct study_vote *vote, struct error *error)
{
    if (has_voted(study, vote->participant))
        return error_set(error, ERROR_INPUT, vote->participant,
                         "vote under another --participant, or on another network",
                         "this participant has voted on %s already, and everyone votes once a "
                         "network",
                         study->network);
    if (!answers_are_whole(study, vote->answers, error) ||
        !memory_grow(&study->votes, &study->vote_capacity, study->vote_count + 1,
                     sizeof *study->votes, "the votes", error))
        return false;
    struct study_vote copy = *vote;
    copy.answers = memory_new(study->count, sizeof *copy.answers, "a vote", error);
    if (!copy.answers)
        return false;
    memcpy(copy.answers, vote->answers, study->count * sizeof *copy.answers);
    study->votes[study->vote_count++] = copy;
    return true;
}

/* --- the result --- */

static size_t votes_for_real(const struct study *study, size_t image)
{
    size_t votes = 0;
    for (size_t v = 0; v < study->vote_count; v++)
        for (size_t i = 0; i < study->count; i++)
            votes += study->votes[v].answers[i].image == image && study->votes[v].answers[i].real;
    return votes;
}

/* Sets the interval of the error rate: Wilson's, which stays within 0 and 1 and is valid for few
 * images. */
static void take_interval(struct study_result *result)
{
    const double z = 1.959963984540054, n = (double)result->images, rate = result->error_rate;
    const double centre = (rate + z * z / (2 * n)) / (1 + z * z / n);
    const double half = z / (1 + z * z / n) * sqrt(rate * (1 - rate) / n + z * z / (4 * n * n));
    result->low = result->fooled ? centre - half : 0;
    result->high = result->fooled < result->images ? centre + half : 1;
}

void study_result(const struct study *study, struct study_result *result)
{
    size_t real_images = 0, called_real = 0, recognised = 0;
    *result = (struct study_result){.voters = study->vote_count};
    for (size_t i = 0; i < study->count; i++) {
        if (study->images[i].practice)
            continue;
        const size_t votes = votes_for_real(study, i);
        if (!study->images[i].generated) {
            real_images++;
            recognised += votes;
            continue;
        }
        result->images++;
        result->fooled += 2 * votes > study->vote_count;
        called_real += votes;
    }
    result->error_rate = result->low = result->high = NAN;
    result->called_real = result->real_recognised = NAN;
    if (study->vote_count == 0 || result->images == 0 || real_images == 0)
        return;
    const double votes = (double)study->vote_count;
    result->error_rate = (double)result->fooled / (double)result->images;
    result->called_real = (double)called_real / (votes * (double)result->images);
    result->real_recognised = (double)recognised / (votes * (double)real_images);
    take_interval(result);
}

void study_add_result(struct table *table, const struct study *study)
{
    struct study_result result;
    study_result(study, &result);
    table_cell(table, "%zu", result.voters);
    table_cell(table, "%zu/%zu", result.fooled, result.images);
    table_number(table, "%.3f", result.error_rate);
    table_cell(table, result.voters > 0 ? _("%.2f to %.2f") : "-", result.low, result.high);
    table_number(table, "%.2f", result.real_recognised);
}
