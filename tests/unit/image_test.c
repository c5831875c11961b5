/* Pictures: sizes and colours, round trips, and files that are cut off, damaged or lie. */
#include "data/formats/image_file.h"

#include "base/host/host.h"
#include "data_files.h"
#include "tap.h"

#include <png.h>
#include <sys/stat.h>

static void test_resize(void)
{
    struct error error;
    struct image in, out;
    image_create(&in, 2, 1, 1, &error);
    in.pixels[0] = 0;
    in.pixels[1] = 200;
    bool made = image_resize(&out, &in, 4, 1, &error);
    /* centres of the four lie at -0.25, 0.25, 0.75, 1.25 of the two */
    tap_ok(made && out.pixels[0] == 0 && out.pixels[1] == 50 && out.pixels[2] == 150 &&
               out.pixels[3] == 200,
           "bilinear samples lie at pixel centres");
    image_free(&out);
    image_free(&in);
    in = files_picture(13, 7, 10, 20, 30);
    made = image_resize(&out, &in, 13, 7, &error);
    tap_ok(made && memcmp(in.pixels, out.pixels, 13 * 7 * 3) == 0,
           "resizing to the same size changes nothing");
    image_free(&out);
    tap_ok(image_fit(&in, 21, &error) && in.height == 21 && in.width == 39,
           "the shorter side is fitted and the shape kept");
    image_free(&in);
    in = files_picture(640, 480, 100, 100, 100);
    tap_ok(image_fit(&in, 32, &error) && in.height == 32 && in.width == 43,
           "a much larger picture is halved first");
    image_free(&in);
}

static void test_colours(void)
{
    struct error error;
    struct image image = files_picture(3, 2, 255, 0, 0), part;
    tap_ok(image_cut(&part, &image, 1, 1, 2, 1, &error) && part.width == 2 && part.pixels[0] == 0 &&
               part.pixels[3] == 255,
           "a part is cut out at the right place");
    image_free(&part);
    tap_ok(image_convert(&image, 1, &error) && image.channels == 1 && image.pixels[1] == 76,
           "red becomes 0.299 grey");
    tap_ok(image_convert(&image, 3, &error) && image.channels == 3 && image.pixels[3] == 76 &&
               image.pixels[5] == 76,
           "grey becomes three equal channels");
    image_free(&image);
    tap_ok(!image_create(&image, IMAGE_MAX_SIDE + 1, 1, 3, &error) && error.kind == ERROR_INPUT,
           "a side beyond the limit is refused");
    tap_ok(!image_create(&image, 16384, 16384, 3, &error) && error.kind == ERROR_INPUT,
           "and so are too many pixels");
    tap_ok(!image_create(&image, 0, 5, 3, &error) && error.kind == ERROR_INPUT, "and none at all");
}

static void test_png_round_trip(void)
{
    struct error error;
    struct image in = files_picture(17, 9, 1, 128, 255), out;
    const char *path = files_path("a.png");
    tap_ok(image_file_write_png(&in, path, &error) && image_file_read(&out, path, 3, &error) &&
               out.width == 17 && out.height == 9 && memcmp(in.pixels, out.pixels, 17 * 9 * 3) == 0,
           "a colour PNG comes back as it was written");
    image_free(&out);
    image_convert(&in, 1, &error);
    tap_ok(image_file_write_png(&in, path, &error) && image_file_read(&out, path, 1, &error) &&
               memcmp(in.pixels, out.pixels, 17 * 9) == 0,
           "so does a grey one");
    image_free(&out);
    tap_ok(image_file_probe(&out, path, &error) && out.width == 17 && out.height == 9 &&
               !out.pixels,
           "a header gives the size");
    image_free(&in);
    tap_ok(!image_file_write_png(&in, "/nowhere/at/all.png", &error) && error.kind == ERROR_SYSTEM,
           "writing where there is no folder is an error");
}

static void test_transparency(void)
{
    static const uint8_t pixels[] = {10, 20, 30, 0, 10, 20, 30, 255, 0, 0, 0, 128};
    struct error error;
    struct image image = {0};
    const char *path = files_path("alpha.png");
    png_image png = {
        .version = PNG_IMAGE_VERSION, .width = 3, .height = 1, .format = PNG_FORMAT_RGBA};
    png_image_write_to_file(&png, path, 0, pixels, 0, NULL);
    bool read = image_file_read(&image, path, 3, &error);
    tap_ok(read && image.pixels[0] == 255 && image.pixels[2] == 255 && image.pixels[3] == 10 &&
               image.pixels[5] == 30 && image.pixels[6] == 127,
           "transparency is laid over white");
    image_free(&image);
}

static void test_jpeg(void)
{
    struct error error;
    struct image image = {0};
    uint8_t samples[16 * 16 * 4];
    for (size_t i = 0; i < sizeof samples; i++)
        samples[i] = i % 4 == 0 ? 0 : 255; /* Adobe's inverted CMYK: cyan alone */
    const char *path = files_path("cmyk.jpg");
    files_write_jpeg(path, samples, 16, 16, 4, false);
    bool read = image_file_read(&image, path, 3, &error);
    tap_ok(read && image.pixels[0] < 8 && image.pixels[1] > 247 && image.pixels[2] > 247,
           "cyan of a CMYK JPEG is cyan");
    image_free(&image);
    read = image_file_read(&image, path, 1, &error);
    tap_ok(read && image.channels == 1 && abs(image.pixels[0] - 179) < 6, "and 0.7 as grey");
    image_free(&image);
    memset(samples, 77, sizeof samples);
    files_write_jpeg(path, samples, 16, 16, 1, false);
    read = image_file_read(&image, path, 3, &error);
    tap_ok(read && image.pixels[0] == 77 && image.pixels[2] == 77, "grey JPEG to colour");
    image_free(&image);
    uint8_t *large = calloc(640 * 480, 3);
    files_write_jpeg(path, large, 640, 480, 3, true);
    free(large);
    read = image_file_read_fitted(&image, path, 3, 100, &error);
    tap_ok(read && image.height == 100 && image.width == 133, "a progressive JPEG is fitted");
    image_free(&image);
}

/* Every beginning of a good file must be refused, and no damaged byte may do harm. */
static void try_damage(const char *good_path, const char *kind)
{
    size_t size, accepted = 0, unexplained = 0;
    char *bytes = file_read(good_path, 1 << 20, &size, NULL);
    const char *path = files_path("damaged");
    struct image image;
    for (size_t cut = 0; bytes && cut < size; cut++) {
        struct error error = {0};
        files_write(path, bytes, cut);
        bool read = image_file_read(&image, path, 3, &error);
        accepted += read;
        unexplained +=
            !read && (error.kind != ERROR_INPUT || !error.why[0] || strcmp(error.what, path) != 0);
        image_free(&image);
    }
    tap_ok(bytes && accepted == 0, "a %s cut off anywhere is refused (%zu accepted)", kind,
           accepted);
    tap_ok(bytes && unexplained == 0, "and the file and reason are named");
    for (size_t i = 0; bytes && i < size; i++) {
        bytes[i] ^= (char)0xff;
        files_write(path, bytes, size);
        if (image_file_read(&image, path, 3, NULL))
            image_free(&image);
        bytes[i] ^= (char)0xff;
    }
    tap_ok(bytes != NULL, "a %s with any byte inverted does no harm", kind);
    free(bytes);
}

static void test_damage(void)
{
    uint8_t samples[16 * 16 * 3];
    for (size_t i = 0; i < sizeof samples; i++)
        samples[i] = (uint8_t)(i * 37);
    const char *path = files_path("good");
    files_write_png(path, 5, 4, 9, 8, 7);
    try_damage(path, "PNG");
    files_write_jpeg(path, samples, 16, 16, 3, false);
    try_damage(path, "JPEG");
    files_write_jpeg(path, samples, 16, 16, 3, true);
    try_damage(path, "progressive JPEG");
}

static void test_odd_files(void)
{
    struct error error;
    struct image image;
    tap_ok(!image_file_read(&image, files_path("missing.png"), 3, &error) &&
               error.kind == ERROR_SYSTEM,
           "a missing file");
    tap_ok(!image_file_read(&image, files_root, 3, &error) && strstr(error.why, "regular"),
           "a folder is not a picture");
    mkfifo(files_path("fifo"), 0600);
    tap_ok(!image_file_read(&image, files_path("fifo"), 3, &error) && strstr(error.why, "regular"),
           "a FIFO is refused and not waited for");
    files_write(files_path("text.png"), "GIF89a", 6);
    tap_ok(!image_file_read(&image, files_path("text.png"), 3, &error) &&
               strstr(error.why, "47 49 46"),
           "another format is named by its first bytes");
    files_write(files_path("empty.jpg"), "", 0);
    tap_ok(!image_file_read(&image, files_path("empty.jpg"), 3, &error) &&
               strstr(error.why, "empty"),
           "an empty file");
}

/* A text chunk that claims to hold 1.8 GB: nothing of that size may be allocated for it. */
static void test_png_bomb(void)
{
    size_t size;
    struct image image;
    files_write_png(files_path("good.png"), 5, 4, 9, 8, 7);
    char *bytes = file_read(files_path("good.png"), 1 << 20, &size, NULL);
    char bomb[33 + 16];
    memcpy(bomb, bytes, 33); /* signature and IHDR */
    memcpy(bomb + 33, "\x6b\0\0\0zTXtTitle\0\0", 16);
    files_write(files_path("bomb.png"), bomb, sizeof bomb);
    uint64_t before = host_process_peak();
    bool read = image_file_read(&image, files_path("bomb.png"), 3, NULL);
    uint64_t grown = host_process_peak() - before;
    tap_ok(!read && grown < (64 << 20), "a chunk's claim allocates nothing (%llu bytes)",
           (unsigned long long)grown);
    free(bytes);
}

/* Reads every file that OUTCOMES.tsv lists, and compares. */
static void try_outcomes(const char *below)
{
    const char *folder = files_real(below);
    char path[1400], line[1024], root[1024];
    snprintf(root, sizeof root, "%s", folder ? folder : "");
    snprintf(path, sizeof path, "%s/OUTCOMES.tsv", root);
    FILE *list = folder ? fopen(path, "r") : NULL;
    if (!list) {
        tap_skip("no real pictures in %s (set TINCA_DATA)", below);
        return;
    }
    size_t files = 0, wrong = 0;
    while (fgets(line, sizeof line, list)) {
        char name[256], outcome[32];
        if (line[0] == '#' || sscanf(line, "%255[^\t]\t%31[^\t\n]", name, outcome) != 2)
            continue;
        snprintf(path, sizeof path, "%s/%s", root, name);
        bool good = strcmp(outcome, "ok") == 0;
        bool is_png_by_content = strcmp(name, "jpg-size-6x6.jpg") == 0;
        for (size_t channels = 1; channels <= 3; channels += 2) {
            struct image image;
            struct error error;
            bool read = image_file_read(&image, path, channels, &error);
            bool expected = is_png_by_content || good;
            if (strcmp(outcome, "warning") != 0 && read != expected) {
                tap_note("%s: %s, but %s (%s)", name, outcome, read ? "read" : "refused",
                         read ? "" : error.why);
                wrong++;
            }
            if (read)
                image_free(&image);
        }
        files++;
    }
    fclose(list);
    tap_ok(files > 0 && wrong == 0, "%zu files of %s are read or refused as they should be", files,
           below);
}

int main(void)
{
    if (!files_begin())
        return 1;
    test_resize();
    test_colours();
    test_png_round_trip();
    test_transparency();
    test_jpeg();
    test_damage();
    test_odd_files();
    test_png_bomb();
    try_outcomes("pngsuite");
    try_outcomes("png-broken");
    try_outcomes("jpeg-odd/valid");
    try_outcomes("jpeg-odd/broken");
    return tap_done();
}
