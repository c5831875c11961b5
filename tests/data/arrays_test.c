/* Data sets of NumPy's arrays and of lists, quotation in a SPEC, 16-bit pictures, and shares that
 * are held out. The .npz is one that numpy.savez_compressed wrote. */
#include "data/dataset/contents.h"
#include "data/dataset/dataset.h"
#include "data/formats/npy.h"
#include "data/images/spec_value.h"
#include "data/loader/data_loader.h"

#include "data_files.h"
#include "tap.h"

#include <math.h>

static size_t unexpected; /* sets whose number of classes was not known before they were opened */

static struct dataset *opened(const char *spec, const struct dataset_request *request)
{
    struct error error;
    char text[1100];
    const size_t expected = dataset_expected_classes(spec, "train");
    struct dataset *dataset = dataset_open(spec, "train", request, &error);
    if (!dataset)
        tap_note("%s", error_format(&error, text, sizeof text));
    unexpected +=
        dataset && !dataset_facts(dataset)->paired && dataset_facts(dataset)->classes != expected;
    return dataset;
}

static void refused(const char *spec, const struct dataset_request *request, const char *words,
                    const char *name)
{
    struct error error = {0};
    char text[1100];
    struct dataset *dataset = dataset_open(spec, "train", request, &error);
    error_format(&error, text, sizeof text);
    if (!tap_ok(!dataset && strstr(text, words), "refused: %s", name))
        tap_note("%s", dataset ? "it was opened" : text);
    dataset_free(dataset);
}

/* --- quotation --- */

static void test_values(void)
{
    static const char *const values[] = {"/a/b", "a, b", "\"", "say \"hi\", twice", ""};
    char text[64], back[64];
    bool same = true;
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        same = same && spec_value_write(values[i], text, sizeof text) &&
               spec_value_length(text) == strlen(text) &&
               spec_value_read(text, strlen(text), back, sizeof back) &&
               strcmp(back, values[i]) == 0;
        strcat(text, ",limit=3");
        same = same && spec_value_length(text) == strlen(text) - strlen(",limit=3");
    }
    tap_ok(same, "a quoted value reads back, and ends at its comma");
    tap_ok(spec_head_length("folder:\"a,b\",limit=1") == 12 && spec_head_length("digits") == 6,
           "the head of a SPEC ends behind the quotation");
    tap_ok(!spec_value_read("\"a", 2, back, sizeof back) &&
               !spec_value_read("\"a\"b", 4, back, sizeof back),
           "an open quotation, and text behind one, are refused");
    tap_ok(!spec_value_write("abcdef", text, 5) && !spec_value_read("abcdef", 6, back, 6),
           "values that are too long are refused");
}

static void test_quoted_folder(void)
{
    char spec[600];
    files_write_png(files_path("red, green/a, b/1.png"), 9, 9, 1, 1, 1);
    files_write_png(files_path("red, green/c/1.png"), 9, 9, 1, 1, 1);
    snprintf(spec, sizeof spec, "folder:\"%s\",only=\"a, b\"", files_path("red, green"));
    struct dataset *set = opened(spec, &(struct dataset_request){3, 8, 8});
    tap_ok(set && dataset_facts(set)->images == 1 && dataset_label(set, 0) == 0,
           "a folder and a class with commas");
    dataset_free(set);
    refused("folder:\"/tmp", NULL, "quotation", "a quotation without an end");
    refused("folder:\"/tmp\"x", NULL, "quotation", "text behind a quotation");
}

/* --- lists --- */

static const struct dataset_request small = {3, 8, 8};

static void write_list(const char *rows)
{
    files_write(files_path("l/list.csv"), rows, strlen(rows));
}

static void test_list(void)
{
    char spec[600], text[600];
    files_write_png(files_path("l/p/1.png"), 9, 9, 1, 1, 1);
    files_write_png(files_path("l/q, r.png"), 9, 9, 2, 2, 2);
    files_write(files_path("l/bad.png"), "none", 4);
    write_list("path,label\r\np/1.png,dog\n\"q, r.png\",\"a \"\"cat\"\"\"\nbad.png,dog\n"
               "p/1.png,dog");
    snprintf(spec, sizeof spec, "list:%s", files_path("l/list.csv"));
    struct dataset *set = opened(spec, &small);
    const struct dataset_facts *facts = set ? dataset_facts(set) : NULL;
    tap_ok(facts && facts->images == 3 && facts->classes == 2 && facts->skipped == 1,
           "a list with a heading, quotations and a last row without an end");
    tap_ok(facts && strcmp(dataset_class_name(set, 0), "a \"cat\"") == 0 &&
               dataset_label(set, 0) == 1 && dataset_label(set, 1) == 0,
           "its labels are names, numbered in their order");
    tap_ok(facts && facts->broken->named == 1 && strstr(facts->broken->file[0].path, "l/bad.png") &&
               strstr(facts->broken->file[0].why, "PNG"),
           "the broken picture is named, with the reason");
    if (facts)
        dataset_file_name(set, 1, text, sizeof text);
    tap_ok(facts && strcmp(text, "q, r.png") == 0, "file names are relative to the list's folder");
    dataset_free(set);
    write_list("p/1.png,4\n./p/1.png,0\n");
    set = opened(spec, &small);
    tap_ok(set && dataset_facts(set)->classes == 5 && dataset_label(set, 0) == 4 &&
               strcmp(dataset_class_name(set, 4), "4") == 0,
           "labels that are all numbers are the numbers of the classes");
    dataset_free(set);
}

static void test_bad_lists(void)
{
    static const struct {
        const char *rows, *words;
    } bad[] = {{"p/1.png\n", "row 1: the path or the label is missing"},
               {"p/1.png,1\n\"p,2\n", "row 2: a quotation"},
               {"", "names no picture"},
               {"gone.png,1\n", "none of its 1 pictures"}};
    char spec[600];
    snprintf(spec, sizeof spec, "list:%s", files_path("l/list.csv"));
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        write_list(bad[i].rows);
        refused(spec, &small, bad[i].words, bad[i].words);
    }
    files_write(files_path("l/list.csv"), "a\0,1\n", 5);
    refused(spec, &small, "NUL", "a NUL byte");
}

/* --- npy and npz --- */

static const struct dataset_request grey = {1, 2, 2}, rgb = {3, 2, 2};

static void write_npy(const char *path, const char *type, const size_t *shape, size_t dimensions,
                      const void *items, size_t bytes)
{
    uint8_t file[2048];
    const size_t header = npy_header_write(file, type, shape, dimensions);
    memcpy(file + header, items, bytes);
    files_write(path, file, header + bytes);
}

static void test_npy(void)
{
    char spec[600];
    uint8_t bytes[24];
    for (uint8_t i = 0; i < 24; i++)
        bytes[i] = (uint8_t)(10 * i);
    const int64_t labels[2] = {1, 6};
    write_npy(files_path("n/train_labels.npy"), "<i8", (const size_t[]){2, 1}, 2, labels, 16);
    write_npy(files_path("n/train_images.npy"), "|u1", (const size_t[]){2, 2, 2}, 3, bytes, 8);
    snprintf(spec, sizeof spec, "npy:%s", files_path("n/train_images.npy"));
    struct dataset *set = opened(spec, &grey);
    struct image image = {0};
    tap_ok(set && dataset_facts(set)->images == 2 && dataset_facts(set)->classes == 7 &&
               dataset_label(set, 1) == 6 && dataset_image(set, 1, &image, NULL, NULL) &&
               image.pixels[3] == 70,
           "bytes in [N,H,W], with the labels beside it");
    image_free(&image);
    struct dataset_part before = {0}, after = {0};
    if (set)
        dataset_part_checksum(set, 0, &before);
    tap_ok(set && dataset_part_count(set) == 1 && before.images == 2, "one part with a checksum");
    dataset_free(set);
    bytes[7]++;
    write_npy(files_path("n/train_images.npy"), "|u1", (const size_t[]){2, 2, 2}, 3, bytes, 8);
    set = opened(spec, &grey);
    if (set)
        dataset_part_checksum(set, 0, &after);
    tap_ok(set && after.pixels_crc32 != before.pixels_crc32 &&
               after.labels_crc32 == before.labels_crc32,
           "which changes with a pixel");
    dataset_free(set);
    write_npy(files_path("n/train_images.npy"), "|u1", (const size_t[]){2, 3, 2, 2}, 4, bytes, 24);
    set = opened(spec, &rgb);
    tap_ok(set && dataset_image(set, 0, &image, NULL, NULL) && image.pixels[1] == bytes[4] &&
               image.pixels[3] == bytes[1],
           "[N,C,H,W] becomes interleaved");
    image_free(&image);
    dataset_free(set);
    refused(spec, &grey, "2x2x3", "a network for other images");
}

static void test_bad_npy(void)
{
    const uint8_t bytes[24] = {0};
    char spec[1200];
    snprintf(spec, sizeof spec, "npy:%s", files_path("n/train_images.npy"));
    write_npy(files_path("n/train_images.npy"), "|u1", (const size_t[]){3, 2, 2}, 3, bytes, 12);
    refused(spec, &grey, "row of 3 whole numbers", "fewer labels than images");
    write_npy(files_path("n/train_images.npy"), "|u1", (const size_t[]){2, 2, 3}, 3, bytes, 11);
    refused(spec, &grey, "cut off", "an array that ends early");
    write_npy(files_path("n/train_images.npy"), "|u1", (const size_t[]){2, 1u << 31, 1u << 31}, 3,
              bytes, 8);
    refused(spec, &grey, "MiB", "a header that announces more memory than there is");
    files_write(files_path("n/train_images.npy"), "PK", 2);
    refused(spec, &grey, "header", "no array");
    write_npy(files_path("n/alone.npy"), "|u1", (const size_t[]){2, 2, 2}, 3, bytes, 8);
    snprintf(spec, sizeof spec, "npy:%s", files_path("n/alone.npy"));
    refused(spec, &grey, "labels=LABELS.npy", "no labels");
    snprintf(spec, sizeof spec, "npy:%s,labels=%s", files_path("n/alone.npy"),
             files_path("n/train_labels.npy"));
    struct dataset *set = opened(spec, &grey);
    tap_ok(set != NULL, "labels=FILE names them");
    dataset_free(set);
}

static void test_precision(void)
{
    const struct dataset_request wish = {1, 1, 2};
    const struct normalisation unit = {.deviation = {255, 255, 255}};
    const uint8_t labels[2] = {0, 1};
    const uint16_t deep[4] = {0, 1, 257, 65535};
    const float floats[4] = {0, 0.5f, 0.123456f, 1}, large[4] = {-3, 0.5f, 255, 1e6f};
    const float nan_items[4] = {0, NAN, 0, 0};
    const size_t shape[] = {2, 1, 2};
    float values[2];
    char spec[600];
    struct image image = {0};
    write_npy(files_path("f/y.npy"), "|u1", shape, 1, labels, 2);
    write_npy(files_path("f/x.npy"), "<u2", shape, 3, deep, 8);
    rename(files_path("f/x.npy"), files_path("f/x_1.npy"));
    rename(files_path("f/y.npy"), files_path("f/y_1.npy"));
    snprintf(spec, sizeof spec, "npy:%s", files_path("f/x_1.npy"));
    struct dataset *set = opened(spec, &wish);
    tap_ok(set && data_loader_read_example(set, &unit, 0, values, NULL, NULL) && values[0] == 0 &&
               fabsf(values[1] - 1.0f / 65535) < 1e-9f &&
               data_loader_read_example(set, &unit, 1, values, NULL, NULL) && values[1] == 1,
           "16-bit items keep their precision");
    tap_ok(set && dataset_facts(set)->deep, "the set says so");
    dataset_free(set);
    write_npy(files_path("f/x_1.npy"), "<f4", shape, 3, floats, 16);
    set = opened(spec, &wish);
    tap_ok(set && data_loader_read_example(set, &unit, 1, values, NULL, NULL) &&
               fabsf(values[0] - 0.123456f) < 1e-7f && values[1] == 1,
           "numbers within 0 and 1 are shares of white");
    dataset_free(set);
    write_npy(files_path("f/x_1.npy"), "<f4", shape, 3, large, 16);
    set = opened(spec, &wish);
    tap_ok(set && data_loader_read_example(set, &unit, 0, values, NULL, NULL) &&
               values[0] == -3.0f / 255 && dataset_image(set, 1, &image, NULL, NULL) &&
               image.pixels[0] == 255 && image.pixels[1] == 255,
           "others are taken as they are, and shown within 0 and 255");
    image_free(&image);
    dataset_free(set);
    write_npy(files_path("f/x_1.npy"), "<f4", shape, 3, nan_items, 16);
    refused(spec, &wish, "record 0 has a value that is NaN", "NaN");
}

static const uint8_t archive[] = {
    80,  75,  3,   4,   45,  0,   0,   0,   8,   0,   0,   0,   33,  0,   154, 9,   177, 28,  255,
    255, 255, 255, 255, 255, 255, 255, 11,  0,   20,  0,   120, 95,  116, 114, 97,  105, 110, 46,
    110, 112, 121, 1,   0,   16,  0,   140, 0,   0,   0,   0,   0,   0,   0,   84,  0,   0,   0,
    0,   0,   0,   0,   155, 236, 23,  234, 27,  16,  201, 200, 80,  198, 80,  173, 158, 146, 90,
    156, 92,  164, 110, 165, 160, 94,  83,  106, 168, 174, 163, 160, 158, 150, 95,  84,  82,  148,
    152, 23,  159, 95,  148, 146, 10,  18,  119, 75,  204, 41,  78,  5,   138, 23,  103, 36,  22,
    164, 2,   249, 26,  198, 58,  10,  70,  64,  164, 169, 163, 80,  171, 64,  30,  224, 98,  96,
    100, 98,  102, 97,  101, 99,  231, 224, 228, 226, 6,   0,   80,  75,  3,   4,   45,  0,   0,
    0,   8,   0,   0,   0,   33,  0,   247, 64,  18,  234, 255, 255, 255, 255, 255, 255, 255, 255,
    11,  0,   20,  0,   121, 95,  116, 114, 97,  105, 110, 46,  110, 112, 121, 1,   0,   16,  0,
    152, 0,   0,   0,   0,   0,   0,   0,   76,  0,   0,   0,   0,   0,   0,   0,   155, 236, 23,
    234, 27,  16,  201, 200, 80,  198, 80,  173, 158, 146, 90,  156, 92,  164, 110, 165, 160, 110,
    147, 105, 161, 174, 163, 160, 158, 150, 95,  84,  82,  148, 152, 23,  159, 95,  148, 146, 10,
    18,  119, 75,  204, 41,  78,  5,   138, 23,  103, 36,  22,  164, 2,   249, 26,  198, 58,  154,
    58,  10,  181, 10,  20,  0,   46,  6,   40,  96,  132, 210, 76,  80,  26,  0,   80,  75,  3,
    4,   45,  0,   0,   0,   8,   0,   0,   0,   33,  0,   72,  218, 118, 106, 255, 255, 255, 255,
    255, 255, 255, 255, 10,  0,   20,  0,   120, 95,  116, 101, 115, 116, 46,  110, 112, 121, 1,
    0,   16,  0,   132, 0,   0,   0,   0,   0,   0,   0,   76,  0,   0,   0,   0,   0,   0,   0,
    155, 236, 23,  234, 27,  16,  201, 200, 80,  198, 80,  173, 158, 146, 90,  156, 92,  164, 110,
    165, 160, 94,  83,  106, 168, 174, 163, 160, 158, 150, 95,  84,  82,  148, 152, 23,  159, 95,
    148, 146, 10,  18,  119, 75,  204, 41,  78,  5,   138, 23,  103, 36,  22,  164, 2,   249, 26,
    134, 58,  10,  70,  64,  164, 169, 163, 80,  171, 64,  30,  224, 98,  96,  100, 98,  6,   0,
    80,  75,  3,   4,   45,  0,   0,   0,   8,   0,   0,   0,   33,  0,   62,  154, 20,  94,  255,
    255, 255, 255, 255, 255, 255, 255, 10,  0,   20,  0,   121, 95,  116, 101, 115, 116, 46,  110,
    112, 121, 1,   0,   16,  0,   136, 0,   0,   0,   0,   0,   0,   0,   72,  0,   0,   0,   0,
    0,   0,   0,   155, 236, 23,  234, 27,  16,  201, 200, 80,  198, 80,  173, 158, 146, 90,  156,
    92,  164, 110, 165, 160, 110, 147, 105, 161, 174, 163, 160, 158, 150, 95,  84,  82,  148, 152,
    23,  159, 95,  148, 146, 10,  18,  119, 75,  204, 41,  78,  5,   138, 23,  103, 36,  22,  164,
    2,   249, 26,  134, 58,  154, 58,  10,  181, 10,  20,  0,   46,  70,  6,   8,   0,   0,   80,
    75,  1,   2,   45,  3,   45,  0,   0,   0,   8,   0,   0,   0,   33,  0,   154, 9,   177, 28,
    84,  0,   0,   0,   140, 0,   0,   0,   11,  0,   0,   0,   0,   0,   0,   0,   0,   0,   0,
    0,   128, 1,   0,   0,   0,   0,   120, 95,  116, 114, 97,  105, 110, 46,  110, 112, 121, 80,
    75,  1,   2,   45,  3,   45,  0,   0,   0,   8,   0,   0,   0,   33,  0,   247, 64,  18,  234,
    76,  0,   0,   0,   152, 0,   0,   0,   11,  0,   0,   0,   0,   0,   0,   0,   0,   0,   0,
    0,   128, 1,   145, 0,   0,   0,   121, 95,  116, 114, 97,  105, 110, 46,  110, 112, 121, 80,
    75,  1,   2,   45,  3,   45,  0,   0,   0,   8,   0,   0,   0,   33,  0,   72,  218, 118, 106,
    76,  0,   0,   0,   132, 0,   0,   0,   10,  0,   0,   0,   0,   0,   0,   0,   0,   0,   0,
    0,   128, 1,   26,  1,   0,   0,   120, 95,  116, 101, 115, 116, 46,  110, 112, 121, 80,  75,
    1,   2,   45,  3,   45,  0,   0,   0,   8,   0,   0,   0,   33,  0,   62,  154, 20,  94,  72,
    0,   0,   0,   136, 0,   0,   0,   10,  0,   0,   0,   0,   0,   0,   0,   0,   0,   0,   0,
    128, 1,   162, 1,   0,   0,   121, 95,  116, 101, 115, 116, 46,  110, 112, 121, 80,  75,  5,
    6,   0,   0,   0,   0,   4,   0,   4,   0,   226, 0,   0,   0,   38,  2,   0,   0,   0,   0,
};

static void test_npz(void)
{
    char spec[600];
    files_write(files_path("z/set.npz"), archive, sizeof archive);
    snprintf(spec, sizeof spec, "npz:%s", files_path("z/set.npz"));
    struct dataset *set = opened(spec, &grey);
    struct image image = {0};
    tap_ok(set && dataset_facts(set)->images == 3 && dataset_facts(set)->classes == 3 &&
               dataset_label(set, 2) == 2 && dataset_image(set, 2, &image, NULL, NULL) &&
               image.pixels[3] == 11,
           "x_train and y_train of an archive");
    image_free(&image);
    dataset_free(set);
    tap_ok(dataset_bytes(spec, "train") > 12, "its size is known before it is read");
    strcat(spec, ",split=test");
    set = opened(spec, &grey);
    tap_ok(set && dataset_facts(set)->images == 1 && dataset_label(set, 0) == 1,
           "x_test and y_test are its test split");
    dataset_free(set);
    snprintf(spec, sizeof spec, "npz:%s,images=x_test,labels=y_train", files_path("z/set.npz"));
    refused(spec, &grey, "row of 1 whole numbers", "arrays that do not belong together");
    snprintf(spec, sizeof spec, "npz:%s,images=a,labels=b", files_path("z/set.npz"));
    refused(spec, &grey, "no arrays called 'a' and 'b'", "arrays that are not there");
}

static void test_damaged_npz(void)
{
    static uint8_t damaged[sizeof archive];
    char spec[600];
    bool survived = true;
    size_t opened_whole = 0;
    snprintf(spec, sizeof spec, "npz:%s", files_path("z/bad.npz"));
    for (size_t i = 0; i < sizeof archive; i++) { /* every byte, inverted */
        memcpy(damaged, archive, sizeof archive);
        damaged[i] ^= 0xff;
        files_write(files_path("z/bad.npz"), damaged, sizeof damaged);
        dataset_expected_classes(spec, "train");
        struct dataset *set = dataset_open(spec, "train", &grey, NULL);
        opened_whole += set != NULL;
        dataset_free(set);
    }
    for (size_t size = 0; size < sizeof archive; size++) {
        files_write(files_path("z/bad.npz"), archive, size);
        struct dataset *set = dataset_open(spec, "train", &grey, NULL);
        survived = survived && !set;
        dataset_free(set);
    }
    tap_ok(survived, "no cut archive is taken for a whole one");
    tap_ok(opened_whole < sizeof archive, "nor does a wrong byte do more than the format allows");
}

/* --- 16-bit pictures --- */

/* A PNG of 2x1 grey pixels of 16 bits: 1 and 65535. */
static const uint8_t deep_png[] = {
    137, 80, 78,  71,  13, 10,  26,  10, 0,  0,  0,   13,  73,  72,  68, 82,  0, 0,
    0,   2,  0,   0,   0,  1,   16,  0,  0,  0,  0,   129, 217, 252, 21, 0,   0, 0,
    13,  73, 68,  65,  84, 120, 156, 99, 96, 96, 252, 255, 31,  0,   3,  5,   2, 0,
    97,  93, 175, 159, 0,  0,   0,   0,  73, 69, 78,  68,  174, 66,  96, 130,
};

/* Reads the picture so that its shorter side has `side` pixels. */
static bool prepared(struct image *image, size_t channels, size_t side)
{
    const struct preprocessing how = {.recorded = true,
                                      .channels = channels,
                                      .height = side,
                                      .width = side,
                                      .stored_height = side,
                                      .stored_width = side};
    return image_file_prepare(image, files_path("d/deep.png"), &how, NULL);
}

static void test_deep_png(void)
{
    struct image image = {0};
    files_write(files_path("d/deep.png"), deep_png, sizeof deep_png);
    tap_ok(prepared(&image, 1, 1) && image.deep && fabsf(image.deep[0] - 1.0f / 257) < 1e-8f &&
               image.deep[1] == 255,
           "one channel keeps the 16 bits");
    image_free(&image);
    tap_ok(prepared(&image, 3, 1) && image.pixels && image.pixels[0] == 0 && image.pixels[5] == 255,
           "three channels are of 8 bits");
    image_free(&image);
    tap_ok(prepared(&image, 1, 3) && image.deep && image.width == 6 && image.deep[17] == 255 &&
               image.deep[2] > image.deep[1],
           "it is resized without rounding");
    image_free(&image);
}

/* Whether a set has deep images is known before they are read. */
static bool is_deep(const char *spec, size_t channels)
{
    struct dataset *set = opened(spec, &(struct dataset_request){channels, 2, 2});
    const bool deep = set && dataset_facts(set)->deep;
    dataset_free(set);
    return deep;
}

static void test_deep_sets(void)
{
    struct image image = {0};
    char one[600], none[600], array[600];
    const size_t shape[] = {2, 2, 2};
    const uint8_t bytes[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    snprintf(one, sizeof one, "folder:%s", files_path("sets/one"));
    snprintf(none, sizeof none, "folder:%s", files_path("sets/none"));
    image_create(&image, 4, 4, 1, NULL);
    files_write(files_path("sets/one/a/1.png"), deep_png, sizeof deep_png);
    files_write(files_path("sets/none/a/1.txt"), bytes, 1);
    image_file_export_png(&image, files_path("sets/one/a/2.png"), NULL);
    image_file_export_png(&image, files_path("sets/none/a/2.png"), NULL);
    image_free(&image);
    write_npy(files_path("sets/x_8.npy"), "|u1", shape, 3, bytes, 8);
    write_npy(files_path("sets/y_8.npy"), "|u1", shape, 1, bytes, 2);
    snprintf(array, sizeof array, "npy:%s", files_path("sets/x_8.npy"));
    tap_ok(is_deep(one, 1) && !is_deep(one, 3) && !is_deep(none, 1) && !is_deep(array, 1),
           "one 16-bit picture makes a set of grey images deep; 8-bit ones and colour do not");
    tap_ok(dataset_kind_may_be_deep(dataset_kind_of(one), 1) &&
               !dataset_kind_may_be_deep(dataset_kind_of(one), 3) &&
               dataset_kind_may_be_deep(dataset_kind_of(array), 3) &&
               !dataset_kind_may_be_deep(dataset_kind_of("digits"), 1),
           "a kind says whether that can be");
}

/* --- shares --- */

static size_t count_label(const struct dataset *set, size_t label)
{
    size_t count = 0;
    for (size_t i = 0; i < dataset_facts(set)->images; i++)
        count += dataset_label(set, i) == label;
    return count;
}

/* Returns whether two sets of `count` images have the same ones in the same order. */
static bool same_images(const struct dataset *a, const struct dataset *b, size_t count)
{
    char one[128], two[128];
    for (size_t i = 0; i < count; i++) {
        dataset_origin(a, i, one, sizeof one);
        dataset_origin(b, i, two, sizeof two);
        if (strcmp(one, two) != 0)
            return false;
    }
    return true;
}

static size_t count_common(const struct dataset *a, const struct dataset *b)
{
    char one[128], two[128];
    size_t common = 0;
    for (size_t i = 0; i < dataset_facts(a)->images; i++) {
        dataset_origin(a, i, one, sizeof one);
        for (size_t k = 0; k < dataset_facts(b)->images; k++) {
            dataset_origin(b, k, two, sizeof two);
            common += strcmp(one, two) == 0;
        }
    }
    return common;
}

static void test_share(void)
{
    const struct dataset_request wish = {3, 32, 32};
    struct dataset *held = opened("shapes,limit=200,share=0.15,draw=7", &wish);
    struct dataset *rest = opened("shapes,limit=200,rest=0.15,draw=7", &wish);
    struct dataset *again = opened("shapes,limit=200,share=0.15,draw=7", &wish);
    struct dataset *other = opened("shapes,limit=200,share=0.15,draw=8", &wish);
    struct dataset *all = opened("shapes,limit=200", &wish);
    bool even = true;
    for (size_t c = 0; c < 10; c++) {
        const double wanted = 0.15 * (double)count_label(all, c);
        even = even && fabs((double)count_label(held, c) - wanted) < 1;
    }
    tap_ok(dataset_facts(held)->images == 30 && dataset_facts(rest)->images == 170 && even,
           "a share is that of each class");
    tap_ok(same_images(held, again, 30) && !same_images(held, other, 30),
           "the seed alone chooses it");
    tap_ok(count_common(held, rest) == 0 && count_common(held, all) == 30 &&
               count_common(rest, all) == 170,
           "share and rest divide the images");
    dataset_free(held);
    dataset_free(rest);
    dataset_free(again);
    dataset_free(other);
    dataset_free(all);
    refused("shapes,share=1", NULL, "between 0 and 1", "a share of everything");
    refused("shapes,share=0.1,rest=0.1", NULL, "once", "both parts at once");
    refused("shapes,limit=3,share=0.01", &wish, "empty", "a share without an image");
    struct dataset_balance balance = {0};
    struct dataset *set = opened("shapes,limit=3", &wish);
    tap_ok(set && dataset_count_classes(set, &balance, NULL) && balance.most >= 1 &&
               balance.least == 0 && balance.empty >= 7 && balance.empty < 10,
           "classes are counted");
    free(balance.images);
    dataset_free(set);
}

TEST_CASE(arrays_test)
{
    if (!files_begin())
        return 1;
    test_values();
    test_quoted_folder();
    test_list();
    test_bad_lists();
    test_npy();
    test_bad_npy();
    test_precision();
    test_npz();
    test_damaged_npz();
    test_deep_png();
    test_deep_sets();
    test_share();
    tap_ok(unexpected == 0, "the number of classes is known before a set is opened");
    return tap_done();
}
