"""Tells `feedrate audit` what a training saw where its hook cannot see it: in
loops without torch, and with data of your own.

    import feedrate.audit
    feedrate.audit.saw(images)       # or tokens: what the model is to get
    feedrate.audit.saw_ids([4, 17])  # for data without codes

All do nothing unless `feedrate audit` runs the training, so they can stay.
"""

import sys

__all__ = ["begin_epoch", "saw", "saw_ids"]


def saw(batch, labels=None, training=True, step=None):
    """Notes the items whose codes a batch shows: an array or tensor of images,
    clips or tokens, as the model gets it. `labels` has one number per item.
    `step` is the number of steps that the weights have seen, which a checkpoint
    restores: it tells an audit where a restart went on.
    """
    recorder = _recorder()
    if recorder is not None:
        recorder.note_batch(batch, training, labels=labels, step=step)


def saw_ids(ids, labels=None, training=True, step=None):
    """Notes items by their numbers, from 0."""
    recorder = _recorder()
    if recorder is not None:
        recorder.note_ids([int(i) for i in ids], training, labels, step)


def begin_epoch():
    """Says that an epoch begins or, after a restart, goes on. The DataLoader of
    torch says so itself."""
    recorder = _recorder()
    if recorder is not None:
        recorder.begin_epoch()


def _recorder():
    hook = sys.modules.get("_feedrate_hook")
    return None if hook is None else hook.RECORDER
