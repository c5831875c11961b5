/* The layer reader: values, defaults, the first error with its line, unknown keys. */
#include "tap.h"

#include "engine/graph/layer_reader.h"

#include <string.h>

static struct json_document document;
static struct error error;

/* Returns a reader of the object `text`, which is on line 2 of "net.json". */
static struct layer_reader read_text(const char *text)
{
    char file[512];
    json_document_free(&document);
    error = (struct error){0};
    snprintf(file, sizeof file, "[\n%s]", text);
    tap_ok(json_parse(&document, file, strlen(file), "net.json", &error), "%s is JSON", text);
    return layer_reader_at(&document, json_first(document.root), 10, &error);
}

static void refuses(struct layer_reader *reader, const char *expected, const char *name)
{
    bool refused = !layer_reader_finish(reader) && error.kind == ERROR_INPUT &&
                   strcmp(error.what, "net.json") == 0 && strstr(error.why, expected);
    tap_ok(refused, "%s is refused", name);
    if (!refused)
        tap_note("%s: %s", error.what, error.why);
}

static void test_values(void)
{
    struct layer_reader reader =
        read_text("{\"a\": 7, \"b\": \"classes\", \"c\": 0.5, \"d\": false, \"e\": \"word\"}");
    tap_ok(layer_has(&reader, "a") && !layer_has(&reader, "z"), "keys are seen");
    tap_ok(layer_count(&reader, "a", LAYER_REQUIRED, 1, 9) == 7, "a count");
    tap_ok(layer_count(&reader, "b", 1, 1, 99) == 10, "\"classes\" is the number of classes");
    tap_ok(layer_count(&reader, "none", 3, 1, 9) == 3, "a count's fallback");
    tap_ok(layer_number(&reader, "c", 1, 0, 1) == 0.5, "a number");
    tap_ok(layer_number(&reader, "none", 0.25, 0, 1) == 0.25, "the default of a number");
    tap_ok(!layer_flag(&reader, "d", true) && layer_flag(&reader, "none", true), "flags");
    tap_ok(strcmp(layer_text(&reader, "e", ""), "word") == 0 &&
               layer_text(&reader, "none", NULL) == NULL,
           "texts");
    tap_ok(layer_reader_finish(&reader), "no unknown key is left");
}

static void test_window(void)
{
    struct window w;
    struct layer_reader reader = read_text("{\"kernel\": [3, 5], \"pad\": 2}");
    layer_window(&reader, &w, false);
    tap_ok(w.kernel_height == 3 && w.kernel_width == 5 && w.stride_height == 1 &&
               w.stride_width == 1 && w.pad_height == 2 && w.pad_width == 2,
           "a window of pairs, numbers and defaults");
    tap_ok(layer_reader_finish(&reader), "layer_window reads all of the window's keys");

    reader = read_text("{}");
    layer_window(&reader, &w, true);
    tap_ok(w.kernel_height == 0 && layer_reader_finish(&reader), "an optional kernel");
    layer_window(&reader, &w, false);
    refuses(&reader, "line 2: \"kernel\" is missing", "a missing kernel");

    static const char *const wrong[] = {"{\"kernel\": 0}",         "{\"kernel\": []}",
                                        "{\"kernel\": [1, 2, 3]}", "{\"kernel\": [1, -1]}",
                                        "{\"kernel\": \"3\"}",     "{\"kernel\": 1e9}",
                                        "{\"kernel\": 2.5}",       "{\"kernel\": null}"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        reader = read_text(wrong[i]);
        layer_window(&reader, &w, false);
        refuses(&reader, "\"kernel\" must be an integer", wrong[i]);
    }
}

static bool reads_as(const char *text, enum initialiser_kind kind, float value)
{
    struct layer_reader reader = read_text(text);
    struct initialiser got =
        layer_initialiser(&reader, "init", (struct initialiser){INITIALISE_HE, 0});
    return layer_reader_finish(&reader) && got.kind == kind && got.value == value;
}

static void test_initialisers(void)
{
    tap_ok(reads_as("{}", INITIALISE_HE, 0), "an initialiser's fallback");
    tap_ok(reads_as("{\"init\": \"xavier\"}", INITIALISE_XAVIER, 0), "xavier");
    tap_ok(reads_as("{\"init\": \"he\"}", INITIALISE_HE, 0), "he");
    tap_ok(reads_as("{\"init\": {\"gaussian\": 0.01}}", INITIALISE_GAUSSIAN, 0.01f), "gaussian");
    tap_ok(reads_as("{\"init\": {\"constant\": -0.5}}", INITIALISE_CONSTANT, -0.5f), "constant");
    tap_ok(reads_as("{\"init\": 0.1}", INITIALISE_CONSTANT, 0.1f), "a plain number");
    static const char *const wrong[] = {
        "{\"init\": \"best\"}",           "{\"init\": {}}",   "{\"init\": {\"gaussian\": -1}}",
        "{\"init\": {\"uniform\": 1}}",   "{\"init\": [1]}",  "{\"init\": {\"gaussian\": \"a\"}}",
        "{\"init\": {\"constant\": {}}}", "{\"init\": 1e99}", "{\"init\": true}"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct layer_reader reader = read_text(wrong[i]);
        layer_initialiser(&reader, "init", (struct initialiser){INITIALISE_HE, 0});
        refuses(&reader, "line 2: \"init\" must be", wrong[i]);
    }
}

static void test_mistakes(void)
{
    struct layer_reader reader = read_text("{\"a\":\n12, \"b\": true}");
    size_t count = layer_count(&reader, "a", 5, 1, 9);
    tap_ok(count == 5, "a count out of range reads as its fallback");
    tap_ok(layer_flag(&reader, "b", false) == false, "after a mistake fallbacks are returned");
    refuses(&reader, "line 3: \"a\" must be an integer of 1 to 9", "a count out of range");

    reader = read_text("{\"a\": 1, \"kernal\": 3}");
    layer_count(&reader, "a", 5, 1, 9);
    refuses(&reader, "\"kernal\" is not a key of this layer", "a key that nobody asks for");

    reader = read_text("{\"a\": 1, \"a\": 2}");
    layer_count(&reader, "a", 5, 1, 9);
    refuses(&reader, "\"a\" is given twice", "a duplicate key");

    reader = read_text("{}");
    layer_count(&reader, "output", LAYER_REQUIRED, 1, 9);
    refuses(&reader, "line 2: \"output\" is missing", "a missing count");

    reader = read_text("{\"a\": \"many\"}");
    layer_count(&reader, "a", 1, 1, 9);
    refuses(&reader, "\"a\" must be an integer", "a text that is no count");

    reader = read_text("{\"a\": \"classes\"}");
    reader.classes = 0;
    layer_count(&reader, "a", 1, 1, 9);
    refuses(&reader, "has none", "\"classes\" in a network without classes");

    reader = read_text("{\"a\": 2}");
    layer_number(&reader, "a", 1, 0, 1);
    refuses(&reader, "\"a\" must be a number of 0 to 1", "a number out of range");

    reader = read_text("{\"a\": 1}");
    layer_flag(&reader, "a", false);
    refuses(&reader, "\"a\" must be true or false", "a number for a flag");

    reader = read_text("{\"a\": 1}");
    layer_text(&reader, "a", "");
    refuses(&reader, "\"a\" must be text", "a number for a text");

    reader = read_text("7");
    layer_count(&reader, "a", 1, 1, 9);
    refuses(&reader, "a layer must be an object", "a layer that is a number");
}

TEST_CASE(layer_reader_test)
{
    test_values();
    test_window();
    test_initialisers();
    test_mistakes();
    json_document_free(&document);
    return tap_done();
}
