/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Differences between kernels.  No other file has any.  Kbuild looks into the
 * kernel's headers for what the kernel offers, instead of comparing versions,
 * because distributions backport.
 */
#ifndef _ODRP_COMPAT_H
#define _ODRP_COMPAT_H

#include <linux/bio.h>
#include <linux/blkdev.h>
#include <linux/device.h>
#include <linux/highmem.h>
#ifdef ODRP_HAVE_CRC32C_H
#include <linux/crc32c.h>
#else
#include <linux/crc32.h>
#endif

#ifdef ODRP_HAVE_SHA2_H
#include <crypto/sha2.h>
#else
#include <crypto/sha.h>
#endif

/* -- allocating a disk and setting its limits -- */

#define ODRP_DISCARD_SECTORS	(256u << 11)	/* 256 MB at a time */

#ifdef ODRP_HAVE_LIMITS_ALLOC
static inline struct gendisk *odrp_compat_alloc_disk(void)
{
	struct queue_limits lim = {
		.logical_block_size	= PAGE_SIZE,
		.physical_block_size	= PAGE_SIZE,
		.io_min			= PAGE_SIZE,
		.max_hw_sectors		= 1u << 11,
		.discard_granularity	= PAGE_SIZE,
		.max_hw_discard_sectors	= ODRP_DISCARD_SECTORS,
	};
	struct gendisk *disk = blk_alloc_disk(&lim, NUMA_NO_NODE);

#ifdef ODRP_HAVE_NONROT_FLAG
	if (!IS_ERR(disk))
		blk_queue_flag_set(QUEUE_FLAG_NONROT, disk->queue);
#endif
	return disk;
}
#else
static inline void odrp_compat_set_limits(struct request_queue *q)
{
	blk_queue_logical_block_size(q, PAGE_SIZE);
	blk_queue_physical_block_size(q, PAGE_SIZE);
	blk_queue_io_min(q, PAGE_SIZE);
	blk_queue_max_hw_sectors(q, 1u << 11);
	q->limits.discard_granularity = PAGE_SIZE;
	blk_queue_max_discard_sectors(q, ODRP_DISCARD_SECTORS);
#ifdef ODRP_HAVE_DISCARD_FLAG
	blk_queue_flag_set(QUEUE_FLAG_DISCARD, q);
#endif
	blk_queue_flag_set(QUEUE_FLAG_NONROT, q);
}

static inline struct gendisk *odrp_compat_alloc_disk(void)
{
	struct gendisk *disk;

#ifdef ODRP_HAVE_BLK_ALLOC_DISK
	disk = blk_alloc_disk(NUMA_NO_NODE);
	if (!disk)
		return ERR_PTR(-ENOMEM);
#else
	struct request_queue *q = blk_alloc_queue(NUMA_NO_NODE);

	if (!q)
		return ERR_PTR(-ENOMEM);
	disk = alloc_disk(0);
	if (!disk) {
		blk_cleanup_queue(q);
		return ERR_PTR(-ENOMEM);
	}
	disk->flags |= GENHD_FL_EXT_DEVT;
	disk->queue = q;
#endif
	odrp_compat_set_limits(disk->queue);
	return disk;
}
#endif /* ODRP_HAVE_LIMITS_ALLOC */

static inline void odrp_compat_free_disk(struct gendisk *disk)
{
#if defined(ODRP_HAVE_BLK_CLEANUP_DISK)
	blk_cleanup_disk(disk);
#elif !defined(ODRP_HAVE_BLK_ALLOC_DISK)
	blk_cleanup_queue(disk->queue);
	put_disk(disk);
#else
	put_disk(disk);
#endif
}

static inline int __must_check
odrp_compat_add_disk(struct gendisk *disk, const struct attribute_group **groups)
{
#ifdef ODRP_HAVE_ADD_DISK_INT
	return device_add_disk(NULL, disk, groups);
#else
	device_add_disk(NULL, disk, groups);
	return 0;
#endif
}

#ifdef ODRP_HAVE_NO_PART
#define ODRP_DISK_FLAGS		GENHD_FL_NO_PART
#else
#define ODRP_DISK_FLAGS		GENHD_FL_NO_PART_SCAN
#endif

/* -- block device operations -- */

#ifdef ODRP_HAVE_VOID_SUBMIT_BIO
#define ODRP_SUBMIT_BIO(fn)	static void fn(struct bio *bio)
#define ODRP_SUBMIT_BIO_END	return
#else
#define ODRP_SUBMIT_BIO(fn)	static blk_qc_t fn(struct bio *bio)
#define ODRP_SUBMIT_BIO_END	return BLK_QC_T_NONE
#endif

#ifdef ODRP_HAVE_BIO_BDEV
#define odrp_bio_disk(bio)	((bio)->bi_bdev->bd_disk)
#else
#define odrp_bio_disk(bio)	((bio)->bi_disk)
#endif

#ifdef ODRP_HAVE_BLK_MODE_T
#define ODRP_BLK_OPEN(fn, disk)	\
	static int fn(struct gendisk *disk, blk_mode_t mode)
#define ODRP_BLK_RELEASE(fn, disk) \
	static void fn(struct gendisk *disk)
#define ODRP_BLK_OPEN_DISK(arg)	(arg)
#define ODRP_BLK_OPEN_BDEV(arg)	((arg)->part0)
#else
#define ODRP_BLK_OPEN(fn, disk)	\
	static int fn(struct block_device *disk, fmode_t mode)
#define ODRP_BLK_RELEASE(fn, disk) \
	static void fn(struct gendisk *disk, fmode_t mode)
#define ODRP_BLK_OPEN_DISK(arg)	((arg)->bd_disk)
#define ODRP_BLK_OPEN_BDEV(arg)	(arg)
#endif

/* -- swap slots that are freed -- */

/* Kernels without this hook report freed slots by discards alone. */
#ifdef ODRP_HAVE_FREE_NOTIFY
#define ODRP_SEES_FREED		true
#define ODRP_FREE_NOTIFY(fn)	.swap_slot_free_notify = (fn),
#else
#define ODRP_SEES_FREED		false
#define ODRP_FREE_NOTIFY(fn)
#endif

/* -- the state of a hash, of the SHA-256 library functions -- */

#ifdef ODRP_HAVE_SHA256_CTX
#define odrp_compat_sha256	struct sha256_ctx
#else
#define odrp_compat_sha256	struct sha256_state
#endif

/* -- ChaCha20-Poly1305, of a library that a kernel may lack -- */

#if IS_REACHABLE(CONFIG_CRYPTO_LIB_CHACHA20POLY1305)
#include <crypto/chacha20poly1305.h>
#define ODRP_HAVE_AEAD	true
#define ODRP_AEAD_KEY	CHACHA20POLY1305_KEY_SIZE
#else
struct scatterlist;
#define ODRP_HAVE_AEAD	false
#define ODRP_AEAD_KEY	32
#define chacha20poly1305_encrypt_sg_inplace(sg, len, ad, ad_len, nonce, key) \
	((void)(sg), (void)(ad), (void)(nonce), (void)(key), false)
#define chacha20poly1305_decrypt_sg_inplace(sg, len, ad, ad_len, nonce, key) \
	((void)(sg), (void)(ad), (void)(nonce), (void)(key), false)
#endif

/* -- another block device -- */

struct odrp_compat_bdev {
	struct block_device	*bdev;
#if defined(ODRP_HAVE_BDEV_FILE)
	struct file		*file;
#elif defined(ODRP_HAVE_BDEV_HANDLE)
	struct bdev_handle	*handle;
#endif
};

/* Open a device for reading and writing, and claim it for @holder alone. */
static inline int odrp_compat_bdev_open(struct odrp_compat_bdev *o,
					const char *path, void *holder)
{
#if defined(ODRP_HAVE_BDEV_FILE)
	o->file = bdev_file_open_by_path(path, BLK_OPEN_READ | BLK_OPEN_WRITE,
					 holder, NULL);
	if (IS_ERR(o->file))
		return PTR_ERR(o->file);
	o->bdev = file_bdev(o->file);
#elif defined(ODRP_HAVE_BDEV_HANDLE)
	o->handle = bdev_open_by_path(path, BLK_OPEN_READ | BLK_OPEN_WRITE,
				      holder, NULL);
	if (IS_ERR(o->handle))
		return PTR_ERR(o->handle);
	o->bdev = o->handle->bdev;
#else
#ifdef ODRP_HAVE_BLK_MODE_T
	o->bdev = blkdev_get_by_path(path, BLK_OPEN_READ | BLK_OPEN_WRITE,
				     holder, NULL);
#else
	o->bdev = blkdev_get_by_path(path, FMODE_READ | FMODE_WRITE |
				     FMODE_EXCL, holder);
#endif
	if (IS_ERR(o->bdev))
		return PTR_ERR(o->bdev);
#endif
	return 0;
}

static inline void odrp_compat_bdev_close(struct odrp_compat_bdev *o,
					  void *holder)
{
#if defined(ODRP_HAVE_BDEV_FILE)
	bdev_fput(o->file);
#elif defined(ODRP_HAVE_BDEV_HANDLE)
	bdev_release(o->handle);
#elif defined(ODRP_HAVE_BLK_MODE_T)
	blkdev_put(o->bdev, holder);
#else
	blkdev_put(o->bdev, FMODE_READ | FMODE_WRITE | FMODE_EXCL);
#endif
}

static inline u64 odrp_compat_bdev_size(struct block_device *bdev)
{
#ifdef ODRP_HAVE_BDEV_NR_BYTES
	return bdev_nr_bytes(bdev);
#else
	return i_size_read(bdev->bd_inode);
#endif
}

/* -- bios that share the pages of another bio, for the same device or for bdev -- */

/* Return: NULL without memory, and when the pool is empty, unless @gfp may wait for that. */
static inline struct bio *odrp_compat_bio_clone(struct bio *src, gfp_t gfp,
						struct bio_set *bs)
{
#ifdef ODRP_HAVE_BIO_ALLOC_CLONE
	return bio_alloc_clone(src->bi_bdev, src, gfp, bs);
#else
	return bio_clone_fast(src, gfp, bs);
#endif
}

/*
 * Only bios with encryption or integrity data can make bio_init_clone() fail, and
 * bios of an odrp device have neither.
 */
static inline void odrp_compat_bio_copy(struct bio *bio,
					struct block_device *bdev,
					struct bio *src)
{
#ifdef ODRP_HAVE_BIO_ALLOC_CLONE
	WARN_ON_ONCE(bio_init_clone(bdev, bio, src, GFP_NOIO));
#else
	bio_init(bio, NULL, 0);
	__bio_clone_fast(bio, src);
	bio_set_dev(bio, bdev);
#endif
}

/* -- accounting of a bio, or of one block of it -- */

static inline unsigned long odrp_acct_start(struct bio *bio,
					    unsigned int sectors)
{
#if defined(ODRP_HAVE_BDEV_ACCT_END_SECTORS)
	return bdev_start_io_acct(bio->bi_bdev, bio_op(bio), jiffies);
#elif defined(ODRP_HAVE_BDEV_ACCT)
	return bdev_start_io_acct(bio->bi_bdev, sectors, bio_op(bio), jiffies);
#else
	return disk_start_io_acct(odrp_bio_disk(bio), sectors, bio_op(bio));
#endif
}

static inline void odrp_acct_end(struct bio *bio, unsigned int sectors,
				 unsigned long start)
{
#if defined(ODRP_HAVE_BDEV_ACCT_END_SECTORS)
	bdev_end_io_acct(bio->bi_bdev, bio_op(bio), sectors, start);
#elif defined(ODRP_HAVE_BDEV_ACCT)
	bdev_end_io_acct(bio->bi_bdev, bio_op(bio), start);
#else
	disk_end_io_acct(odrp_bio_disk(bio), bio_op(bio), start);
#endif
}

/* -- classes -- */

#ifdef ODRP_HAVE_CLASS_CREATE_NAME
#define odrp_compat_class_create(name)	class_create(name)
#else
#define odrp_compat_class_create(name)	class_create(THIS_MODULE, name)
#endif

#ifdef ODRP_HAVE_CONST_CLASS_ATTR
#define ODRP_CLASS_STORE(fn)						\
	static ssize_t fn(const struct class *class,			\
			  const struct class_attribute *attr,		\
			  const char *buf, size_t count)
#else
#define ODRP_CLASS_STORE(fn)						\
	static ssize_t fn(struct class *class,				\
			  struct class_attribute *attr,			\
			  const char *buf, size_t count)
#endif

/* -- swapoff when a page cannot be read -- */

/*
 * Since 5.19 a program that touches such a page gets a bus error.  Before, swapoff
 * maps the page frame that the read has not filled, with whatever it contains.
 */
#ifdef ODRP_HAVE_SWAPIN_ERROR
#define ODRP_SWAPOFF_SAFE	true
#else
#define ODRP_SWAPOFF_SAFE	false
#endif

/* -- short mapping of a page, on this CPU -- */

#ifdef ODRP_HAVE_KMAP_LOCAL
#define odrp_compat_map(page)	kmap_local_page(page)
#define odrp_compat_unmap(p)	kunmap_local(p)
#else
#define odrp_compat_map(page)	kmap_atomic(page)
#define odrp_compat_unmap(p)	kunmap_atomic(p)
#endif

/* -- copying between a page and memory, before 5.12 -- */

#ifndef ODRP_HAVE_MEMCPY_PAGE
static inline void memcpy_from_page(char *to, struct page *page, size_t offset,
				    size_t len)
{
	char *from = kmap_atomic(page);

	memcpy(to, from + offset, len);
	kunmap_atomic(from);
}

static inline void memcpy_to_page(struct page *page, size_t offset,
				  const char *from, size_t len)
{
	char *to = kmap_atomic(page);

	memcpy(to + offset, from, len);
	flush_dcache_page(page);
	kunmap_atomic(to);
}
#endif

#endif /* _ODRP_COMPAT_H */
