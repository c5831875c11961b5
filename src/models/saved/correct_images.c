/* The bits of a pass are written as hexadecimal digits: of 50,000 images they take 12.5 kB. */
#include "models/saved/correct_images.h"

#include "base/memory.h"
#include "runs/folder/run_json.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

static const char file_name[] = "correct.json", digits[] = "0123456789abcdef";

size_t correct_images_bytes(size_t images)
{
    return (images + 7) / 8;
}

void correct_images_set(unsigned char *bits, size_t image)
{
    bits[image / 8] |= (unsigned char)(0x80 >> image % 8);
}

static size_t count_bits(unsigned byte)
{
    return (size_t)__builtin_popcount(byte);
}

void correct_images_count(const struct correct_pass *a, const struct correct_pass *b, size_t images,
                          size_t *first_only, size_t *second_only)
{
    *first_only = *second_only = 0;
    for (size_t i = 0; i < correct_images_bytes(images); i++) {
        *first_only += count_bits(a->bits[i] & ~(unsigned)b->bits[i]);
        *second_only += count_bits(b->bits[i] & ~(unsigned)a->bits[i]);
    }
}

/* --- memory --- */

static bool copy_pass(struct correct_pass *pass, const unsigned char *bits, size_t images,
                      uint64_t iteration, struct error *error)
{
    const size_t bytes = correct_images_bytes(images);
    unsigned char *copy = memory_new(bytes, 1, "the correct images", error);
    if (!copy)
        return false;
    memcpy(copy, bits, bytes);
    free(pass->bits);
    *pass = (struct correct_pass){.iteration = iteration, .bits = copy};
    for (size_t i = 0; i < bytes; i++)
        pass->right += count_bits(copy[i]);
    return true;
}

bool correct_images_take(struct correct_images *correct, const unsigned char *bits, size_t images,
                         uint64_t iteration, bool is_best, struct error *error)
{
    if (correct->images != images)
        correct_images_free(correct);
    correct->images = images;
    return copy_pass(&correct->final, bits, images, iteration, error) &&
           (!is_best || copy_pass(&correct->best, bits, images, iteration, error));
}

bool correct_images_copy(struct correct_images *copy, const struct correct_images *correct,
                         struct error *error)
{
    *copy = *correct;
    copy->best = copy->final = (struct correct_pass){0};
    return (!correct->best.bits || copy_pass(&copy->best, correct->best.bits, correct->images,
                                             correct->best.iteration, error)) &&
           (!correct->final.bits || copy_pass(&copy->final, correct->final.bits, correct->images,
                                              correct->final.iteration, error));
}

void correct_images_free(struct correct_images *correct)
{
    free(correct->best.bits);
    free(correct->final.bits);
    *correct = (struct correct_images){0};
}

/* --- the data --- */

/* Adds the text of a member of the set to the sum. */
static bool add_member(uLong *sum, const struct json *set, const char *key)
{
    const struct json *member = json_member(set, key);
    char *text = member ? json_print(member, false, NULL) : NULL;
    *sum = crc32_z(*sum, (const unsigned char *)key, strlen(key));
    if (text)
        *sum = crc32_z(*sum, (const unsigned char *)text, strlen(text));
    const bool added = !member || text;
    free(text);
    return added;
}

/* Sets correct->data from data.json. Returns false with an error; without the file it stays
 * unknown. */
static bool find_data(struct correct_images *correct, const char *directory, struct error *error)
{
    static const char *const keys[] = {"spec",    "kind",  "generator", "images",
                                       "classes", "files", "folders",   "parts"};
    struct json_document document;
    if (correct->data_known)
        return true;
    if (!run_json_open(&document, directory, "data.json", JSON_MAX_BYTES, NULL, error))
        return false;
    const struct json *set = json_member(document.root, "validation");
    uLong sum = crc32_z(0, NULL, 0);
    bool added = true;
    for (size_t i = 0; set && added && i < sizeof keys / sizeof *keys; i++)
        added = add_member(&sum, set, keys[i]);
    correct->data = (uint32_t)sum;
    correct->data_known = set && added;
    json_document_free(&document);
    return added || error_set_memory(error, "the description of the data", 0);
}

/* --- the file --- */

static bool add_pass(struct json *tree, const char *key, const struct correct_pass *pass,
                     size_t images, struct error *error)
{
    const size_t bytes = correct_images_bytes(images);
    if (!pass->bits)
        return json_add_null(tree, key);
    char *text = memory_new(2 * bytes + 1, 1, "the correct images", error);
    if (!text)
        return false;
    for (size_t i = 0; i < bytes; i++) {
        text[2 * i] = digits[pass->bits[i] >> 4];
        text[2 * i + 1] = digits[pass->bits[i] & 15];
    }
    struct json *object = json_add_object(tree, key);
    const bool added = json_add_count(object, "iteration", pass->iteration) &&
                       json_add_count(object, "right", pass->right) &&
                       json_add_string(object, "bits", text);
    free(text);
    return added;
}

bool correct_images_write(struct correct_images *correct, const char *directory,
                          struct error *error)
{
    char crc[9];
    if (!correct->final.bits)
        return true;
    if (!find_data(correct, directory, error))
        return false;
    if (!correct->data_known)
        return true;
    struct json *tree = json_new_object();
    snprintf(crc, sizeof crc, "%08" PRIx32, correct->data);
    const bool complete = json_add_string(tree, "format", "tinca-correct") &&
                          json_add_count(tree, "version", 1) &&
                          json_add_string(tree, "data_crc32", crc) &&
                          json_add_count(tree, "images", correct->images) &&
                          add_pass(tree, "best", &correct->best, correct->images, error) &&
                          add_pass(tree, "final", &correct->final, correct->images, error);
    return run_json_write(directory, file_name, tree, complete, error);
}

static bool read_bits(const char *text, size_t images, unsigned char *bits)
{
    if (!text || strlen(text) != 2 * correct_images_bytes(images))
        return false;
    for (size_t i = 0; text[i]; i++) {
        const char *digit = strchr(digits, text[i]);
        if (!digit)
            return false;
        bits[i / 2] = (unsigned char)(bits[i / 2] << 4 | (digit - digits));
    }
    const unsigned beyond = images % 8 ? 0xffu >> images % 8 : 0;
    return (bits[correct_images_bytes(images) - 1] & beyond) == 0;
}

static bool read_pass(const struct json *tree, const char *key, size_t images,
                      struct correct_pass *pass)
{
    size_t iteration, right;
    const struct json *object = json_member(tree, key);
    const struct json *at = json_member(object, "iteration"), *count = json_member(object, "right");
    if (json_is_null(object))
        return true;
    if (!at || !count || !json_count(at, &iteration) || !json_count(count, &right))
        return false;
    unsigned char *bits = memory_new(correct_images_bytes(images), 1, "the correct images", NULL);
    const bool read = bits && read_bits(json_string(json_member(object, "bits")), images, bits) &&
                      copy_pass(pass, bits, images, iteration, NULL);
    free(bits);
    return read && pass->right == right;
}

static bool read_tree(struct correct_images *correct, const struct json *tree)
{
    const char *format = json_string(json_member(tree, "format"));
    const char *crc = json_string(json_member(tree, "data_crc32"));
    const struct json *images = json_member(tree, "images");
    char *end;
    if (!format || strcmp(format, "tinca-correct") != 0 || !crc || strlen(crc) != 8 || !images ||
        !json_count(images, &correct->images) || correct->images == 0)
        return false;
    correct->data = (uint32_t)strtoul(crc, &end, 16);
    correct->data_known = true;
    return *end == '\0' && read_pass(tree, "best", correct->images, &correct->best) &&
           read_pass(tree, "final", correct->images, &correct->final);
}

bool correct_images_read(struct correct_images *correct, const char *directory, struct error *error)
{
    struct json_document document;
    *correct = (struct correct_images){0};
    if (!run_json_open(&document, directory, file_name, JSON_MAX_BYTES, NULL, error))
        return false;
    const bool good =
        !document.root || read_tree(correct, document.root) ||
        error_set(error, ERROR_INPUT, file_name, "delete it: the run itself is not affected",
                  "this is not a list of correct images of tinca");
    json_document_free(&document);
    if (!good)
        correct_images_free(correct);
    return good;
}
