/* Reads pictures from two folders. The functions that study_pictures_run.c also needs are here,
 * too. */
#include "studies/pictures/study_pictures.h"

#include "base/files/file.h"
#include "base/memory.h"
#include "data/formats/image_file.h"
#include "data/formats/scan.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void study_pictures_free(struct study_pictures *pictures)
{
    for (size_t i = 0; i < pictures->count; i++)
        image_free(&pictures->images[i]);
    free(pictures->images);
    *pictures = (struct study_pictures){0};
}

bool study_pictures_create(struct study_pictures *pictures, const struct study *study,
                           struct error *error)
{
    *pictures = (struct study_pictures){.count = study->count};
    pictures->images = memory_new(study->count, sizeof *pictures->images, "the pictures", error);
    if (!pictures->images)
        pictures->count = 0;
    return pictures->images;
}

uint64_t study_hash(uint64_t hash, const void *bytes, size_t count)
{
    for (const unsigned char *at = bytes; count > 0; at++, count--)
        hash = (hash ^ *at) * UINT64_C(1099511628211);
    return hash;
}

uint64_t study_hash_image(uint64_t hash, const struct image *image)
{
    const uint32_t size[2] = {(uint32_t)image->width, (uint32_t)image->height};
    return study_hash(study_hash(hash, size, sizeof size), image->pixels,
                      image->width * image->height * image->channels);
}

void study_set_fingerprint(struct study *study, uint64_t hash)
{
    snprintf(study->fingerprint, sizeof study->fingerprint, "%016" PRIx64, hash);
}

/* --- folders --- */

struct folders {
    const char *real_path, *generated_path;
    struct name_list real, generated;
    uint32_t *scenes; /* those of the real pictures first */
};

static bool scan(const char *path, struct name_list *names, struct error *error)
{
    if (!scan_folder(path, names, NULL, error))
        return false;
    return names->count || error_set(error, ERROR_INPUT, path, "name a folder of pictures",
                                     "no pictures: looked for *.png, *.jpg and *.jpeg");
}

static size_t stem_length(const char *name)
{
    return (size_t)(strrchr(name, '.') - name); /* scan_folder lists only names with an extension */
}

static bool same_stem(const char *a, const char *b)
{
    return stem_length(a) == stem_length(b) && strncmp(a, b, stem_length(a)) == 0;
}

/* Numbers the scenes: each generated picture has its own, and a real picture of the same name
 * shares it. */
static bool find_scenes(struct folders *folders, struct error *error)
{
    const size_t real = folders->real.count, generated = folders->generated.count;
    folders->scenes = memory_new(real + generated, sizeof *folders->scenes, "the scenes", error);
    if (!folders->scenes)
        return false;
    for (size_t i = 0; i < generated; i++)
        folders->scenes[real + i] = (uint32_t)i;
    for (size_t i = 0; i < real; i++) {
        folders->scenes[i] = (uint32_t)(generated + i);
        for (size_t j = 0; j < generated; j++)
            if (same_stem(folders->real.name[i], folders->generated.name[j]))
                folders->scenes[i] = (uint32_t)j;
    }
    return true;
}

static bool read_pictures(struct study_pictures *pictures, struct study *study,
                          const struct folders *folders, struct error *error)
{
    bool read = true;
    for (size_t i = 0; read && i < study->count; i++) {
        struct study_image *image = &study->images[i];
        const struct name_list *names = image->generated ? &folders->generated : &folders->real;
        const char *folder = image->generated ? folders->generated_path : folders->real_path;
        char *path = file_join(folder, names->name[image->source]);
        snprintf(image->name, sizeof image->name, "%s", names->name[image->source]);
        read = path ? image_file_read(&pictures->images[i], path, 3, error)
                    : error_set_memory(error, "a path", 0);
        free(path);
    }
    return read;
}

static size_t rounded(size_t a, size_t b, size_t c)
{
    return (a * b + c / 2) / c;
}

/* Scales the image to cover width x height without distortion, and crops its centre. */
static bool cover(struct image *image, size_t width, size_t height, struct error *error)
{
    struct image middle = {0};
    size_t wide = width, high = rounded(image->height, width, image->width);
    if (high < height) {
        high = height;
        wide = rounded(image->width, height, image->height);
    }
    wide = wide < width ? width : wide;
    if (!image_scale(image, wide, high, error) ||
        !image_cut(&middle, image, (wide - width) / 2, (high - height) / 2, width, height, error))
        return false;
    image_free(image);
    *image = middle;
    return true;
}

static bool make_sizes_equal(struct study_pictures *pictures, struct error *error)
{
    size_t width = pictures->images[0].width, height = pictures->images[0].height;
    for (size_t i = 1; i < pictures->count; i++) {
        const struct image *image = &pictures->images[i];
        pictures->resized = pictures->resized || image->width != pictures->images[0].width ||
                            image->height != pictures->images[0].height;
        width = image->width < width ? image->width : width;
        height = image->height < height ? image->height : height;
    }
    for (size_t i = 0; pictures->resized && i < pictures->count; i++)
        if (!cover(&pictures->images[i], width, height, error))
            return false;
    return true;
}

static void describe(struct study *study, const struct study_pictures *pictures,
                     const struct folders *folders)
{
    uint64_t hash = STUDY_HASH_BEGIN;
    for (size_t i = 0; i < pictures->count; i++)
        hash = study_hash_image(hash, &pictures->images[i]);
    study_set_fingerprint(study, hash);
    snprintf(study->real, sizeof study->real, "folder %.480s", folders->real_path);
    snprintf(study->generated, sizeof study->generated, "folder %.480s", folders->generated_path);
}

static bool make(struct study_pictures *pictures, struct study *study, struct folders *folders,
                 size_t wanted, struct error *error)
{
    if (!scan(folders->real_path, &folders->real, error) ||
        !scan(folders->generated_path, &folders->generated, error) || !find_scenes(folders, error))
        return false;
    struct study_pool pool = {folders->scenes, folders->scenes + folders->real.count,
                              folders->real.count, folders->generated.count};
    if (!study_choose(study, &pool, wanted, error) ||
        !study_pictures_create(pictures, study, error) ||
        !read_pictures(pictures, study, folders, error) || !make_sizes_equal(pictures, error))
        return false;
    describe(study, pictures, folders);
    return true;
}

bool study_pictures_of_folders(struct study_pictures *pictures, struct study *study,
                               const char *real, const char *generated, size_t wanted,
                               struct error *error)
{
    struct folders folders = {.real_path = real, .generated_path = generated};
    *pictures = (struct study_pictures){0};
    bool made = make(pictures, study, &folders, wanted, error);
    if (!made)
        study_pictures_free(pictures);
    name_list_free(&folders.real);
    name_list_free(&folders.generated);
    free(folders.scenes);
    return made;
}
