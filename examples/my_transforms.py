"""Your own transforms: a dict of callables, uint8 HWC arrays in, arrays out.

micro --subject=my_transforms:transforms
"""

import numpy as np

transforms = {
    # This name is in the set, so its output is compared with the reference.
    "HorizontalFlip": lambda image: image[:, ::-1],
    "invert": lambda image: 255 - image,
    "gray": lambda image: image.mean(axis=2, keepdims=True).astype(np.uint8),
}

# Clips are arrays of THWC: video --subject=my_transforms:clips
clips = {"HorizontalFlip": lambda clip: clip[:, :, ::-1]}

# The same work, written otherwise: --reference=my_transforms:rewritten
rewritten = {"invert": np.invert, "gray": lambda image: image[:, :, 1:2]}
