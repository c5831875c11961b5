/* The augmentations: their names, the pictures they make (compared with PyTorch's formulas), how
 * images are mixed, balanced sampling, and that none of it depends on workers or resuming. */
#include "base/json/json.h"
#include "data/loader/augment.h"
#include "data/loader/data_loader.h"
#include "data/loader/epoch_order.h"
#include "data/loader/mix.h"
#include "engine/training/soft_targets.h"

#include "tap.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- names --- */

static bool becomes(const char *text, const char *canonical)
{
    struct augmentation augmentation;
    char written[AUGMENTATION_TEXT];
    return augmentation_parse(&augmentation, text, NULL) &&
           strcmp(augmentation_format(&augmentation, written, sizeof written), canonical) == 0;
}

static void test_names(void)
{
    static const char *const same[][2] = {
        {"no", "no"},
        {"off", "no"},
        {"true", "yes"},
        {"crop,flip", "crop,flip"},
        {"cutmix=1,mixup=0.2,cutout=8,color=0.4,rotate=15,flip,crop=4",
         "crop=4,flip,rotate=15,color=0.4,cutout=8,mixup=0.2,cutmix=1"},
        {"yes,cutout=16", "yes,cutout=16"},
        {"crop=0", "crop=0"},
        {"rotate=0,cutout=0", "no"},
        {"brightness=0.1,saturation=0.30", "brightness=0.1,saturation=0.3"},
        {"contrast=0.2,brightness=0.2,saturation=0.2", "color=0.2"}};
    static const char *const wrong[] = {
        "",          "maybe",     "crop=",      "crop=-1", "rotate",     "flip=1", "rotate=181",
        "mixup=nan", "flip,flip", "yes,crop=4", "no,flip", "cutout=1.5", "flip,",  "cutmix=1e9"};
    for (size_t i = 0; i < sizeof same / sizeof *same; i++)
        tap_ok(becomes(same[i][0], same[i][1]) && becomes(same[i][1], same[i][1]),
               "\"%s\" is \"%s\"", same[i][0], same[i][1]);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct augmentation augmentation = {.pad = 77};
        struct error error = {0};
        tap_ok(!augmentation_parse(&augmentation, wrong[i], &error) && augmentation.pad == 77 &&
                   strstr(error.what, "--augment") && strstr(error.advice, "crop=4"),
               "\"%s\" is refused: %s", wrong[i], error.why);
    }
}

/* --- pictures --- */

static double number_of(const struct json *golden, const char *key)
{
    double number = NAN;
    const struct json *member = json_member(golden, key);
    bool flag;
    if (json_bool(member, &flag))
        return flag;
    return json_number(member, &number) ? number : NAN;
}

static struct image image_of(const struct json *golden)
{
    struct image image;
    size_t i = 0;
    image_create(&image, (size_t)number_of(golden, "stored_width"),
                 (size_t)number_of(golden, "stored_height"), (size_t)number_of(golden, "channels"),
                 NULL);
    for (const struct json *v = json_first(json_member(golden, "pixels")); v; v = json_next(v)) {
        double sample = 0;
        json_number(v, &sample);
        image.pixels[i++] = (uint8_t)sample;
    }
    return image;
}

/* Returns the largest difference from the golden's samples, of 0..255; infinity if there are not as
 * many. */
static double difference(const struct json *golden, const float *values, size_t count)
{
    const struct json *expected = json_member(golden, "expected");
    double largest = json_length(expected) == count ? 0 : INFINITY;
    size_t i = 0;
    for (const struct json *v = json_first(expected); v && i < count; v = json_next(v)) {
        double sample = NAN;
        json_number(v, &sample);
        const double off = fabs(sample - (double)values[i++]);
        largest = off <= largest ? largest : off;
    }
    return largest;
}

static void test_picture(const struct json *golden)
{
    static const struct normalisation half = {
        .name = "half", .mean = {10, 20, 30}, .deviation = {2, 2, 2}};
    static float values[3 * 16 * 16];
    struct sample_table table;
    struct image image = image_of(golden);
    const struct crop crop = {.x = (ptrdiff_t)number_of(golden, "x"),
                              .y = (ptrdiff_t)number_of(golden, "y"),
                              .width = (size_t)number_of(golden, "width"),
                              .height = (size_t)number_of(golden, "height"),
                              .flip = number_of(golden, "flip") > 0};
    const struct picture_change change = {.turns = number_of(golden, "degrees") != 0,
                                          .degrees = number_of(golden, "degrees"),
                                          .colors = number_of(golden, "colors") > 0,
                                          .brightness = (float)number_of(golden, "brightness"),
                                          .contrast = (float)number_of(golden, "contrast"),
                                          .saturation = (float)number_of(golden, "saturation")};
    const size_t plane = crop.width * crop.height, count = plane * image.channels;
    sample_table_fill(&table, &half);
    picture_change_write(values, &image, &crop, &change, &half, &table, 0);
    for (size_t i = 0; i < count; i++)
        values[i] = 2 * values[i] + half.mean[i / plane];
    const double off = difference(golden, values, count);
    tap_ok(off < 1e-3, "%s: within 0.001 of 255 of PyTorch (%.2g)",
           json_string(json_member(golden, "name")), off);
    image_free(&image);
}

static void test_pictures(void)
{
    const char *srcdir = getenv("srcdir");
    char path[600];
    struct json_document goldens;
    struct error error = {0};
    snprintf(path, sizeof path, "%s/tests/parity/goldens/augment.json", srcdir ? srcdir : ".");
    if (!json_read_file(&goldens, path, 1 << 20, &error)) {
        tap_ok(false, "reads the goldens: %s", error.why);
        return;
    }
    tap_ok(json_length(goldens.root) == 9, "there are goldens");
    for (const struct json *golden = json_first(goldens.root); golden; golden = json_next(golden))
        test_picture(golden);
    json_document_free(&goldens);
}

/* --- draws --- */

static void test_draws(void)
{
    struct augmentation augmentation;
    double lowest = 0, highest = 0, dark = 9, bright = 0, sum = 0;
    ptrdiff_t left = 99, right = 0;
    augmentation_parse(&augmentation, "rotate=20,color=0.4,cutout=8", NULL);
    for (uint64_t i = 0; i < 4000; i++) {
        const struct picture_change change = picture_change_draw(&augmentation, 3, 5, i, 32, 16);
        lowest = fmin(lowest, change.degrees);
        highest = fmax(highest, change.degrees);
        sum += change.degrees;
        dark = fmin(dark, (double)change.contrast);
        bright = fmax(bright, (double)change.contrast);
        left = change.left < left ? change.left : left;
        right = change.left > right ? change.left : right;
    }
    tap_ok(lowest >= -20 && lowest < -19.9 && highest <= 20 && highest > 19.9 &&
               fabs(sum / 4000) < 0.75,
           "angles are uniform between -20 and 20 degrees");
    tap_ok(dark >= 0.5999 && dark < 0.601 && bright <= 1.4001 && bright > 1.399,
           "a strength of 0.4 gives factors of 0.6 to 1.4");
    tap_ok(left == -4 && right == 27, "the centre of the masked square is anywhere in the window");
}

/* Checks mean and variance of the shares: those of Beta(a, a) are 1/2 and 1 / (4 (2a + 1)). */
static void test_shares(double alpha)
{
    enum { DRAWS = 20000 };
    const struct augmentation augmentation = {.mixup = alpha};
    double sum = 0, squares = 0;
    bool inside = true;
    for (uint64_t i = 0; i < DRAWS; i++) {
        const struct mix mix = mix_draw(&augmentation, 1, 2, i, 32, 32);
        const double off = (double)mix.share - 0.5;
        inside = inside && mix.share >= 0 && mix.share <= 1 && !mix.cuts;
        sum += off;
        squares += off * off;
    }
    const double variance = 1 / (4 * (2 * alpha + 1));
    tap_ok(inside && fabs(sum / DRAWS) < 4 * sqrt(variance / DRAWS) &&
               fabs(squares / DRAWS / variance - 1) < 0.05,
           "mixup=%g: mean %.4f and variance %.4f of the shares, expected 0.5 and %.4f", alpha,
           0.5 + sum / DRAWS, squares / DRAWS, variance);
}

/* Mixing x = 1 with y = 0 leaves the share of the own label, with cutmix as the mean of the image.
 */
static void test_mixed(const char *text)
{
    enum { SIDE = 16, PLANE = SIDE * SIDE };
    float ones[2 * PLANE], zeros[2 * PLANE];
    struct augmentation augmentation;
    size_t wrong = 0, cut = 0;
    augmentation_parse(&augmentation, text, NULL);
    for (uint64_t n = 0; n < 400; n++) {
        const struct mix first = mix_draw(&augmentation, 7, 0, 2 * n, SIDE, SIDE);
        const struct mix second = mix_draw(&augmentation, 7, 0, 2 * n + 1, SIDE, SIDE);
        double sums[2] = {0, 0};
        for (size_t i = 0; i < 2 * PLANE; i++) {
            ones[i] = 1;
            zeros[i] = 0;
        }
        mix_pair(ones, &first, zeros, &second, 2, SIDE, SIDE);
        for (size_t i = 0; i < 2 * PLANE; i++) {
            sums[0] += (double)ones[i];
            sums[1] += (double)zeros[i];
        }
        wrong += fabs(sums[0] / (2 * PLANE) - (double)first.share) > 1e-6;
        wrong += fabs(sums[1] / (2 * PLANE) - (1 - (double)second.share)) > 1e-6;
        cut += first.cuts + second.cuts;
    }
    const bool mixup = augmentation.mixup > 0, cutmix = augmentation.cutmix > 0;
    tap_ok(wrong == 0, "%s: the share of the label is the share of the image", text);
    tap_ok(mixup && cutmix ? cut > 300 && cut < 500 : cut == (cutmix ? 800 : 0),
           "%s: %zu of 800 images get a rectangle", text, cut);
}

/* --- targets --- */

static void test_targets(void)
{
    static const int32_t labels[] = {0, 1, 2}, partners[] = {2, 1, 0};
    static const float shares[] = {0.25f, 1, 0.5f}, weights[] = {1, 2, 0.5f}, none[] = {0, 0, 0};
    struct soft_target targets[3];
    soft_targets_fill(targets, labels, NULL, NULL, weights, 3);
    double sum = 0;
    for (size_t i = 0; i < 3; i++)
        sum += (double)(targets[i].own + targets[i].other);
    tap_ok(fabs(sum - 3) < 1e-6 && fabsf(targets[1].own / targets[2].own - 4) < 1e-6f,
           "class weights are divided by their sum over the batch");
    soft_targets_fill(targets, labels, partners, shares, NULL, 3);
    tap_ok(targets[0].own == 0.25f && targets[0].other == 0.75f && targets[0].partner == 2 &&
               targets[0].scale == 1,
           "labels are mixed by the shares");
    soft_targets_fill(targets, labels, partners, shares, none, 3);
    tap_ok(targets[0].own == 0 && targets[2].other == 0 && targets[0].scale == 0,
           "weights of 0 give no loss");
}

/* --- batches --- */

static const struct dataset_request small = {3, 32, 32};

/* Returns a hash (FNV-1a) of `count` batches from `from` on; 0 if one did not come. */
static uint64_t hash_of(const struct dataset *set, const char *augment, bool balanced,
                        size_t threads, uint64_t from, size_t count)
{
    struct data_loader_settings how = {
        .batch = 10,
        .training = true,
        .balanced = balanced,
        .seed = 3,
        .threads = threads,
        .first_batch = from,
        .normalisation = {.mean = {100, 110, 120}, .deviation = {50, 60, 70}}};
    struct data_batch batch;
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    augmentation_parse(&how.augmentation, augment, NULL);
    how.augmentation = augmentation_for(&how.augmentation, dataset_facts(set));
    struct data_loader *loader = data_loader_open(set, &how, NULL);
    for (size_t b = 0; b < count; b++) {
        if (!loader || !data_loader_next(loader, &batch, NULL))
            return 0;
        const struct {
            const void *bytes;
            size_t size;
        } parts[] = {{batch.images, 10 * 3072 * sizeof(float)},
                     {batch.labels, 10 * sizeof(int32_t)},
                     {batch.partner_labels, 10 * sizeof(int32_t)},
                     {batch.shares, 10 * sizeof(float)}};
        for (size_t p = 0; p < 4; p++)
            for (size_t i = 0; parts[p].bytes && i < parts[p].size; i++)
                hash = (hash ^ ((const uint8_t *)parts[p].bytes)[i]) * UINT64_C(0x100000001b3);
    }
    data_loader_free(loader);
    return hash;
}

static void test_batches(const char *augment, bool balanced)
{
    struct dataset *set = dataset_open("shapes,limit=64", "train", &small, NULL);
    const uint64_t all = hash_of(set, augment, balanced, 1, 0, 14);
    const uint64_t late = hash_of(set, augment, balanced, 2, 8, 3);
    tap_ok(all && all == hash_of(set, augment, balanced, 2, 0, 14) &&
               all == hash_of(set, augment, balanced, 4, 0, 14),
           "%s%s: one to four workers give the same bits", augment, balanced ? ", balanced" : "");
    tap_ok(late && late == hash_of(set, augment, balanced, 3, 8, 3) &&
               late != hash_of(set, augment, balanced, 1, 0, 3),
           "  and so does resuming in the second epoch");
    tap_ok(all != hash_of(set, "no", balanced, 1, 0, 14) || strcmp(augment, "no") == 0,
           "  and the pictures are changed");
    dataset_free(set);
}

/* The labels of a mixed batch are those of places i and n - 1 - i. */
static void test_partners(void)
{
    struct dataset *set = dataset_open("shapes,limit=64", "train", &small, NULL);
    struct data_loader_settings how = {.batch = 11,
                                       .training = true,
                                       .augmentation = {.mixup = 1},
                                       .normalisation = {.deviation = {1, 1, 1}}};
    struct data_loader_settings plain = how;
    struct data_batch mixed, own;
    plain.augmentation.mixup = 0;
    struct data_loader *loader = data_loader_open(set, &how, NULL);
    struct data_loader *other = data_loader_open(set, &plain, NULL);
    double worst = 0;
    size_t wrong = 0;
    data_loader_next(loader, &mixed, NULL);
    data_loader_next(other, &own, NULL);
    for (size_t i = 0; i < 11; i++) {
        const size_t j = 10 - i;
        wrong += mixed.labels[i] != own.labels[i] || mixed.partner_labels[i] != own.labels[j];
        for (size_t p = 0; p < 3072; p++) {
            const double share = (double)mixed.shares[i];
            const double expected = share * (double)own.images[i * 3072 + p] +
                                    (1 - share) * (double)own.images[j * 3072 + p];
            worst = fmax(worst, fabs(expected - (double)mixed.images[i * 3072 + p]));
        }
    }
    tap_ok(wrong == 0 && worst < 1e-3 && !own.shares && !own.partner_labels,
           "images are mixed with the other end of their batch, and so are the labels");
    data_loader_free(loader);
    data_loader_free(other);
    dataset_free(set);
}

/* Each of several loaders has an equal part of a batch (three parts: the second has the middle, and
 * mixes with itself). Returns whether their images are those of the whole batch. */
static bool has_parts(const struct dataset *set, const struct data_loader_settings *how,
                      const struct data_batch *whole, size_t parts)
{
    bool same = true;
    const size_t each = how->batch / parts;
    for (size_t part = 0; part < parts; part++) {
        struct data_loader_settings wanted = *how;
        struct data_batch batch;
        wanted.parts = parts;
        wanted.part = part;
        struct data_loader *loader = data_loader_open(set, &wanted, NULL);
        if (!loader || !data_loader_next(loader, &batch, NULL) ||
            !data_loader_next(loader, &batch, NULL) || batch.count != each)
            return false;
        const size_t first = part * each;
        same = same &&
               memcmp(batch.images, whole->images + first * 3072, each * 3072 * sizeof(float)) == 0;
        for (size_t i = 0; i < each; i++)
            same = same && batch.labels[i] == whole->labels[first + i] &&
                   batch.indices[i] == whole->indices[first + i] &&
                   batch.partner_labels[i] == whole->partner_labels[first + i] &&
                   batch.shares[i] == whole->shares[first + i];
        data_loader_free(loader);
    }
    return same;
}

static void test_parts(bool balanced)
{
    struct dataset *set = dataset_open("shapes,limit=64", "train", &small, NULL);
    struct data_loader_settings how = {.batch = 24,
                                       .training = true,
                                       .balanced = balanced,
                                       .seed = 5,
                                       .augmentation = {.mixup = 0.5, .cutmix = 1},
                                       .normalisation = {.deviation = {1, 1, 1}}};
    struct data_batch whole;
    struct data_loader *loader = data_loader_open(set, &how, NULL);
    const bool read =
        loader && data_loader_next(loader, &whole, NULL) && data_loader_next(loader, &whole, NULL);
    for (size_t parts = 2; parts < 5; parts++)
        tap_ok(read && has_parts(set, &how, &whole, parts),
               "%zu parts of a mixed batch%s are those of the whole one", parts,
               balanced ? ", balanced," : "");
    data_loader_free(loader);
    dataset_free(set);
}

static void test_mask(void)
{
    struct dataset *set = dataset_open("shapes,limit=64", "train", &small, NULL);
    struct data_loader_settings how = {
        .batch = 64,
        .training = true,
        .augmentation = {.cutout = 8},
        .normalisation = {.mean = {-1, -1, -1}, .deviation = {1, 1, 1}}};
    struct data_loader *loader = data_loader_open(set, &how, NULL);
    struct data_batch batch;
    size_t wrong = 0, whole = 0;
    data_loader_next(loader, &batch, NULL); /* every sample is above 0, so 0 is masked */
    for (size_t k = 0; k < 64; k++) {
        size_t masked[3] = {0, 0, 0};
        for (size_t p = 0; p < 3072; p++)
            masked[p / 1024] += batch.images[k * 3072 + p] == 0;
        whole += masked[0] == 64;
        wrong +=
            masked[0] < 16 || masked[0] > 64 || masked[0] != masked[1] || masked[0] != masked[2];
    }
    tap_ok(wrong == 0 && whole > 20 && whole < 64,
           "cutout masks a square with the mean; it may reach beyond the picture");
    data_loader_free(loader);
    dataset_free(set);
}

/* --- refusals --- */

static void test_refusal(const char *spec, const char *augment, size_t batch, const char *why)
{
    struct error error = {0};
    struct dataset *set = dataset_open(spec, "train", &small, NULL);
    struct data_loader_settings how = {.batch = batch, .training = true};
    augmentation_parse(&how.augmentation, augment, NULL);
    struct data_loader *loader = data_loader_open(set, &how, &error);
    tap_ok(!loader && strstr(error.why, why), "%s with batches of %zu is refused: %s", augment,
           batch, error.why);
    data_loader_free(loader);
    dataset_free(set);
}

/* --- balanced sampling --- */

static void test_balance(void)
{
    enum { EPOCHS = 40 };
    struct dataset *set =
        dataset_open("digits,limit=97", "train", &(struct dataset_request){1, 28, 28}, NULL);
    struct class_images classes;
    uint32_t order[97];
    size_t counts[10] = {0}, seen = 0, least = SIZE_MAX, most = 0;
    bool drawn[97] = {false};
    class_images_make(&classes, set, NULL);
    for (uint64_t epoch = 0; epoch < EPOCHS; epoch++) {
        epoch_order_fill(&classes, 1, epoch, order, 97);
        for (size_t i = 0; i < 97; i++) {
            counts[dataset_label(set, order[i])]++;
            seen += !drawn[order[i]];
            drawn[order[i]] = true;
        }
    }
    for (size_t c = 0; c < 10; c++) {
        least = counts[c] < least ? counts[c] : least;
        most = counts[c] > most ? counts[c] : most;
    }
    /* 388 of each are expected, with a standard deviation of 18.7 */
    tap_ok(classes.classes == 10 && classes.count == 97 && seen == 97 && least > 388 - 75 &&
               most < 388 + 75,
           "balanced: each class is drawn equally often (%zu to %zu of 388), and each image is",
           least, most);
    class_images_free(&classes);
    dataset_free(set);
    set =
        dataset_open("digits,only=3,limit=20", "train", &(struct dataset_request){1, 28, 28}, NULL);
    class_images_make(&classes, set, NULL);
    tap_ok(classes.classes == 1 && classes.ends[0] == 20, "classes without images are left out");
    class_images_free(&classes);
    dataset_free(set);
}

TEST_CASE(augment_test)
{
    test_names();
    test_pictures();
    test_draws();
    test_shares(0.05);
    test_shares(0.2);
    test_shares(1);
    test_shares(4);
    test_mixed("mixup=0.4");
    test_mixed("cutmix=1");
    test_mixed("mixup=0.2,cutmix=1");
    test_targets();
    test_batches("no", true);
    test_batches("crop=4,flip,rotate=15,color=0.4,cutout=8", false);
    test_batches("crop=2,mixup=0.2,cutmix=1", false);
    test_batches("flip,cutmix=1", true);
    test_partners();
    test_parts(false);
    test_parts(true);
    test_mask();
    test_refusal("shapes,limit=20", "mixup=1", 1, "only one");
    test_refusal("shapes,limit=20", "cutout=33", 4, "square of 33");
    test_refusal("shapes,limit=20", "crop=32", 4, "border of 32");
    test_refusal("maps,limit=4", "cutmix=1", 2, "pairs");
    test_refusal("maps,limit=4", "color=0.1", 2, "pairs");
    test_balance();
    return tap_done();
}
