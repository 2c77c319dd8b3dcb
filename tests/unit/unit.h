/* SPDX-License-Identifier: MIT */
/*
 * Shared by the unit tests: cmocka and its headers, a reproducible random generator, and capture of
 * stderr.
 *
 * Random tests run many rounds; round i starts from seed + i. A failure prints the seed of its
 * round: with UNIT_SEED set to it, that round comes first. UNIT_ROUNDS changes their number.
 */
#ifndef TESTS_UNIT_UNIT_H
#define TESTS_UNIT_UNIT_H

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

/* Numbers that tests choose: model/id_remap.h and the headers that it names. */
#define STACK_ID(n) ((struct stack_id){n})
#define PLACE_ID(n) ((struct place_id){n})
#define LAUNCH_STACK(n) ((struct launch_stack){n})
#define CAPTURE_STACK(n) ((struct capture_stack){n})
#define OWNER_STACK(n) ((struct owner_stack){n})
#define ORIGIN_ID(n) ((struct origin_id){n})

#define assert_same_number(a, b) assert_int_equal((a).number, (b).number)
#define assert_other_number(a, b) assert_int_not_equal((a).number, (b).number)

struct prng {
	uint64_t seed;
	uint64_t state;
};

static inline uint64_t unit_number(const char *variable, uint64_t otherwise)
{
	const char *text = getenv(variable);

	return text ? strtoull(text, NULL, 0) : otherwise;
}

/* Returns the rounds of a random test: 1 in 30 under valgrind, which is ten to thirty times
 * slower. */
static inline uint64_t unit_rounds(uint64_t rounds)
{
	return unit_number("UNIT_ROUNDS", getenv("UNDER_VALGRIND") ? (rounds + 29) / 30 : rounds);
}

/* Returns the step of a loop over all places: 1, or 7 under valgrind. */
static inline size_t unit_stride(void)
{
	return getenv("UNDER_VALGRIND") ? 7 : 1;
}

static inline struct prng prng_round(uint64_t round)
{
	uint64_t seed = unit_number("UNIT_SEED", 0x5eed) + round;

	return (struct prng){seed, seed};
}

/* Returns 64 random bits by splitmix64 (Steele, Lea, Flood: Fast splittable pseudorandom number
 * generators, 2014). */
static inline uint64_t prng_u64(struct prng *p)
{
	uint64_t z = p->state += 0x9e3779b97f4a7c15u;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return z ^ (z >> 31);
}

/* Returns a number in [0, n). */
static inline uint64_t prng_below(struct prng *p, uint64_t n)
{
	return prng_u64(p) % n;
}

static inline bool prng_chance(struct prng *p, uint32_t percent)
{
	return prng_below(p, 100) < percent;
}

/* Returns a random number of at most `bits` bits, with all magnitudes equally likely. */
static inline uint64_t prng_bits(struct prng *p, uint32_t bits)
{
	uint32_t n = (uint32_t)prng_below(p, bits + 1);

	return n ? prng_u64(p) >> (64 - n) : 0;
}

/* Like assert_true; also prints how to repeat the round. */
#define EXPECT(prng, condition)                                                                 \
	do {                                                                                    \
		if (!(condition)) {                                                             \
			print_error("%s:%d: not so: %s; repeat with UNIT_SEED=0x%" PRIx64 "\n", \
				    __FILE__, __LINE__, #condition, (prng)->seed);              \
			fail();                                                                 \
		}                                                                               \
	} while (0)

/* A skip says why. */
#define SKIP(reason)                                    \
	do {                                            \
		print_message("skipped: %s\n", reason); \
		skip();                                 \
	} while (0)

/* Skips a test of a size that takes valgrind long. Sanitizers run the test. */
#define SKIP_UNDER_VALGRIND()                                                              \
	do {                                                                               \
		if (getenv("UNDER_VALGRIND"))                                              \
			SKIP("its size takes too long under valgrind; sanitizers run it"); \
	} while (0)

/* stderr goes to a memory file between begin and end. */
struct capture {
	int saved;
	int file;
	char text[65536];
};

static inline void capture_begin(struct capture *c)
{
	fflush(stderr);
	c->saved = dup(STDERR_FILENO);
	c->file = memfd_create("stderr", MFD_CLOEXEC);
	assert_true(c->saved >= 0 && c->file >= 0);
	assert_true(dup2(c->file, STDERR_FILENO) >= 0);
}

static inline const char *capture_end(struct capture *c)
{
	ssize_t n;

	fflush(stderr);
	assert_true(dup2(c->saved, STDERR_FILENO) >= 0);
	n = pread(c->file, c->text, sizeof(c->text) - 1, 0);
	assert_true(n >= 0);
	c->text[n] = '\0';
	close(c->saved);
	close(c->file);
	return c->text;
}

#endif
