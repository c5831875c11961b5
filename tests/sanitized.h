/* sanitized.h: SANITIZED is 1 where AddressSanitizer or ThreadSanitizer watches, and 0 elsewhere.
 * There a program takes three to ten times as long. What is watched is how code uses memory and
 * threads: a test that repeats the same code with other numbers tries fewer of them under a
 * sanitizer, and all of them in the plain build. */
#ifndef TINCA_TESTS_SANITIZED_H
#define TINCA_TESTS_SANITIZED_H

#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
enum { SANITIZED = 1 };
#else
enum { SANITIZED = 0 };
#endif

#endif
