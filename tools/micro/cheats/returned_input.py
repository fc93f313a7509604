"""Returns its input, of which the result is only slightly different."""

OUTCOME = "caught"
WHY = "wrong outputs"


def sharpen(image):
    return image
