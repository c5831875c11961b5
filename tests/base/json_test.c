#include "base/decimal.h"
#include "base/json/json_checksum.h"
#include "tap.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char sample[] = "{\n"
                             "  \"name\": \"a\\\"b: {\",\n"
                             "  \"list\": [1,\n"
                             "    2.5,\n"
                             "    {\"deep\":\n"
                             "      true}],\n"
                             "  \"none\": null\n"
                             "}\n";

static void test_reading(void)
{
    struct json_document document;
    struct error error = {0};
    size_t count;
    bool flag = false;
    if (!tap_ok(json_parse(&document, sample, strlen(sample), "sample", &error), "parses"))
        return;
    const struct json *list = json_member(document.root, "list");
    const struct json *second = json_next(json_first(list));
    const struct json *deep = json_member(json_next(second), "deep");
    tap_ok(json_length(list) == 3 && json_is_array(list), "a list of three");
    tap_ok(strcmp(json_string(json_member(document.root, "name")), "a\"b: {") == 0, "a text");
    tap_ok(json_count(json_first(list), &count) && count == 1, "a count");
    tap_ok(!json_count(second, &count), "2.5 is no count");
    tap_ok(json_bool(deep, &flag) && flag, "a flag");
    tap_ok(!json_first(document.root) && !json_first_member(list) && !json_next(NULL) &&
               !json_member(list, "deep") && !json_first(second) && !json_first_member(NULL),
           "only arrays have values, and only objects have members");
    tap_ok(json_length(document.root) == 0 && json_member_count(document.root) == 3 &&
               json_member_count(list) == 0 && json_length(NULL) == 0,
           "and are counted as such");
    tap_ok(strcmp(json_key(second), "") == 0 && strcmp(json_key(NULL), "") == 0 &&
               strcmp(json_key(list), "list") == 0,
           "a value without a name has an empty one");
    tap_ok(json_line(&document, document.root) == 1, "the root is on line 1");
    tap_ok(json_line(&document, list) == 3, "the list is on line 3");
    tap_ok(json_line(&document, second) == 4, "2.5 is on line 4");
    tap_ok(json_line(&document, deep) == 6, "the flag is on line 6");
    tap_ok(json_line(&document, json_member(document.root, "none")) == 7, "null is on line 7");
    json_document_free(&document);
}

static void refuses(const char *what, const char *text, size_t length, const char *words)
{
    struct json_document document;
    struct error error = {0};
    bool parsed = json_parse(&document, text, length, "bad.json", &error);
    tap_ok(!parsed && strstr(error.why, words), "refuses %s: %s", what, error.why);
    if (parsed)
        json_document_free(&document);
}

static void test_refusals(void)
{
    refuses("an unclosed object", "{\n\"a\": 1\n", 9, "line");
    refuses("rubbish after the end", "{} x", 4, "line 1");
    refuses("nothing", "", 0, "line 1");
    refuses("a line-2 mistake", "{\"a\": 1,\n b}", 12, "line 2");
    char deep[400];
    memset(deep, '[', 200);
    memset(deep + 200, ']', 200);
    refuses("deep nesting", deep, sizeof deep, "deeper");
    struct error error = {0};
    struct json_document document;
    tap_ok(!json_read_file(&document, "/nonexistent/x.json", 100, &error) &&
               error.kind == ERROR_SYSTEM,
           "a missing file is an error");
    tap_ok(!json_read_file(&document, "/dev/null", 100, &error), "a device is not read");
}

static void test_numbers(void)
{
    bool exact = true;
    for (uint32_t bits = 1; bits < 0x7f800000u; bits += 65521) {
        float value;
        memcpy(&value, &bits, sizeof value);
        exact = exact && (float)json_float(value) == value;
    }
    tap_ok(exact, "floats read back as themselves");
    struct json *root = json_new_object();
    json_add_float(root, "f", 0.1f);
    json_add_number(root, "nan", NAN);
    json_add_number(root, "d", 0.1);
    json_add_count(root, "c", 60965224);
    char *text = json_print(root, false, NULL);
    tap_ok(text && strcmp(text, "{\"f\":0.1,\"nan\":null,\"d\":0.1,\"c\":60965224}") == 0,
           "prints %s", text ? text : "nothing");
    free(text);
    tap_ok(!json_add_number(NULL, "x", 1) && !json_add_object(NULL, "x"),
           "adding to NULL returns false");
    json_free(root);
}

/* Returns whether the text is JSON whose checksum, if it has one, is correct. */
static bool is_unchanged(const char *text, size_t length)
{
    struct json_document document;
    if (!json_parse(&document, text, length, "checked.json", NULL))
        return false;
    const bool unchanged = json_verify_checksum(&document, NULL, NULL);
    json_document_free(&document);
    return unchanged;
}

/* Every flipped bit of a document is detected, also in the checksum and its key. */
static void test_checksum(void)
{
    struct json_document document;
    struct error error = {0};
    size_t unnoticed = 0;
    struct json *root = json_new_object();
    json_add_string(root, "name", "\xc3\xa9t\xc3\xa9");
    json_add_number(json_add_object(root, "inner"), "value", 0.5);
    char *text = json_print_with_checksum(root, NULL), *plain = json_print(root, true, NULL);
    const size_t length = text ? strlen(text) : 0;
    json_free(root);
    tap_ok(text && is_unchanged(text, length), "an unchanged document is valid");
    for (size_t bit = 0; bit < 8 * length; bit++) {
        text[bit / 8] ^= (char)(1 << bit % 8);
        unnoticed += is_unchanged(text, length);
        text[bit / 8] ^= (char)(1 << bit % 8);
    }
    tap_ok(unnoticed == 0, "each of %zu bits, when flipped, is noticed (%zu were not)", 8 * length,
           unnoticed);
    char *longer = calloc(length + 2, 1);
    if (longer && text)
        memcpy(longer, text, length);
    if (longer)
        longer[length] = '\n';
    tap_ok(longer && !is_unchanged(longer, length + 1), "so is an added newline");
    tap_ok(plain && is_unchanged(plain, strlen(plain)), "a document without a checksum is read");
    static const char other[] = "{ \"a\": 1, \"crc32\": \"00000000\" }";
    tap_ok(json_parse(&document, other, strlen(other), "other.json", NULL) &&
               !json_verify_checksum(&document, NULL, &error) && strstr(error.why, "was changed") &&
               strstr(error.advice, "crc32"),
           "another layout is a change: %s: %s", error.why, error.advice);
    json_document_free(&document);
    free(longer);
    free(plain);
    free(text);
}

/* Returns whether the text is that of printf. */
static bool is_six(double value)
{
    char text[DECIMAL_SIZE], expected[64];
    const size_t length = decimal_write_six(value, text);
    snprintf(expected, sizeof expected, "%.6g", value);
    return strcmp(text, expected) == 0 && length == strlen(text);
}

static void test_decimals(void)
{
    static const double special[] = {
        0,         -0.0,    1,         -1,        0.1,      0.5,          1e-4,
        9.9999e-5, 999999,  999999.5,  999999.4,  1e6,      0.9999995,    0.09999995,
        0.1234565, 2.5,     1.0000005, 123456.5,  12345.65, 0.0001234565, 0.00099999949,
        1e300,     -1e-300, INFINITY,  -INFINITY, NAN,      0.99999949,   100000};
    uint64_t state = 1;
    bool same = true, counts = true;
    for (size_t i = 0; i < sizeof special / sizeof *special; i++)
        same &= is_six(special[i]);
    for (size_t i = 0; i < 200000; i++) {
        state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        const double part = (double)(state >> 11) * 0x1p-53;
        const double value = part * pow(10, (double)(state % 13) - 5);
        same &=
            is_six(i % 3 ? value : (double)(float)value) &&
            is_six(round(part * 1e7) / pow(10, (double)(state % 11))); /* ends in a half, often */
    }
    tap_ok(same, "six digits are those of printf");
    for (size_t i = 0; i < 64; i++) {
        char text[DECIMAL_SIZE], expected[32];
        const uint64_t count = i ? UINT64_MAX >> (64 - i) : 0;
        snprintf(expected, sizeof expected, "%llu", (unsigned long long)count);
        counts &= decimal_write_count(count, text) == strlen(expected) && !strcmp(text, expected);
    }
    tap_ok(counts, "counts are those of printf");
}

/* Returns whether a number, alone and deep in a tree, reads back with all its bits. */
static bool reads_back(double value)
{
    struct json_document document;
    double alone = 0, deep = 0;
    struct json *root = json_new_array();
    json_add_number(json_add_object(json_add_array(root, NULL), NULL), "value", value);
    json_add_number(root, NULL, value);
    char *text = json_print(root, value > 1, NULL);
    const bool read = text && json_parse(&document, text, strlen(text), "a number", NULL);
    free(text);
    json_free(root);
    if (!read)
        return false;
    const struct json *list = json_first(document.root);
    json_number(json_member(json_first(list), "value"), &deep);
    json_number(json_next(list), &alone);
    json_document_free(&document);
    return alone == value && deep == value;
}

static void test_doubles(void)
{
    static const double special[] = {0.1 + 0.2,
                                     1.0 / 3,
                                     0.1,
                                     -2e-7 / 3,
                                     5e-324,
                                     2.5,
                                     0x1.fffffffffffffp1023,
                                     0x1p-1022,
                                     123456789012345678.0,
                                     1e15 + 0.125,
                                     4503599627370497.5,
                                     -1};
    uint64_t state = 1;
    bool exact = true;
    for (size_t i = 0; i < sizeof special / sizeof *special; i++)
        exact &= reads_back(special[i]);
    for (size_t i = 0; i < 20000; i++) {
        state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        const double part = (double)(state >> 11) * 0x1p-53;
        exact &= reads_back(part) && reads_back(nextafter(round(part * 1e4) / 1e4, 2));
    }
    tap_ok(exact, "doubles read back with all their bits");
}

TEST_CASE(json_test)
{
    test_checksum();
    test_reading();
    test_refusals();
    test_numbers();
    test_decimals();
    test_doubles();
    return tap_done();
}
