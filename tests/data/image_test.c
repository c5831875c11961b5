/* Pictures: sizes and colours, round trips, and files that are cut off, damaged or have false
 * headers. */
#include "data/formats/image_file.h"

#include "base/host/host.h"
#include "data_files.h"
#include "tap.h"

#include <math.h>
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
    /* the centres of the four pixels are at -0.25, 0.25, 0.75, 1.25 of the two */
    tap_ok(made && out.pixels[0] == 0 && out.pixels[1] == 50 && out.pixels[2] == 150 &&
               out.pixels[3] == 200,
           "bilinear samples are at pixel centres");
    image_free(&out);
    image_free(&in);
    in = files_picture(13, 7, 10, 20, 30);
    made = image_resize(&out, &in, 13, 7, &error);
    tap_ok(made && memcmp(in.pixels, out.pixels, 13 * 7 * 3) == 0,
           "resizing to the same size changes nothing");
    image_free(&out);
    tap_ok(image_fit(&in, 21, &error) && in.height == 21 && in.width == 39,
           "the shorter side fits and the aspect ratio is kept");
    image_free(&in);
    in = files_picture(640, 480, 100, 100, 100);
    tap_ok(image_fit(&in, 32, &error) && in.height == 32 && in.width == 43,
           "a much larger picture is halved first");
    image_free(&in);
}

/* Of pictures of noise: how they are resized, and the checksum of what Pillow makes of them
 * (tests/parity/make_resize.py). */
static const struct resize {
    enum image_filter filter;
    size_t channels, width, height, to_width, to_height;
    uint32_t crc;
} resizes[] = {
    {IMAGE_BILINEAR, 3, 13, 7, 30, 21, 0x49c851d5},
    {IMAGE_BILINEAR, 3, 40, 33, 27, 21, 0x46a964d1},
    {IMAGE_BILINEAR, 3, 97, 61, 14, 9, 0xe9302df5},
    {IMAGE_BILINEAR, 3, 50, 20, 50, 7, 0xcaaa0c05},
    {IMAGE_BILINEAR, 3, 31, 22, 5, 22, 0xf7fb2089},
    {IMAGE_BILINEAR, 3, 64, 64, 1, 1, 0x340b6979},
    {IMAGE_BILINEAR, 1, 40, 33, 27, 21, 0x1b27ddf6},
    {IMAGE_BILINEAR, 1, 9, 9, 61, 40, 0x1b1e8211},
    {IMAGE_BILINEAR, 1, 200, 150, 13, 11, 0x8337b453},
    {IMAGE_BICUBIC, 3, 13, 7, 30, 21, 0x938b00c6},
    {IMAGE_BICUBIC, 3, 40, 33, 27, 21, 0xf6dfcfb7},
    {IMAGE_BICUBIC, 3, 97, 61, 14, 9, 0xf5514e76},
    {IMAGE_BICUBIC, 3, 50, 20, 50, 7, 0x7be81616},
    {IMAGE_BICUBIC, 3, 31, 22, 5, 22, 0x4abda936},
    {IMAGE_BICUBIC, 3, 64, 64, 1, 1, 0x2d105838},
    {IMAGE_BICUBIC, 1, 40, 33, 27, 21, 0x97eba150},
    {IMAGE_BICUBIC, 1, 9, 9, 61, 40, 0xb3205c2f},
    {IMAGE_BICUBIC, 1, 200, 150, 13, 11, 0x1b6bd44a},
};

static struct image noise(size_t width, size_t height, size_t channels)
{
    struct image image = {0};
    uint32_t state = 1;
    image_create(&image, width, height, channels, NULL);
    for (size_t i = 0; i < width * height * channels; i++) {
        state = state * 1664525u + 1013904223u;
        image.pixels[i] = (uint8_t)(state >> 24);
    }
    return image;
}

/* Returns how far the result for deep samples is from that for 8-bit ones, at most: those are
 * rounded twice. */
static float deep_distance(const struct resize *resize, const struct image *bytes)
{
    struct image in = noise(resize->width, resize->height, resize->channels), deep = {0};
    float most = 0;
    image_create_deep(&deep, in.width, in.height, in.channels, NULL);
    for (size_t i = 0; i < in.width * in.height * in.channels; i++)
        deep.deep[i] = in.pixels[i];
    if (!image_resample(&deep, resize->to_width, resize->to_height, resize->filter, NULL))
        return INFINITY;
    for (size_t i = 0; i < bytes->width * bytes->height * bytes->channels; i++) {
        const float value = deep.deep[i] < 0 ? 0 : deep.deep[i] > 255 ? 255 : deep.deep[i];
        most = fmaxf(most, fabsf(value - bytes->pixels[i]));
    }
    image_free(&deep);
    image_free(&in);
    return most;
}

static void test_resample(void)
{
    for (size_t i = 0; i < sizeof resizes / sizeof *resizes; i++) {
        const struct resize *resize = &resizes[i];
        struct image image = noise(resize->width, resize->height, resize->channels);
        const bool made =
            image_resample(&image, resize->to_width, resize->to_height, resize->filter, NULL);
        const size_t size = resize->to_width * resize->to_height * resize->channels;
        tap_ok(made && crc32(0, image.pixels, (uInt)size) == resize->crc,
               "%s from %zux%zu to %zux%zu with %zu channels has the bits of Pillow",
               image_filter_names[resize->filter], resize->width, resize->height, resize->to_width,
               resize->to_height, resize->channels);
        if (resize->filter == IMAGE_BILINEAR)
            tap_ok(made && deep_distance(resize, &image) <= 1.001f,
                   "  deep samples differ by the rounding only");
        image_free(&image);
    }
}

/* A picture stored in one of the orientations of EXIF has the corners of the upright one. */
static void test_turn(void)
{
    /* 0 1 2 / 3 4 5, as it is stored in orientation 1 to 8 */
    static const uint8_t stored[8][6] = {{0, 1, 2, 3, 4, 5}, {2, 1, 0, 5, 4, 3}, {5, 4, 3, 2, 1, 0},
                                         {3, 4, 5, 0, 1, 2}, {0, 3, 1, 4, 2, 5}, {2, 5, 1, 4, 0, 3},
                                         {5, 2, 4, 1, 3, 0}, {3, 0, 4, 1, 5, 2}};
    for (unsigned orientation = 1; orientation <= 8; orientation++) {
        struct image image;
        const bool swapped = orientation >= 5;
        image_create(&image, swapped ? 2 : 3, swapped ? 3 : 2, 1, NULL);
        memcpy(image.pixels, stored[orientation - 1], 6);
        tap_ok(image_turn(&image, orientation, NULL) && image.width == 3 &&
                   memcmp(image.pixels, stored[0], 6) == 0,
               "orientation %u becomes upright", orientation);
        image_free(&image);
    }
}

/* EXIF data of the orientation 8, with numbers from their highest byte on. */
static const uint8_t exif_big[] = {'M',  'M', 0, 42, 0, 0, 0, 8, 0, 1, 1,
                                   0x12, 0,   3, 0,  0, 0, 1, 0, 8, 0, 0};

/* Writes a PNG of 4x2 grey pixels, black but for the first, with a chunk eXIf. */
static void write_png_with_exif(const char *path, const uint8_t *exif, size_t size)
{
    uint8_t pixels[8] = {200};
    FILE *stream = files_write(path, "", 0) ? fopen(path, "wb") : NULL;
    png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, NULL, NULL, NULL);
    png_infop info = png_create_info_struct(png);
    png_init_io(png, stream);
    png_set_IHDR(png, info, 4, 2, 8, PNG_COLOR_TYPE_GRAY, PNG_INTERLACE_NONE,
                 PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
    png_write_info(png, info);
    png_write_chunk(png, (png_const_bytep) "eXIf", exif, size);
    png_write_row(png, pixels);
    png_write_row(png, pixels + 4);
    png_write_end(png, info);
    png_destroy_write_struct(&png, &info);
    fclose(stream);
}

/* Prepares a file at half the size, upright or as it is stored. */
static struct image prepared(const char *path, bool as_stored)
{
    const struct preprocessing how = {.recorded = true,
                                      .as_stored = as_stored,
                                      .channels = 1,
                                      .height = 2,
                                      .width = 2,
                                      .stored_height = 2,
                                      .stored_width = 2};
    struct image image = {0};
    image_file_prepare(&image, path, &how, NULL);
    return image;
}

static void test_orientation(void)
{
    uint8_t samples[32 * 16];
    const char *path = files_path("phone.jpg");
    for (size_t i = 0; i < sizeof samples; i++)
        samples[i] = i < 16 * 16 && i % 32 < 16 ? 200 : 0; /* the upper left of 32x16 */
    files_write_jpeg(path, samples, 32, 16, 1, false);
    struct image image = prepared(path, false);
    tap_ok(image.width == 4 && image.height == 2 && image.pixels[0] > 150,
           "a JPEG without EXIF data is taken as it is stored");
    image_free(&image);
    files_add_exif(path);
    image = prepared(path, false);
    tap_ok(image.width == 2 && image.height == 4 && image.pixels[1] > 150 && image.pixels[6] < 50,
           "a JPEG that a phone stored in orientation 6 is turned upright");
    image_free(&image);
    image = prepared(path, true);
    tap_ok(image.width == 4 && image.height == 2 && image.pixels[0] > 150,
           "unless pictures are to be taken as stored");
    image_free(&image);
    write_png_with_exif(files_path("phone.png"), exif_big, sizeof exif_big);
    image = prepared(files_path("phone.png"), false);
    tap_ok(image.width == 2 && image.height == 4 && image.pixels[6] == 200 && image.pixels[0] == 0,
           "so is a PNG whose chunk eXIf says orientation 8");
    image_free(&image);
}

/* No cut or damaged EXIF data do harm: at worst the picture is taken as stored. */
static void test_damaged_exif(void)
{
    uint8_t exif[sizeof files_exif];
    bool read = true;
    for (size_t i = 0; i < 2 * sizeof exif; i++) {
        const size_t size = i < sizeof exif ? i : sizeof exif;
        memcpy(exif, files_exif, sizeof exif);
        if (i >= sizeof exif)
            exif[i - sizeof exif] ^= 0xff;
        write_png_with_exif(files_path("odd.png"), exif, size);
        struct image image = prepared(files_path("odd.png"), false);
        read = read && image.pixels;
        image_free(&image);
    }
    tap_ok(read, "pictures with damaged EXIF data are read");
}

/* A decoder that shrinks a JPEG would not give the pixels of the filter. */
static void test_jpeg_filter(void)
{
    struct image stripes = noise(64, 64, 3), image = {0}, whole = {0};
    const char *path = files_path("stripes.jpg");
    const struct preprocessing how = {.recorded = true,
                                      .channels = 3,
                                      .height = 15,
                                      .width = 15,
                                      .stored_height = 15,
                                      .stored_width = 15};
    files_write_jpeg(path, stripes.pixels, 64, 64, 3, false);
    const bool read = image_file_read(&whole, path, 3, NULL) &&
                      image_resample(&whole, 15, 15, IMAGE_BILINEAR, NULL) &&
                      image_file_prepare(&image, path, &how, NULL);
    tap_ok(read && memcmp(image.pixels, whole.pixels, 15 * 15 * 3) == 0,
           "a JPEG is resized from all of its pixels");
    image_free(&stripes);
    image_free(&image);
    image_free(&whole);
}

/* The grey of a JPEG in colours is that of its pixels, so that it does not depend on who has
 * decoded it; the luma of the file differs where RGB cannot hold its colours. */
static void test_jpeg_grey(void)
{
    struct image strong = noise(16, 16, 3), colours = {0}, grey = {0}, luma = {0};
    const char *path = files_path("strong.jpg");
    struct preprocessing how = {.recorded = true,
                                .channels = 1,
                                .height = 16,
                                .width = 16,
                                .stored_height = 16,
                                .stored_width = 16};
    files_write_jpeg(path, strong.pixels, 16, 16, 3, false);
    bool read = image_file_read(&colours, path, 3, NULL) && image_convert(&colours, 1, NULL) &&
                image_file_prepare(&grey, path, &how, NULL);
    tap_ok(read && memcmp(grey.pixels, colours.pixels, 16 * 16) == 0,
           "the grey of a JPEG is that of its colours");
    how.luma = true;
    read = read && image_file_prepare(&luma, path, &how, NULL);
    tap_ok(read && memcmp(grey.pixels, luma.pixels, 16 * 16) != 0, "or, of old, its luma");
    image_free(&strong);
    image_free(&colours);
    image_free(&grey);
    image_free(&luma);
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
    tap_ok(!image_create(&image, 0, 5, 3, &error) && error.kind == ERROR_INPUT, "and no pixels");
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
           "so does a grey PNG");
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
    static const uint8_t pixels[] = {10, 20, 30, 0,   10,  20,  30, 255,
                                     0,  0,  0,  128, 199, 221, 1,  228};
    struct error error;
    struct image image = {0}, grey = {0};
    const char *path = files_path("alpha.png");
    png_image png = {
        .version = PNG_IMAGE_VERSION, .width = 4, .height = 1, .format = PNG_FORMAT_RGBA};
    png_image_write_to_file(&png, path, 0, pixels, 0, NULL);
    bool read = image_file_read(&image, path, 3, &error);
    tap_ok(read && image.pixels[0] == 255 && image.pixels[2] == 255 && image.pixels[3] == 10 &&
               image.pixels[5] == 30 && image.pixels[6] == 127,
           "transparency is laid over white");
    read = read && image_convert(&image, 1, &error) && image_file_read(&grey, path, 1, &error);
    tap_ok(read && memcmp(grey.pixels, image.pixels, 4) == 0, "and the grey is that of the result");
    image_free(&image);
    image_free(&grey);
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
    struct preprocessing how = {.recorded = true,
                                .channels = 3,
                                .height = 90,
                                .width = 90,
                                .stored_height = 100,
                                .stored_width = 100};
    for (int filter = 0; filter < IMAGE_FILTERS; filter++) {
        how.filter = (enum image_filter)filter;
        read = image_file_prepare(&image, path, &how, &error);
        tap_ok(read && image.height == 100 && image.width == 133,
               "a progressive JPEG is fitted by %s", image_filter_names[filter]);
        image_free(&image);
    }
}

/* Every truncation of a valid file must be refused, and no damaged byte may do harm. */
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
    tap_ok(!read && grown < (64 << 20), "the claimed size of a chunk is not allocated (%llu bytes)",
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

TEST_CASE(image_test)
{
    if (!files_begin())
        return 1;
    test_resize();
    test_resample();
    test_turn();
    test_orientation();
    test_damaged_exif();
    test_jpeg_filter();
    test_jpeg_grey();
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
