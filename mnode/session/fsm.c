// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Looks a transition up in a table; see fsm.h. */
#include <inttypes.h>
#include <stddef.h>
#include "../log.h"
#include "fsm.h"

unsigned int fsm_nr_impossible;

const struct fsm_cell *fsm_cell(const struct fsm *f, unsigned int state, unsigned int event)
{
	return state < f->nr_states && event < f->nr_events ?
	       &f->cells[state * f->nr_events + event] : NULL;
}

static void impossible(const struct fsm *f, uint64_t sess, unsigned int state,
		       unsigned int event)
{
	fsm_nr_impossible++;
	log_error("session %" PRIu64 ": fault of the agent: a %s in state %s got the event "
		  "%s; nothing is changed", sess, f->name,
		  state < f->nr_states ? f->states[state] : "?",
		  event < f->nr_events ? f->events[event] : "?");
}

unsigned int fsm_next(const struct fsm *f, uint64_t sess, unsigned int state,
		      unsigned int event, unsigned int *ret_action)
{
	const struct fsm_cell *cell = fsm_cell(f, state, event);

	*ret_action = 0;
	if (cell && cell->kind == FSM_GOES) {
		*ret_action = cell->action;
		return cell->next;
	}
	if (!cell || cell->kind == FSM_NEVER)
		impossible(f, sess, state, event);
	return state;
}
