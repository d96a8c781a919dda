// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * LMDB with MDB_NOSYNC: a transaction per put, and a snapshot per get. An environment
 * may be open once in a process: the first thread opens it, the last one closes it.
 */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include <lmdb.h>

#include "peer.h"

#define MAP_SIZE	((size_t)8 << 30)

static pthread_mutex_t env_lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned env_users;
static MDB_env *env;
static MDB_dbi dbi;

struct lmdb_conn {
	MDB_txn *snapshot;	/* reset between gets */
};

static int env_open(const char *where)
{
	MDB_txn *txn;

	if (mdb_env_create(&env))
		return -ENOMEM;
	if (mdb_env_set_mapsize(env, MAP_SIZE) || mdb_env_open(env, where, MDB_NOSYNC, 0600) ||
	    mdb_txn_begin(env, NULL, 0, &txn))
		goto close_env;
	if (mdb_dbi_open(txn, NULL, 0, &dbi)) {
		mdb_txn_abort(txn);
		goto close_env;
	}
	if (mdb_txn_commit(txn))
		goto close_env;
	return 0;
close_env:
	mdb_env_close(env);
	return -EIO;
}

static int env_get(const char *where)
{
	int err = 0;

	pthread_mutex_lock(&env_lock);
	if (!env_users)
		err = env_open(where);
	if (!err)
		env_users++;
	pthread_mutex_unlock(&env_lock);
	return err;
}

static void env_put(void)
{
	pthread_mutex_lock(&env_lock);
	if (!--env_users)
		mdb_env_close(env);
	pthread_mutex_unlock(&env_lock);
}

static void *lmdb_open(const char *where, const char **ret_why)
{
	struct lmdb_conn *conn = calloc(1, sizeof(*conn));

	*ret_why = "no memory";
	if (!conn)
		return NULL;
	*ret_why = "LMDB cannot open this directory";
	if (env_get(where))
		goto free_conn;
	if (mdb_txn_begin(env, NULL, MDB_RDONLY, &conn->snapshot))
		goto put_env;
	mdb_txn_reset(conn->snapshot);
	return conn;
put_env:
	env_put();
free_conn:
	free(conn);
	return NULL;
}

static int lmdb_get(struct lmdb_conn *conn, const struct peer_op *op)
{
	MDB_val key = { op->key_len, (void *)op->key }, value;
	int rc;

	if (mdb_txn_renew(conn->snapshot))
		return -EIO;
	rc = mdb_get(conn->snapshot, dbi, &key, &value);
	mdb_txn_reset(conn->snapshot);
	if (rc)
		return rc == MDB_NOTFOUND ? -ENOENT : -EIO;
	return value.mv_size == op->value_len ? 0 : -EBADMSG;
}

static int lmdb_put(const struct peer_op *op)
{
	MDB_val key = { op->key_len, (void *)op->key };
	MDB_val value = { op->value_len, (void *)op->value };
	MDB_txn *txn;

	if (mdb_txn_begin(env, NULL, 0, &txn))
		return -EIO;
	if (mdb_put(txn, dbi, &key, &value, 0)) {
		mdb_txn_abort(txn);
		return -EIO;
	}
	return mdb_txn_commit(txn) ? -EIO : 0;
}

static int lmdb_run(void *conn, const struct peer_op *ops, unsigned nr)
{
	unsigned i;
	int err = 0;

	for (i = 0; i < nr && !err; i++)
		err = ops[i].value ? lmdb_put(&ops[i]) : lmdb_get(conn, &ops[i]);
	return err;
}

static void lmdb_close(void *arg)
{
	struct lmdb_conn *conn = arg;

	mdb_txn_abort(conn->snapshot);
	free(conn);
	env_put();
}

const struct peer peer_lmdb = { "lmdb", 1, lmdb_open, lmdb_run, lmdb_close };
