/* A run goes on with the network and the data that it began with, or is refused and names what has
 * changed; what is refused stays as it was. */
#include "base/files/file.h"
#include "data/formats/image_file.h"
#include "runs/record/resume.h"

#include "stopped_run.h"
#include "training/run_start.h"

#include <fcntl.h>

static const char network[] =
    "{\"input\": [1, 24, 24], \"classes\": 2, \"normalise\": \"unit\", \"layers\": [\n"
    "  {\"op\": \"conv\", \"name\": \"c\", \"output\": 4, \"kernel\": 3, \"stride\": 2},\n"
    "  {\"op\": \"relu\", \"name\": \"r\"}, {\"op\": \"flatten\", \"name\": \"f\"},\n"
    "  {\"op\": \"linear\", \"name\": \"fc\", \"output\": \"classes\"}]}\n";

/* --- the data --- */

/* Draws a picture of one colour, so that all pictures have the same number of bytes. */
static bool write_picture(const char *name, uint8_t grey)
{
    struct image image = {0};
    bool written = image_create(&image, 30, 30, 1, NULL);
    if (written) {
        memset(image.pixels, grey, 30 * 30);
        written = image_file_write_png(&image, home_path(name), NULL);
    }
    image_free(&image);
    return written;
}

static bool write_pictures(const char *folder, const char *class_name, uint8_t grey)
{
    char name[128];
    bool written = true;
    snprintf(name, sizeof name, "%s/%s", folder, class_name);
    written = file_make_directories(home_path(name), NULL);
    for (int i = 1; written && i <= 6; i++) {
        snprintf(name, sizeof name, "%s/%s/%d.png", folder, class_name, i);
        written = write_picture(name, (uint8_t)(grey + 8 * i));
    }
    return written;
}

static bool write_data(void)
{
    return write_text(home_path("own.json"), network) && write_pictures("train", "cats", 0) &&
           write_pictures("train", "dogs", 100) && write_pictures("test", "cats", 3) &&
           write_pictures("test", "dogs", 103);
}

static bool move(const char *from, const char *to)
{
    return rename(home_path(from), home_path(to)) == 0;
}

/* Adds one to the byte of a file that is `back` bytes before the last. */
static bool change_byte(const char *name, off_t back)
{
    unsigned char byte = 0;
    const int file = open(home_path(name), O_RDWR);
    const off_t at = lseek(file, -back, SEEK_END);
    bool changed = at >= 0 && pread(file, &byte, 1, at) == 1;
    byte++;
    changed = changed && pwrite(file, &byte, 1, at) == 1;
    close(file);
    return changed;
}

/* Replaces the first occurrence of `old` in a file by `new`. */
static bool replace(const char *path, const char *old, const char *new)
{
    size_t size;
    char *text = file_read(path, 1 << 20, &size, NULL), *at = text ? strstr(text, old) : NULL;
    char *changed = at ? malloc(size + strlen(new) + 1) : NULL;
    if (changed)
        sprintf(changed, "%.*s%s%s", (int)(at - text), text, new, at + strlen(old));
    const bool written = changed && write_text(path, changed);
    free(changed);
    free(text);
    return written;
}

/* --- runs --- */

/* Starts a run and stops it at the end of its first epoch. */
static bool begin(const char *data, const char *validation)
{
    char train[600], test[600];
    snprintf(train, sizeof train, "data=%s", data);
    snprintf(test, sizeof test, "validate=%s", validation ? validation : "");
    struct run_config config = configure((const char *const[]){
        train, test, "batch=4", "epochs=3", "threads=2", "checkpoint=1000", NULL});
    config_set(&config, "network", home_path("own.json"), NULL);
    return begin_and_stop(&config);
}

static enum run_status resume(struct error *error)
{
    *error = (struct error){0};
    return finish(run_resume(directory, NULL, NULL, error), error);
}

/* Checks that resuming is refused with a message that contains `words`. `changed` is whether the
 * change could be made. */
static void refused(bool changed, const char *words, const char *name)
{
    struct error error;
    char text[1100];
    size_t before = 0, after = 1;
    free(file_read(run_path("journal"), 1 << 24, &before, NULL));
    const bool was_refused = resume(&error) == RUN_REFUSED;
    free(file_read(run_path("journal"), 1 << 24, &after, NULL));
    error_format(&error, text, sizeof text);
    tap_ok(changed && was_refused && strstr(text, words) && before == after, "%s is refused: %s",
           name, words);
    if (!strstr(text, words))
        tap_note("%s", text);
}

static void goes_on(const char *name)
{
    struct error error;
    const bool done = resume(&error) == RUN_DONE;
    tap_ok(done, "%s", name);
    if (!done)
        note_error(&error);
}

/* --- networks --- */

static void test_network(void)
{
    const char *own = home_path("own.json");
    char path[512];
    snprintf(path, sizeof path, "%s", own);
    refused(replace(path, "\"kernel\": 3", "\"kernel\": 5"), "layer c: kernel was 3, is 5",
            "another kernel");
    refused(write_text(path, network) && replace(path, "\"relu\"", "\"tanh\""),
            "layer r: op was relu, is tanh", "another operator");
    refused(write_text(path, network) && replace(path, "{\"op\": \"flatten\"",
                                                 "{\"op\": \"sigmoid\", \"name\": \"extra\"},"
                                                 "{\"op\": \"flatten\""),
            "layer extra is new", "another layer");
    refused(write_text(path, network) && replace(path, "{\"op\": \"relu\", \"name\": \"r\"}, ", ""),
            "layer r is missing", "a layer less");
    refused(write_text(path, network) && replace(path, "[1, 24, 24]", "[1, 26, 26]"),
            "input was [1,24,24], is [1,26,26]", "a different input, and so a different crop");
    refused(write_text(path, network) && replace(path, "\"name\": \"fc\"", "\"name\": \"fc2\""),
            "layer fc is missing; layer fc2 is new", "a layer of another name");
    write_text(path, network);
}

/* --- pictures --- */

static void test_pictures(void)
{
    refused(move("train/cats/3.png", "aside.png"), "picture cats/3.png is missing",
            "a picture less");
    refused(move("aside.png", "train/cats/33.png"), "picture cats/3.png has moved to cats/33.png",
            "a renamed picture");
    refused(move("train/cats/33.png", "train/dogs/3x.png"),
            "picture cats/3.png has moved to dogs/3x.png", "a picture in another class");
    move("train/dogs/3x.png", "train/cats/3.png");
    refused(write_picture("train/dogs/7.png", 9), "picture dogs/7.png is new", "a picture more");
    unlink(home_path("train/dogs/7.png"));
    move("train/cats/1.png", "aside.png");
    move("train/cats/2.png", "train/cats/1.png");
    refused(move("aside.png", "train/cats/2.png"),
            "picture cats/1.png has other contents; picture cats/2.png has other contents",
            "two pictures that changed places");
    move("train/cats/1.png", "aside.png");
    move("train/cats/2.png", "train/cats/1.png");
    move("aside.png", "train/cats/2.png");
    refused(change_byte("train/dogs/5.png", 20), "picture dogs/5.png has other contents",
            "a picture of the same size with other contents");
    write_picture("train/dogs/5.png", 140);
    refused(move("train/cats", "train/zebras") && move("test/cats", "test/zebras"),
            "class 0: cats then, dogs now", "a class of another name");
    move("train/zebras", "train/cats");
    move("test/zebras", "test/cats");
    refused(move("test/dogs/4.png", "aside.png"),
            "validation set has changed since the run began: images: 12 then, 11 now; picture "
            "dogs/4.png is missing",
            "a validation picture less");
    move("aside.png", "test/dogs/4.png");
}

/* Deletes the checksum of a file of the run, as a user does who changes the file on purpose. */
static bool drop_checksum(const char *name)
{
    size_t size;
    char *text = file_read(run_path(name), 1 << 20, &size, NULL), line[64] = "";
    const char *at = text ? strstr(text, "\t\"crc32\"") : NULL;
    if (at)
        snprintf(line, sizeof line, "%.*s", (int)strcspn(at, "\n") + 1, at);
    free(text);
    return line[0] && replace(run_path(name), line, "");
}

/* The data's settings in config.json are compared, too. */
static void test_settings(void)
{
    refused(replace(run_path("config.json"), "\"batch\":\t4", "\"batch\":\t2"),
            "config.json: it was changed after tinca wrote it",
            "a setting that was changed by hand");
    replace(run_path("config.json"), "\"batch\":\t2", "\"batch\":\t4");
    tap_ok(drop_checksum("config.json"), "config.json without its checksum");
    refused(replace(run_path("config.json"), "\"augment\":\ttrue", "\"augment\":\tfalse"),
            "augmentation: true then, false now", "another crop");
    replace(run_path("config.json"), "\"augment\":\tfalse", "\"augment\":\ttrue");
    refused(
        replace(run_path("config.json"), "\"normalise\":\t\"auto\"", "\"normalise\":\t\"signed\""),
        "normalisation: ", "another normalisation");
    replace(run_path("config.json"), "\"normalise\":\t\"signed\"", "\"normalise\":\t\"auto\"");
}

/* --- sets in memory --- */

static void put_number(unsigned char *out, unsigned value)
{
    for (int i = 0; i < 4; i++)
        out[i] = (unsigned char)(value >> (24 - 8 * i));
}

static bool write_digits(void)
{
    enum { IMAGES = 12, PIXELS = 24 * 24 };
    static unsigned char images[16 + IMAGES * PIXELS], labels[8 + IMAGES];
    const unsigned head[] = {2051, IMAGES, 24, 24, 2049, IMAGES};
    for (int i = 0; i < 4; i++)
        put_number(images + 4 * i, head[i]);
    for (int i = 0; i < 2; i++)
        put_number(labels + 4 * i, head[4 + i]);
    for (int i = 0; i < IMAGES * PIXELS; i++)
        images[16 + i] = (unsigned char)(i * 7);
    for (int i = 0; i < IMAGES; i++)
        labels[8 + i] = (unsigned char)(i % 2);
    return file_make_directories(home_path("idx"), NULL) &&
           file_write(home_path("idx/train-images-idx3-ubyte"), images, sizeof images, true,
                      NULL) &&
           file_write(home_path("idx/train-labels-idx1-ubyte"), labels, sizeof labels, true, NULL);
}

static void test_parts(void)
{
    char spec[600];
    snprintf(spec, sizeof spec, "idx:%s", home_path("idx"));
    tap_ok(write_digits() && begin(spec, NULL), "a run on a set in memory");
    refused(change_byte("idx/train-images-idx3-ubyte", 100),
            "train-images-idx3-ubyte has other images", "another pixel");
    write_digits();
    refused(change_byte("idx/train-labels-idx1-ubyte", 3),
            "train-images-idx3-ubyte: its images have other labels", "another label");
    write_digits();
    goes_on("  restored, the run continues");
}

static void test_generated(void)
{
    write_text(home_path("own.json"),
               "{\"input\": [1, 28, 28], \"classes\": 10, \"layers\": [{\"op\": \"flatten\"}, "
               "{\"op\": \"linear\", \"output\": \"classes\"}]}");
    tap_ok(begin("digits,limit=12", NULL), "a run on a generated set");
    tap_ok(drop_checksum("config.json") && drop_checksum("data.json"), "  without checksums");
    refused(replace(run_path("config.json"), "digits,limit=12", "digits,limit=12,split=test"),
            "data set: digits,limit=12 then, digits,limit=12,split=test now", "another split");
    replace(run_path("config.json"), ",split=test", "");
    refused(replace(run_path("data.json"), "\"generator\":\t1", "\"generator\":\t0"),
            "version of the generated pictures: 0 then, 1 now", "another generator");
    write_text(home_path("own.json"), network);
}

TEST_CASE(experiment_test)
{
    char train[600], test[600];
    if (!make_home() || !write_data())
        return 99;
    snprintf(train, sizeof train, "folder:%s", home_path("train"));
    snprintf(test, sizeof test, "folder:%s", home_path("test"));
    tap_ok(begin(train, test), "a run is stopped after its first epoch");
    test_network();
    test_pictures();
    test_settings();
    tap_ok(move("train", "moved") && replace(run_path("config.json"), "/train\"", "/moved\""),
           "the pictures have moved");
    goes_on("with everything restored, the run continues to its end");
    test_parts();
    test_generated();
    remove_home();
    return tap_done();
}
