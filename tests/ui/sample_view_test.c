/* The samples of a run: which file is the newest, and how pictures are arranged in cells. */
#include "data/formats/image_file.h"
#include "tap.h"
#include "ui/screens/run/internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[] = "sample-view-XXXXXX";

static const char *path_of(const char *name)
{
    static char path[128];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

/* Writes two examples of 30x30, three pictures each; the input is red, the others blue. */
static bool write_sample(const char *name)
{
    struct image image;
    if (!image_create(&image, 90, 60, 3, NULL))
        return false;
    for (size_t i = 0; i < 90 * 60; i++) {
        bool input = i % 90 < 30;
        memcpy(image.pixels + 3 * i, input ? "\377\0\0" : "\0\0\377", 3);
    }
    bool written = image_file_write_png(&image, path_of(name), NULL);
    image_free(&image);
    return written;
}

static void test_newest(void)
{
    struct sample_file file, again;
    tap_ok(!sample_file_newest(folder, &file), "an empty folder has no sample");
    write_sample("sample-0002.png");
    write_sample("sample-0010.png");
    fclose(fopen(path_of("sample-0099.png.new"), "w"));
    fclose(fopen(path_of("sample-x.png"), "w"));
    tap_ok(sample_file_newest(folder, &file) && file.epoch == 10 &&
               strcmp(file.path, path_of("sample-0010.png")) == 0,
           "the sample of the last epoch is the newest");
    usleep(20000);
    write_sample("sample-0010.png");
    tap_ok(sample_file_newest(folder, &again) && again.stamp != file.stamp,
           "a sample that was rewritten is detected");
    tap_ok(!sample_file_newest("/nowhere/at/all", &file), "no folder, no sample");
}

static void test_examples(void)
{
    struct run_facts facts = {.images = 100, .classes = 10};
    tap_ok(sample_examples(&facts) == 0, "a classifier has no samples");
    facts.classes = 0;
    tap_ok(sample_examples(&facts) == SAMPLES, "a generator has samples");
    facts.validation_images = 2;
    tap_ok(sample_examples(&facts) == 2, "no more than the validation set has");
}

static void test_fit(void)
{
    tap_ok(sample_model_fit(4, 256, 256, 12, 26) == 1, "in a low room there is one example");
    tap_ok(sample_model_fit(4, 256, 256, 40, 26) == 4, "in a high one as many as fit");
    tap_ok(sample_model_fit(4, 256, 256, 0, 0) == 1, "without room one");
}

TEST_CASE(sample_view_test)
{
    if (!mkdtemp(folder))
        return EXIT_FAILURE;
    test_newest();
    test_examples();
    test_fit();
    unlink(path_of("sample-0002.png"));
    unlink(path_of("sample-0010.png"));
    unlink(path_of("sample-0099.png.new"));
    unlink(path_of("sample-x.png"));
    rmdir(folder);
    return tap_done();
}
