// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Rounds: what a client tells the others about its epochs, and what it learns.
 *
 * A round closes the set of blocks retired so far, READs E, which is their tag, and
 * turns the side on which tasks that enter are counted. When the side that was left is
 * empty, that E is published. Blocks whose tag is below `safe`, the least that any
 * living client has published as the arbiter saw it, are free. While a verb of this client
 * is loose (loose.h), something that was begun has not completed: nothing is published.
 */
#include "client_priv.h"
#include "loose.h"
#include "sum.h"
#include "task.h"
#include "watch.h"

/* The words of struct far_client_entry that a client writes, in one WRITE. */
struct entry_words {
	uint64_t beat, epoch, flushed;
};

/* What a round READs. */
struct round_line {
	struct far_epoch_line e;
	struct far_shared shared;
};

static_assert(offsetof(struct far_client_entry, epoch) ==
	      offsetof(struct far_client_entry, beat) + 8, "words in a row");
static_assert(offsetof(struct far_client_entry, flushed) ==
	      offsetof(struct far_client_entry, beat) + 16, "words in a row");

static uint64_t entry_addr(const struct far_client *client)
{
	return far_addr(client->arbiter,
			far_client_entry_off(&client->sb[client->arbiter],
					     client->number));
}

static int entry_write(struct far_task *task, const struct far_client *client,
		       const struct entry_words *words)
{
	return far_store(task, entry_addr(client) +
			 offsetof(struct far_client_entry, beat), words, sizeof(*words));
}

/* Nothing of this client is on nodes that were declared lost since it joined. */
static void losses_note(struct far_client *client, const struct far_losses *losses)
{
	bool lacks = false;

	for (unsigned n = 1; n < client->set.nr_nodes; n++) {
		if (losses->nr[n] != client->losses.nr[n])
			atomic_store(&client->head.lost[n], true);
		lacks |= far_client_lost(client, n) && !(losses->nr[n] & 1);
	}
	atomic_store(&client->lacks, lacks);
}

/*
 * Line, losses and entry by one doorbell; judges whether this client still lives. In this
 * order: whoever reads the epoch behind a declaration finds the node lost.
 */
static int line_read(struct far_task *task, struct far_client *client,
		     struct round_line *ret_line)
{
	size_t mark = far_buf_mark(task);
	struct round_line *line = far_buf(task, sizeof(*line));
	struct far_client_entry *entry = far_buf(task, sizeof(*entry));
	struct far_losses *losses = far_buf(task, sizeof(*losses));
	uint64_t claims = far_claims_seen(far_task_far(task));
	int err = -ENOMEM;

	if (!line || !entry || !losses)
		goto release;
	far_read(task, far_addr(client->arbiter, FAR_SB_EPOCH), line, sizeof(*line));
	if (client->set.nr_nodes > 1)
		far_read(task, far_addr(client->arbiter, FAR_SB_LOSSES), losses,
			 (client->set.nr_nodes + 7) / 8 * 8);
	far_read(task, entry_addr(client), entry, sizeof(*entry));
	err = far_sync(task);
	if (err)
		goto release;
	if (entry->fenced >= client->incarnation ||
	    entry->claim != far_claim(client->incarnation, 1)) {
		far_client_cut(client);
		err = -ESTALE;
		goto release;
	}
	losses_note(client, losses);
	far_claims_confirm(far_task_far(task), claims);
	*ret_line = *line;
release:
	far_buf_release(task, mark);
	return err;
}

/* How far rounds are over, now that safe is known. */
static void reusable_advance(struct far_client *client, uint64_t safe)
{
	uint64_t round = atomic_load_explicit(&client->reusable, memory_order_relaxed);

	while (round < client->tagged && client->tag[round % FAR_NR_ROUNDS] < safe)
		round++;
	atomic_store_explicit(&client->reusable, round, memory_order_release);
}

static void line_note(struct far_task *task, struct far_client *client,
		      const struct round_line *line)
{
	if (line->e.safe != atomic_load(&client->safe))
		atomic_store(&client->safe_since, far_now(task));
	/* The words may have been read at different times; safe is at most an E. */
	atomic_store(&client->epoch, line->e.epoch > line->e.safe ? line->e.epoch :
				     line->e.safe);
	atomic_store(&client->safe, line->e.safe);
	atomic_store(&client->flushed, line->e.flushed);
	atomic_store(&client->living, line->e.clients);
	atomic_store(&client->wanted, line->e.deaths + line->shared.lost);
}

/* Nobody is inside on that side. */
static bool side_empty(struct far_client *client, uint32_t side)
{
	struct far_client_thread *thread = atomic_load(&client->threads);

	for (; thread; thread = thread->next) {
		if (atomic_load(&thread->inside[side]))
			return false;
	}
	return true;
}

/* Turns the side if the last turn is over, and publishes what can be. */
static void gen_step(struct far_task *task, struct far_client *client, uint64_t epoch)
{
	uint32_t gen = atomic_load(&client->gen);

	if (!client->pending) {
		client->pending = epoch;
		gen ^= FAR_GEN_SIDE;
		atomic_store(&client->gen, gen);
	}
	if (!side_empty(client, ~gen & FAR_GEN_SIDE))
		return;
	far_sums_pay(task);
	/* behind these: whoever leaves a verb loose says so before it leaves the side */
	if (!far_is_any_loose(task)) {
		client->published = client->pending;
		client->pending = 0;
		atomic_fetch_add(&client->turns, 1);
	}
}

/*
 * All that was retired with a tag up to this is free: one less than the tag of the
 * first round that is not drained, for a later round may have the same tag.
 */
static uint64_t flushed_now(struct far_client *client)
{
	uint64_t drained = atomic_load(&client->drained);

	if (!drained)
		return 0;
	return client->tag[(drained - 1) % FAR_NR_ROUNDS] - 1;
}

bool far_round_is_empty(struct far_client *client)
{
	return side_empty(client, 0) && side_empty(client, 1);
}

int far_round_look(struct far_task *task, struct far_client *client)
{
	struct round_line line;
	int err = line_read(task, client, &line);

	if (!err)
		line_note(task, client, &line);
	return err;
}

int far_round_begin(struct far_task *task, struct far_client *client)
{
	struct round_line line;
	struct entry_words words;
	int err = line_read(task, client, &line);

	if (err)
		return err;
	client->published = line.e.epoch;
	client->pending = 0;
	words = (struct entry_words){ ++client->beat, line.e.epoch, flushed_now(client) };
	/* acknowledged before the first operation */
	err = entry_write(task, client, &words);
	/*
	 * Until now the arbiter may have called blocks safe without regard to us. Their
	 * tags are below the E that is read here: see far_epoch_known().
	 */
	if (!err)
		err = line_read(task, client, &line);
	if (err)
		return err;
	line_note(task, client, &line);
	/* nobody has looked while this client was idle */
	atomic_store(&client->safe_since, far_now(task));
	atomic_fetch_or(&client->gen, FAR_GEN_ACTIVE);
	return 0;
}

int far_round(struct far_task *task, struct far_client *client)
{
	uint64_t round = atomic_load(&client->round);
	struct round_line line;
	struct entry_words words;
	int err;

	/*
	 * When all tags are in use, the round stays open, and its blocks get a later
	 * tag than they need.
	 */
	if (round - atomic_load(&client->drained) < FAR_NR_ROUNDS - 1)
		atomic_store(&client->round, ++round);
	err = line_read(task, client, &line);
	if (err)
		return err;
	for (uint64_t r = client->tagged; r < round; r++)
		client->tag[r % FAR_NR_ROUNDS] = line.e.epoch;
	client->tagged = round;
	line_note(task, client, &line);
	reusable_advance(client, line.e.safe);
	gen_step(task, client, line.e.epoch);
	words = (struct entry_words){ ++client->beat, client->published,
				      flushed_now(client) };
	return entry_write(task, client, &words);
}

int far_round_park(struct far_task *task, struct far_client *client)
{
	struct entry_words words = { FAR_BEAT_NONE, FAR_EPOCH_IDLE, FAR_EPOCH_IDLE };

	atomic_fetch_and(&client->gen, ~FAR_GEN_ACTIVE);
	if (far_round_is_empty(client))
		far_sums_pay(task);
	if (!far_round_is_empty(client) || far_is_any_loose(task)) {
		atomic_fetch_or(&client->gen, FAR_GEN_ACTIVE);
		return -EBUSY;
	}
	/* Nobody can retire now; what was retired before, others must wait for. */
	if (!far_is_drained(client))
		words.flushed = flushed_now(client);
	client->pending = 0;
	return entry_write(task, client, &words);
}
