/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Short messages; see mail.h. */
#include <endian.h>
#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include <mlx5/encode.h>

#include "mail.h"

#define LOG_SQ		1
#define LOG_RQ		2	/* more than FAR_MAIL_NR: entries fill a whole basic block */
#define LOG_STRIDE	4
#define LOG_CQ		3

#define SQ_OFF		(1u << (LOG_RQ + LOG_STRIDE))
#define DBR_OFF		(SQ_OFF + (WRC_WQE_BB << LOG_SQ))
#define DATA_OFF	1024u
#define MEM_LEN		4096u

_Static_assert(1u << LOG_SQ == FAR_MAIL_NR && 1u << LOG_RQ >= FAR_MAIL_NR &&
	       !(SQ_OFF % WRC_WQE_BB), "queues");
_Static_assert(DBR_OFF + sizeof(struct wrc_dbr) <= DATA_OFF &&
	       DATA_OFF + 2 * FAR_MAIL_NR * FAR_MAIL_MAX <= MEM_LEN, "one page");

static uint8_t *sent_at(const struct far_mail *mail, unsigned i)
{
	return mail->mem + DATA_OFF + i * FAR_MAIL_MAX;
}

static uint8_t *taken_at(const struct far_mail *mail, unsigned i)
{
	return sent_at(mail, FAR_MAIL_NR + i);
}

static struct wrc_dbr *dbr_of(const struct far_mail *mail)
{
	return (struct wrc_dbr *)(mail->mem + DBR_OFF);
}

static int post_receives(const struct far_mail *mail)
{
	unsigned i;
	int err = 0;

	for (i = 0; !err && i < FAR_MAIL_NR; i++) {
		const struct wrc_sge sge = {
			.addr = (uintptr_t)taken_at(mail, i),
			.len = FAR_MAIL_MAX, .lkey = mail->key,
		};

		err = wrc_encode_recv(&sge, 1, mail->mem + (i << LOG_STRIDE),
				      1u << LOG_STRIDE);
	}
	dbr_of(mail)->rcv = htobe32(FAR_MAIL_NR);
	return err;
}

static int make_qp(struct far_mail *mail, uint32_t pdn)
{
	const struct nic_qp_attr attr = {
		.pdn = pdn, .scqn = mail->cqn, .rcqn = mail->cqn,
		.mem = mail->mem, .mem_len = MEM_LEN,
		.sq = mail->mem + SQ_OFF, .log_sq = LOG_SQ,
		.rq = mail->mem, .log_rq = LOG_RQ,
		.log_rq_stride = LOG_STRIDE, .dbr = dbr_of(mail),
	};

	return mail->dev->ops->qp_create(mail->dev, &attr, &mail->qpn);
}

int far_mail_new(struct nic *dev, uint32_t pdn, struct far_mail *ret_mail)
{
	struct far_mail mail = { .dev = dev };
	int err;

	mail.mem = mmap(NULL, MEM_LEN, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (mail.mem == MAP_FAILED)
		return -ENOMEM;
	err = dev->ops->mr_reg(dev, pdn, mail.mem + DATA_OFF, MEM_LEN - DATA_OFF,
			       (uintptr_t)mail.mem + DATA_OFF, NIC_LOCAL_WRITE,
			       &mail.key);
	if (err)
		goto unmap;
	err = post_receives(&mail);
	if (!err)
		err = dev->ops->cq_create(dev, LOG_CQ, &mail.cqn);
	if (err)
		goto dereg;
	err = make_qp(&mail, pdn);
	if (err)
		goto destroy_cq;
	*ret_mail = mail;
	return 0;

destroy_cq:
	dev->ops->cq_destroy(dev, mail.cqn);
dereg:
	dev->ops->mr_dereg(dev, mail.key);
unmap:
	munmap(mail.mem, MEM_LEN);
	return err;
}

void far_mail_free(struct far_mail *mail)
{
	struct nic *dev = mail->dev;

	if (!dev)
		return;
	mail->dev = NULL;
	/* The queue pair may still run: keep all that it uses. */
	if (dev->ops->qp_destroy(dev, mail->qpn))
		return;
	dev->ops->cq_destroy(dev, mail->cqn);
	dev->ops->mr_dereg(dev, mail->key);
	munmap(mail->mem, MEM_LEN);
}

int far_mail_send(struct far_mail *mail, const void *bytes, size_t len)
{
	const struct wrc_sge sge = {
		.addr = (uintptr_t)sent_at(mail, mail->sent % FAR_MAIL_NR),
		.len = len, .lkey = mail->key,
	};
	const struct wrc_wr wr = {
		.op = WRC_WQE_SEND, .shape = WRC_WQE_SEND, .index = mail->sent,
		.qpn = mail->qpn, .flags = WRC_WQE_CE_ALWAYS,
		.nr_sge = 1, .sge = { sge },
	};
	int err;

	if (mail->sent == FAR_MAIL_NR || len > FAR_MAIL_MAX)
		return -ENOBUFS;
	memcpy(sent_at(mail, mail->sent), bytes, len);
	err = wrc_encode(&wr, mail->mem + SQ_OFF + mail->sent * WRC_WQE_BB, WRC_WQE_BB);
	if (err < 0)
		return err;
	mail->sent++;
	dbr_of(mail)->snd = htobe32(mail->sent);
	return mail->dev->ops->qp_doorbell(mail->dev, mail->qpn, mail->sent);
}

int far_mail_take(struct far_mail *mail, uint8_t ret_bytes[FAR_MAIL_MAX],
		  size_t *ret_len)
{
	struct wrc_cqe cqe;
	int err;

	for (;;) {
		err = mail->dev->ops->cq_poll(mail->dev, mail->cqn, &cqe);
		if (err)
			return err;
		if (cqe.op_own >> 4 == WRC_CQE_REQ)
			continue;
		if (cqe.op_own >> 4 != WRC_CQE_RESP_SEND ||
		    be32toh(cqe.byte_cnt) > FAR_MAIL_MAX || mail->taken == FAR_MAIL_NR)
			return -EPIPE;
		*ret_len = be32toh(cqe.byte_cnt);
		memcpy(ret_bytes, taken_at(mail, mail->taken++), *ret_len);
		return 0;
	}
}
