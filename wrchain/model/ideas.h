/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Ideas for shorter chains, to be costed before anybody builds them.  The
 * programs are good for wrc_model_cost() and for nothing else.
 */
#ifndef WRC_MODEL_IDEAS_H
#define WRC_MODEL_IDEAS_H

#include "../core/prog.h"

struct wrc_idea {
	const char *name;
	const char *what;
};

unsigned int wrc_nr_ideas(void);
const struct wrc_idea *wrc_idea(unsigned int idea);
/*
 * gate: with the SEND_EN that only a request can open, as our chains have it.
 * fenced: fences instead of WAITs for READs and atomics, as the paper seems to
 * have them; WRITEs are waited for in any case.
 */
int wrc_idea_build(unsigned int idea, bool gate, bool fenced,
		   struct wrc_prog *ret_prog);

#endif /* WRC_MODEL_IDEAS_H */
