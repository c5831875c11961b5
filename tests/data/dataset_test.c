/* Data sets: parsing of a SPEC, valid and invalid files of each format, labels, selection, size. */
#include "data/dataset/dataset.h"

#include "data/formats/image_file.h"
#include "data_files.h"
#include "tap.h"

#include <math.h>

static const struct dataset_request grey2x3 = {1, 2, 3}, cifar_wish = {3, 32, 32},
                                    alexnet = {3, 227, 227}, lenet = {1, 28, 28};

/* Opens `spec` and expects to be refused, with `kind` and a message that holds `words`. */
static void refused(const char *spec, const struct dataset_request *request, enum error_kind kind,
                    const char *words, const char *name)
{
    struct error error = {0};
    char text[1100];
    struct dataset *dataset = dataset_open(spec, "train", request, &error);
    error_format(&error, text, sizeof text);
    if (!tap_ok(!dataset && error.kind == kind && strstr(text, words), "refused: %s", name))
        tap_note("%s", dataset ? "it was opened" : text);
    dataset_free(dataset);
}

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

static void test_specs(void)
{
    refused("imagenet:x", NULL, ERROR_USAGE, "the kinds are cifar10:DIR", "an unknown kind");
    refused("", NULL, ERROR_USAGE, "no kind", "an empty SPEC");
    refused("idx", NULL, ERROR_USAGE, "expected idx:DIR", "a folder is missing");
    refused("shapes:/tmp", NULL, ERROR_USAGE, "reads no files", "an unexpected folder");
    refused("shapes,colour=red", NULL, ERROR_USAGE, "the options are split=", "an unknown option");
    refused("shapes,red", NULL, ERROR_USAGE, "OPTION=VALUE", "an option without a value");
    refused("shapes,split=dev", NULL, ERROR_USAGE, "train or test", "an unknown split");
    refused("shapes,limit=0", NULL, ERROR_USAGE, "from 1", "a limit of 0");
    refused("shapes,limit=-3", NULL, ERROR_USAGE, "limit", "a negative limit");
    refused("shapes,classes=1e9", NULL, ERROR_USAGE, "classes", "too many classes");
    refused("shapes,classes=3", NULL, ERROR_USAGE, "10 classes", "fewer classes than the data has");
    refused("shapes,only=hexagram", NULL, ERROR_USAGE, "circle (0)", "an unknown class");
    refused("shapes,only=1,only=2", NULL, ERROR_USAGE, "only= is given twice", "two classes");
    refused("shapes,limit=5,split=test,limit=5", NULL, ERROR_USAGE, "limit= is given twice",
            "an option that is repeated");
    refused("shapes,share=0.1,share=0.1", NULL, ERROR_USAGE, "share= is given twice", "two shares");
    refused("shapes,direction=ba", NULL, ERROR_USAGE, "pairs", "a direction without pairs");
    refused("digits,broken=skip", NULL, ERROR_USAGE, "folder", "broken= without a folder");
    refused("maps,only=0", NULL, ERROR_USAGE, "no classes", "one class of pairs");
    refused("shapes", &lenet, ERROR_INPUT, "32x32x3", "a network for other images");
    refused("tench", &(struct dataset_request){4, 10, 10}, ERROR_INPUT, "1 or 3", "four channels");
    char longest[700];
    memset(longest, 'x', sizeof longest);
    longest[sizeof longest - 1] = '\0';
    refused(longest, NULL, ERROR_USAGE, "longer", "a text too long");
}

/* --- IDX --- */

static size_t idx_images(uint8_t *bytes, uint8_t count)
{
    static const uint8_t header[16] = {0, 0, 8, 3, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 3};
    memcpy(bytes, header, sizeof header);
    bytes[7] = count;
    for (size_t i = 0; i < (size_t)count * 6; i++)
        bytes[16 + i] = (uint8_t)i;
    return 16 + (size_t)count * 6;
}

static size_t idx_labels(uint8_t *bytes, uint8_t count)
{
    static const uint8_t header[8] = {0, 0, 8, 1, 0, 0, 0, 0};
    memcpy(bytes, header, sizeof header);
    bytes[7] = count;
    for (uint8_t i = 0; i < count; i++)
        bytes[8 + i] = i % 4;
    return 8 + (size_t)count;
}

static void test_idx_good(const char *spec)
{
    struct error error;
    struct image image = {0};
    struct dataset *set = opened(spec, &grey2x3);
    if (!tap_ok(set != NULL, "a small IDX set opens"))
        return;
    const struct dataset_facts *facts = dataset_facts(set);
    char text[64];
    dataset_origin(set, 3, text, sizeof text);
    tap_ok(facts->images == 5 && facts->classes == 10 && !facts->paired &&
               strcmp(facts->kind, "idx") == 0 && facts->stored_width == 3,
           "its facts are right");
    tap_ok(dataset_label(set, 3) == 3 && dataset_label(set, 4) == 0 &&
               strcmp(dataset_class_name(set, 3), "3") == 0,
           "its labels are right");
    tap_ok(dataset_image(set, 3, &image, NULL, &error) && image.width == 3 && image.height == 2 &&
               image.pixels[0] == 18 && image.pixels[5] == 23,
           "its pixels are right");
    image_free(&image);
    tap_ok(strstr(text, "record 3 of train-images-idx3-ubyte"), "its origins are right: %s", text);
    tap_ok(!dataset_image(set, 5, &image, NULL, &error), "no image after the last");
    tap_ok(strcmp(dataset_class_name(set, 99), "no such class") == 0, "nor a class");
    dataset_free(set);
}

static void test_idx(void)
{
    uint8_t images[64], labels[16];
    size_t image_bytes = idx_images(images, 5), label_bytes = idx_labels(labels, 5);
    char spec[600], limited[700];
    snprintf(spec, sizeof spec, "idx:%s", files_path("idx"));
    refused(spec, &grey2x3, ERROR_INPUT, "no such folder", "a missing IDX folder");
    files_write(files_path("idx/train-images-idx3-ubyte"), images, image_bytes);
    refused(spec, &grey2x3, ERROR_INPUT, "train-labels-idx1-ubyte.gz", "labels that are missing");
    files_write(files_path("idx/train-labels-idx1-ubyte"), labels, label_bytes);
    test_idx_good(spec);
    refused(spec, &lenet, ERROR_INPUT, "2x3x1", "IDX images of another size");
    snprintf(limited, sizeof limited, "%s,classes=3", spec);
    refused(limited, &grey2x3, ERROR_INPUT, "label 3 in record 3 (byte 11)", "a label too large");
    const char *image_path = files_path("idx/train-images-idx3-ubyte");
    files_write(image_path, images, image_bytes - 1);
    refused(spec, &grey2x3, ERROR_INPUT, "45 bytes: its header announces 5 images", "a cut IDX");
    files_write(image_path, images, image_bytes + 1);
    refused(spec, &grey2x3, ERROR_INPUT, "more than the 46 bytes", "an IDX with more at its end");
    files_write(image_path, images, 9);
    refused(spec, &grey2x3, ERROR_INPUT, "header of 16", "an IDX cut in its header");
    images[3] = 1;
    files_write(image_path, images, image_bytes);
    refused(spec, &grey2x3, ERROR_INPUT, "magic number 2049", "a wrong magic number");
    images[3] = 3;
    images[4] = 0xff;
    files_write(image_path, images, image_bytes);
    refused(spec, &grey2x3, ERROR_INPUT, "announces 4278190085 images", "an absurd count");
    image_bytes = idx_images(images, 6);
    files_write(image_path, images, image_bytes);
    refused(spec, &grey2x3, ERROR_INPUT, "5 labels (bytes 4 to 7), but", "counts that differ");
}

static void test_idx_gzip(void)
{
    uint8_t images[64], labels[16];
    size_t image_bytes = idx_images(images, 5), label_bytes = idx_labels(labels, 5), size;
    char spec[600];
    snprintf(spec, sizeof spec, "idx:%s", files_path("idz"));
    files_write(files_path("idz/train-labels-idx1-ubyte"), labels, label_bytes);
    const char *path = files_path("idz/train-images-idx3-ubyte.gz");
    files_write_gzip(path, images, image_bytes);
    test_idx_good(spec);
    char *packed = file_read(path, 1000, &size, NULL);
    files_write(path, packed, size - 6);
    refused(spec, &grey2x3, ERROR_INPUT, "truncated", "a truncated gzip file");
    packed[size - 6] ^= 1; /* position of the checksum */
    files_write(path, packed, size);
    refused(spec, &grey2x3, ERROR_INPUT, "damaged", "a gzip file with a wrong checksum");
    free(packed);
}

/* --- CIFAR --- */

enum { RECORD = 3073 };

/* All pixels have red 1, green 2, blue 3, except the first pixel's red, which is `first`. */
static void cifar_record(uint8_t *record, size_t labels, uint8_t label, uint8_t first)
{
    memset(record, 0, labels);
    record[labels - 1] = label;
    memset(record + labels, 1, 1024);
    memset(record + labels + 1024, 2, 1024);
    memset(record + labels + 2048, 3, 1024);
    record[labels] = first;
}

static void test_cifar10(void)
{
    uint8_t batch[2 * RECORD];
    char spec[600], text[64];
    snprintf(spec, sizeof spec, "cifar10:%s", files_path("c10"));
    for (uint8_t b = 1; b <= 5; b++) {
        cifar_record(batch, 1, b, 10 * b);
        cifar_record(batch + RECORD, 1, 0, 77);
        files_write(files_path("c10/data_batch_%d.bin", b), batch, sizeof batch);
    }
    struct dataset *set = opened(spec, &cifar_wish);
    struct image image = {0};
    bool read = set && dataset_image(set, 4, &image, NULL, NULL);
    tap_ok(read && dataset_facts(set)->images == 10 && dataset_label(set, 4) == 3 &&
               strcmp(dataset_class_name(set, 3), "cat") == 0,
           "a small CIFAR-10 opens");
    tap_ok(read && image.pixels[0] == 30 && image.pixels[1] == 2 && image.pixels[2] == 3 &&
               image.pixels[3] == 1,
           "its planes are interleaved");
    image_free(&image);
    if (set)
        dataset_origin(set, 4, text, sizeof text);
    tap_ok(set && strcmp(text, "record 0 of data_batch_3.bin") == 0, "its origins are right");
    dataset_free(set);
    refused(spec, &lenet, ERROR_INPUT, "32x32x3", "CIFAR for LeNet");
    batch[0] = 10;
    files_write(files_path("c10/data_batch_4.bin"), batch, sizeof batch);
    refused(spec, &cifar_wish, ERROR_INPUT, "label 10 in record 0 (byte 0)", "a CIFAR label of 10");
    uint8_t odd[5000] = {0};
    files_write(files_path("c10/data_batch_1.bin"), odd, sizeof odd);
    refused(spec, &cifar_wish, ERROR_INPUT,
            "data_batch_1.bin: 5000 bytes, which is not a whole number of 3073-byte records",
            "a cut CIFAR file");
    files_write(files_path("c10/data_batch_1.bin"), odd, 0);
    refused(spec, &cifar_wish, ERROR_INPUT, "0 bytes", "an empty CIFAR file");
    strcat(spec, ",split=test");
    refused(spec, &cifar_wish, ERROR_INPUT, "test_batch.bin.gz", "a missing test batch");
}

static void test_cifar100(void)
{
    uint8_t file[3074 * 2];
    char spec[600];
    snprintf(spec, sizeof spec, "cifar100:%s,split=test", files_path("c100"));
    cifar_record(file, 2, 99, 5);
    cifar_record(file + 3074, 2, 42, 6);
    file[3074] = 19; /* the coarse label, which is not used */
    files_write(files_path("c100/fine_label_names.txt"), "apple\r\naquarium_fish\nbaby\n", 26);
    files_write(files_path("c100/test.bin"), "", 0);
    remove(files_path("c100/test.bin"));
    files_write_gzip(files_path("c100/test.bin.gz"), file, sizeof file);
    struct dataset *set = opened(spec, &cifar_wish);
    tap_ok(set && dataset_facts(set)->classes == 100 && dataset_label(set, 0) == 99 &&
               dataset_label(set, 1) == 42,
           "CIFAR-100 has fine labels, from a .gz file");
    tap_ok(set && strcmp(dataset_class_name(set, 0), "apple") == 0 &&
               strcmp(dataset_class_name(set, 1), "aquarium_fish") == 0 &&
               strcmp(dataset_class_name(set, 42), "class 42") == 0,
           "and the class names beside it");
    dataset_free(set);
}

/* --- selection --- */

static void test_selection(void)
{
    struct dataset *set = opened("shapes,only=star,limit=7", &cifar_wish);
    bool all_stars = set != NULL;
    for (size_t i = 0; set && i < 7; i++)
        all_stars = all_stars && dataset_label(set, i) == 3;
    tap_ok(all_stars && dataset_facts(set)->images == 7 && dataset_facts(set)->classes == 10,
           "only= keeps the label, and limit= applies after it");
    dataset_free(set);
    set = opened("shapes,only=3,classes=1000", &cifar_wish);
    tap_ok(set && dataset_facts(set)->images == 1000 && dataset_facts(set)->classes == 1000 &&
               dataset_label(set, 0) == 3 && strcmp(dataset_class_name(set, 999), "class 999") == 0,
           "a class by number, in a larger label space");
    dataset_free(set);
    set = opened("tench", &alexnet);
    const struct dataset_facts *facts = set ? dataset_facts(set) : NULL;
    tap_ok(facts && facts->images == 1024 && facts->classes == 1000 && dataset_label(set, 9) == 0 &&
               facts->stored_height == 256 && facts->height == 227,
           "tench is the set of the one-class study");
    dataset_free(set);
    set = opened("tench,classes=1", &(struct dataset_request){1, 64, 64});
    facts = set ? dataset_facts(set) : NULL;
    struct image image = {0};
    tap_ok(facts && facts->classes == 1 && facts->stored_width == 73 &&
               dataset_image(set, 0, &image, NULL, NULL) && image.channels == 1 &&
               image.width == 73,
           "or of one class, grey and small");
    image_free(&image);
    dataset_free(set);
}

/* --- folders --- */

static void test_folder(void)
{
    char spec[600], strict[640], text[600];
    snprintf(spec, sizeof spec, "folder:%s", files_path("pets"));
    refused(spec, &alexnet, ERROR_INPUT, "no such folder", "a missing folder");
    files_write(files_path("pets/README"), "x", 1);
    refused(spec, &alexnet, ERROR_INPUT, "no pictures", "a folder without pictures");
    files_write_png(files_path("pets/dog/b.png"), 40, 20, 200, 0, 0);
    files_write_png(files_path("pets/dog/a.PNG"), 20, 40, 100, 0, 0);
    files_write_png(files_path("pets/cat/z.JPeG"), 30, 30, 50, 0,
                    0); /* a PNG in spite of its name */
    files_write_png(files_path("pets/.hidden/z.png"), 30, 30, 50, 0, 0);
    files_write(files_path("pets/dog/c.jpg"), "no picture", 10);
    files_write(files_path("pets/dog/notes.txt"), "no picture", 10);
    struct dataset *set = opened(spec, &(struct dataset_request){3, 14, 14});
    const struct dataset_facts *facts = set ? dataset_facts(set) : NULL;
    tap_ok(facts && facts->images == 3 && facts->classes == 2 && facts->skipped == 1,
           "a folder of two classes opens; an unreadable file is left out and counted");
    tap_ok(facts && dataset_label(set, 0) == 0 && dataset_label(set, 1) == 1 &&
               strcmp(dataset_class_name(set, 0), "cat") == 0,
           "classes are numbered by name");
    if (set)
        dataset_origin(set, 1, text, sizeof text);
    tap_ok(set && strstr(text, "pets/dog/a.PNG"), "pictures are in the order of their names");
    struct image image = {0};
    tap_ok(facts && facts->stored_height == 16 && dataset_image(set, 1, &image, NULL, NULL) &&
               image.width == 16 && image.height == 32,
           "the shorter side comes to 8/7 of the request");
    image_free(&image);
    dataset_free(set);
    snprintf(strict, sizeof strict, "%s,broken=refuse", spec);
    refused(strict, &alexnet, ERROR_INPUT, "dog/c.jpg", "the unreadable file, when asked to");
    snprintf(strict, sizeof strict, "%s,split=test", spec);
    refused(strict, &alexnet, ERROR_INPUT, "not divided", "a split that the folder does not have");
    snprintf(strict, sizeof strict, "%s/dog,classes=5,only=dog", spec);
    set = opened(strict, &alexnet);
    tap_ok(set && dataset_facts(set)->images == 2 && dataset_facts(set)->classes == 5 &&
               strcmp(dataset_class_name(set, 0), "dog") == 0 &&
               dataset_facts(set)->stored_height == 256,
           "a folder of pictures is one class");
    dataset_free(set);
}

static void test_splits(void)
{
    char spec[600];
    files_write_png(files_path("split/train/x/1.png"), 9, 9, 1, 1, 1);
    files_write_png(files_path("split/train/y/1.png"), 9, 9, 1, 1, 1);
    files_write_png(files_path("split/val/x/1.png"), 9, 9, 1, 1, 1);
    snprintf(spec, sizeof spec, "folder:%s", files_path("split"));
    struct dataset *train = opened(spec, &alexnet);
    strcat(spec, ",split=test");
    struct dataset *test = opened(spec, &alexnet);
    tap_ok(train && test && dataset_facts(train)->images == 2 && dataset_facts(test)->images == 1,
           "folders train and val are the two splits");
    dataset_free(train);
    dataset_free(test);
    files_write(files_path("bad/x/1.png"), "\x89PNG", 4);
    snprintf(spec, sizeof spec, "folder:%s", files_path("bad"));
    refused(spec, &alexnet, ERROR_INPUT, "none of its 1 pictures", "a folder of broken files only");
}

static void test_pairs(void)
{
    char spec[600], other[600];
    snprintf(spec, sizeof spec, "pairs:%s", files_path("ab"));
    struct image both = {0}, a = {0}, b = {0};
    image_create(&both, 21, 10, 3, NULL);
    for (size_t i = 0; i < 21 * 10; i++)
        both.pixels[3 * i] = i % 21 < 10 ? 10 : 240;
    files_write(files_path("ab/1.png"), "", 0);
    image_file_write_png(&both, files_path("ab/1.png"), NULL);
    image_free(&both);
    struct dataset *set = opened(spec, &(struct dataset_request){3, 64, 64});
    bool read = set && dataset_image(set, 0, &a, &b, NULL);
    tap_ok(read && dataset_facts(set)->paired && a.width == 72 && b.height == 72,
           "a pair comes at 286/256 of the request");
    tap_ok(read && a.pixels[0] == 10 && a.pixels[71 * 3] == 10 && b.pixels[0] == 240,
           "the left half is the input, the right half the target");
    image_free(&a);
    image_free(&b);
    tap_ok(set && dataset_image(set, 0, &a, NULL, NULL) && a.pixels[0] == 10,
           "the input can be had alone");
    image_free(&a);
    dataset_free(set);
    strcat(spec, ",direction=ba");
    set = opened(spec, &(struct dataset_request){3, 64, 64});
    read = set && dataset_image(set, 0, &a, &b, NULL);
    tap_ok(read && a.pixels[0] == 240 && b.pixels[0] == 10,
           "direction=ba exchanges input and target");
    image_free(&a);
    image_free(&b);
    dataset_free(set);
    /* two halves of 36x400, and a copy of one that is widened to 72 */
    image_create(&both, 72, 400, 3, NULL);
    files_write(files_path("high/1.png"), "", 0);
    image_file_write_png(&both, files_path("high/1.png"), NULL);
    image_free(&both);
    snprintf(other, sizeof other, "pairs:%s", files_path("high"));
    set = opened(other, &(struct dataset_request){3, 64, 64});
    tap_ok(set && dataset_facts(set)->decode_bytes == 3 * (2 * 36 * 400 + 72 * 400),
           "the memory of resizing a half is counted");
    dataset_free(set);
    files_write(files_path("ab/2.png"), "x", 1);
    refused(spec, NULL, ERROR_INPUT, "ab/2.png", "a pair that cannot be read");
}

/* --- normalisation --- */

static void test_normalisation(void)
{
    struct error error;
    struct normalisation n;
    static const char *const names[] = {"unit",    "unit256",  "signed",  "caffe",
                                        "cifar10", "cifar100", "imagenet"};
    bool all = true;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        all = all && normalisation_choose(&n, names[i], NULL, &error) && n.deviation[2] > 0;
    tap_ok(all, "every preset is known");
    tap_ok(!normalisation_choose(&n, "batch", NULL, &error) && error.kind == ERROR_USAGE,
           "an unknown preset is refused");
    tap_ok(normalisation_choose(&n, "unit", NULL, &error) && n.mean[0] == 0.0f &&
               n.deviation[0] == 255.0f,
           "unit divides by 255");
    tap_ok(normalisation_choose(&n, "unit256", NULL, &error) && n.deviation[0] == 256.0f,
           "unit256 by 256, as Caffe's LeNet");
    char spec[600];
    snprintf(spec, sizeof spec, "folder:%s", files_path("two"));
    struct image image = {0};
    image_create(&image, 8, 8, 3, NULL);
    memset(image.pixels + 96, 100, 96); /* half of the pixels 0, half 100 */
    files_write(files_path("two/x/1.png"), "", 0);
    image_file_write_png(&image, files_path("two/x/1.png"), NULL);
    image_free(&image);
    struct dataset *set = opened(spec, &(struct dataset_request){3, 7, 7});
    tap_ok(set && normalisation_choose(&n, "measured", set, &error) && n.mean[0] == 50.0f &&
               n.deviation[1] == 50.0f && strcmp(n.name, "measured") == 0,
           "measured statistics are correct");
    dataset_free(set);
}

/* --- real files --- */

static void try_real(const char *format, const char *below, const struct dataset_request *request,
                     size_t images, size_t classes)
{
    const char *folder = files_real(below);
    char spec[1100];
    if (!folder) {
        tap_skip("no %s (set TINCA_DATA)", below);
        return;
    }
    snprintf(spec, sizeof spec, format, folder);
    struct dataset *set = opened(spec, request);
    tap_ok(set && dataset_facts(set)->images == images && dataset_facts(set)->classes == classes,
           "%s has %zu images of %zu classes", below, images, classes);
    dataset_free(set);
}

static void test_cifar_figures(void)
{
    const char *folder = files_real("cifar10");
    char spec[1100];
    struct normalisation measured, preset;
    if (!folder) {
        tap_skip("no cifar10 (set TINCA_DATA)");
        return;
    }
    snprintf(spec, sizeof spec, "cifar10:%s", folder);
    struct dataset *set = opened(spec, &cifar_wish);
    bool near = set && normalisation_choose(&measured, "measured", set, NULL) &&
                normalisation_choose(&preset, "cifar10", NULL, NULL);
    for (int c = 0; near && c < 3; c++)
        near = measured.mean[c] - preset.mean[c] < 1.5f && preset.mean[c] - measured.mean[c] < 1.5f;
    tap_ok(near, "the cifar10 preset equals measured statistics, within sampling errors");
    dataset_free(set);
}

/* Returns how many images of the first `images` have a label. */
static size_t count_label(const struct dataset *set, size_t label)
{
    size_t count = 0;
    for (size_t i = 0; i < dataset_facts(set)->images; i++)
        count += dataset_label(set, i) == label;
    return count;
}

static void test_sample(void)
{
    struct dataset *set = opened("shapes,sample=107", &cifar_wish);
    struct dataset *again = opened("shapes,sample=107", &cifar_wish);
    size_t least = SIZE_MAX, most = 0;
    bool same = true, moves = false;
    char one[256], other[256];
    for (size_t c = 0; c < dataset_facts(set)->classes; c++) {
        const size_t images = count_label(set, c);
        least = images < least ? images : least;
        most = images > most ? images : most;
    }
    tap_ok(dataset_facts(set)->images == 107 && least == 10 && most == 11,
           "sample= draws as many of each class: %zu to %zu", least, most);
    for (size_t i = 0; i < 107; i++) {
        char number[32];
        dataset_origin(set, i, one, sizeof one);
        dataset_origin(again, i, other, sizeof other);
        same = same && strcmp(one, other) == 0;
        snprintf(number, sizeof number, "image %zu ", i);
        moves = moves || !strstr(one, number);
    }
    tap_ok(same && moves, "the same ones each time, and not the first ones");
    dataset_free(set);
    dataset_free(again);
    set = opened("shapes,only=star,sample=7", &cifar_wish);
    const size_t star = dataset_label(set, 0);
    tap_ok(dataset_facts(set)->images == 7 && count_label(set, star) == 7,
           "after only= they are all of that class");
    dataset_free(set);
    set = opened("shapes,limit=3", &cifar_wish);
    tap_ok(dataset_facts(set)->classes_left_out == dataset_facts(set)->classes - 3,
           "limit= says how many classes it leaves out: %zu", dataset_facts(set)->classes_left_out);
    dataset_free(set);
    set = opened("shapes,sample=1000000", &cifar_wish);
    tap_ok(dataset_facts(set)->images < 1000000 && dataset_facts(set)->classes_left_out == 0,
           "more than there are: all");
    dataset_free(set);
    refused("shapes,limit=3,sample=3", NULL, ERROR_USAGE, "one of limit", "limit= and sample=");
    refused("shapes,sample=0", NULL, ERROR_USAGE, "from 1", "a sample of 0");
}

/* Lists a black picture `black` times and then a white one as often. */
static void write_sorted_list(const char *path, size_t count)
{
    char *text = malloc(2 * count * 8 + 1), *at = text;
    for (size_t i = 0; i < 2 * count; i++)
        at += sprintf(at, "%c.png,%d\n", i < count ? 'b' : 'w', i < count ? 0 : 1);
    files_write(path, text, (size_t)(at - text));
    free(text);
}

static void write_grey(const char *path, uint8_t grey)
{
    struct image image = {0};
    image_create(&image, 1, 1, 1, NULL);
    image.pixels[0] = grey;
    files_write(path, "", 0);
    image_file_write_png(&image, path, NULL);
    image_free(&image);
}

static float measured_mean(const char *spec, const struct preprocessing *how,
                           struct preprocessing *what)
{
    const struct dataset_request grey = {1, 1, 1};
    struct normalisation normalisation = {0};
    struct dataset *set = dataset_open_as(spec, "train", &grey, how, NULL);
    const bool measured = set && normalisation_choose(&normalisation, "measured", set, NULL);
    if (measured)
        *what = preprocessing_of(set, &normalisation);
    dataset_free(set);
    return measured ? normalisation.mean[0] : -1;
}

/* The images of a sorted set that is too large to be measured whole are drawn from all of it. */
static void test_measured_sample(void)
{
    enum { EACH = 11000 };
    const struct preprocessing before = {.filter = IMAGE_BILINEAR2, .as_stored = true};
    struct preprocessing what = {0};
    char spec[600];
    write_grey(files_path("sorted/b.png"), 0);
    write_grey(files_path("sorted/w.png"), 200);
    write_sorted_list(files_path("sorted/list.csv"), EACH);
    snprintf(spec, sizeof spec, "list:%s", files_path("sorted/list.csv"));
    const float mean = measured_mean(spec, NULL, &what);
    /* six standard deviations of the mean of a sample of 10,000 of 22,000 */
    if (!tap_ok(fabsf(mean - 100) < 4.5f, "a random sample of a sorted set is measured"))
        tap_note("mean %g", (double)mean);
    tap_ok(what.normalisation.measured == 10000 && what.normalisation.measured_of == 2 * EACH &&
               what.normalisation.drawn && what.normalisation.seed == 1,
           "  which the preprocessing says");
    tap_ok(measured_mean(spec, NULL, &what) == mean, "  the same one each time");
    snprintf(spec, sizeof spec, "list:%s,draw=2", files_path("sorted/list.csv"));
    const float other = measured_mean(spec, NULL, &what);
    tap_ok(other != mean && fabsf(other - 100) < 4.5f && what.normalisation.seed == 2,
           "  and another one by another seed");
    tap_ok(measured_mean(spec, &before, &what) == 0 && what.normalisation.measured == 0,
           "a run of an earlier version still measures the first 10,000");
}

/* A set in memory is measured whole, however many images it has. */
static void test_measured_memory(void)
{
    enum { EACH = 11000 };
    struct preprocessing what = {0};
    uint8_t head[16] = {0, 0, 8, 3, 0, 0, 2 * EACH / 256, 2 * EACH % 256, 0, 0, 0, 1, 0, 0, 0, 1};
    uint8_t *images = calloc(1, 16 + 2 * EACH), *labels = calloc(1, 8 + 2 * EACH);
    char spec[600];
    memcpy(images, head, 16);
    memset(images + 16 + EACH, 200, EACH);
    head[3] = 1;
    memcpy(labels, head, 8);
    files_write(files_path("whole/train-images-idx3-ubyte"), images, 16 + 2 * EACH);
    files_write(files_path("whole/train-labels-idx1-ubyte"), labels, 8 + 2 * EACH);
    free(images);
    free(labels);
    snprintf(spec, sizeof spec, "idx:%s", files_path("whole"));
    tap_ok(measured_mean(spec, NULL, &what) == 100 && what.normalisation.measured == 2 * EACH &&
               what.normalisation.measured_of == 2 * EACH && !what.normalisation.drawn,
           "all images of a set in memory are measured");
}

/* A picture that cannot be read is not one of those that were measured. */
static void test_measured_broken(void)
{
    struct preprocessing what = {0};
    char spec[600];
    write_grey(files_path("some/x/1.png"), 0);
    write_grey(files_path("some/x/2.png"), 200);
    write_grey(files_path("some/x/3.png"), 100);
    snprintf(spec, sizeof spec, "folder:%s", files_path("some"));
    const struct dataset_request grey = {1, 1, 1};
    struct normalisation n = {0};
    struct dataset *set = opened(spec, &grey);
    files_write(files_path("some/x/3.png"), "broken since", 12);
    const bool measured = set && normalisation_choose(&n, "measured", set, NULL);
    if (measured)
        what = preprocessing_of(set, &n);
    tap_ok(measured && what.normalisation.mean[0] == 100 && what.normalisation.measured == 2 &&
               what.normalisation.measured_of == 3 && !what.normalisation.drawn,
           "a picture that cannot be read is not counted as measured");
    dataset_free(set);
}

/* --- preprocessing --- */

/* Returns the first image of a set that is opened for a model; what it has is in *facts. */
static struct image first_image(const char *spec, const struct preprocessing *model,
                                struct dataset_facts *facts)
{
    struct image image = {0};
    struct dataset *set =
        dataset_open_as(spec, "train", &(struct dataset_request){3, 14, 14}, model, NULL);
    if (set)
        *facts = *dataset_facts(set);
    if (set)
        dataset_image(set, 0, &image, NULL, NULL);
    dataset_free(set);
    return image;
}

/* Returns whether an image has this size and is bright at the upper left, or at the upper right. */
static bool looks(const struct image *image, size_t width, size_t height, bool bright_left)
{
    if (!image->pixels || image->width != width || image->height != height)
        return false;
    const uint8_t left = image->pixels[0], right = image->pixels[3 * (width - 1)];
    return bright_left ? left > 150 && right < 50 : left < 50 && right > 150;
}

static void test_preprocessing(void)
{
    static uint8_t samples[60 * 40 * 3];
    const struct preprocessing model = {.recorded = true,
                                        .filter = IMAGE_BICUBIC,
                                        .as_stored = true,
                                        .height = 14,
                                        .width = 14,
                                        .stored_height = 14,
                                        .stored_width = 14};
    const struct preprocessing smaller = {
        .recorded = true, .height = 7, .width = 7, .stored_height = 8, .stored_width = 8};
    const struct preprocessing before = {
        .filter = IMAGE_BILINEAR2, .as_stored = true, .stored_height = 14, .stored_width = 14};
    struct dataset_facts facts = {0};
    char spec[600], other[700];
    for (size_t i = 0; i < 60 * 20; i++) /* the upper left quarter is white */
        memset(samples + 3 * i, i % 60 < 30 ? 255 : 0, 3);
    files_write_jpeg(files_path("phone/a/1.jpg"), samples, 60, 40, 3, false);
    files_add_exif(files_path("phone/a/1.jpg"));
    snprintf(spec, sizeof spec, "folder:%s", files_path("phone"));
    struct image image = first_image(spec, NULL, &facts);
    tap_ok(looks(&image, 16, 24, false) && facts.preprocessing.recorded &&
               facts.preprocessing.filter == IMAGE_BILINEAR && !facts.preprocessing.as_stored,
           "a folder's pictures are turned upright and resized by the filter bilinear");
    image_free(&image);
    image = first_image(spec, &model, &facts);
    tap_ok(looks(&image, 21, 14, true) && facts.preprocessing.filter == IMAGE_BICUBIC &&
               facts.stored_height == 14,
           "for a model they are prepared as it records: size, filter, orientation");
    image_free(&image);
    image = first_image(spec, &smaller, &facts);
    tap_ok(looks(&image, 16, 24, false) && facts.stored_width == 16,
           "for one with a smaller crop in proportion");
    image_free(&image);
    image = first_image(spec, &before, &facts);
    tap_ok(looks(&image, 24, 16, true) && !facts.preprocessing.recorded,
           "for one that records nothing as before: to 8/7, and as they are stored");
    image_free(&image);
    snprintf(other, sizeof other, "%s,orient=no,filter=bilinear2", spec);
    image = first_image(other, NULL, &facts);
    tap_ok(looks(&image, 24, 16, true) && facts.preprocessing.filter == IMAGE_BILINEAR2,
           "the options orient and filter choose otherwise");
    image_free(&image);
    snprintf(other, sizeof other, "%s,filter=box", spec);
    refused(other, NULL, ERROR_USAGE, "bilinear, bicubic or bilinear2", "an unknown filter");
    refused("shapes,filter=bicubic", NULL, ERROR_USAGE, "that are resized",
            "a filter for images of fixed size");
    refused("digits,orient=no", NULL, ERROR_USAGE, "that are resized",
            "an orientation of generated digits");
}

/* A network that makes pictures sees the whole picture, as validations on pairs do. */
static void test_stretched(void)
{
    struct preprocessing p = {.recorded = true,
                              .channels = 3,
                              .height = 14,
                              .width = 14,
                              .stored_height = 16,
                              .stored_width = 16};
    for (int stretched = 0; stretched < 2; stretched++) {
        struct image image = {0};
        bool fits = image_create(&image, 60, 20, 3, NULL);
        for (size_t i = 0; fits && i < 60 * 20; i++) /* the left fifth is white */
            memset(image.pixels + 3 * i, i % 60 < 12 ? 255 : 0, 3);
        p.stretched = stretched;
        fits = fits && preprocessing_fit(&p, &image, NULL);
        tap_ok(fits && looks(&image, stretched ? 14 : 48, stretched ? 14 : 16, true),
               stretched ? "a picture is stretched to the input"
                         : "a picture's shorter side is resized");
        image_free(&image);
    }
}

/* What a model's file records reads back as it was. */
static void test_preprocessing_text(void)
{
    struct preprocessing p = {.recorded = true,
                              .filter = IMAGE_BICUBIC,
                              .as_stored = true,
                              .channels = 3,
                              .height = 14,
                              .width = 12,
                              .stored_height = 16,
                              .stored_width = 15,
                              .stretched = true,
                              .normalisation = {.name = "measured",
                                                .mean = {0.1f, 1e-7f, 123.456f},
                                                .deviation = {3, 4, 5},
                                                .measured = 10000,
                                                .measured_of = 20000,
                                                .drawn = true,
                                                .seed = 7}};
    struct preprocessing back = {.channels = 3, .height = 14, .width = 12, .stretched = true};
    const char *what;
    char *text = preprocessing_print(&p, NULL), *again = NULL;
    tap_ok(text && preprocessing_parse(&back, text, &what) &&
               normalisation_same(&p.normalisation, &back.normalisation, 3) &&
               strcmp(again = preprocessing_print(&back, NULL), text) == 0,
           "a preprocessing reads back as it was written");
    free(again);
    const char *const wrong[][3] = {{"bicubic", "bicubid", "filter"},
                                    {"false", "10000", "orient"},
                                    {"[16,15]", "[13,15]", "resize"},
                                    {"[3,4,5]", "[3,0,5]", "normalisation"},
                                    {"[0.1,", "[", "normalisation"}};
    for (size_t i = 0; text && i < sizeof wrong / sizeof *wrong; i++) {
        char changed[600];
        const char *at = strstr(text, wrong[i][0]);
        snprintf(changed, sizeof changed, "%.*s%s%s", at ? (int)(at - text) : 0, text, wrong[i][1],
                 at ? at + strlen(wrong[i][0]) : "");
        tap_ok(at && !preprocessing_parse(&back, changed, &what) && strcmp(what, wrong[i][2]) == 0,
               "%s for %s is refused", wrong[i][1], wrong[i][0]);
    }
    free(text);
}

TEST_CASE(dataset_test)
{
    if (!files_begin())
        return 1;
    test_specs();
    test_idx();
    test_idx_gzip();
    test_cifar10();
    test_cifar100();
    test_selection();
    test_folder();
    test_splits();
    test_pairs();
    test_normalisation();
    test_measured_sample();
    test_measured_memory();
    test_measured_broken();
    test_preprocessing();
    test_stretched();
    test_preprocessing_text();
    try_real("idx:%s", "mnist", &lenet, 60000, 10);
    try_real("idx:%s,split=test", "mnist", &lenet, 10000, 10);
    try_real("cifar10:%s", "cifar10", &cifar_wish, 50000, 10);
    try_real("cifar10:%s,split=test,only=ship", "cifar10", &cifar_wish, 1000, 10);
    try_real("folder:%s,classes=1000", "tench", &alexnet, 1024, 1000);
    try_real("pairs:%s", "maps", &(struct dataset_request){3, 256, 256}, 64, 1);
    try_real("pairs:%s,split=test", "maps", &(struct dataset_request){3, 256, 256}, 16, 1);
    test_cifar_figures();
    test_sample();
    tap_ok(unexpected == 0, "the number of classes is known before a set is opened");
    return tap_done();
}
