/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A device with one queue whose bios go through the module's own files, as far as the
 * NIC, which is the test: it keeps what is posted until it is told to serve it, from
 * a memory node that has a page or none for each slot.
 */
#ifndef _BED_H
#define _BED_H

#include "../../../kmod/odrp.h"

#define BED_SLOTS	16
#define BED_DEPTH	4
#define BED_BIOS	24

struct bed {
	struct odrp_dev		dev;
	struct odrp_queue	q;
	struct odrp_conn	admin, conn[ODRP_WIRE_NR_CHAINS];
	struct bio		bio[BED_BIOS];
	unsigned int		nr_bios;

	/* the memory node, by entries */
	bool			mapped[BED_SLOTS];
	unsigned int		refuse_at;	/* posts that the NIC takes yet; ~0: all */
	unsigned int		off;	/* where in its pages a bio begins */

	/* connecting */
	int			handshake_err;
	unsigned int		handshakes;
	int			begin_err;	/* of each for I/O that is asked for */
	int			connect_err;	/* of each that is made */
	void			(*on_connect)(struct odrp_conn *conn);
	unsigned int		connects;	/* of the admin connection */
	unsigned int		begun[ODRP_WIRE_NR_CHAINS];
	unsigned int		dialling, most_dialling;	/* at a time */
	unsigned int		lose_next;	/* answers to connections for I/O */
	unsigned int		entry_reads;	/* of some entries at once */
	void			(*on_table_read)(u64 slot);
	int			stock_err;
	void			(*on_beat_start)(struct odrp_conn *conn);

	/* the end of connections, where unplug.c is */
	int			(*on_marker)(struct ib_cqe *cqe);
	int			(*on_destroy)(struct odrp_conn *conn);
	unsigned int		cqs_destroyed, pds_freed;
	unsigned int		stocks, watches, byes;
	unsigned int		uevents[ODRP_NR_UEVENTS];
};

extern struct bed bed;

/* All connections live, no slot has a page, nothing under way. */
void bed_init(void);

/*
 * After bed_init(): pages are in direct slabs, which have BED_PLACES pages each that are free,
 * and all others taken; see bed_place().
 */
#define BED_SLABS	2
#define BED_PLACES	(BED_SLOTS / BED_SLABS)
void bed_direct(void);
u32 bed_place(u64 slot);
/* How many places are taken of a slab, of those that can be free. */
int bed_taken(u32 slab);

/* Issue a bio of so many blocks from a slot on; a store's blocks hold @what. */
struct bio *bed_store(u64 slot, unsigned int nr, char what);
struct bio *bed_load(u64 slot, unsigned int nr);

/* Issue bios of one block together: stores from a slot on, and then loads from another on. */
void bed_together(u64 slot, unsigned int stores, u64 from, unsigned int loads,
		  char what);

/* Free a slot, and send its invalidate, as flush.c does it. */
void bed_invalidate(u64 slot);

/* What the memory node has for a slot; what is on its way there. */
struct page *bed_page(u64 slot);
const struct page *bed_sent(unsigned int chain, unsigned int nth);

/* What a block of a load has brought. */
char bed_read(const struct bio *bio, unsigned int block);

/* How many requests the NIC has of a connection, and whose the oldest is. */
unsigned int bed_posted(unsigned int chain);
u64 bed_slot(unsigned int chain, unsigned int nth);
/* By which rkey that one goes. */
u32 bed_rkey(unsigned int chain);

/* The memory node executes the oldest requests, at most n; then they are reaped. */
void bed_serve(unsigned int chain, unsigned int n);

/* Execute, but let no completion come: the connection is lost. */
void bed_execute(unsigned int chain, unsigned int n);

/* An answer comes, whatever for. */
void bed_answer(unsigned int chain, u32 id);

/* Serve and go on until nothing is under way. */
void bed_drain(void);

/* The connections are gone; what was posted is in no NIC any more. */
void bed_unplug(void);

/* Nothing is under way or waits, and each bio has ended once. */
void bed_check_idle(void);

#endif /* _BED_H */
