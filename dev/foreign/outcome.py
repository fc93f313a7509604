"""What comes of a case: a file of others, read by us and by a reference."""

import collections

# word: equal, refused (with a reason), explained (different, and `why` names
# the page that says so) or unexplained.
Outcome = collections.namedtuple("Outcome", "word why")


def equal():
    return Outcome("equal", "")


def refused(why):
    return Outcome("refused", why)


def explained(why, page):
    return Outcome("explained", f"{why} ({page})")


def unexplained(why):
    return Outcome("unexplained", why)
