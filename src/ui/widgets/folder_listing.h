/* folder_listing.h: lists the names in a folder, or the lines of a short file of text such as one
 * of class names, in a separate thread, so that a slow disk delays no key. */
#ifndef TINCA_UI_WIDGETS_FOLDER_LISTING_H
#define TINCA_UI_WIDGETS_FOLDER_LISTING_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>

enum { FOLDER_LISTING_LINES = 1000 };

struct folder_listing;

struct folder_name {
    char *name;
    bool is_folder;
};

/* Begins to list a folder or a file. Returns NULL with an error if no thread can start. */
struct folder_listing *folder_listing_start(const char *path, struct error *error);

/* Returns the path that was given to folder_listing_start. */
const char *folder_listing_path(const struct folder_listing *listing);

/* Waits until the listing is complete or `seconds` have passed; returns whether it is complete. */
bool folder_listing_wait(const struct folder_listing *listing, double seconds);

/* Returns the names of a complete listing and sets *count: those in a folder sorted by their bytes,
 * the lines of a file in their order, at most FOLDER_LISTING_LINES. There are none if it cannot be
 * read. They live as long as the listing. */
const struct folder_name *folder_listing_names(const struct folder_listing *listing, size_t *count);

/* Cancels the listing and frees its names. Never waits. NULL is allowed. */
void folder_listing_drop(struct folder_listing *listing);

#endif
