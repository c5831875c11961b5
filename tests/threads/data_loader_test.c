/* The data loader: the contents and the order of its batches, which neither the number of workers
 * nor resuming may change. */
#include "data/loader/data_loader.h"

#include "base/memory.h"

#include "data_files.h"
#include "tap.h"

static const struct normalisation plain = {.name = "plain", .deviation = {1, 1, 1}};
static const struct dataset_request small = {3, 32, 32};

static struct data_loader_settings settings(size_t batch, bool training, size_t threads)
{
    return (struct data_loader_settings){
        .batch = batch,
        .training = training,
        .augmentation = {.crop = AUGMENT_CROP_USUAL, .flip = AUGMENT_FLIP_USUAL},
        .seed = 5,
        .threads = threads,
        .normalisation = plain};
}

static struct dataset *opened(const char *spec, const struct dataset_request *request)
{
    struct error error;
    char text[1100];
    struct dataset *set = dataset_open(spec, "train", request, &error);
    if (!set)
        tap_note("%s", error_format(&error, text, sizeof text));
    return set;
}

/* Returns a hash (FNV-1a) of the whole batch. */
static uint64_t hash_bytes(uint64_t hash, const void *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++)
        hash = (hash ^ ((const uint8_t *)bytes)[i]) * UINT64_C(0x100000001b3);
    return hash;
}

static uint64_t hash_batch(const struct data_batch *batch, size_t values)
{
    uint64_t hash = hash_bytes(UINT64_C(0xcbf29ce484222325), batch->images,
                               batch->count * values * sizeof(float));
    hash = hash_bytes(hash, batch->indices, batch->count * sizeof *batch->indices);
    if (batch->labels)
        hash = hash_bytes(hash, batch->labels, batch->count * sizeof *batch->labels);
    if (batch->targets)
        hash = hash_bytes(hash, batch->targets, batch->count * values * sizeof(float));
    return hash_bytes(hash, &batch->number, sizeof batch->number);
}

/* The hashes of `count` batches; false when one did not come. */
static bool hash_batches(const struct dataset *set, const struct data_loader_settings *how,
                         size_t count, uint64_t *hashes)
{
    const struct dataset_facts *facts = dataset_facts(set);
    struct data_loader *loader = data_loader_open(set, how, NULL);
    bool came = loader != NULL;
    for (size_t i = 0; came && i < count; i++) {
        struct data_batch batch;
        came = data_loader_next(loader, &batch, NULL);
        if (came)
            hashes[i] = hash_batch(&batch, facts->channels * facts->height * facts->width);
    }
    data_loader_free(loader);
    return came;
}

/* --- order --- */

static void test_training_order(void)
{
    struct dataset *set = opened("shapes,limit=50", &small);
    struct data_loader_settings how = settings(8, true, 2);
    struct data_loader *loader = data_loader_open(set, &how, NULL);
    int seen[2][50] = {{0}};
    size_t lasts = 0, moved = 0, wrong_label = 0;
    tap_ok(data_loader_batches_per_epoch(loader) == 6,
           "an epoch has floor(images / batch) batches");
    for (size_t i = 0; i < 12; i++) {
        struct data_batch batch;
        data_loader_next(loader, &batch, NULL);
        lasts += batch.last && batch.number == 5 && batch.epoch == i / 6;
        for (size_t k = 0; k < batch.count; k++) {
            seen[i / 6][batch.indices[k]]++;
            moved += batch.indices[k] != batch.number * 8 + k;
            wrong_label += (size_t)batch.labels[k] != dataset_label(set, batch.indices[k]);
        }
    }
    size_t repeated = 0, differing = 0;
    for (size_t i = 0; i < 50; i++) {
        repeated += seen[0][i] > 1 || seen[1][i] > 1;
        differing += seen[0][i] != seen[1][i];
    }
    tap_ok(lasts == 2, "the last batch of each epoch is marked");
    tap_ok(repeated == 0 && moved > 60,
           "no image occurs twice in an epoch, and the order is random");
    tap_ok(differing > 0, "another epoch omits other images");
    tap_ok(wrong_label == 0, "labels belong to their images");
    data_loader_free(loader);
    dataset_free(set);
}

static void test_evaluation_order(void)
{
    struct dataset *set = opened("shapes,limit=50", &small);
    struct data_loader_settings how = settings(16, false, 3);
    struct data_loader *loader = data_loader_open(set, &how, NULL);
    struct data_batch batch;
    size_t next = 0, out_of_order = 0, wrong = 0;
    tap_ok(data_loader_batches_per_epoch(loader) == 4,
           "an evaluation has ceil(images / batch) batches");
    for (size_t i = 0; i < 4; i++) {
        data_loader_next(loader, &batch, NULL);
        for (size_t k = 0; k < batch.count; k++) {
            struct image image;
            out_of_order += batch.indices[k] != next++;
            dataset_image(set, batch.indices[k], &image, NULL, NULL);
            for (size_t c = 0; c < 3; c++)
                for (size_t p = 0; p < 1024; p++)
                    wrong += batch.images[(k * 3 + c) * 1024 + p] != image.pixels[p * 3 + c];
            image_free(&image);
        }
    }
    tap_ok(out_of_order == 0 && wrong == 0, "its images are in order and unchanged, as planes");
    tap_ok(batch.last && batch.count == 2, "its last batch is short");
    tap_ok(data_loader_next(loader, &batch, NULL) && batch.number == 0 && batch.epoch == 1 &&
               batch.count == 16,
           "and the next batch is the first of the next epoch");
    data_loader_free(loader);
    dataset_free(set);
}

/* --- augmentation --- */

/* Returns whether `window` is the padded image at (x, y), mirrored or not. */
static bool is_window(const float *window, const struct image *image, int x, int y, bool flip)
{
    for (int row = 0; row < 32; row++)
        for (int column = 0; column < 32; column++) {
            int from_x = x + (flip ? 31 - column : column), from_y = y + row;
            bool inside = from_x >= 0 && from_x < 32 && from_y >= 0 && from_y < 32;
            float expected = inside ? image->pixels[(from_y * 32 + from_x) * 3 + 1] : 0.0f;
            if (window[1024 + row * 32 + column] != expected)
                return false;
        }
    return true;
}

/* Parts of an evaluation have every so many batches, in two epochs. */
static void test_evaluation_parts(void)
{
    struct dataset *set = dataset_open("digits,limit=70", "test", NULL, NULL);
    bool right = set;
    for (size_t part = 0; right && part < 3; part++) {
        const struct data_loader_settings how = {
            .batch = 10, .parts = 3, .part = part, .normalisation = {.deviation = {1, 1, 1}}};
        const size_t own = part == 0 ? 3 : 2;
        struct data_loader *loader = data_loader_open(set, &how, NULL);
        struct data_batch batch;
        right = loader && data_loader_batches_per_epoch(loader) == own;
        for (size_t i = 0; right && i < 2 * own; i++) {
            const size_t number = i % own * 3 + part;
            right = data_loader_next(loader, &batch, NULL) && batch.number == number &&
                    batch.epoch == i / own && batch.last == (i % own == own - 1) &&
                    batch.count == 10 && batch.indices[0] == number * 10 &&
                    batch.indices[9] == number * 10 + 9;
        }
        data_loader_free(loader);
    }
    tap_ok(right, "a part of an evaluation has every third batch");
    dataset_free(set);
}

static void test_augmentation(void)
{
    struct dataset *set = opened("shapes,limit=40", &small);
    struct data_loader_settings how = settings(40, true, 2);
    how.augmentation.pad = 4;
    struct data_loader *loader = data_loader_open(set, &how, NULL);
    struct data_batch batch;
    data_loader_next(loader, &batch, NULL);
    size_t found = 0, flipped = 0, moved = 0;
    for (size_t k = 0; k < batch.count; k++) {
        struct image image;
        dataset_image(set, batch.indices[k], &image, NULL, NULL);
        for (int try = 0; try < 2 * 81; try++) {
            int x = try / 2 % 9 - 4, y = try / 18 - 4;
            if (!is_window(batch.images + k * 3072, &image, x, y, try & 1))
                continue;
            found++;
            flipped += try & 1;
            moved += x || y;
            break;
        }
        image_free(&image);
    }
    tap_ok(found == 40, "every example is a window of its padded image, or its mirror image");
    tap_ok(flipped > 8 && flipped < 32 && moved > 30, "half are mirrored, nearly all are shifted");
    data_loader_free(loader);
    dataset_free(set);
}

static void test_digits_stay(void)
{
    struct dataset *set = opened("digits,limit=30", &(struct dataset_request){1, 28, 28});
    struct data_loader_settings how = settings(30, true, 1);
    how.normalisation = (struct normalisation){.name = "half", .mean = {127}, .deviation = {2}};
    struct data_loader *loader = data_loader_open(set, &how, NULL);
    struct data_batch batch;
    size_t wrong = 0;
    data_loader_next(loader, &batch, NULL);
    for (size_t k = 0; k < 30; k++) {
        struct image image;
        dataset_image(set, batch.indices[k], &image, NULL, NULL);
        for (size_t p = 0; p < 784; p++)
            wrong += batch.images[k * 784 + p] != ((float)image.pixels[p] - 127.0f) / 2.0f;
        image_free(&image);
    }
    tap_ok(wrong == 0, "digits are normalised, and never mirrored");
    data_loader_free(loader);
    dataset_free(set);
}

/* --- the same bits --- */

static void test_same_bits(const char *spec, const struct dataset_request *request, size_t batch,
                           size_t count, const char *name)
{
    struct dataset *set = opened(spec, request);
    uint64_t expected[64], got[64];
    struct data_loader_settings how = settings(batch, true, 1);
    how.augmentation.pad = request->width == 32 ? 4 : 0;
    bool same = set && hash_batches(set, &how, count, expected);
    for (size_t threads = 2; same && threads <= 4; threads++) {
        how.threads = threads;
        same =
            hash_batches(set, &how, count, got) && memcmp(expected, got, count * sizeof *got) == 0;
    }
    tap_ok(same, "%s: one to four workers give the same bits", name);
    size_t per_epoch = set ? dataset_facts(set)->images / batch : 1;
    for (size_t start = 1; same && start < count; start += 3) {
        how.first_epoch = start / per_epoch;
        how.first_batch = start % per_epoch;
        same = hash_batches(set, &how, count - start, got) &&
               memcmp(expected + start, got, (count - start) * sizeof *got) == 0;
    }
    tap_ok(same, "%s: so does starting at any batch", name);
    how = settings(batch, true, 2);
    how.seed = 6;
    tap_ok(set && hash_batches(set, &how, 1, got) && got[0] != expected[0],
           "%s: another seed gives other batches", name);
    dataset_free(set);
}

static void make_folder(void)
{
    for (int i = 0; i < 12; i++)
        files_write_png(files_path("pics/%c/%02d.png", 'a' + i % 2, i), 40 + (size_t)i, 44,
                        (uint8_t)(20 * i), 5, 9);
}

/* --- broken pictures --- */

/* Writes a PNG with a valid header and without pixels. */
static void break_picture(const char *path)
{
    size_t size;
    char *bytes = file_read(path, 1 << 20, &size, NULL);
    files_write(path, bytes, size / 2);
    free(bytes);
}

static void test_broken(void)
{
    char spec[600];
    struct error error;
    struct data_batch batch;
    struct data_loader_statistics statistics;
    break_picture(files_path("pics/a/00.png"));
    break_picture(files_path("pics/a/02.png"));
    snprintf(spec, sizeof spec, "folder:%s", files_path("pics"));
    struct dataset *set = opened(spec, &(struct dataset_request){3, 28, 28});
    struct data_loader_settings how = settings(12, false, 2);
    struct data_loader *loader = data_loader_open(set, &how, NULL);
    bool came = data_loader_next(loader, &batch, &error);
    tap_ok(came && batch.indices[0] == 2 && batch.indices[1] == 2 && batch.labels[0] == 0,
           "an unreadable picture is replaced by the next readable one");
    came = came && data_loader_next(loader, &batch, &error) &&
           data_loader_next(loader, &batch, &error);
    data_loader_statistics(loader, &statistics);
    tap_ok(came && statistics.skipped == 2, "and counted once");
    data_loader_free(loader);
    dataset_free(set);
    strcat(spec, ",broken=refuse");
    set = opened(spec, &(struct dataset_request){3, 28, 28});
    loader = data_loader_open(set, &how, NULL);
    error = (struct error){0};
    tap_ok(!data_loader_next(loader, &batch, &error) && error.kind == ERROR_INPUT &&
               strstr(error.what, "a/00.png"),
           "with broken=refuse it is an error that names the file");
    data_loader_free(loader);
    dataset_free(set);
}

static void test_all_broken(void)
{
    char spec[600];
    struct error error = {0};
    struct data_batch batch;
    files_write_png(files_path("ruin/x/1.png"), 9, 9, 1, 1, 1);
    break_picture(files_path("ruin/x/1.png"));
    snprintf(spec, sizeof spec, "folder:%s", files_path("ruin"));
    struct dataset *set = opened(spec, &(struct dataset_request){3, 28, 28});
    struct data_loader_settings how = settings(1, true, 2);
    struct data_loader *loader = data_loader_open(set, &how, NULL);
    tap_ok(loader && !data_loader_next(loader, &batch, &error) && error.kind == ERROR_INPUT,
           "if no picture is readable, it ends with an error");
    data_loader_free(loader);
    dataset_free(set);
}

/* --- pairs --- */

static void test_pairs(void)
{
    struct dataset *set = opened("maps,limit=2", &(struct dataset_request){3, 64, 64});
    struct data_loader_settings how = settings(1, false, 1);
    struct data_loader *loader = data_loader_open(set, &how, NULL);
    struct data_batch batch;
    bool came = data_loader_next(loader, &batch, NULL);
    double input = 0, target = 0;
    for (size_t i = 0; came && i < 3 * 64 * 64; i++) {
        input += batch.images[i];
        target += batch.targets[i];
    }
    tap_ok(came && !batch.labels && target > 1.5 * input,
           "a paired set has targets (the map is lighter than the photograph) and no labels");
    data_loader_free(loader);
    dataset_free(set);
}

/* --- batches for a device --- */

struct counted_memory {
    size_t held, allocated, awaited; /* arrays now and in all; calls of await() */
};

static void *counted_allocate(void *owner, size_t bytes, const char *what, struct error *error)
{
    struct counted_memory *memory = owner;
    memory->held++;
    memory->allocated++;
    return memory_new_aligned(bytes, 1, what, error);
}

static void counted_release(void *owner, void *array)
{
    struct counted_memory *memory = owner;
    memory->held -= array != NULL;
    free(array);
}

static void counted_await(void *owner)
{
    struct counted_memory *memory = owner;
    memory->awaited++;
}

/* Returns how many of the values are not the samples, normalised. */
static size_t count_wrong(const float *values, const uint8_t *samples, size_t count,
                          const struct dataset_facts *facts,
                          const struct normalisation *normalisation)
{
    const size_t area = facts->height * facts->width;
    size_t wrong = 0;
    for (size_t i = 0; i < count; i++) {
        const size_t c = i / area % facts->channels;
        const float value =
            ((float)samples[i] - normalisation->mean[c]) / normalisation->deviation[c];
        wrong += memcmp(&value, &values[i], sizeof value) != 0;
    }
    return wrong;
}

/* A loader of samples has the batches of a loader of floats, in the memory that it is given. */
static void test_samples(const char *spec, const struct dataset_request *request, bool training,
                         size_t threads)
{
    enum { BATCHES = 5 };
    struct counted_memory memory = {0};
    struct dataset *set = opened(spec, request);
    const struct dataset_facts *facts = dataset_facts(set);
    const size_t values = facts->channels * facts->height * facts->width;
    struct data_loader_settings floats = settings(4, training, threads), samples;
    floats.augmentation.pad = facts->paired ? 0 : 3;
    normalisation_choose(&floats.normalisation, "imagenet", NULL, NULL);
    samples = floats;
    samples.samples = true;
    samples.memory =
        (struct batch_memory){&memory, counted_allocate, counted_release, counted_await};
    struct data_loader *host = data_loader_open(set, &floats, NULL);
    struct data_loader *device = data_loader_open(set, &samples, NULL);
    size_t wrong = 0, came = 0;
    for (size_t i = 0; i < BATCHES; i++) {
        struct data_batch expected, batch;
        if (!data_loader_next(host, &expected, NULL) || !data_loader_next(device, &batch, NULL))
            break;
        came++;
        wrong += batch.images || batch.targets || batch.count != expected.count ||
                 memcmp(batch.indices, expected.indices, batch.count * sizeof *batch.indices) != 0;
        wrong += count_wrong(expected.images, batch.image_samples, batch.count * values, facts,
                             &floats.normalisation);
        wrong += (expected.targets == NULL) != (batch.target_samples == NULL);
        if (expected.targets)
            wrong += count_wrong(expected.targets, batch.target_samples, batch.count * values,
                                 facts, &floats.normalisation);
    }
    struct data_loader_statistics statistics;
    data_loader_statistics(device, &statistics);
    tap_ok(came == BATCHES && wrong == 0, "%s, %s, %zu workers: samples are those of the floats",
           spec, training ? "augmented" : "in order", threads);
    tap_ok(memory.awaited == BATCHES && memory.allocated > 0,
           "  the memory's owner is waited for before each batch");
    data_loader_free(host);
    data_loader_free(device);
    tap_ok(memory.held == 0 && memory.awaited == BATCHES + 1,
           "  and before the memory is released, all of it");
    dataset_free(set);
}

/* Where examples have fractions of samples, a loader has floats. */
static void test_floats_remain(void)
{
    static const char *const fractions[] = {"rotate=10",      "brightness=0.1", "contrast=0.1",
                                            "saturation=0.1", "cutout=4",       "mixup=1",
                                            "cutmix=1"};
    struct dataset *set = opened("shapes,limit=20", &small);
    struct data_loader_settings how = settings(4, true, 1);
    size_t floats = 0;
    how.samples = true;
    bool samples = data_loader_has_samples(set, &how);
    for (size_t i = 0; i < 7; i++) {
        struct data_batch batch = {0};
        augmentation_parse(&how.augmentation, fractions[i], NULL);
        struct data_loader *loader = data_loader_open(set, &how, NULL);
        floats += !data_loader_has_samples(set, &how) && loader &&
                  data_loader_next(loader, &batch, NULL) && batch.images && !batch.image_samples;
        data_loader_free(loader);
    }
    tap_ok(samples && floats == 7, "rotated, recoloured, masked and mixed images are floats");
    how.training = false;
    tap_ok(data_loader_has_samples(set, &how), "an evaluation does none of this");
    how.samples = false;
    tap_ok(!data_loader_has_samples(set, &how), "whoever takes no samples gets floats");
    dataset_free(set);
}

/* --- edges --- */

static void test_refusals(void)
{
    struct error error;
    struct dataset *set = opened("shapes,limit=10", &small);
    struct data_loader_settings how = settings(11, true, 1);
    tap_ok(!data_loader_open(set, &how, &error) && strstr(error.why, "10 images"),
           "a batch larger than the set cannot be trained with");
    how.batch = 0;
    tap_ok(!data_loader_open(set, &how, &error), "nor an empty batch");
    how.batch = SIZE_MAX / 8;
    how.training = false;
    tap_ok(!data_loader_open(set, &how, &error) && error.kind == ERROR_MEMORY,
           "an absurd batch is a failure, not a crash");
    how = settings(2, true, 1);
    how.augmentation.pad = 32;
    tap_ok(!data_loader_open(set, &how, &error), "padding as wide as the image is refused");
    data_loader_free(NULL);
    dataset_free(set);
}

static void test_early_end(void)
{
    struct dataset *set = opened("shapes", &small);
    struct data_loader_statistics statistics = {0};
    for (size_t i = 0; i < 20; i++) {
        struct data_loader_settings how = settings(64, true, 1 + i % 4);
        struct data_loader *loader = data_loader_open(set, &how, NULL);
        struct data_batch batch;
        for (size_t k = 0; k < i % 5; k++)
            data_loader_next(loader, &batch, NULL);
        data_loader_statistics(loader, &statistics);
        data_loader_free(loader);
    }
    tap_ok(statistics.bytes > 2 * 64 * 3072 * sizeof(float) && statistics.waited_seconds >= 0,
           "a loader can be closed at any moment");
    dataset_free(set);
}

/* An evaluation's workers rest between two epochs, so the queue's bytes are those of an epoch. */
static void test_rest(void)
{
    struct dataset *set = opened("shapes,limit=10", &small);
    struct data_loader_settings how = settings(8, false, 2);
    struct data_loader *loader = data_loader_open(set, &how, NULL);
    struct data_batch batch;
    struct data_loader_statistics statistics;
    const size_t values = small.channels * small.height * small.width;
    usleep(20000); /* time in which workers that do not rest fill a batch */
    data_loader_statistics(loader, &statistics);
    tap_ok(statistics.ready == 0, "an evaluation's loader reads nothing before the first request");
    tap_ok(data_loader_next(loader, &batch, NULL) && batch.count == 8 &&
               data_loader_next(loader, &batch, NULL) && batch.count == 2 && batch.last,
           "then one epoch");
    usleep(20000);
    data_loader_statistics(loader, &statistics);
    tap_ok(statistics.ready == 0, "and no more");
    tap_ok(data_loader_next(loader, &batch, NULL) && batch.epoch == 1 && batch.count == 8,
           "and the next epoch after its last batch");
    tap_ok(statistics.bytes < 3 * 8 * values * sizeof(float),
           "the queue has no more slots than an epoch has batches");
    data_loader_free(loader);
    tap_ok(data_loader_bytes(&how, 10, values, false, true) <
               data_loader_bytes(&how, SIZE_MAX, values, false, true),
           "a small set touches less memory");
    dataset_free(set);
}

static void test_pause(void)
{
    struct dataset *set = opened("shapes,limit=64", &small);
    struct data_loader_settings how = settings(4, true, 2), same = settings(4, true, 2);
    uint64_t straight[12], paused[12];
    const size_t values = small.channels * small.height * small.width;
    bool came = hash_batches(set, &same, 12, straight), rested = true;
    struct data_loader *loader =
        data_loader_open(set, &how, NULL); /* paused before its queue is full */
    struct data_batch batch;
    struct data_loader_statistics before, after;
    for (size_t i = 0; came && i < 12; i++) {
        data_loader_pause(loader);
        data_loader_statistics(loader, &before);
        usleep(i == 0 ? 50000 : 500);
        data_loader_statistics(loader, &after);
        rested = rested && after.ready == before.ready;
        data_loader_continue(loader);
        came = data_loader_next(loader, &batch, NULL);
        if (came)
            paused[i] = hash_batch(&batch, values);
    }
    tap_ok(came && rested, "the workers of a paused loader rest");
    tap_ok(came && memcmp(straight, paused, sizeof straight) == 0, "and pauses change no batch");
    data_loader_pause(loader);
    data_loader_free(loader);
    dataset_free(set);
}

TEST_CASE(data_loader_test)
{
    if (!files_begin())
        return 1;
    test_training_order();
    test_evaluation_order();
    test_evaluation_parts();
    test_augmentation();
    test_digits_stay();
    test_same_bits("shapes,limit=70", &small, 7, 24, "in epochs of full batches");
    test_same_bits("shapes,limit=64", &small, 1, 40, "single images");
    make_folder();
    char spec[600];
    snprintf(spec, sizeof spec, "folder:%s", files_path("pics"));
    test_same_bits(spec, &(struct dataset_request){3, 28, 28}, 5, 12, "decoded pictures");
    test_same_bits("maps,limit=4", &(struct dataset_request){3, 64, 64}, 1, 6, "pairs");
    test_broken();
    test_all_broken();
    test_pairs();
    for (size_t threads = 1; threads <= 4; threads += 3) {
        test_samples("shapes,limit=22", &small, true, threads);
        test_samples("shapes,limit=22", &small, false, threads);
        test_samples("digits,limit=22", &(struct dataset_request){1, 28, 28}, true, threads);
        test_samples(spec, &(struct dataset_request){3, 28, 28}, true, threads);
    }
    test_samples("maps,limit=6", &(struct dataset_request){3, 32, 32}, true, 2);
    test_floats_remain();
    test_refusals();
    test_rest();
    test_pause();
    test_early_end();
    return tap_done();
}
