// SPDX-License-Identifier: MIT
#include "profiler/model/flight_recorder.h"

#include <stdlib.h>

struct piece {
	uint64_t last_start_ns, last_end_ns;
	uint32_t count;
	uint32_t unused;
	struct profile_item items[FLIGHT_RECORDER_PIECE];
};

#define PIECES_MAX ((uint32_t)(FLIGHT_RECORDER_BYTES / sizeof(struct piece)))

/* A ring of pieces: `first` is the oldest. */
struct flight_recorder {
	struct piece *spare; /* the last dropped piece, for reuse; NULL if there is none */
	uint32_t first, count;
	uint64_t items, forgotten;
	uint64_t whole_from_ns;
	struct piece *pieces[PIECES_MAX];
};

_Static_assert(PIECES_MAX >= 2, "one is filled while another is forgotten");

struct flight_recorder *flight_recorder_new(void)
{
	return calloc(1, sizeof(struct flight_recorder));
}

static struct piece *piece_at(const struct flight_recorder *r, uint32_t number)
{
	return r->pieces[(r->first + number) % PIECES_MAX];
}

void flight_recorder_free(struct flight_recorder *r)
{
	if (!r)
		return;
	for (uint32_t i = 0; i < r->count; i++)
		free(piece_at(r, i));
	free(r->spare);
	free(r);
}

static void forget_oldest(struct flight_recorder *r)
{
	struct piece *piece = piece_at(r, 0);

	if (piece->last_start_ns >= r->whole_from_ns)
		r->whole_from_ns = piece->last_start_ns + 1;
	r->first = (r->first + 1) % PIECES_MAX;
	r->count--;
	r->items -= piece->count;
	r->forgotten += piece->count;
	free(r->spare);
	r->spare = piece;
}

/* Returns NULL if out of memory. */
static struct piece *begin_piece(struct flight_recorder *r)
{
	struct piece *piece;

	/* the dropped piece becomes the spare one */
	if (r->count == PIECES_MAX)
		forget_oldest(r);
	piece = r->spare ? r->spare : malloc(sizeof(*piece));
	r->spare = NULL;
	if (!piece)
		return NULL;
	piece->count = 0;
	piece->last_start_ns = piece->last_end_ns = 0;
	r->pieces[(r->first + r->count++) % PIECES_MAX] = piece;
	return piece;
}

static uint64_t min_of(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

bool flight_recorder_add(struct flight_recorder *r, const struct profile_item *item,
			 uint64_t now_ns)
{
	struct piece *piece = r->count ? piece_at(r, r->count - 1) : NULL;
	uint64_t start_ns = item->record.start_ns, duration_ns = item->record.duration_ns;
	uint64_t end_ns = start_ns + min_of(duration_ns, UINT64_MAX - start_ns);

	if (!piece || piece->count == FLIGHT_RECORDER_PIECE)
		piece = begin_piece(r);
	if (!piece) {
		r->whole_from_ns = now_ns + 1;
		return false;
	}
	start_ns = min_of(start_ns, now_ns);
	end_ns = min_of(end_ns, now_ns);
	if (start_ns > piece->last_start_ns)
		piece->last_start_ns = start_ns;
	if (end_ns > piece->last_end_ns)
		piece->last_end_ns = end_ns;
	piece->items[piece->count++] = *item;
	r->items++;
	return true;
}

void flight_recorder_forget(struct flight_recorder *r, uint64_t before_ns)
{
	/* the last piece is still being filled */
	while (r->count > 1 && piece_at(r, 0)->last_end_ns < before_ns)
		forget_oldest(r);
}

/* Returns whether a result has all items of a piece. */
static bool is_taken(const struct piece *piece)
{
	for (uint32_t i = 0; i < piece->count; i++)
		if (!(piece->items[i].flags & PROFILE_ITEM_TAKEN))
			return false;
	return true;
}

void flight_recorder_drop_taken(struct flight_recorder *r)
{
	/* the last piece is still being filled */
	while (r->count > 1 && is_taken(piece_at(r, 0)))
		forget_oldest(r);
}

uint64_t flight_recorder_whole_from(const struct flight_recorder *r)
{
	return r->whole_from_ns;
}

struct profile_item *flight_recorder_next(struct flight_recorder *r, uint64_t *position)
{
	uint32_t piece = (uint32_t)(*position / FLIGHT_RECORDER_PIECE);
	uint32_t item = (uint32_t)(*position % FLIGHT_RECORDER_PIECE);

	/* all pieces but the last are full */
	if (piece >= r->count || item >= piece_at(r, piece)->count)
		return NULL;
	++*position;
	return &piece_at(r, piece)->items[item];
}

uint64_t flight_recorder_forgotten(const struct flight_recorder *r)
{
	return r->forgotten;
}

uint64_t flight_recorder_count(const struct flight_recorder *r)
{
	return r->items;
}

size_t flight_recorder_bytes(const struct flight_recorder *r)
{
	return (r->count + (r->spare != NULL)) * sizeof(struct piece);
}
