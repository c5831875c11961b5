/* build_commit.h: the commit that the program was made of. build_commit.sh writes the file that
 * defines it. */
#ifndef TINCA_CLI_BUILD_COMMIT_H
#define TINCA_CLI_BUILD_COMMIT_H

/* "aa86f5c01234", "aa86f5c01234-modified" if files differed from it; "": unknown. */
extern const char build_commit[];

#endif
